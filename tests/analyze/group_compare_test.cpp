#include "analyze/metrics/group_compare.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>

namespace culprit::analyze {
namespace {

using Against = GroupCluster::Against;

std::vector<GroupTime> groups(const std::vector<double>& times, std::optional<double> past = {}) {
  std::vector<GroupTime> out;
  for (std::size_t i = 0; i < times.size(); ++i)
    out.push_back({"dp/" + std::to_string(i), "all_reduce", 1e9, times[i], past});
  return out;
}
std::vector<std::string> slow(const GroupComparison& c) {
  std::vector<std::string> out;
  for (const SlowGroup& s : c.slow) out.push_back(s.name);
  std::sort(out.begin(), out.end());
  return out;
}
using Names = std::vector<std::string>;

struct Case {
  const char* name;
  std::vector<double> times;
  std::optional<double> past;
  Names slow;
  Against against;
};
class GroupCompare : public testing::TestWithParam<Case> {};

TEST_P(GroupCompare, NamesTheSlow) {
  const auto r = compare_groups(groups(GetParam().times, GetParam().past));
  EXPECT_EQ(slow(r), GetParam().slow);
  ASSERT_EQ(r.clusters.size(), 1u);
  EXPECT_EQ(r.clusters[0].against, GetParam().against);
  EXPECT_EQ(r.clusters[0].against == Against::nothing,
            !r.clusters[0].why.empty() && !GetParam().past);
}

INSTANTIATE_TEST_SUITE_P(
    Table, GroupCompare,
    testing::Values(
        Case{"figure_nine", {10, 10.2, 9.9, 14}, {}, {"dp/3"}, Against::median},
        Case{"ten_percent_is_jitter", {10, 10, 10, 11}, {}, {}, Against::median},
        Case{"more_than_ten", {10, 10, 10, 11.1}, {}, {"dp/3"}, Against::median},
        Case{"two_against_the_faster",
             {10, 11.5},
             {},
             {"dp/1"},
             Against::faster},  // of their median it is 7 %
        Case{"two_alike", {10, 10.5}, {}, {}, Against::faster},
        Case{"alone", {10}, {}, {}, Against::nothing},
        Case{"alone_with_past", {14}, 10.0, {"dp/0"}, Against::past},
        Case{"three_of_four_slow", {10, 15, 15.2, 15.1}, {}, {}, Against::nothing},
        Case{"three_of_four_slow_with_past",
             {10, 15, 15.2, 15.1},
             10.0,
             {"dp/1", "dp/2", "dp/3"},
             Against::past},
        Case{"all_slow_looks_well", {15, 15, 15}, 10.0, {}, Against::median},  // nothing among them
                                                                               // tells
        Case{"slow_against_any_reference", {8, 10, 10, 10, 20}, {}, {"dp/4"}, Against::nothing}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(GroupCompare, OnlyEqualVolumesAndKindsAreCompared) {
  std::vector<GroupTime> mixed{{"a", "all_reduce", 1e9, 10, {}},
                               {"b", "all_reduce", 1e9, 10, {}},
                               {"c", "all_reduce", 2e9, 20, {}},
                               {"d", "all_gather", 1e9, 20, {}},
                               {"e", "all_reduce", 1.005e9, 10, {}}};
  const auto r = compare_groups(mixed);
  EXPECT_TRUE(r.slow.empty());
  ASSERT_EQ(r.clusters.size(), 3u);
  EXPECT_EQ(r.clusters[1].groups, (Names{"a", "b", "e"}));
}

TEST(GroupCompare, WhatIsNoTimeIsTold) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto r = compare_groups(
      std::vector<GroupTime>{{"a", "", 1, nan, {}},
                             {"b", "", 0, 1, {}},
                             {"c", "", 1, -1, {}},
                             {"d", "", 1, std::numeric_limits<double>::infinity(), {}}});
  EXPECT_EQ(r.unusable, (Names{"a", "b", "c", "d"}));
  EXPECT_TRUE(r.clusters.empty());
  EXPECT_TRUE(compare_groups({}).clusters.empty());
}

RC_GTEST_PROP(GroupCompareProperties, OrderAndUnitDoNotMatter, ()) {
  auto all = groups(*rc::gen::container<std::vector<double>>(
      rc::gen::map(rc::gen::inRange(80, 200), [](int t) { return t / 10.0; })));
  const auto first = slow(compare_groups(all));
  std::reverse(all.begin(), all.end());
  for (GroupTime& g : all) g.time *= 4;
  RC_ASSERT(slow(compare_groups(all)) == first);
}

}  // namespace
}  // namespace culprit::analyze
