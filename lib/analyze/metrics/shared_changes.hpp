// What lies around the machines of a job (storage, network, limits of processors) and was worse for
// just as long as the steps of all ranks took longer: the burst credit that ran out, the links that
// were full, the limit of processors that was reached. GREYHOUND section 3 names the kind (slow
// without a slow machine: congestion, shared storage), and asks of a cause that it begins and ends
// with the slow steps; that is what is asked here.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

struct SharedChangeParams {
  std::size_t least = 3;                    // samples within the slow stretch, and beside it
  double share = 0.8;                       // of the samples within that are on the bad side ...
  double others = 0.2;                      // ... and at most this share of those beside it
  Nanoseconds least_beside = 10 * kMinute;  // before and behind, or as long as it was slow
  double exhausted = 0.02;                  // of the highest level there was
  // Of several measured alike in the slow stretch, at most so many are the ones that are full, and
  // all others are below this share of that.
  double few = 0.25, idle = 0.6;
};

// One finding a metric of rules/tables/shared_metrics.json and slow stretch of the whole job,
// subject storage, switch or setting, hosts none. slow: findings of the analysis of slow steps.
// load: all samples of a series.
std::vector<Finding> shared_changes(const Facts& facts, std::span<const Finding> slow,
                                    const std::function<SeriesPoints(SeriesId)>& load,
                                    const SharedChangeParams& params = {});

}  // namespace culprit::analyze
