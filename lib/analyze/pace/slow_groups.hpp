// Which process group moves the same bytes more slowly than its like (group_compare.hpp, GREYHOUND
// §4.3), from the durations that the flight recorder or the Inspector gives. A note: all members of
// a group wait for its slowest link or rank.
#pragma once

#include <span>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/metrics/group_compare.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

struct SlowGroupParams {
  std::size_t least = 10;  // operations of one kind that a group must have
  std::size_t least_groups =
      3;                // beside one other only, nobody knows which of the two is the odd one
  double mostly = 0.5;  // share of the kinds of operations in which it is the slow one
  GroupCompareParams compare;
};

// The usual times of one group, a row for each kind of operation and volume. histories: of this
// group, all ranks. An operation lasts as long as for the rank that waits least.
std::vector<GroupTime> group_times(const Facts& facts, GroupId group,
                                   std::span<const HistoryRow> histories,
                                   const SlowGroupParams& params = {});

// times: of all groups. One finding a slow group, "slow_group/NAME"; empty when nobody is, or
// nothing can be compared.
std::vector<Finding> slow_group_findings(const Facts& facts, std::span<const GroupTime> times,
                                         const SlowGroupParams& params = {});

}  // namespace culprit::analyze
