// Metrics of those that left the crowd, drawn against it: small multiples for a report.
#pragma once

#include <vector>

#include "analyze/metrics/outlier_search.hpp"
#include "model/picture.hpp"
#include "rules/metrics.hpp"

namespace culprit::analyze {

// One panel an entity and metric, in the order of the report: what stands out most first.
std::vector<MetricPanel> metric_panels(const OutlierReport& report,
                                       const std::vector<MetricSeries>& metrics,
                                       const rules::Catalogue& catalogue, std::size_t most = 12);

}  // namespace culprit::analyze
