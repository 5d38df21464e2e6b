#include "ingest/collectives/pickle.hpp"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ingest/engine/lenient_json.hpp"
#include "pickle_kit.hpp"

namespace culprit::ingest {
namespace {

using test::Pickler;
using namespace std::string_literals;

std::string shown(const Tree& tree, const Value& v, int depth = 6) {
  if (depth == 0) return "...";
  std::string out;
  switch (v.kind) {
    case Value::Kind::none: return "None";
    case Value::Kind::boolean: return v.integer != 0 ? "True" : "False";
    case Value::Kind::integer: return std::to_string(v.integer);
    case Value::Kind::real: return fmt::format("{:.2f}", v.real);
    case Value::Kind::text: return fmt::format("'{}'", v.text());
    case Value::Kind::list:
      tree.each(v, [&](const Value& item) {
        out += (out.empty() ? "" : ", ") + shown(tree, item, depth - 1);
        return true;
      });
      return "[" + out + "]";
    case Value::Kind::dict:
      tree.each_pair(v, [&](const Value& key, const Value& item) {
        out += (out.empty() ? "" : ", ") + shown(tree, key, depth - 1) + ": " +
               shown(tree, item, depth - 1);
        return true;
      });
      return "{" + out + "}";
  }
  return out;
}

std::string pickle(const std::string& bytes, const TreeLimits& limits = {}) {
  const std::string exact(bytes);
  Tree tree;
  read_pickle(exact, tree, limits);
  return shown(tree, tree.root) + (tree.truncated ? " cut" : "") +
         (tree.problem.empty() ? "" : " " + tree.problem);
}

std::string json(const std::string& bytes, const TreeLimits& limits = {}) {
  Tree tree;
  read_lenient_json(bytes, tree, limits);
  return shown(tree, tree.root) + (tree.truncated ? " cut" : "") +
         (tree.problem.empty() ? "" : " " + tree.problem);
}

TEST(Pickle, Values) {
  Pickler p;
  p.op("}(")
      .text("a")
      .number(7)
      .text("b")
      .number(300)
      .text("c")
      .number(-1)
      .text("d")
      .number(1'795'231'961'000'000'000)
      .text("e")
      .real(1.5)
      .text("f")
      .none()
      .text("g")
      .yes(true)
      .text("h")
      .yes(false);
  p.text("i")
      .numbers({1, 2})
      .text("j")
      .text("a")
      .op("K\5\x86")
      .text("k")
      .op("]")
      .text("l")
      .op(")")
      .text("m")
      .text("a")
      .op("\x85")
      .text("n")
      .text("b")
      .text("b")
      .text("b")
      .op("\x87")
      .op("u.");
  EXPECT_EQ(
      pickle(p.out),
      "{'a': 7, 'b': 300, 'c': -1, 'd': 1795231961000000000, 'e': 1.50, 'f': None, 'g': True, 'h': "
      "False, 'i': [1, 2], 'j': ['a', 5], 'k': [], 'l': [], 'm': ['a'], 'n': ['b', 'b', 'b']}");
  EXPECT_EQ(pickle("\x80\x02\x8a\x00."s), "0");
  EXPECT_EQ(pickle("\x80\x02\x8a\x01\xff."s), "-1");
  EXPECT_EQ(pickle("\x80\x02\x8a\x02\xff\x00."s), "255");
  EXPECT_EQ(pickle("\x80\x02\x8a\x09\0\0\0\0\0\0\0\0\1."s), "None");
  EXPECT_EQ(pickle("\x80\x02\x8b\2\0\0\0\1\1."s), "257");
}

TEST(Pickle, OtherProtocols) {
  EXPECT_EQ(pickle("(dp0\nS'a'\np1\nI5\nsVb\np2\n(lp3\nL7L\naF2.5\naI01\nag1\nas."),
            "{'a': 5, 'b': [7, 2.50, True, 'a']}");
  EXPECT_EQ(pickle("\x80\x04\x95\x13\0\0\0\0\0\0\0}\x94(\x8c\1a\x94K\5\x8c\1b\x94h\1u."s),
            "{'a': 5, 'b': 'a'}");
  EXPECT_EQ(pickle("\x80\x05]\x94(C\2xyB\1\0\0\0z\x8d\1\0\0\0\0\0\0\0ve."s), "['xy', 'z', 'v']");
  EXPECT_EQ(pickle("}(U\1aK\1u0(K\1K\2t."s), "[1, 2]");
  EXPECT_EQ(pickle("\x80\x06N."s), "None cut pickle.protocol at 0");
}

TEST(Pickle, CodeIsRefused) {
  struct Case {
    std::string bytes;
    const char* name;
  };
  for (const Case& c : {Case{"cos\nsystem\n", "GLOBAL"},
                        {"R", "REDUCE"},
                        {"b", "BUILD"},
                        {"(ios\nsystem\n", "INST"},
                        {"o", "OBJ"},
                        {"\x81", "NEWOBJ"},
                        {"\x92", "NEWOBJ_EX"},
                        {"\x93", "STACK_GLOBAL"},
                        {"Pid\n", "PERSID"},
                        {"Q", "BINPERSID"},
                        {"\x82\1", "EXT1"},
                        {"\x83\1\1", "EXT2"},
                        {"\x84\1\1\1\1", "EXT4"},
                        {"\x97", "NEXT_BUFFER"}}) {
    const std::size_t at = 4 + (c.bytes[0] == '(');
    EXPECT_EQ(pickle("\x80\x02]K\1a"s + c.bytes + "."),
              fmt::format("None pickle.refused_{} at {}", c.name, at + 2))
        << c.name;
  }
}

TEST(Pickle, MemoryIsBounded) {
  EXPECT_EQ(pickle("\x80\x02X\xff\xff\xff\xffx"s), "None cut pickle.truncated at 2");
  EXPECT_EQ(pickle("\x80\x04\x8d\0\0\0\0\0\1\0\0x"s),
            "None cut pickle.truncated at 2");  // 2^40 bytes
  EXPECT_EQ(pickle("\x80\x02\x8b\xff\xff\xff\x7f."s), "None cut pickle.truncated at 2");
  EXPECT_EQ(pickle("\x80\x02\x8b\xff\xff\xff\xff."s), "None cut pickle.length at 2");
  EXPECT_EQ(pickle("\x80\x02Nr\xff\xff\xff\xff."s), "None cut pickle.memo_index at 3");
  EXPECT_EQ(pickle("\x80\x02j\5\0\0\0."s), "None cut pickle.memo_index at 2");
  Tree tree;
  const std::string marks = "\x80\x02"s + std::string(1'000'000, '(');
  read_pickle(marks, tree);
  EXPECT_EQ(tree.problem, "pickle.too_deep at 258");
  const std::string lists =
      "\x80\x02"s + std::string(1'000'000, ']') + std::string(999'999, 'a') + ".";
  Tree nested;
  read_pickle(lists, nested);  // a million deep, and nobody who looks goes down there
  EXPECT_EQ(nested.problem, "");
  EXPECT_EQ(shown(nested, nested.root, 4), "[[[[...]]]]");
  TreeLimits few;
  few.stack = few.nodes = 1000;
  EXPECT_EQ(pickle(lists, few).substr(0, 40), "[] cut pickle.too_many_values at 1001");
  few.values = 10;
  EXPECT_EQ(pickle("\x80\x02](" + std::string(11, 'N') + "e.", few),
            "[] cut pickle.too_many_values at 15");
}

TEST(Pickle, CyclesAreHarmless) {
  EXPECT_EQ(pickle("\x80\x02]q\0h\0a."s), "[[[[[[...]]]]]]");
  EXPECT_EQ(pickle("\x80\x02}q\0(X\1\0\0\0ah\0u."s),
            "{'a': {'a': {'a': {'a': {'a': {...: ...}}}}}}");
  EXPECT_EQ(pickle("\x80\x02]q\0(h\0h\0eh\0(K\1e."s).substr(0, 8), "[[[[[[..");
}

TEST(Pickle, BrokenStacks) {
  for (const std::string& bytes :
       {"a"s,  "e"s,    "u"s,    "s"s,   "t"s,    "\x86"s, "."s,    "0"s,     "1"s,
        "2"s,  "q\0"s,  "\x94"s, "Na"s,  "(a"s,   "N(e"s,  "}(Nu"s, "]}(Na"s, "](K\1]e\x86"s,
        "(N"s, "](Nu"s, "NN."s,  "(N."s, "\xfe"s, "I\n"s,  "Ix\n"s, "g9\n"s}) {
    const std::string got = pickle("\x80\x02" + bytes);
    EXPECT_NE(got.find(" cut pickle."), std::string::npos) << got;
  }
}

TEST(Pickle, CutAnywhere) {
  Pickler p;
  p.op("}(")
      .text("one")
      .numbers({1, 2, 3})
      .text("two")
      .op("](}(")
      .text("x")
      .number(1)
      .op("u}(")
      .text("x")
      .number(70'000)
      .text("y")
      .real(2)
      .op("ue")
      .text("three")
      .number(3)
      .op("u.");
  Tree whole;
  read_pickle(p.out, whole);
  for (std::size_t size = 0; size < p.out.size(); ++size) {
    const auto bytes = std::make_unique<char[]>(size);
    std::copy_n(p.out.data(), size, bytes.get());
    Tree tree;
    read_pickle({bytes.get(), size}, tree);
    EXPECT_TRUE(tree.truncated) << size;
    // What is there, is as it was.
    if (const Value one = tree.find(tree.root, "one"); one.is_list()) {
      const std::string text = shown(tree, one);
      EXPECT_TRUE(
          shown(whole, whole.find(whole.root, "one")).starts_with(text.substr(0, text.size() - 1)))
          << size;
    }
    tree.each(tree.find(tree.root, "two"), [&](const Value& item) {
      if (!tree.partial(item) && tree.nodes[item.node].count != 0) {
        EXPECT_NE(shown(whole, whole.root).find(shown(tree, item)), std::string::npos) << size;
      }
      return true;
    });
  }
}

TEST(LenientJson, Values) {
  EXPECT_EQ(
      json(
          R"( {"a": [1, -2, 3.5, 1e3, true, false, null], "b": {}, "c": [], "d": "x\n\u00e4\ud83d\ude00\"", "e": 1795231961000000000} )"),
      "{'a': [1, -2, 3.50, 1000.00, True, False, None], 'b': {}, 'c': [], 'd': 'x\nä😀\"', 'e': "
      "1795231961000000000}");
  EXPECT_EQ(json("[NaN, -Infinity, Infinity, nan, -nan, inf, -inf]"),
            "[nan, -inf, inf, nan, nan, inf, -inf]");
  EXPECT_EQ(json("[99999999999999999999999, 9223372036854775807]"),
            "[99999999999999991611392.00, 9223372036854775807]");
  EXPECT_EQ(json("\xEF\xBB\xBF{} {}"), "{}");
  EXPECT_EQ(json("[\"\\ud83d\", \"\\uzz\"]"), "['\xEF\xBF\xBD', '\\uzz']");
}

TEST(LenientJson, Broken) {
  EXPECT_EQ(json(""), "None cut json.truncated at 0");
  EXPECT_EQ(json("{\"a\": [1, 2"), "{'a': [1]} cut json.truncated at 11");
  EXPECT_EQ(json("{\"a\": [1, 2,"), "{'a': [1, 2]} cut json.truncated at 12");
  EXPECT_EQ(json("{\"a\": 1, \"b"), "{'a': 1} cut json.truncated at 11");
  EXPECT_EQ(json("{\"a\": 1, \"b\":"), "{'a': 1} cut json.truncated at 13");
  EXPECT_EQ(json("{\"a\": tr"), "{} cut json.truncated at 8");
  EXPECT_EQ(json("[1 2]"), "[1] cut json.syntax at 3");
  EXPECT_EQ(json("[1, ]"), "[1] cut json.syntax at 4");
  EXPECT_EQ(json("[}"), "[] cut json.syntax at 1");
  EXPECT_EQ(json("{1: 2}"), "{} cut json.syntax at 1");
  Tree tree;
  const std::string deep(1'000'000, '[');
  read_lenient_json(deep, tree);
  EXPECT_EQ(tree.problem, "json.too_deep at 256");
}

}  // namespace
}  // namespace culprit::ingest
