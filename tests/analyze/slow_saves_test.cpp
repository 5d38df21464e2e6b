// Saves of checkpoints: longer from one save on, or only now and then; and time between steps that
// are as quick as ever.
#include "analyze/pace/slow_saves.hpp"

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

std::vector<Finding> findings(const std::vector<double>& seconds, double step_ms = 0) {
  SaveTimes told{1, {}, 1e3};
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    told.points.values.push_back(seconds[i]);
    told.points.steps.push_back(static_cast<std::int64_t>(100 * i));
  }
  return slow_saves(Facts{}, std::span(&told, 1), step_ms);
}

TEST(SlowSaves, LongerFromOneSaveOnCostsTheDifference) {
  const auto found = findings({40, 44, 42, 640, 702, 655});
  ASSERT_EQ(found.size(), 1u);
  const auto& slow = std::get<SlowFacts>(found.front().facts);
  EXPECT_EQ(slow.first, 300);
  EXPECT_NEAR(slow.factor, 655.0 / 42, 1e-9);
  EXPECT_NEAR(slow.cost_s, 640 + 702 + 655 - 3 * 42.0, 1e-9);
}

TEST(SlowSaves, OneLongSaveIsNoChange) {
  EXPECT_TRUE(findings({40, 44, 640, 42, 41, 43}).empty());
  EXPECT_TRUE(findings({40, 44, 42, 41, 43, 640}).empty());
}

TEST(SlowSaves, WhatTakesSecondsMoreIsNoMatter) {
  EXPECT_TRUE(findings({2, 2.1, 2, 9, 9.5, 9.1}).empty());
}

TEST(SlowSaves, AThirdOfTheTimeIsTooMuchAndATenthIsNot) {
  const auto found = findings({50, 51, 49, 50}, 1'000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(std::get<SlowFacts>(found.front().facts).share, 1.0 / 3, 0.01);
  EXPECT_TRUE(findings({50, 51, 49, 50}, 5'000).empty());
  EXPECT_TRUE(findings({20, 21, 20, 20}, 100).empty()) << "seconds are no matter";
}

TEST(SlowSaves, ThreeSavesAreTooFew) { EXPECT_TRUE(findings({40, 640, 650}).empty()); }

// Steps of one second; behind each `every` the job stands for `pause` seconds.
JobSteps steps_with_pauses(int rows, int every, double pause) {
  JobSteps out;
  Nanoseconds now = 1'700'000'000 * kSecond;
  for (int i = 0; i < rows; ++i) {
    now += kSecond;
    if (i > 0 && i % every == 0) now += static_cast<Nanoseconds>(pause * 1e9);
    out.iteration.push_back(i);
    out.time.push_back(now);
    out.ms.push_back(1000);
    out.loss.push_back(2);
    out.grad_norm.push_back(1);
    out.not_a_number.push_back(0);
    out.attempt.push_back(0);
    out.place.push_back({1, static_cast<std::uint64_t>(i) + 1, 0, 10});
  }
  return out;
}

TEST(BetweenSteps, AThirdOfTheTimeInSavesOfEachFiftySteps) {
  const JobSteps job = steps_with_pauses(600, 50, 25);
  std::vector<JobCheckpoint> saves;
  for (std::size_t i = 49; i < 600; i += 50)
    saves.push_back({CheckpointEvent::saved, static_cast<std::int64_t>(i), i});
  const auto found = between_steps(job, saves);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->pauses, 11u);
  EXPECT_EQ(found->saves, 11u);
  EXPECT_EQ(found->every, 50);
  EXPECT_NEAR(found->pause_ms, 25'000, 1);
  EXPECT_NEAR(found->share, 275.0 / (599 + 275), 1e-9);
  EXPECT_EQ(between_steps(job, {})->saves, 0u);
}

TEST(BetweenSteps, FewOrShortPausesAreNone) {
  EXPECT_FALSE(between_steps(steps_with_pauses(600, 50, 5), {})) << "a tenth of the time";
  EXPECT_FALSE(between_steps(steps_with_pauses(600, 400, 9'000), {})) << "one pause is a restart";
  JobSteps timed = steps_with_pauses(600, 50, 25);
  timed.from_times = true;
  EXPECT_FALSE(between_steps(timed, {})) << "durations that are distances tell of no pause";
}

}  // namespace
}  // namespace culprit::analyze
