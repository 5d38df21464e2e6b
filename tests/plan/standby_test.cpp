#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/standby.hpp"

namespace culprit::plan {
namespace {

StandbyPlan planned(std::int64_t machines) {
  StandbyParams p;
  p.machines = machines;
  auto plan = plan_standby(p);
  EXPECT_TRUE(plan);
  return plan ? *plan : StandbyPlan{};
}

TEST(Standby, TableFive) {
  const std::pair<std::int64_t, std::int64_t> rows[] = {{128, 2}, {256, 2}, {512, 3}, {1024, 4}};
  for (const auto& [machines, standbys] : rows)
    EXPECT_EQ(planned(machines).standbys, standbys) << machines;
}

TEST(Standby, TheGainIsThatOfThePaper) {
  // ByteRobust §8.2.1 has 10.87 times requeue, 5.36 times reschedule, and 5.19 % above the oracle.
  const StandbyPlan plan = planned(1024);
  const StandbyChoice& chosen = plan.choices[4];
  ASSERT_EQ(chosen.standbys, 4);
  EXPECT_NEAR(plan.requeue_s / chosen.mean_restart_s, 10.87, 0.5);
  EXPECT_NEAR(plan.reschedule_s / chosen.mean_restart_s, 5.36, 0.3);
  EXPECT_NEAR(chosen.mean_restart_s / plan.oracle_s, 1.0519, 0.01);
}

TEST(Standby, MeanRestartByHand) {
  StandbyParams p;
  p.machines = 2;
  p.failure_rate = 0.5;  // 0, 1, 2 failures: 1/4, 1/2, 1/4
  p.wake_s = 10;
  p.reschedule_s = 100;
  const auto plan = plan_standby(p);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->standbys, 2);
  ASSERT_EQ(plan->choices.size(), 3u);
  EXPECT_NEAR(plan->choices[0].mean_restart_s, 100, 1e-9);
  EXPECT_NEAR(plan->choices[1].mean_restart_s, 0.99 * (2.0 / 3 * 10 + 1.0 / 3 * 100) + 0.01 * 100,
              1e-9);
  EXPECT_NEAR(plan->choices[2].mean_restart_s, 10,
              1e-9);  // the switch has two machines only, and both are replaced
  EXPECT_NEAR(plan->choices[1].enough, 0.75, 1e-12);
}

TEST(Standby, Ends) {
  StandbyParams p;
  p.machines = 10;
  p.failure_rate = 0;
  EXPECT_EQ(plan_standby(p)->standbys, 0);
  p.failure_rate = 1;
  EXPECT_EQ(plan_standby(p)->standbys, 10);
  p.machines = 1'000'000;
  p.failure_rate = 0.5;
  const std::int64_t half = plan_standby(p)->standbys;
  EXPECT_NEAR(static_cast<double>(half), 500'000 + 2.326 * 500, 2);  // the normal approximation
  p.failure_rate = 1e-300;
  EXPECT_EQ(plan_standby(p)->standbys, 0);
  p.failure_rate = 1 - 1e-16;
  EXPECT_EQ(plan_standby(p)->standbys, 1'000'000);
}

TEST(Standby, Refuses) {
  StandbyParams p;
  EXPECT_FALSE(plan_standby(p));
  p.machines = 8;
  for (const double bad : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    StandbyParams q = p;
    q.failure_rate = bad;
    EXPECT_FALSE(plan_standby(q)) << bad;
    q = p;
    q.percentile = bad;
    EXPECT_FALSE(plan_standby(q)) << bad;
    q = p;
    q.catastrophe = bad;
    EXPECT_FALSE(plan_standby(q)) << bad;
  }
  p.wake_s = -1;
  EXPECT_FALSE(plan_standby(p));
}

RC_GTEST_PROP(Binomial, EqualsTheDefinition, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(0, 200);
  const double p = *rc::gen::inRange(1, 999) / 1000.0;
  const Binomial b = binomial(n, p);
  double sum = 0;
  for (std::int64_t k = 0; k <= n; ++k) {
    const auto dn = static_cast<double>(n), dk = static_cast<double>(k);
    sum += std::exp(std::lgamma(dn + 1) - std::lgamma(dk + 1) - std::lgamma(dn - dk + 1) +
                    dk * std::log(p) + (dn - dk) * std::log1p(-p));
    RC_ASSERT(std::abs(b.cumulative(k) - sum) < 1e-9);
  }
  RC_ASSERT(std::abs(std::accumulate(b.mass.begin(), b.mass.end(), 0.0) - 1) < 1e-12);
}

RC_GTEST_PROP(Standby, MoreStandbysNeverRestartLater, ()) {
  StandbyParams p;
  p.machines = *rc::gen::inRange<std::int64_t>(1, 5000);
  p.failure_rate = *rc::gen::inRange(0, 100) / 2000.0;
  const auto plan = plan_standby(p);
  RC_ASSERT(plan.has_value());
  for (std::size_t i = 1; i < plan->choices.size(); ++i)
    RC_ASSERT(plan->choices[i].mean_restart_s <= plan->choices[i - 1].mean_restart_s + 1e-9);
}

}  // namespace
}  // namespace culprit::plan
