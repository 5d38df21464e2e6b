// Would it have been survived, by hand: eight ranks on four machines, tp 2, dp 4.
#include <gtest/gtest.h>

#include "plan/survival.hpp"

namespace culprit::plan {
namespace {

using Why = SurvivalAnswer::Why;

Shape job(std::int64_t dp = 4) {
  auto shape = make_shape("tp-dp", {{"tp", 2}, {"dp", dp}}, 2);
  EXPECT_TRUE(shape);
  return *shape;
}

SurvivalQuestion lost_machine() {
  SurvivalQuestion q;
  q.cause = FailureCause::machines;
  q.evicted = {Rank(2), Rank(3)};
  q.machines = 1;
  for (const int r : {0, 1, 4, 5, 6, 7}) q.errors.push_back({Rank(r), "ncclRemoteError", true});
  return q;
}

TEST(Survival, AMachineIsLostAndThreeReplicasGoOn) {
  SurvivalQuestion q = lost_machine();
  auto s = would_survive(job(), q);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->spare.survived, Survived::no);
  EXPECT_EQ(s->spare.count, 1u) << "one machine is missing";
  EXPECT_EQ(s->memory.survived, Survived::yes);
  EXPECT_EQ(s->memory.count, 2u) << "both shards have a copy elsewhere";
  EXPECT_EQ(s->replicas.survived, Survived::yes);
  EXPECT_EQ(s->replicas.count, 3u);
  EXPECT_EQ(s->replicas.of, 4u);
  q.spares = 1;
  EXPECT_EQ(would_survive(job(), q)->spare.survived, Survived::yes);
}

// FT-HSDP section 4.2: a healthy rank that raises ncclSystemError quits. One of the machine that is
// lost anyway does not count.
TEST(Survival, AFatalErrorOfAHealthyReplicaEndsIt) {
  SurvivalQuestion q = lost_machine();
  q.errors[3] = {Rank(5), "ncclSystemError", false};
  auto s = would_survive(job(), q);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->replicas.survived, Survived::no);
  EXPECT_EQ(s->replicas.why, Why::fatal_error);
  ASSERT_EQ(s->replicas.fatal.size(), 1u);
  EXPECT_EQ(s->replicas.fatal[0].rank, Rank(5));
  q = lost_machine();
  q.errors.push_back({Rank(2), "CUDA error", false});
  EXPECT_EQ(would_survive(job(), q)->replicas.survived, Survived::yes);
}

// torchft: a lost machine takes replica 1, a fatal error of rank 5 takes replica 2; 0 and 3 go on.
// With four replicas needed, or a fatal error of each, nobody does.
TEST(Survival, TorchftGoesOnWithoutTheReplicasThatQuit) {
  SurvivalQuestion q = lost_machine();
  EXPECT_EQ(would_survive(job(), q)->torchft.why, Why::from_next_step);
  EXPECT_EQ(would_survive(job(), q)->torchft.count, 3u);
  q.errors[3] = {Rank(5), "ncclSystemError", false};
  const SurvivalAnswer two = would_survive(job(), q)->torchft;
  EXPECT_EQ(two.survived, Survived::yes);
  EXPECT_EQ(two.count, 2u);
  EXPECT_EQ(two.of, 4u);
  q.min_replicas = 3;
  EXPECT_EQ(would_survive(job(), q)->torchft.why, Why::too_few_replicas);
  q.min_replicas = 1;
  for (SurvivorError& e : q.errors) e = {e.rank, "CUDA error", false};
  EXPECT_EQ(would_survive(job(), q)->torchft.survived, Survived::no)
      << "what all replicas share is not survived";
}

TEST(Survival, WhatTakesAllReplicasOrHasOneIsNotSurvived) {
  SurvivalQuestion q = lost_machine();
  q.evicted = {Rank(0), Rank(2), Rank(4), Rank(6)};
  q.machines = 4;
  EXPECT_EQ(would_survive(job(), q)->replicas.why, Why::all_replicas);
  EXPECT_EQ(would_survive(job(), q)->memory.survived, Survived::no) << "nobody is left to keep it";
  q.evicted = {Rank(0)};
  EXPECT_EQ(would_survive(job(1), q)->replicas.why, Why::one_replica);
  EXPECT_EQ(would_survive(job(1), q)->torchft.why, Why::one_replica);
}

TEST(Survival, TheProgramFailsAgain) {
  SurvivalQuestion q;
  q.cause = FailureCause::program;
  q.spares = 8;
  const auto s = would_survive(job(), q);
  for (const SurvivalAnswer* a : {&s->spare, &s->memory, &s->replicas, &s->torchft}) {
    EXPECT_EQ(a->survived, Survived::no);
    EXPECT_EQ(a->why, Why::program);
  }
}

TEST(Survival, UnknownStaysUnknown) {
  const auto s = would_survive(job(), {});
  for (const SurvivalAnswer* a : {&s->spare, &s->memory, &s->replicas, &s->torchft})
    EXPECT_EQ(a->survived, Survived::unknown);
  SurvivalQuestion q = lost_machine();
  q.evicted = {Rank(99)};
  EXPECT_FALSE(would_survive(job(), q));
}

}  // namespace
}  // namespace culprit::plan
