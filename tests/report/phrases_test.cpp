// The words of a verdict: every phrase has some, and what fills their places comes out.
#include "report/phrases.hpp"

#include <gtest/gtest.h>

#include <set>

#include "model/phrases.hpp"

namespace {

using namespace culprit;
using report::words;

TEST(Phrases, HaveNamesOfTheirOwn) {
  std::set<std::string_view> ids;
  for (std::size_t i = 0; i < report::phrases(); ++i)
    EXPECT_TRUE(ids.insert(report::id(static_cast<Phrase>(i))).second) << i;
}

TEST(Phrases, WithAllPlacesFilledNoneIsLeft) {
  for (std::size_t i = 0; i < report::phrases(); ++i) {
    const auto phrase = static_cast<Phrase>(i);
    if (phrase == Phrase::list) continue;
    Clause clause{phrase, {}};
    for (std::size_t place = 0; place < report::places(phrase); ++place)
      clause.arguments.emplace_back(1.5);
    const std::string text = words(Text(clause));
    if (report::places(phrase) > 0) { EXPECT_NE(text, report::id(phrase)) << "too few places"; }
    EXPECT_EQ(text.find('{'), std::string::npos) << text;
  }
}

TEST(Phrases, ListsNameSoManyAndCountTheOthers) {
  EXPECT_EQ(words(list(std::vector<std::string>{})), "nobody");
  EXPECT_EQ(words(list(std::vector<std::string>{"a"})), "a");
  EXPECT_EQ(words(list(std::vector<std::string>{"a", "b", "c"})), "a, b and c");
  EXPECT_EQ(words(list(std::vector<std::string>{"a", "b", "c"}, 2)), "a, b and 1 more");
}

TEST(Phrases, TitlesWithinASentenceKeepTheirProperNames) {
  const auto inside = [](const char* title) {
    return words(say(Phrase::inside, std::string(title)));
  };
  EXPECT_EQ(inside("Out of memory"), "out of memory");
  EXPECT_EQ(inside("GPU fell off"), "GPU fell off");
  EXPECT_EQ(inside("Lustre went away"), "Lustre went away");
  EXPECT_EQ(inside("InfiniBand link down"), "InfiniBand link down");
  EXPECT_EQ(inside(""), "");
}

TEST(Phrases, WhatIsQuotedIsNoTemplate) {
  EXPECT_EQ(words(Text(std::string("{0} {} {{"))), "{0} {} {{");
  EXPECT_EQ(words(say(Phrase::rank_named, std::string("{}"))), "rank {}");
}

TEST(Phrases, ChooseByWhatFillsAPlace) {
  EXPECT_EQ(words(say(Phrase::ranks_reported_timeout, 1)),
            "1 rank reported a timeout of a collective");
  EXPECT_EQ(words(say(Phrase::ranks_reported_timeout, 2)),
            "2 ranks reported a timeout of a collective");
  EXPECT_EQ(words(say(Phrase::one_rank_on, 3, std::string("node-1"))), "rank 3 on node-1");
  EXPECT_EQ(words(say(Phrase::one_rank_on, 3, std::string())), "rank 3");
  // What fills a place is never read as a choice.
  EXPECT_EQ(words(say(Phrase::one_rank_on, 3, std::string("[0:a|b]"))), "rank 3 on [0:a|b]");
}

TEST(Phrases, NoChoiceIsLeftOpen) {
  for (std::size_t i = 0; i < report::phrases(); ++i) {
    Clause clause{static_cast<Phrase>(i), {}};
    for (std::size_t place = 0; place < report::places(clause.phrase); ++place)
      clause.arguments.emplace_back(std::int64_t{2});
    for (const char* open : {"[0:", "[1:", "[2:", "[3:", "[4:", "[5:"})
      EXPECT_EQ(words(Text(clause)).find(open), std::string::npos) << report::id(clause.phrase);
  }
}

TEST(Phrases, TooFewPartsPrintTheName) { EXPECT_EQ(words(say(Phrase::rank_named)), "rank_named"); }

TEST(Phrases, AreComparedByMeaning) {
  EXPECT_EQ(say(Phrase::rank_named, 7), say(Phrase::rank_named, 7));
  EXPECT_FALSE(say(Phrase::rank_named, 7) == say(Phrase::rank_named, 8));
  EXPECT_EQ(report::reason(say(Phrase::rank_named, 7)), "rank_named");
  EXPECT_EQ(report::reason({}), "");
}

}  // namespace
