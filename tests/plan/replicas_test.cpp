#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/replicas.hpp"

namespace culprit::plan {
namespace {

TEST(Replicas, FiguresOfThePaper) {
  const auto share = effective_time({});
  ASSERT_TRUE(share);
  EXPECT_NEAR(share->synchronous, 8.0 / 18, 1e-12);                 // 44 %
  EXPECT_NEAR(share->replicated, (8 + 7 * 11.0 / 12) / 18, 1e-12);  // 80 %
  EXPECT_EQ(std::lround(share->synchronous * 100), 44);
  EXPECT_EQ(std::lround(share->replicated * 100), 80);
}

TEST(Replicas, SimulationAgreesWithTheClosedForm) {
  const ReplicaParams cases[] = {{18, 3, 10, 12}, {18, 3, 10, 2}, {18, 0, 10, 4},
                                 {18, 10, 10, 1}, {5, 3, 60, 8},  {1000, 3, 10, 12},
                                 {60, 1, 240, 32}};
  for (const ReplicaParams& p : cases) {
    const auto share = effective_time(p);
    const auto lived = simulate_replicas(p, 200'000, 1);
    ASSERT_TRUE(share);
    ASSERT_TRUE(lived);
    EXPECT_NEAR(*lived, share->replicated_random, 0.005)
        << p.mtbf << ' ' << p.stall << ' ' << p.repair << ' ' << p.replicas;
  }
}

TEST(Replicas, TheSameSeedTheSameAnswer) {
  EXPECT_EQ(*simulate_replicas({}, 1000, 7), *simulate_replicas({}, 1000, 7));
  EXPECT_NE(*simulate_replicas({}, 1000, 7), *simulate_replicas({}, 1000, 8));
}

TEST(Replicas, OneReplicaIsSynchronous) {
  ReplicaParams p;
  p.replicas = 1;
  const auto share = effective_time(p);
  ASSERT_TRUE(share);
  EXPECT_DOUBLE_EQ(share->replicated, share->synchronous);
  EXPECT_DOUBLE_EQ(share->replicated_random, share->synchronous_random);
}

TEST(Replicas, FailuresFasterThanRepairs) {
  const auto share = effective_time({5, 3, 60, 8});
  ASSERT_TRUE(share);
  EXPECT_EQ(share->synchronous, 0);
  EXPECT_EQ(share->replicated, 0);  // even distances never let a replica catch up
  EXPECT_GT(share->replicated_random, 0);
}

TEST(Replicas, Enough) {
  const auto n = enough_replicas({}, 0.01);
  ASSERT_TRUE(n);
  ReplicaParams p;
  const double limit = std::exp(-p.stall / p.mtbf);
  p.replicas = *n;
  EXPECT_GE(effective_time(p)->replicated_random, limit * 0.99);
  p.replicas = *n - 1;
  EXPECT_LT(effective_time(p)->replicated_random, limit * 0.99);
}

TEST(Replicas, Refuses) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const ReplicaParams bad : {ReplicaParams{0, 3, 10, 12},
                                  {-1, 3, 10, 12},
                                  {nan, 3, 10, 12},
                                  {infinity, 3, 10, 12},
                                  {18, -1, 10, 12},
                                  {18, nan, 10, 12},
                                  {18, 3, 2, 12},
                                  {18, 3, nan, 12},
                                  {18, 3, 10, 0},
                                  {18, 3, 10, -1},
                                  {18, 3, 10, std::numeric_limits<std::int64_t>::max()}}) {
    EXPECT_FALSE(effective_time(bad));
    EXPECT_FALSE(simulate_replicas(bad, 10, 1));
    EXPECT_FALSE(enough_replicas(bad));
  }
  EXPECT_FALSE(simulate_replicas({}, 0, 1));
  EXPECT_FALSE(enough_replicas({}, nan));
}

RC_GTEST_PROP(Replicas, MoreReplicasNeverHurt, ()) {
  ReplicaParams p;
  p.mtbf = *rc::gen::inRange(1, 1000);
  p.stall = *rc::gen::inRange(0, 20);
  p.repair = p.stall + *rc::gen::inRange(0, 100);
  p.replicas = *rc::gen::inRange(1, 100);
  const auto few = effective_time(p);
  ++p.replicas;
  const auto many = effective_time(p);
  RC_ASSERT(few.has_value() && many.has_value());
  RC_ASSERT(many->replicated >= few->replicated &&
            many->replicated_random >= few->replicated_random);
  RC_ASSERT(many->replicated_random <= 1 &&
            few->synchronous_random <= few->replicated_random + 1e-12);
}

// FT-HSDP section 6.1, by hand: 60 + 5 + 20 + 100 s are 185 s of stall; with 240 s of restart, 30 s
// of rendezvous, 200 s of NCCL and 90 s of checkpoint the replica is away for 720 s, 12 minutes.
TEST(Replicas, PartsAddUpToStallAndRepair) {
  FailureParts parts;
  EXPECT_NEAR(with_parts({}, parts).stall, 185.0 / 60, 1e-12);
  EXPECT_NEAR(with_parts({}, parts).repair, 185.0 / 60, 1e-12) << "no shorter than the stall";
  parts.restart = 240, parts.rendezvous = 30, parts.init = 200, parts.load = 90;
  EXPECT_NEAR(with_parts({}, parts).repair, 12, 1e-12);
  parts.detection = 10;
  EXPECT_NEAR(with_parts({}, parts).repair, 670.0 / 60, 1e-12);
  EXPECT_EQ(with_parts({.mtbf = 7}, parts).mtbf, 7);
}

}  // namespace
}  // namespace culprit::plan
