// One long gap between steps, and what is none.
#include "analyze/pace/step_gap.hpp"

#include <gtest/gtest.h>

#include "support/steps.hpp"

namespace culprit::analyze {
namespace {

// Sixty steps of ten seconds; before each of `behind` it stood for so many minutes.
JobSteps with_gaps(std::initializer_list<std::size_t> behind, double minutes) {
  JobSteps out;
  Nanoseconds now = 1'700'000'000 * kSecond;
  for (std::size_t i = 0; i < 60; ++i) {
    for (const std::size_t one : behind)
      if (one == i) now += static_cast<Nanoseconds>(minutes * 60e9);
    add_step(out, 10'000, now);
  }
  return out;
}

TEST(StepGap, OneBehindWhichStepsAreAsQuickAsBefore) {
  const auto gap = longest_gap(with_gaps({30}, 13), {});
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->row, 30u);
  EXPECT_NEAR(gap->gap_ms, 13 * 60e3, 1);
  EXPECT_NEAR(gap->usual_ms, 10e3, 1);
}

TEST(StepGap, ShortOrManyOrAtASaveOrAtTheEndAreNone) {
  EXPECT_FALSE(longest_gap(with_gaps({}, 0), {}));
  EXPECT_FALSE(longest_gap(with_gaps({30}, 2), {}));
  EXPECT_FALSE(longest_gap(with_gaps({10, 20, 30}, 13), {}));
  EXPECT_FALSE(longest_gap(with_gaps({58}, 13), {}));
  const JobCheckpoint saved{.event = CheckpointEvent::saved, .row = 29};
  EXPECT_FALSE(longest_gap(with_gaps({30}, 13), std::vector{saved}));
  // Steps that are as long are no gap.
  JobSteps slow;
  Nanoseconds now = 1'700'000'000 * kSecond;
  for (int i = 0; i < 60; ++i) add_step(slow, 400'000, now);
  EXPECT_FALSE(longest_gap(slow, {}));
  // Numbers without times.
  JobSteps undated = with_gaps({30}, 13);
  for (Nanoseconds& time : undated.time) time = kNoValue;
  EXPECT_FALSE(longest_gap(undated, {}));
}

}  // namespace
}  // namespace culprit::analyze
