// What hot updates and the lazy window save: by hand, and the closed form against lived traces.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "plan/updates.hpp"

namespace {

using namespace culprit::plan;

constexpr double kHour = 3600;

// Five updates in four days. At 1 h and 5 h: applied by the failure at 6 h. At 30 h: nothing fails
// for 24 h, so it stops the job at 54 h, with that of 50 h. At 60 h: urgent.
TEST(Updates, ByHand) {
  const auto costs =
      replay_updates({{60 * kHour, true}, {1 * kHour}, {5 * kHour}, {30 * kHour}, {50 * kHour}},
                     {6 * kHour, 29 * kHour, 70 * kHour}, 96 * kHour);
  ASSERT_TRUE(costs);
  EXPECT_DOUBLE_EQ(costs->requeue.lost, 5 * 600);
  EXPECT_DOUBLE_EQ(costs->hot.lost, 5 * 54);
  EXPECT_DOUBLE_EQ(costs->lazy.stops, 2);
  EXPECT_DOUBLE_EQ(costs->lazy.lost, 2 * 54);
  EXPECT_DOUBLE_EQ(costs->lazy.wait, (5 + 1 + 24 + 4 + 0) * kHour / 5);
  EXPECT_DOUBLE_EQ(costs->lazy.longest_wait, 24 * kHour);
  EXPECT_DOUBLE_EQ(costs->lazy.pending, 0);
}

TEST(Updates, AnUrgentOneTakesOthersWithIt) {
  const auto costs = replay_updates({{1 * kHour}, {2 * kHour, true}, {3 * kHour}}, {}, 4 * kHour);
  ASSERT_TRUE(costs);
  EXPECT_DOUBLE_EQ(costs->lazy.stops, 1);
  EXPECT_DOUBLE_EQ(costs->lazy.pending, 1);
  EXPECT_DOUBLE_EQ(costs->lazy.longest_wait, 1 * kHour);
}

TEST(Updates, TheClosedFormIsWhatIsLived) {
  for (const auto& [updates, urgent, mtbf] :
       {std::tuple{2.0, 0.0, 8 * kHour}, {0.5, 0.2, 40 * kHour}, {6.0, 1.0, 3 * kHour}}) {
    std::mt19937_64 engine(7);
    constexpr double kDays = 20'000;
    const auto poisson = [&](double a_day) {
      std::exponential_distribution<double> gap(a_day / 86'400);
      std::vector<double> out;
      for (double t = gap(engine); t < kDays * 86'400; t += gap(engine)) out.push_back(t);
      return out;
    };
    std::vector<RequestedUpdate> asked;
    for (const double t : poisson(updates)) asked.push_back({t});
    if (urgent > 0)
      for (const double t : poisson(urgent)) asked.push_back({t, true});
    const auto lived = replay_updates(asked, poisson(86'400 / mtbf), kDays * 86'400);
    const auto expected = expected_updates(updates, urgent, mtbf);
    ASSERT_TRUE(lived && expected);
    EXPECT_NEAR(lived->lazy.stops / kDays, expected->lazy.stops,
                0.03 * expected->lazy.stops + 0.002);
    EXPECT_NEAR(lived->lazy.wait, expected->lazy.wait, 0.03 * expected->lazy.wait);
    EXPECT_LE(lived->lazy.longest_wait, 24 * kHour + 1);
  }
}

// ByteRobust table 7: an update in place is 11.04 times as quick as a requeue.
TEST(Updates, TheRatioOfTheTable) {
  EXPECT_NEAR(UpdateParams{}.requeue / UpdateParams{}.hot, 11.04, 0.11);
  const auto costs = expected_updates(1, 0, 3 * kHour);
  EXPECT_DOUBLE_EQ(costs->requeue.lost, 600);
  EXPECT_LT(costs->lazy.lost, 0.001 * costs->hot.lost) << "every day has failures";
}

TEST(Updates, NonsenseIsRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(replay_updates({{5}}, {}, 5));
  EXPECT_FALSE(replay_updates({{nan}}, {}, 5));
  EXPECT_FALSE(replay_updates({}, {}, nan));
  EXPECT_FALSE(expected_updates(-1, 0, 5));
  EXPECT_FALSE(expected_updates(1, 0, 0));
  EXPECT_FALSE(expected_updates(1, nan, 5));
  EXPECT_FALSE(expected_updates(1, 0, 5, {.hot = -1}));
  EXPECT_TRUE(expected_updates(0, 0, 5));
}

}  // namespace
