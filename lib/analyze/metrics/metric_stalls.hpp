// Hints of a hang in the metrics of machines (stall_hints.hpp, ByteRobust §4.1): RDMA traffic at
// zero, tensor cores nearly idle, on most of them and until the metrics end. A hint: a job that is
// over, or that evaluates on the host, looks the same.
#pragma once

#include <functional>
#include <vector>

#include "analyze/metrics/incident_metrics.hpp"
#include "analyze/metrics/stall_hints.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

struct MetricStallParams {
  StallParams stall;
  double most = 0.5;  // more than this share of the machines must stand: a hang stops all of a
                      // synchronous job
};

// One finding a metric, "stall/METRIC", role advice; none where no such metric is or all of them
// went on.
std::vector<Finding> stall_findings(const Facts& facts, const IncidentMetrics& metrics,
                                    const rules::Catalogue& catalogue,
                                    const std::function<SeriesPoints(SeriesId)>& load,
                                    const MetricStallParams& params = {});

}  // namespace culprit::analyze
