#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/mitigate.hpp"

namespace culprit::plan {
namespace {

// Algorithm 1 of GREYHOUND, iteration by iteration.
struct Plain {
  double lost_ms = 0, paid_ms = 0;
  std::vector<std::pair<std::string, std::int64_t>> taken;
};
Plain plain(const SlowInterval& interval, const std::vector<Strategy>& ladder, SlowCause cause) {
  Plain out;
  double per = interval.slow_ms - interval.healthy_ms;
  std::size_t next = 0;
  for (std::int64_t i = interval.start; i < interval.end; ++i) {
    while (next < ladder.size() && per > 0 && out.lost_ms >= ladder[next].cost_ms) {
      out.taken.emplace_back(ladder[next].name, i);
      out.paid_ms += ladder[next].cost_ms;
      per = (interval.slow_ms - interval.healthy_ms) * (1 - ladder[next].helps(cause));
      ++next;
    }
    out.lost_ms += per;
  }
  return out;
}

TEST(Mitigate, ClimbsTheLadder) {
  // 1000 ms too long an iteration; S2 after 5 s leaves 300 ms, and nothing more is worth its price
  // in 100 iterations.
  const SlowInterval interval{100, 200, 2000, 1000};
  auto replay = replay_mitigation({&interval, 1}, default_strategies(), SlowCause::computation);
  ASSERT_TRUE(replay);
  ASSERT_EQ(replay->intervals[0].taken.size(), 1u);
  EXPECT_EQ(replay->intervals[0].taken[0].strategy, "micro-batches");
  EXPECT_EQ(replay->intervals[0].taken[0].iteration, 105);
  EXPECT_NEAR(replay->rule_ms, 5'000 + 5'000 + 95 * 300, 1e-6);
  EXPECT_NEAR(replay->best_ms, 5'000 + 100 * 300, 1e-6);
  EXPECT_EQ(replay->intervals[0].best, "micro-batches");
  // Against computation, moving stages does less than micro-batches and costs more.
  EXPECT_EQ(replay->ladder, (std::vector<std::string>{"micro-batches", "restart"}));
  EXPECT_EQ(replay->passed_over, (std::vector<std::string>{"topology"}));
}

TEST(Mitigate, MicroBatchesDoNotHelpANetwork) {
  const SlowInterval interval{0, 10'000, 2000, 1000};
  for (const SlowCause cause : {SlowCause::communication, SlowCause::unknown}) {
    const auto replay = replay_mitigation({&interval, 1}, default_strategies(), cause);
    ASSERT_TRUE(replay);
    EXPECT_EQ(replay->ladder, (std::vector<std::string>{"topology", "restart"}));
    ASSERT_EQ(replay->intervals[0].taken.size(), 2u);
    EXPECT_EQ(replay->intervals[0].taken[0].iteration, 60);
    EXPECT_EQ(replay->intervals[0].taken[1].iteration, 60 + 1080);  // (600 - 60) s at 0.5 s
    EXPECT_EQ(replay->intervals[0].best, "restart");
  }
}

TEST(Mitigate, ShortSlowdownsAreBorne) {
  const SlowInterval interval{0, 4, 2000, 1000};
  const auto replay =
      replay_mitigation({&interval, 1}, default_strategies(), SlowCause::computation);
  ASSERT_TRUE(replay);
  EXPECT_TRUE(replay->intervals[0].taken.empty());
  EXPECT_EQ(replay->rule_ms, replay->ignored_ms);
  EXPECT_EQ(replay->intervals[0].best, "ignore");
}

TEST(Mitigate, NothingIsTakenWhenItIsOver) {
  const std::vector<Strategy> restart{{"restart", 600'000, 1, 1}};
  const SlowInterval exactly{0, 600, 2000, 1000}, one_more{0, 601, 2000, 1000};
  EXPECT_TRUE(
      replay_mitigation({&exactly, 1}, restart, SlowCause::unknown)->intervals[0].taken.empty());
  EXPECT_EQ(
      replay_mitigation({&one_more, 1}, restart, SlowCause::unknown)->intervals[0].taken.size(),
      1u);
}

TEST(Mitigate, OneStrategyIsAtMostTwiceTheBest) {
  const std::vector<Strategy> restart{{"restart", 600'000, 1, 1}};
  double worst = 0;
  for (std::int64_t length = 1; length <= 3000; ++length) {
    const SlowInterval interval{0, length, 2000, 1000};
    const auto replay = replay_mitigation({&interval, 1}, restart, SlowCause::unknown);
    ASSERT_TRUE(replay);
    EXPECT_EQ(replay->bound, 2);
    worst = std::max(worst, replay->rule_ms / replay->best_ms);
    ASSERT_LE(replay->rule_ms, 2 * replay->best_ms + 1000 + 1e-6) << length;
  }
  EXPECT_GT(worst,
            1.99);  // the bound is reached by a slowdown that ends right after the price was paid
}

TEST(Mitigate, Refuses) {
  const std::vector<Strategy> some = default_strategies();
  const double nan = std::nan("");
  for (const SlowInterval bad : {SlowInterval{5, 5, 2, 1},
                                 {5, 4, 2, 1},
                                 {-1, 4, 2, 1},
                                 {0, 4, 1, 2},
                                 {0, 4, nan, 1},
                                 {0, 4, 2, nan},
                                 {0, 4, 2, 0},
                                 {0, 4, std::numeric_limits<double>::infinity(), 1},
                                 {0, std::numeric_limits<std::int64_t>::max(), 2, 1}})
    EXPECT_FALSE(replay_mitigation({&bad, 1}, some, SlowCause::unknown))
        << bad.start << ' ' << bad.end << ' ' << bad.slow_ms << ' ' << bad.healthy_ms;
  for (const Strategy& bad : {Strategy{"x", -1, 0, 0},
                              {"x", nan, 0, 0},
                              {"x", 1, 2, 0},
                              {"x", 1, 0, nan},
                              {"", 1, 0, 0},
                              {"restart", 1, 0, 0}}) {
    std::vector<Strategy> list = some;
    list.push_back(bad);
    EXPECT_FALSE(replay_mitigation({}, list, SlowCause::unknown)) << bad.name;
  }
}

RC_GTEST_PROP(Mitigate, EqualsAlgorithmOneAndKeepsItsBound, ()) {
  std::vector<Strategy> strategies;
  double cost = *rc::gen::inRange(1, 50);
  int helps = *rc::gen::inRange(1, 60);
  const int count = *rc::gen::inRange(0, 4);
  for (int i = 0; i < count; ++i) {
    strategies.push_back({std::string(1, static_cast<char>('a' + i)), cost, helps / 100.0, 0});
    cost += *rc::gen::inRange(1, 300);
    helps = std::min(100, helps + *rc::gen::inRange(1, 30));
  }
  // Eighths add up without rounding, so both ways meet every price at the same iteration.
  const SlowInterval interval{*rc::gen::inRange<std::int64_t>(0, 50),
                              50 + *rc::gen::inRange<std::int64_t>(1, 400),
                              100 + *rc::gen::inRange(0, 80) / 8.0, 100};
  for (Strategy& s : strategies) s.helps_computation = std::floor(s.helps_computation * 8) / 8;
  const auto replay = replay_mitigation({&interval, 1}, strategies, SlowCause::computation);
  RC_ASSERT(replay.has_value());
  std::vector<Strategy> ladder;
  for (const std::string& name : replay->ladder)
    for (const Strategy& s : strategies)
      if (s.name == name) ladder.push_back(s);
  const Plain slow = plain(interval, ladder, SlowCause::computation);
  RC_ASSERT(replay->intervals[0].taken.size() == slow.taken.size());
  for (std::size_t i = 0; i < slow.taken.size(); ++i) {
    RC_ASSERT(replay->intervals[0].taken[i].strategy == slow.taken[i].first);
    RC_ASSERT(replay->intervals[0].taken[i].iteration == slow.taken[i].second);
  }
  RC_ASSERT(std::abs(replay->rule_ms - slow.lost_ms - slow.paid_ms) < 1e-6);
  RC_ASSERT(replay->rule_ms <=
            replay->bound * (replay->best_ms + interval.slow_ms - interval.healthy_ms) + 1e-6);
  for (const Outcome& one : replay->alone) RC_ASSERT(replay->best_ms <= one.lost_ms + 1e-9);
}

}  // namespace
}  // namespace culprit::plan
