// Delta debugging against oracles that can be checked by hand.
#include "diagnose/minimal.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

namespace culprit::diagnose {
namespace {

using Items = std::vector<std::size_t>;

Items first(std::size_t n) {
  Items out(n);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

bool holds_all(const Items& some, const Items& needed) {
  return std::includes(some.begin(), some.end(), needed.begin(), needed.end());
}

TEST(Minimal, FindsWhatIsNeeded) {
  for (const Items& needed : {Items{}, Items{3}, Items{0, 7}, Items{1, 2, 6}, first(8)}) {
    std::size_t asked = 0;
    const Minimal found = minimal(first(8), [&](const Items& some) {
      ++asked;
      return holds_all(some, needed) ? Holds::yes : Holds::no;
    });
    EXPECT_EQ(found.kept, needed);
    EXPECT_TRUE(found.complete);
    EXPECT_LE(asked, 8u * 8 + 3 * 8);
  }
}

TEST(Minimal, OneOfManyTakesTwoQuestionsAHalving) {
  std::size_t asked = 0;
  const Minimal found = minimal(first(1024), [&](const Items& some) {
    ++asked;
    return std::binary_search(some.begin(), some.end(), 700) ? Holds::yes : Holds::no;
  });
  EXPECT_EQ(found.kept, Items{700});
  EXPECT_LE(asked, 21u);  // 2 log2 1024, and that it cannot go
}

TEST(Minimal, StopsWhenItIsTold) {
  std::size_t left = 3;
  const Minimal found = minimal(first(100), [&](const Items& some) {
    if (left-- == 0) return Holds::stop;
    return holds_all(some, {1, 99}) ? Holds::yes : Holds::no;
  });
  EXPECT_FALSE(found.complete);
  EXPECT_TRUE(holds_all(found.kept, {1, 99}));
}

// Verdicts are not monotone: less evidence may bring one back. 1-minimal it is all the same.
RC_GTEST_PROP(Minimal, IsOneMinimalForAnyOracle, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(1, 12);
  const auto salt = *rc::gen::arbitrary<std::uint32_t>();
  const auto oracle = [&](const Items& some) {
    if (some.size() == n) return Holds::yes;
    std::uint32_t hash = salt;
    for (const std::size_t i : some) hash = (hash ^ static_cast<std::uint32_t>(i + 1)) * 16777619u;
    return hash % 3 == 0 ? Holds::yes : Holds::no;
  };
  const Minimal found = minimal(first(n), oracle);
  RC_ASSERT(found.complete);
  RC_ASSERT(oracle(found.kept) == Holds::yes);
  for (std::size_t i = 0; i < found.kept.size(); ++i) {
    Items others = found.kept;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    RC_ASSERT(oracle(others) == Holds::no);
  }
}

}  // namespace
}  // namespace culprit::diagnose
