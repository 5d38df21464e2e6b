#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/blast_radius.hpp"
#include "support/ranks.hpp"

namespace culprit::plan {
namespace {

// 8 machines of 2 ranks: a machine is a tensor-parallel group.
Shape job() { return *make_shape("tp-dp-pp", {{"tp", 2}, {"dp", 2}, {"pp", 4}}, 2); }

TEST(BlastRadius, OneMachineAndASpare) {
  const Shape s = job();
  const auto backup = plan_backup(s);
  ASSERT_TRUE(backup);
  BlastParams p;
  p.spares = 1;
  const Ranks isolated({5});
  const auto blast = blast_radius(s, *backup, isolated, {}, p);
  ASSERT_TRUE(blast);
  EXPECT_EQ(blast->hosts, (std::vector<std::int32_t>{2}));
  EXPECT_EQ(blast->gpus, 2);
  EXPECT_EQ(blast->going_on, GoingOn::on_spares);
  EXPECT_TRUE(blast->lost_shards.empty());
  EXPECT_DOUBLE_EQ(blast->out_gpu_h, 48);
  EXPECT_DOUBLE_EQ(blast->standstill_gpu_h, 16 * 54 / 3600.0);
  EXPECT_EQ(blast->whole_replicas, 1);
  EXPECT_TRUE(blast->needless.empty());
}

TEST(BlastRadius, WithoutSparesItGoesOnSmaller) {
  const Shape s = job();
  const auto backup = plan_backup(s);
  ASSERT_TRUE(backup);
  // A whole pipeline (dp 0) is isolated for one guilty machine.
  const Ranks isolated({0, 4, 8, 12}), guilty({9});
  const auto blast = blast_radius(s, *backup, isolated, guilty);
  ASSERT_TRUE(blast);
  EXPECT_EQ(blast->going_on, GoingOn::smaller);
  EXPECT_EQ(blast->spares_missing, 4);
  EXPECT_EQ(blast->whole_replicas, 1);
  EXPECT_TRUE(blast->lost_shards.empty());
  EXPECT_EQ(blast->needless, (std::vector<std::int32_t>{0, 2, 6}));
  EXPECT_DOUBLE_EQ(blast->needless_gpu_h, 6 * 24);
  EXPECT_DOUBLE_EQ(blast->standstill_gpu_h, 16 * 300 / 3600.0);
}

TEST(BlastRadius, BothReplicasHit) {
  const Shape s = job();
  const auto backup = plan_backup(s);
  ASSERT_TRUE(backup);
  const Ranks isolated({8, 2});  // each keeps the copy of the other
  const auto blast = blast_radius(s, *backup, isolated, {});
  ASSERT_TRUE(blast);
  EXPECT_EQ(blast->going_on, GoingOn::stopped);
  EXPECT_EQ(blast->lost_shards, Ranks({2, 3, 8, 9}));
  EXPECT_NE(blast->why.find("storage"), std::string::npos);
}

TEST(BlastRadius, NothingIsolatedAndNoCopies) {
  const Shape s = job();
  EXPECT_EQ(blast_radius(s, {}, {}, {})->going_on, GoingOn::untouched);
  const Ranks one({0});
  const auto blast = blast_radius(s, {}, one, {});
  ASSERT_TRUE(blast);
  EXPECT_EQ(blast->lost_shards, Ranks({0, 1}));
}

TEST(BlastRadius, Refuses) {
  const Shape s = job();
  for (const Rank bad : Ranks({-1, 16, std::numeric_limits<std::int64_t>::max()})) {
    EXPECT_FALSE(blast_radius(s, {}, {&bad, 1}, {}));
    EXPECT_FALSE(blast_radius(s, {}, {}, {&bad, 1}));
  }
  BlastParams p;
  p.spares = -1;
  EXPECT_FALSE(blast_radius(s, {}, {}, {}, p));
  p = {};
  p.out_h = std::nan("");
  EXPECT_FALSE(blast_radius(s, {}, {}, {}, p));
  p = {};
  p.wake_s = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(blast_radius(s, {}, {}, {}, p));
  BackupPlan other;
  other.keeper = {1, 0};
  EXPECT_FALSE(blast_radius(s, other, {}, {}));
}

RC_GTEST_PROP(BlastRadius, MoreIsolatedNeverCostsLess, ()) {
  const Shape s = job();
  const auto backup = plan_backup(s);
  Ranks isolated;
  for (const std::int64_t r :
       *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 16)))
    isolated.push_back(Rank(r));
  BlastParams p;
  p.spares = *rc::gen::inRange(0, 5);
  const auto few = blast_radius(s, *backup, isolated, {}, p);
  isolated.push_back(Rank(*rc::gen::inRange<std::int64_t>(0, 16)));
  const auto many = blast_radius(s, *backup, isolated, {}, p);
  RC_ASSERT(few.has_value() && many.has_value());
  RC_ASSERT(many->going_on >= few->going_on);
  RC_ASSERT(many->lost_shards.size() >= few->lost_shards.size());
  RC_ASSERT(many->out_gpu_h >= few->out_gpu_h && many->standstill_gpu_h >= few->standstill_gpu_h);
  RC_ASSERT(many->gpus % 2 == 0);  // whole machines
}

}  // namespace
}  // namespace culprit::plan
