// Memory that programs fill for as long as they run: a leak, or a cache without a bound. It tells
// an end for want of memory that the program makes from one that a limit makes.
#pragma once

#include <span>
#include <functional>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/finding.hpp"
#include "rules/metrics.hpp"

namespace culprit::analyze {

struct MemoryGrowthParams {
  std::size_t least_samples = 8;
  double least_factor = 1.5;  // from the first quarter of a run to its last one
  double least_late = 0.1;    // share of the rise that falls into the last quarter: what is loaded
                              // at the start rises, too, and then stays
  Nanoseconds least_span = 20 * kMinute;  // a checkpoint or an optimizer is loaded in less
  double least_rise = 8;                  // GiB; monitors and sidecars leak, too
  double least_share = 0.8;               // in use at the end, where shares are measured
  std::size_t least_machines = 2;         // of one a foreign process may do it
  double restart = 0.5;                   // a fall by this share of what was risen is another run
  double most = 0.5;  // more than this share of the machines must fill up together
};

// Whether the values rise from one quarter to the next, and in the last as well.
bool keeps_rising(std::span<const double> values, const MemoryGrowthParams& params = {});

// At most one finding, role advice, subject the job; of the metric that shows it on most machines
// (metrics.json, "exhausts"). Values of the last run of each machine, until its samples end.
std::vector<Finding> memory_growth(const Facts& facts, const rules::Catalogue& catalogue,
                                   const std::function<SeriesPoints(SeriesId)>& load,
                                   const MemoryGrowthParams& params = {});

}  // namespace culprit::analyze
