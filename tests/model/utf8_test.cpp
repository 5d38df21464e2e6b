#include "model/utf8.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/json.hpp"

namespace {

using namespace culprit;

char32_t only(std::string_view text) {
  char32_t c = 0;
  return decode_utf8(text, 0, c) == text.size() && !text.empty() ? c : 0xFFFF'FFFF;
}

TEST(Utf8, DecodesWhatTheStandardAllowsAndNothingElse) {
  EXPECT_EQ(only("a"), U'a');
  EXPECT_EQ(only("\xC3\xA9"), U'é');
  EXPECT_EQ(only("\xE2\x82\xAC"), U'€');
  EXPECT_EQ(only("\xF0\x9F\x98\x80"), U'😀');
  for (const std::string_view bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\xC3", "\xFF", ""})
    EXPECT_EQ(only(bad), 0xFFFF'FFFF) << bad;
}

RC_GTEST_PROP(Utf8, AppendedCharactersAreReadBack, ()) {
  const auto c = *rc::gen::inRange<std::uint32_t>(0, 0x110000);
  std::string text;
  append_utf8(text, c);
  RC_ASSERT(only(text) == (c >= 0xD800 && c < 0xE000 ? 0xFFFD : c));
}

TEST(Utf8, JsonHoldsNothingThatATerminalObeys) {
  std::string text;
  for (const char32_t c :
       {0x01, 0x1B, 0x7F, 0x85, 0x9B, 0x200B, 0x202E, 0x2066, 0xFEFF, 0xFFFF, 0x1FFFE})
    append_utf8(text, c);
  text += "é€😀";
  const nlohmann::json value{{text, text}};
  const std::string json = json_text(value);
  for (std::size_t at = 0; at < json.size();) {
    char32_t c = 0;
    const std::size_t n = decode_utf8(json, at, c);
    ASSERT_NE(n, 0u);
    EXPECT_TRUE(c == '\n' || !unseen(c)) << static_cast<unsigned>(c);
    at += n;
  }
  EXPECT_EQ(nlohmann::json::parse(json), value);
  EXPECT_NE(json.find("é€😀"), std::string::npos);
}

}  // namespace
