#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/microbatch.hpp"

namespace culprit::plan {
namespace {

// All distributions, one after another.
double brute(const std::vector<double>& t, std::size_t group, std::int64_t units) {
  if (group + 1 == t.size()) return static_cast<double>(units) * t[group];
  double best = std::numeric_limits<double>::infinity();
  const auto after = static_cast<std::int64_t>(t.size() - group - 1);
  for (std::int64_t m = 1; m + after <= units; ++m)
    best =
        std::min(best, std::max(static_cast<double>(m) * t[group], brute(t, group + 1, units - m)));
  return best;
}

TEST(Microbatch, OneSlowGroup) {
  const std::vector<double> t{100, 100, 100, 200};
  const auto plan = plan_microbatches(t, 32);
  ASSERT_TRUE(plan);
  EXPECT_DOUBLE_EQ(plan->even_ms, 1600);
  EXPECT_DOUBLE_EQ(plan->best_ms, 1000);
  EXPECT_EQ(std::accumulate(plan->counts.begin(), plan->counts.end(), std::int64_t{0}), 32);
  EXPECT_LE(plan->counts[3], 5);
}

TEST(Microbatch, MultiplesOfTheStages) {
  const std::vector<double> t{100, 150};
  const auto plan = plan_microbatches(t, 24, 4);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->counts,
            (std::vector<std::int64_t>{16, 8}));  // 12 + 12 takes 1800, 16 + 8 takes 1600
  EXPECT_DOUBLE_EQ(plan->best_ms, 1600);
}

TEST(Microbatch, ASlowGroupKeepsOne) {
  const std::vector<double> t{1, 1, 1000};
  const auto plan = plan_microbatches(t, 9);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->counts, (std::vector<std::int64_t>{4, 4, 1}));
  EXPECT_DOUBLE_EQ(plan->best_ms, 1000);
  EXPECT_DOUBLE_EQ(plan->bound_ms, 1000);
}

TEST(Microbatch, Refuses) {
  const std::vector<double> good{1, 2};
  EXPECT_FALSE(plan_microbatches({}, 4));
  EXPECT_FALSE(plan_microbatches(good, 1));
  EXPECT_FALSE(plan_microbatches(good, -4));
  EXPECT_FALSE(plan_microbatches(good, 5, 2));
  EXPECT_FALSE(plan_microbatches(good, 2, 2));
  EXPECT_FALSE(plan_microbatches(good, 4, 0));
  EXPECT_FALSE(plan_microbatches(good, std::numeric_limits<std::int64_t>::max()));
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e300})
    EXPECT_FALSE(plan_microbatches(std::vector<double>{1, bad}, 4)) << bad;
}

TEST(Microbatch, VeryUnequalAndVeryMany) {
  // Twenty orders of magnitude apart: the first answer of the fraction is far from the last.
  std::vector<double> t;
  for (int i = 0; i < 60; ++i) t.push_back(std::ldexp(1e-8, i));
  const auto plan = plan_microbatches(t, 1'000'000'000'000);
  ASSERT_TRUE(plan);
  EXPECT_EQ(std::accumulate(plan->counts.begin(), plan->counts.end(), std::int64_t{0}),
            1'000'000'000'000);
  EXPECT_LE(plan->bound_ms, plan->best_ms);
  // Nobody who has more than the one can hand it to another who would be done with it earlier.
  double latest = 0;
  for (std::size_t i = 0; i < t.size(); ++i)
    if (plan->counts[i] > 1) latest = std::max(latest, static_cast<double>(plan->counts[i]) * t[i]);
  for (std::size_t i = 0; i < t.size(); ++i)
    EXPECT_GE(static_cast<double>(plan->counts[i] + 1) * t[i], latest) << i;
}

RC_GTEST_PROP(Microbatch, EqualsBruteForce, ()) {
  const auto groups = *rc::gen::inRange<std::size_t>(1, 7);
  const auto extra = *rc::gen::inRange<std::int64_t>(0, 8);
  const auto unit = *rc::gen::element<std::int64_t>(1, 2, 4);
  const auto whole = *rc::gen::container<std::vector<int>>(groups, rc::gen::inRange(1, 40));
  std::vector<double> t;
  for (const int one : whole) t.push_back(one / 7.0);
  const std::int64_t units = static_cast<std::int64_t>(groups) + extra;
  const auto plan = plan_microbatches(t, units * unit, unit);
  RC_ASSERT(plan.has_value());
  const double best = brute(t, 0, units) * static_cast<double>(unit);
  RC_ASSERT(std::abs(plan->best_ms - best) < 1e-9 * best);
  RC_ASSERT(plan->bound_ms <= plan->best_ms);
  RC_ASSERT(std::accumulate(plan->counts.begin(), plan->counts.end(), std::int64_t{0}) ==
            units * unit);
  for (const std::int64_t m : plan->counts) RC_ASSERT(m >= unit && m % unit == 0);
}

// The whole greedy, without a start: the fast one must give the same, group by group.
RC_GTEST_PROP(Microbatch, EqualsThePlainGreedy, ()) {
  const auto groups = *rc::gen::inRange<std::size_t>(1, 60);
  const auto extra = *rc::gen::inRange<std::int64_t>(0, 2000);
  std::vector<double> t;
  for (std::size_t i = 0; i < groups; ++i)
    t.push_back(std::exp(*rc::gen::inRange(-800, 800) / 100.0));
  const std::int64_t units = static_cast<std::int64_t>(groups) + extra;
  std::vector<std::int64_t> counts(groups, 1);
  for (std::int64_t left = extra; left > 0; --left) {
    std::size_t least = 0;
    for (std::size_t i = 1; i < groups; ++i)
      if (static_cast<double>(counts[i] + 1) * t[i] <
          static_cast<double>(counts[least] + 1) * t[least])
        least = i;
    ++counts[least];
  }
  const auto plan = plan_microbatches(t, units);
  RC_ASSERT(plan.has_value());
  RC_ASSERT(plan->counts == counts);
}

}  // namespace
}  // namespace culprit::plan
