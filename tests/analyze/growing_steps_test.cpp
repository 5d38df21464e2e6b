// Steps that grow from the start of the process on, and what looks like it.
#include "analyze/pace/growing_steps.hpp"

#include <gtest/gtest.h>

#include "analyze/pace/named_slowest.hpp"
#include "support/steps.hpp"

namespace culprit::analyze {
namespace {

template <class Ms>
JobSteps steps_of(std::size_t n, Ms ms) {
  JobSteps out;
  Nanoseconds now = 1'700'000'000 * kSecond;
  for (std::size_t i = 0; i < n; ++i)
    add_step(out, ms(i) * (1 + 0.01 * static_cast<double>(i * 7 % 11) / 11), now);
  return out;
}

TEST(GrowingSteps, FromTheStartAndAgainAfterEachStart) {
  const auto once =
      growing_steps(steps_of(400, [](std::size_t i) { return 1000 + 3 * static_cast<double>(i); }));
  ASSERT_TRUE(once);
  EXPECT_EQ(once->starts, 1u);
  EXPECT_NEAR(once->end_ms / once->begin_ms, 1.9, 0.15);
  const auto twice = growing_steps(
      steps_of(800, [](std::size_t i) { return 1000 + 3 * static_cast<double>(i % 400); }));
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->starts, 2u);
}

TEST(GrowingSteps, NoLeapNoWaveNoPlateau) {
  EXPECT_FALSE(growing_steps(steps_of(400, [](std::size_t i) { return i < 200 ? 1000. : 1900.; })));
  EXPECT_FALSE(
      growing_steps(steps_of(400, [](std::size_t i) { return i / 50 % 2 == 0 ? 1000. : 1500.; })));
  EXPECT_FALSE(growing_steps(steps_of(400, [](std::size_t) { return 1000.; })));
  EXPECT_FALSE(growing_steps(steps_of(40, [](std::size_t i) { return 1000. + 30. * double(i); })));
}

// One of many ranks is the slowest in every step; the one that is so all the time is named.
TEST(NamedSlowest, WhoIsNamedWithinAndNotBefore) {
  std::vector<NamedAt> names;
  for (std::int64_t i = 0; i < 40; ++i) names.push_back({i, Rank(i < 20 ? i % 8 : 5)});
  const auto found = named_slowest(names, 20, 39);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, Rank(5));
  EXPECT_EQ(found->times, 20u);
  EXPECT_FALSE(named_slowest(names, 0, 19));
  for (NamedAt& one : names) one.rank = Rank(5);
  EXPECT_FALSE(named_slowest(names, 20, 39));
}

}  // namespace
}  // namespace culprit::analyze
