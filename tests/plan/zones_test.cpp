// Replicas within zones, and how far apart the members of groups are.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "plan/zones.hpp"

namespace {

using namespace culprit::plan;

Shape shaped(std::int64_t tp, std::int64_t dp, std::int64_t pp, std::int64_t per_host) {
  auto shape = make_shape("tp-dp-pp", {{"tp", tp}, {"dp", dp}, {"pp", pp}}, per_host);
  EXPECT_TRUE(shape);
  return shape ? *shape : Shape{};
}

const DimensionReach& of(const std::vector<DimensionReach>& all, const std::string& name) {
  return *std::ranges::find(all, name, &DimensionReach::dimension);
}

using Groups = std::array<std::int64_t, kReaches>;

// Two replicas of two stages, a host for each: replica 0 has hosts 0 and 2, replica 1 has 1 and 3.
TEST(Zones, AReplicaGoesIntoOneZone) {
  const Shape shape = shaped(2, 2, 2, 2);
  const std::vector<HostPlace> places{{"", "a", ""}, {"", "b", ""}, {"", "b", ""}, {"", "a", ""}};
  const auto plan = plan_zones(shape, places);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->replicas, 2);
  EXPECT_EQ(plan->crossing_before, 2);
  EXPECT_EQ(plan->crossing_after, 0);
  EXPECT_EQ(plan->order, (std::vector<std::int32_t>{0, 1, 3, 2}));
  EXPECT_EQ(plan->moved, 2u);
  EXPECT_EQ(of(plan->before, "tp").groups, (Groups{4, 0, 0, 0, 0}));
  EXPECT_EQ(of(plan->before, "pp").groups, (Groups{0, 0, 0, 4, 0}));
  EXPECT_EQ(of(plan->after, "pp").groups, (Groups{0, 0, 4, 0, 0}));
  EXPECT_EQ(of(plan->after, "dp").groups, (Groups{0, 0, 0, 4, 0}));
  EXPECT_EQ(of(plan->after, "replica").groups, (Groups{0, 0, 2, 0, 0}));
}

TEST(Zones, RacksAndDataCentersAreLayersOfTheirOwn) {
  const Shape shape = shaped(1, 2, 2, 1);  // replica 0: hosts 0, 2; replica 1: hosts 1, 3
  const auto plan = plan_zones(
      shape, std::vector<HostPlace>{
                 {"r1", "a", "x"}, {"r1", "b", "y"}, {"r1", "a", "x"}, {"r2", "b", "y"}});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->moved, 0u);
  EXPECT_EQ(of(plan->after, "replica").groups, (Groups{0, 1, 1, 0, 0}));
  EXPECT_EQ(of(plan->after, "dp").groups, (Groups{0, 0, 0, 0, 2}));
}

// Zones of three and one hold one replica of two hosts; the other one is split.
TEST(Zones, WhatFitsIntoNoZoneIsSplit) {
  const Shape shape = shaped(1, 2, 2, 1);
  const auto plan = plan_zones(
      shape, std::vector<HostPlace>{{"", "a", ""}, {"", "a", ""}, {"", "b", ""}, {"", "a", ""}});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->crossing_before, 1);
  EXPECT_EQ(plan->crossing_after, 1);
  EXPECT_EQ(plan->moved, 0u);
}

// No plan is worse than what there is, hosts are exchanged and none is lost, and zones of whole
// replicas hold whole replicas.
RC_GTEST_PROP(Zones, NothingGetsWorse, ()) {
  const auto dp = *rc::gen::inRange<std::int64_t>(1, 6), pp = *rc::gen::inRange<std::int64_t>(1, 5);
  const Shape shape = shaped(2, dp, pp, *rc::gen::element<std::int64_t>(1, 2, 4));
  const bool whole = shape.host.empty() ? false : shape.ranks() / 2 == shape.host.back() + 1;
  std::vector<HostPlace> places;
  const auto hosts = static_cast<std::size_t>(shape.ranks());
  for (std::size_t h = 0; h < hosts; ++h)
    places.push_back({"", std::string(1, static_cast<char>('a' + *rc::gen::inRange(0, 3))), ""});
  const bool even = whole && *rc::gen::arbitrary<bool>();
  if (even)  // a zone for each replica, its hosts anywhere
    for (std::size_t h = 0; h < static_cast<std::size_t>(dp * pp); ++h)
      places[(h * 7 + 3) % static_cast<std::size_t>(dp * pp)].zone =
          std::string(1, static_cast<char>('a' + h % static_cast<std::size_t>(dp)));
  const auto plan = plan_zones(shape, places);
  RC_ASSERT(plan.has_value());
  RC_ASSERT(plan->crossing_after <= plan->crossing_before);
  const std::set<std::int32_t> seats(plan->order.begin(), plan->order.end());
  RC_ASSERT(seats.size() == plan->order.size());
  if (even && (dp * pp) % 7 != 0) RC_ASSERT(plan->crossing_after == 0);
}

TEST(Zones, APlaceThatIsMissingIsAnError) {
  const Shape shape = shaped(1, 2, 2, 1);
  EXPECT_FALSE(plan_zones(shape, std::vector<HostPlace>(3, {"", "a", ""})));
  EXPECT_FALSE(plan_zones(shape, std::vector<HostPlace>(4)));
}

}  // namespace
