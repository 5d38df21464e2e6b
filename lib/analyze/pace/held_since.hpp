// What holds the devices of one machine down to the end of the metrics, where nothing ties the
// clock of the steps to that of the metrics. Inside of this room only.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "analyze/metrics/outlier_search.hpp"

namespace culprit::analyze {

struct HeldSearch {
  std::span<const MetricOutlier> outliers;
  Nanoseconds metrics_start = 0, metrics_end = 0, bin = 0;
  std::optional<Nanoseconds> slow_since;             // by the steps' clock
  std::optional<Nanoseconds> first_step, last_step;  // by the same; empty: not as printed
  std::function<bool(const Host&)> of_job;
};

// All on one machine, or none. Where the steps tell when they became slow, it began at that minute
// as both clocks print it, or some whole hours apart where the clocks cannot be one.
std::vector<const MetricOutlier*> held_since(const HeldSearch& search);

}  // namespace culprit::analyze
