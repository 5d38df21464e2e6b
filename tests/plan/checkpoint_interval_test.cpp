// Intervals of checkpoints: by hand, and against every interval there is.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "plan/checkpoint_interval.hpp"

namespace culprit::plan {
namespace {

// An hour between failures, a save of 18 s. By hand: sqrt(2 * 18 * 3600) = 360. Daly:
// 18 / 7200 = 0.0025, 360 (1 + 0.05 / 3 + 0.0025 / 9) - 18 = 348.1.
TEST(CheckpointInterval, YoungAndDalyByHand) {
  const auto c = checkpoint_interval({3600, 18, 0, 0});
  ASSERT_TRUE(c);
  EXPECT_DOUBLE_EQ(c->young, 360);
  EXPECT_NEAR(c->daly, 348.1, 1e-9);
  EXPECT_NEAR(c->best, c->daly, 0.5) << "Daly's approximation is that of the maximum";
  EXPECT_GE(c->best_share, c->daly_share);
  EXPECT_GE(c->daly_share, c->young_share);
}

// One failure after 100 of training, saves of 1: by hand, w = 100 / k - 1 keeps k w = 100 - k, so
// one save as late as can be; of two runs of 100 and 50, w = 49 keeps 98 + 49.
TEST(CheckpointInterval, TheTraceByHand) {
  const CheckpointParams p{1, 1, 10, 0};
  EXPECT_NEAR(*best_of_trace({{100}, true}, p), 99, 1e-9);
  EXPECT_NEAR(trace_share(99, {{100}, true}, p), 99.0 / 110, 1e-12);
  const CheckpointTrace two{{100, 50}, true};
  EXPECT_NEAR(*best_of_trace(two, p), 49, 1e-9);
  EXPECT_NEAR(trace_share(49, two, p), 147.0 / 170, 1e-12);
  // The run that did not fail loses its saves only: 50 holds one of them.
  EXPECT_NEAR(trace_share(49, {{100, 50}, false}, p), (98 + 49) / 160.0, 1e-12);
}

// A run of 10 that failed, and one of 900 that did not: saves of 5 cost the long one more than the
// short one loses.
TEST(CheckpointInterval, ALongRunThatDidNotFailMayNeedNone) {
  const CheckpointTrace trace{{10, 900}, false};
  const CheckpointParams p{100, 5, 0, 0};
  EXPECT_NEAR(*best_of_trace(trace, p), 900, 1e-9);
  EXPECT_NEAR(trace_share(900, trace, p), 900.0 / 910, 1e-12);
}

TEST(CheckpointInterval, RefusesWhatIsNoTime) {
  EXPECT_FALSE(checkpoint_interval({0, 1, 0, 0}));
  EXPECT_FALSE(checkpoint_interval({1, 0, 0, 0}));
  EXPECT_FALSE(checkpoint_interval({1, 1, -1, 0}));
  EXPECT_FALSE(checkpoint_interval({std::nan(""), 1, 0, 0}));
  EXPECT_FALSE(best_of_trace({{1, 2}, true}, {1, 5, 0, 0}));
  EXPECT_FALSE(best_of_trace({{}, true}, {1, 5, 0, 0}));
}

// No interval does better on the trace than the one that is called best.
RC_GTEST_PROP(CheckpointInterval, NoneIsBetterOnTheTrace, ()) {
  CheckpointTrace trace;
  const int runs = *rc::gen::inRange(1, 6);
  for (int i = 0; i < runs; ++i)
    trace.runs.push_back(static_cast<double>(*rc::gen::inRange(1, 1000)));
  trace.last_failed = *rc::gen::arbitrary<bool>();
  const CheckpointParams p{100, *rc::gen::inRange(1, 50) / 10.0, 5, 0};
  const auto best = best_of_trace(trace, p);
  if (!best) return;
  const double share = trace_share(*best, trace, p);
  for (double w = 0.5; w < 1000; w += 0.37) RC_ASSERT(trace_share(w, trace, p) <= share + 1e-9);
}

// The maximum is one.
RC_GTEST_PROP(CheckpointInterval, NoneIsBetterAtRandom, ()) {
  const CheckpointParams p{static_cast<double>(*rc::gen::inRange(10, 100'000)),
                           *rc::gen::inRange(1, 1000) / 10.0,
                           static_cast<double>(*rc::gen::inRange(0, 600)), 0};
  const auto c = checkpoint_interval(p);
  RC_ASSERT(static_cast<bool>(c));
  for (double w = c->best / 64; w < c->best * 64; w *= 1.07)
    RC_ASSERT(checkpoint_share(w, p) <= c->best_share * (1 + 1e-9));
}

}  // namespace
}  // namespace culprit::plan
