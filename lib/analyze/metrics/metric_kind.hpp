// Whether a metric was printed as a counter or as its rate. The same name stands for both: `ecn` of
// one exporter is what a driver has counted, of another packets a second (Aegis figure 8).
#pragma once

#include <optional>

#include "model/metric.hpp"
#include "rules/metrics.hpp"

namespace culprit::analyze {

// What the catalogue knows of the metric, with its kind by the samples where these leave no doubt:
// a counter of congestion that falls in a quarter of its steps is a rate, a rate that rises again
// and again and never falls is a counter. A counter falls only when somebody starts again. Counters
// of loss are left alone: all who use a bad path count it, and a rate does not say whose fault it
// is.
std::optional<rules::MetricMatch> match_by_samples(const MetricSeries& metric,
                                                   const rules::Catalogue& catalogue);

}  // namespace culprit::analyze
