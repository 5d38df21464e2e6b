// Saves of checkpoints: longer from one save on, or only now and then.
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

}  // namespace
}  // namespace culprit::analyze
