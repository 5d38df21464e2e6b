#include "model/json_cursor.hpp"

#include <gtest/gtest.h>

namespace culprit {
namespace {

TEST(JsonCursor, WalksObjectsAndLists) {
  JsonCursor in("\xEF\xBB\xBF { \"a\" : 1, \"b\\n\": [ true ,\"x\"], \"c\":{} } tail");
  std::string seen;
  ASSERT_TRUE(in.object([&](std::string_view key, bool escaped) {
    seen += std::string(key) + (escaped ? "!" : "") + "=";
    if (in.peek() != '[') {
      const std::size_t from = in.offset();
      if (!in.skip()) return false;
      seen += std::to_string(in.offset() - from) + ";";
      return true;
    }
    return in.array([&] {
      seen += in.peek();
      return in.skip();
    });
  }));
  EXPECT_EQ(seen, "a=1;b\\n!=t\"c=2;");
  in.blanks();
  EXPECT_EQ(in.rest(), "tail");
}

TEST(JsonCursor, SaysWhereATextBreaks) {
  for (const std::string whole : {"{\"a\":[1,{\"b\":\"x\\\"y\"}],\"c\":-1.5e3}", "[[],{},\"\",0]"})
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
      const std::string text = whole.substr(0, cut);
      JsonCursor in(text);
      const bool read = in.skip();
      EXPECT_FALSE(read) << text;
      EXPECT_LE(in.offset(), text.size());
    }
  JsonCursor other("}");
  EXPECT_FALSE(other.skip());
  JsonCursor nothing("");
  EXPECT_FALSE(nothing.skip());
}

TEST(JsonCursor, DepthCostsNothingAndMayBeBounded) {
  std::string deep(1'000'000, '[');
  deep += std::string(1'000'000, ']');
  JsonCursor in(deep);
  EXPECT_TRUE(in.skip());
  EXPECT_TRUE(in.done());
  JsonCursor bounded(deep);
  EXPECT_FALSE(bounded.skip(64));
}

TEST(JsonCursor, EscapesMeanWhatTheySay) {
  EXPECT_EQ(json_unescaped("a\\n\\t\\\"\\\\\\/\\u0041\\u00e9"), "a\n\t\"\\/A\xC3\xA9");
  EXPECT_EQ(json_unescaped("\\ud83d\\ude00"), "\xF0\x9F\x98\x80");
  EXPECT_EQ(json_unescaped("\\ud83d-"), "\xEF\xBF\xBD-");
  EXPECT_EQ(json_unescaped("\\ud83d\\u0041"),
            "\xEF\xBF\xBD"
            "A");
  EXPECT_EQ(json_unescaped("\\u12"), "\\u12");
  EXPECT_EQ(json_unescaped("end\\"), "end\\");
}

TEST(JsonCursor, StringsAreViews) {
  JsonCursor in("\"a\\\\\" x");
  std::string_view raw;
  bool escaped = false;
  ASSERT_TRUE(in.text(raw, escaped));
  EXPECT_EQ(raw, "a\\\\");
  EXPECT_TRUE(escaped);
  JsonCursor open("\"a\\\"");
  EXPECT_FALSE(open.text(raw, escaped));
  EXPECT_TRUE(open.done());
}

}  // namespace
}  // namespace culprit
