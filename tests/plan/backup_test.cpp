#include <algorithm>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/backup.hpp"
#include "support/ranks.hpp"

namespace culprit::plan {
namespace {

Shape shaped(const std::string& order, std::int64_t tp, std::int64_t pp, std::int64_t dp,
             std::int64_t per_host) {
  auto shape = make_shape(order, {{"tp", tp}, {"pp", pp}, {"dp", dp}}, per_host);
  EXPECT_TRUE(shape) << order;
  return shape ? *shape : Shape{};
}

// By the definition: the ranks of a group are equal in all other coordinates.
bool share_a_group(const Shape& s, std::int64_t a, std::int64_t b) {
  for (std::size_t d = 0; d < s.dimensions.size(); ++d) {
    bool same = true;
    for (std::size_t e = 0; e < s.dimensions.size(); ++e)
      if (e != d && s.coordinate(Rank(a), e) != s.coordinate(Rank(b), e)) same = false;
    if (same) return true;
  }
  return false;
}

bool same_host(const Shape& s, std::int64_t a, std::int64_t b) {
  return !s.host.empty() &&
         s.host[static_cast<std::size_t>(a)] == s.host[static_cast<std::size_t>(b)];
}

// Can all ranks have a keeper of their own that `good` allows?
bool possible(std::int64_t ranks, const std::function<bool(std::int64_t, std::int64_t)>& good) {
  std::vector<std::int64_t> kept(static_cast<std::size_t>(ranks), -1);
  for (std::int64_t r = 0; r < ranks; ++r) {
    std::vector<char> seen(static_cast<std::size_t>(ranks), 0);
    const std::function<bool(std::int64_t)> place = [&](std::int64_t one) {
      for (std::int64_t k = 0; k < ranks; ++k) {
        if (seen[static_cast<std::size_t>(k)] || !good(one, k)) continue;
        seen[static_cast<std::size_t>(k)] = 1;
        if (kept[static_cast<std::size_t>(k)] < 0 || place(kept[static_cast<std::size_t>(k)])) {
          kept[static_cast<std::size_t>(k)] = one;
          return true;
        }
      }
      return false;
    };
    if (!place(r)) return false;
  }
  return true;
}

// "" when the plan keeps what it promises.
std::string fault(const Shape& s, const BackupPlan& plan) {
  const std::int64_t n = s.ranks();
  if (n == 1) return plan.placement == Placement::none && !plan.why.empty() ? "" : "one rank";
  if (plan.keeper.size() != static_cast<std::size_t>(n)) return "size";
  std::vector<char> used(plan.keeper.size(), 0);
  for (std::int64_t r = 0; r < n; ++r) {
    const std::int64_t k = plan.keeper[static_cast<std::size_t>(r)];
    if (k < 0 || k >= n || k == r || used[static_cast<std::size_t>(k)]) return "no permutation";
    used[static_cast<std::size_t>(k)] = 1;
    if (plan.placement == Placement::cross_group && share_a_group(s, r, k)) return "shares a group";
    const bool told = std::binary_search(plan.same_host.begin(), plan.same_host.end(), Rank(r));
    if (same_host(s, r, k) != told) return "same host not told";
  }
  const bool crossing = possible(
      n, [&](std::int64_t a, std::int64_t b) { return a != b && !share_a_group(s, a, b); });
  if (crossing != (plan.placement == Placement::cross_group)) return "a placement exists";
  const bool elsewhere = possible(n, [&](std::int64_t a, std::int64_t b) {
    return a != b && !same_host(s, a, b) && (!crossing || !share_a_group(s, a, b));
  });
  if (elsewhere != plan.same_host.empty()) return "a placement on other hosts exists";
  return "";
}

TEST(Backup, FigureNine) {
  // Whichever of pp and dp runs faster: the figure does not say.
  for (const char* order : {"tp-dp-pp", "tp-pp-dp"}) {
    const Shape s = shaped(order, 2, 4, 2, 2);
    const auto plan = plan_backup(s);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->keeper[8], 2) << order;
    EXPECT_EQ(plan->keeper[9], 3) << order;
    EXPECT_EQ(plan->keeper[2], 8) << order;
    EXPECT_EQ(plan->keeper[3], 9) << order;
    EXPECT_TRUE(plan->same_host.empty());
    for (const auto& risk : group_risks(s, *plan))
      EXPECT_EQ(risk.losing, 0) << order << ' ' << risk.dimension;
  }
}

TEST(Backup, EveryShapeUpTo64Ranks) {
  const char* orders[] = {"tp-dp-pp", "tp-pp-dp", "dp-tp-pp", "dp-pp-tp", "pp-tp-dp", "pp-dp-tp"};
  int shapes = 0;
  for (std::int64_t tp = 1; tp <= 64; ++tp)
    for (std::int64_t pp = 1; tp * pp <= 64; ++pp)
      for (std::int64_t dp = 1; tp * pp * dp <= 64; ++dp) {
        // Each shape in one order and on one size of host; over all of them every combination comes
        // often.
        const Shape s = shaped(orders[shapes % 6], tp, pp, dp, std::int64_t{1} << (shapes / 6 % 4));
        const auto plan = plan_backup(s);
        ASSERT_TRUE(plan);
        EXPECT_EQ(fault(s, *plan), "") << orders[shapes % 6] << ' ' << tp << ' ' << pp << ' ' << dp
                                       << ' ' << (1 << (shapes / 6 % 4));
        ++shapes;
      }
  EXPECT_GT(shapes, 500);
}

RC_GTEST_PROP(Backup, RanksAnywhere, ()) {
  Shape s = shaped("tp-dp-pp", *rc::gen::inRange<std::int64_t>(1, 4),
                   *rc::gen::inRange<std::int64_t>(1, 4), *rc::gen::inRange<std::int64_t>(1, 4), 1);
  const auto hosts = *rc::gen::inRange(1, 8);
  s.host = *rc::gen::container<std::vector<std::int32_t>>(static_cast<std::size_t>(s.ranks()),
                                                          rc::gen::inRange<std::int32_t>(0, hosts));
  const auto plan = plan_backup(s);
  RC_ASSERT(plan.has_value());
  RC_ASSERT(fault(s, *plan) == "");
}

TEST(Backup, OneGroupGoesToTheNextMachine) {
  const Shape s = shaped("tp-dp-pp", 1, 1, 16, 8);
  const auto plan = plan_backup(s);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->placement, Placement::neighbours);
  EXPECT_EQ(plan->keeper[0], 8);
  EXPECT_EQ(plan->keeper[15], 7);
  EXPECT_TRUE(plan->same_host.empty());
  const auto alone = plan_backup(shaped("tp-dp-pp", 1, 1, 8, 8));
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->same_host.size(), 8u);
  EXPECT_NE(alone->why.find("own machine"), std::string::npos);
}

TEST(Backup, WhatAnEvictionLoses) {
  const Shape s = shaped("tp-dp-pp", 2, 4, 2, 2);
  const auto plan = plan_backup(s);
  ASSERT_TRUE(plan);
  const Ranks one({8});
  Survival after = after_eviction(s, *plan, one);
  EXPECT_EQ(after.evicted, Ranks({8, 9}));  // the machine goes, not the GPU
  EXPECT_EQ(after.from_copy, Ranks({8, 9}));
  EXPECT_TRUE(after.lost.empty());
  const Ranks both({8, 3});
  after = after_eviction(s, *plan, both);
  EXPECT_EQ(after.lost, Ranks({2, 3, 8, 9}));
  EXPECT_TRUE(after_eviction(s, *plan, {}).evicted.empty());
}

TEST(Backup, RisksEqualEvictingEachGroup) {
  for (const std::int64_t per_host : {1, 2, 4, 8}) {
    const Shape s = shaped("tp-pp-dp", 4, 3, 2, per_host);
    const auto plan = plan_backup(s);
    ASSERT_TRUE(plan);
    for (const GroupRisk& risk : group_risks(s, *plan)) {
      std::size_t d = 0;
      while (s.dimensions[d].name != risk.dimension) ++d;
      std::int64_t losing = 0, groups = 0;
      for (std::int64_t r = 0; r < s.ranks(); ++r) {
        if (s.coordinate(Rank(r), d) != 0) continue;
        ++groups;
        std::vector<Rank> group;
        for (std::int64_t o = 0; o < s.ranks(); ++o) {
          bool in = true;
          for (std::size_t e = 0; e < s.dimensions.size(); ++e)
            in = in && (e == d || s.coordinate(Rank(o), e) == s.coordinate(Rank(r), e));
          if (in) group.push_back(Rank(o));
        }
        losing += after_eviction(s, *plan, group).lost.empty() ? 0 : 1;
      }
      EXPECT_EQ(risk.groups, groups);
      EXPECT_EQ(risk.losing, losing) << risk.dimension << ' ' << per_host;
    }
  }
}

TEST(Backup, Refuses) {
  EXPECT_FALSE(make_shape("tp-dp", {{"tp", 2}, {"pp", 2}, {"dp", 2}}, 8));
  EXPECT_FALSE(make_shape("tp-dp-dp-pp", {{"tp", 2}, {"pp", 2}, {"dp", 2}}, 8));
  EXPECT_FALSE(make_shape("tp-xp", {{"tp", 2}}, 8));
  EXPECT_FALSE(make_shape("", {{"tp", 2}}, 8));
  EXPECT_FALSE(make_shape("tp", {{"tp", 0}}, 8));
  EXPECT_FALSE(make_shape("tp", {{"tp", -8}}, 8));
  EXPECT_FALSE(make_shape("tp-pp-dp", {{"tp", 1 << 20}, {"pp", 1 << 20}, {"dp", 1 << 20}}, 8));
  EXPECT_FALSE(make_shape("tp", {{"tp", 2}}, 0));
  Shape s = shaped("tp-dp-pp", 2, 2, 2, 1);
  s.host = {0, 1};
  EXPECT_FALSE(plan_backup(s));
}

}  // namespace
}  // namespace culprit::plan
