#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/topology.hpp"

namespace culprit::plan {
namespace {

Shape shaped(std::int64_t tp, std::int64_t dp, std::int64_t pp, std::int64_t per_host) {
  auto shape = make_shape("tp-dp-pp", {{"tp", tp}, {"dp", dp}, {"pp", pp}}, per_host);
  EXPECT_TRUE(shape);
  return shape ? *shape : Shape{};
}

TEST(Topology, TwoStragglersShareAStage) {
  // GREYHOUND §7.3: 4 stages of 4 GPUs; two slow ones fit into one stage.
  const Shape s = shaped(1, 4, 4, 1);
  const SlowRank slow[] = {{Rank{0}, 1.6}, {Rank{13}, 1.6}};
  const auto plan = plan_topology(s, slow, {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->least_stages, 1);
  EXPECT_EQ(plan->stages_before, (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(plan->stages_after, (std::vector<std::int64_t>{1}));  // an interior one
  EXPECT_EQ(plan->moves.size(), 4u);
  EXPECT_LT(plan->stage_after, plan->stage_before);
  EXPECT_NEAR(plan->stage_before, (4 + 2 * 0.6 + 7 * 1.6) / 11, 1e-12);
  EXPECT_NEAR(plan->stage_after, (4 + 0.6 + 7 * 1.6) / 11, 1e-12);
  // They are in different replicas, so if replicas meet at the end only, nothing is gained.
  EXPECT_NEAR(plan->replica_after, plan->replica_before, 1e-12);
}

TEST(Topology, SixStragglersNeedTwoStagesOfFour) {
  // §7.3: "one stage contains only four GPUs and six stragglers must occur across two".
  const Shape s = shaped(1, 4, 4, 1);
  const SlowRank slow[] = {{Rank{0}, 2}, {Rank{3}, 2},  {Rank{5}, 2},
                           {Rank{9}, 2}, {Rank{12}, 2}, {Rank{14}, 2}};
  const auto plan = plan_topology(s, slow, {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->least_stages, 2);
  EXPECT_EQ(plan->stages_after, (std::vector<std::int64_t>{1, 2}));
}

TEST(Topology, NoRoomWhenAllAreSlow) {
  const Shape s = shaped(1, 2, 2, 1);
  const SlowRank slow[] = {{Rank{0}, 2}, {Rank{1}, 2}, {Rank{2}, 2}, {Rank{3}, 2}};
  const auto plan = plan_topology(s, slow, {});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->moves.empty());
}

TEST(Topology, EndsAreLeftOnlyForAReason) {
  const Shape s = shaped(1, 2, 4, 1);
  const SlowRank slow[] = {{Rank{0}, 1.5}};
  const auto same = plan_topology(s, slow, {});
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->moves.empty());
  TopologyParams heavy;
  heavy.end_load = 1.2;
  const auto plan = plan_topology(s, slow, {}, heavy);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->stages_after, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(plan->moves.size(), 2u);
}

TEST(Topology, FigureEleven) {
  // Nodes 3 and 4 of 4 form a data-parallel group; exchanging nodes 2 and 3 leaves their link to
  // the pipeline.
  const Shape s = shaped(1, 2, 2, 1);
  const auto plan = plan_topology(s, {}, CongestedLink{2, 3});
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->moves.size(), 2u);
  EXPECT_EQ(plan->moves[0].rank, Rank(1));
  EXPECT_EQ(plan->moves[0].place, Rank(2));
  EXPECT_EQ(plan->moves[1].rank, Rank(2));
  EXPECT_EQ(plan->moves[1].place, Rank(1));
  EXPECT_EQ(plan->link_before->dp_mb, 10'000);
  EXPECT_EQ(plan->link_before->pp_mb, 0);
  EXPECT_EQ(plan->link_after->dp_mb, 0);
  EXPECT_EQ(plan->link_after->pp_mb, 100);
}

TEST(Topology, ALinkWithoutRingsStays) {
  const auto plan = plan_topology(shaped(1, 2, 2, 1), {}, CongestedLink{0, 2});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->moves.empty());
  EXPECT_NE(plan->why.find("no traffic"), std::string::npos);
}

TEST(Topology, AStageIsAsSlowAsItsSlowest) {
  const Shape s = shaped(2, 2, 4, 2);
  for (const bool reversed : {false, true}) {
    // Ranks 4 and 5 are one tensor-parallel group, 6 is another of the same stage.
    std::vector<SlowRank> slow{{Rank{4}, 2}, {Rank{5}, 1.2}, {Rank{6}, 1.1}};
    if (reversed) slow = {{Rank{4}, 1.1}, {Rank{5}, 1.2}, {Rank{6}, 2}};
    const auto plan = plan_topology(s, slow, {});
    ASSERT_TRUE(plan);
    EXPECT_NEAR(plan->stage_before, (5 + 7 * 2.0) / 11, 1e-12) << reversed;
    EXPECT_NEAR(plan->replica_before, (5 + 7 * 2.0) / 11, 1e-12) << reversed;
  }
}

TEST(Topology, NoHostToExchangeWith) {
  const auto plan = plan_topology(shaped(2, 2, 1, 2), {}, CongestedLink{0, 1});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->moves.empty());
  EXPECT_NE(plan->why.find("no exchange"), std::string::npos);
  EXPECT_EQ(plan->link_after->dp_mb, plan->link_before->dp_mb);
}

TEST(Topology, Refuses) {
  const Shape s = shaped(2, 2, 2, 2);
  for (const SlowRank bad : {SlowRank{Rank{-1}, 2},
                             {Rank{8}, 2},
                             {Rank{0}, 0.5},
                             {Rank{0}, std::nan("")},
                             {Rank{0}, std::numeric_limits<double>::infinity()}})
    EXPECT_FALSE(plan_topology(s, {&bad, 1}, {}));
  EXPECT_FALSE(plan_topology(s, {}, CongestedLink{0, 0}));
  EXPECT_FALSE(plan_topology(s, {}, CongestedLink{0, 9}));
  EXPECT_FALSE(plan_topology(s, {}, CongestedLink{-1, 1}));
  const SlowRank one{Rank{0}, 2};
  EXPECT_FALSE(plan_topology(shaped(2, 4, 1, 2), {&one, 1}, {}));
  TopologyParams p;
  p.micro_batches = 0;
  EXPECT_FALSE(plan_topology(s, {&one, 1}, {}, p));
  p = {};
  p.end_load = std::nan("");
  EXPECT_FALSE(plan_topology(s, {&one, 1}, {}, p));
}

RC_GTEST_PROP(Topology, GroupsStayWholeAndTheBoundIsMet, ()) {
  const auto tp = *rc::gen::element<std::int64_t>(1, 2, 4);
  const Shape s =
      shaped(tp, *rc::gen::inRange<std::int64_t>(1, 5), *rc::gen::inRange<std::int64_t>(2, 6), 4);
  std::vector<SlowRank> slow;
  for (const std::int64_t rank :
       *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, s.ranks())))
    slow.push_back({Rank(rank), 1 + static_cast<double>(rank % 3 + 1) / 4});
  const auto plan = plan_topology(s, slow, {});
  RC_ASSERT(plan.has_value());
  std::vector<std::int64_t> place(static_cast<std::size_t>(s.ranks()));
  for (std::int64_t r = 0; r < s.ranks(); ++r) place[static_cast<std::size_t>(r)] = r;
  for (const Move& m : plan->moves) place[index_of(m.rank)] = number_of(m.place);
  RC_ASSERT(std::set<std::int64_t>(place.begin(), place.end()).size() == place.size());
  for (std::int64_t r = 0; r < s.ranks(); ++r)
    RC_ASSERT(place[static_cast<std::size_t>(r)] - place[static_cast<std::size_t>(r / tp * tp)] ==
              r % tp);
  RC_ASSERT(plan->stage_after <= plan->stage_before + 1e-12);
  RC_ASSERT(static_cast<std::int64_t>(plan->stages_after.size()) >= plan->least_stages);
  if (!plan->moves.empty())
    RC_ASSERT(static_cast<std::int64_t>(plan->stages_after.size()) == plan->needed_stages);
}

// With end stages like the others, no arrangement of the groups at all is better: all of them, one
// after another.
RC_GTEST_PROP(Topology, EqualsBruteForce, ()) {
  const auto dp = *rc::gen::inRange<std::int64_t>(1, 4), pp = *rc::gen::inRange<std::int64_t>(2, 4);
  if (dp * pp > 6) return;
  const Shape s = shaped(1, dp, pp, 1);
  std::vector<double> factors;
  std::vector<SlowRank> slow;
  for (std::int64_t r = 0; r < s.ranks(); ++r) {
    factors.push_back(1 + *rc::gen::inRange(0, 4) / 4.0);
    if (factors.back() > 1) slow.push_back({Rank(r), factors.back()});
  }
  const auto plan = plan_topology(s, slow, {});
  RC_ASSERT(plan.has_value());
  std::sort(factors.begin(), factors.end());
  double best = std::numeric_limits<double>::infinity();
  do {
    double sum = 0, most = 0;
    for (std::int64_t p = 0; p < pp; ++p) {
      const double stage =
          *std::max_element(factors.begin() + p * dp, factors.begin() + (p + 1) * dp);
      sum += stage, most = std::max(most, stage);
    }
    best = std::min(best, (sum + 7 * most) / static_cast<double>(pp + 7));
  } while (std::next_permutation(factors.begin(), factors.end()));
  RC_ASSERT(std::abs(plan->stage_after - best) < 1e-12);
}

TEST(Topology, TheSlowestShareAStage) {
  const Shape s = shaped(1, 2, 4, 1);
  const SlowRank slow[] = {{Rank{2}, 2},
                           {Rank{3}, 1.2},
                           {Rank{4}, 1.2},
                           {Rank{5}, 2}};  // both interior stages have one of each
  const auto plan = plan_topology(s, slow, {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->moves.size(), 2u);
  EXPECT_NEAR(plan->stage_after, (2 + 2 + 1.2 + 7 * 2) / 11, 1e-12);
}

}  // namespace
}  // namespace culprit::plan
