// Who joins the collectives of a communicator last, from the durations that dumps hold.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/collective.hpp"

namespace culprit::analyze {

// Sum of the time that each rank spends inside the collectives of one communicator: the least sum
// joins last and delays the others (FT-HSDP section 2.3). Also Aegis section 5.2: a rank whose mean
// duration is below 0.8 of its group's computes slowly. Durations are milliseconds.
struct SlowParams {
  double least_share = 0.8;   // Aegis: TD < 0.8 mean
  std::size_t at_least = 20;  // operations that all ranks of the group have in common
};
struct SlowRank {
  GroupId group = GroupId::none;
  Rank rank{};
  double inside_ms = 0, others_ms = 0;  // per operation; others: mean of the group
  double late_ms = 0;  // how much later than the median of its group it launches; clocks permitting
  std::size_t operations = 0;
};
std::vector<SlowRank> slow_ranks(GroupId group, std::span<const HistoryRow> histories,
                                 const SlowParams& params = {});

}  // namespace culprit::analyze
