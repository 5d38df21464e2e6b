// Who holds which layers, experts and optimizer shards: against placements reckoned by hand, and
// the two directions against each other.
#include "plan/holders.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/contains.hpp"
#include "model/ranges.hpp"

namespace culprit::plan {
namespace {

Holders holders(std::int64_t tp, std::int64_t cp, std::int64_t dp, std::int64_t pp,
                const ModelSizes& sizes) {
  auto shape = make_shape("tp-cp-dp-pp", {{"tp", tp}, {"cp", cp}, {"dp", dp}, {"pp", pp}}, 8);
  EXPECT_TRUE(shape);
  auto made = Holders::make(*shape, sizes);
  EXPECT_TRUE(made);
  return std::move(made).value();
}

// 16 ranks: tp 2, dp 4, pp 2; ranks 0-7 are stage 0. Expert groups of 2: within stage 0 and tp0 the
// replicas 0 1 2 3 are ranks 0 2 4 6, so {0, 2} and {4, 6}.
TEST(Holders, AsMegatronPlacesThem) {
  const Holders h = holders(2, 1, 4, 2, {.ep = 2, .layers = 8, .experts = 6});
  const Held held = h.held_by(Rank(10));
  EXPECT_EQ(held.layers, (std::vector<Span>{{4, 7}}));
  EXPECT_EQ(held.ep, 1);
  EXPECT_EQ(held.experts, (Span{3, 5}));
  EXPECT_EQ(held.shard, 1);
  EXPECT_EQ(held.shards, 4);
  EXPECT_EQ(to_ranges(held.weights), "8,12,14");
  EXPECT_EQ(to_ranges(held.expert_weights), "14");
  EXPECT_TRUE(held.optimizer.empty()) << "a distributed optimizer has each shard once";

  const auto found = h.holders_of({.layer = 3, .expert = 2, .shard = {}});
  ASSERT_TRUE(found);
  EXPECT_EQ(to_ranges(*found), "0,1,4,5");
  const auto shard = h.holders_of({.layer = 7, .expert = {}, .shard = 3});
  ASSERT_TRUE(shard);
  EXPECT_EQ(to_ranges(*shard), "14,15");
}

// Interleaved: of 16 layers on 2 stages with 2 chunks each, stage 1 has the second and fourth
// quarter.
TEST(Holders, ChunksOfAnInterleavedSchedule) {
  const Holders h = holders(1, 1, 1, 2, {.layers = 16, .virtual_stages = 2});
  EXPECT_EQ(h.held_by(Rank(0)).layers, (std::vector<Span>{{0, 3}, {8, 11}}));
  EXPECT_EQ(h.held_by(Rank(1)).layers, (std::vector<Span>{{4, 7}, {12, 15}}));
}

TEST(Holders, SizesThatDoNotDivideAreRefused) {
  auto shape = make_shape("tp-cp-dp-pp", {{"tp", 1}, {"cp", 1}, {"dp", 4}, {"pp", 2}}, 8);
  ASSERT_TRUE(shape);
  EXPECT_FALSE(Holders::make(*shape, {.layers = 7}));
  EXPECT_FALSE(Holders::make(*shape, {.ep = 3}));
  EXPECT_FALSE(Holders::make(*shape, {.ep = 2, .experts = 5}));
  const Holders h = holders(1, 1, 4, 2, {});
  EXPECT_FALSE(h.holders_of({.layer = 0, .expert = {}, .shard = {}})) << "layers are not given";
  EXPECT_FALSE(h.holders_of({.layer = {}, .expert = {}, .shard = 4}));
}

RC_GTEST_PROP(HoldersProperty, BothDirectionsAgree, ()) {
  const auto small = [] { return *rc::gen::inRange<std::int64_t>(1, 4); };
  const std::int64_t tp = small(), cp = small(), ep = small(), pp = small(), chunks = small();
  const std::int64_t dp = ep * small();
  const ModelSizes sizes{.ep = ep,
                         .layers = pp * chunks * small(),
                         .virtual_stages = chunks,
                         .experts = ep * small(),
                         .sharded = *rc::gen::arbitrary<bool>()};
  const Holders h = holders(tp, cp, dp, pp, sizes);
  const Rank rank{*rc::gen::inRange<std::int64_t>(0, tp * cp * dp * pp)};
  const Held held = h.held_by(rank);
  RC_ASSERT(static_cast<std::int64_t>(held.weights.size()) == cp * dp - 1);
  std::int64_t layers = 0;
  for (const auto& [first, last] : held.layers)
    for (std::int64_t layer = first; layer <= last; ++layer, ++layers) {
      const auto found =
          h.holders_of({.layer = layer, .expert = held.experts->first, .shard = held.shard});
      RC_ASSERT(static_cast<bool>(found));
      RC_ASSERT(contains(*found, rank));
      RC_ASSERT(found->size() <= static_cast<std::size_t>(tp * cp * dp));
    }
  RC_ASSERT(layers * pp == sizes.layers);
  for (const Rank other : held.expert_weights) RC_ASSERT(h.held_by(other).experts == held.experts);
  for (const Rank other : held.optimizer) RC_ASSERT(h.held_by(other).shard == held.shard);
}

}  // namespace
}  // namespace culprit::plan
