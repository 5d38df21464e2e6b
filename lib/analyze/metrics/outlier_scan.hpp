// One pass over the samples of a metric, bin by bin: who stood out from whom, and when. What it
// means for the reader is told by outliers.cpp, the only one who needs this.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyze/metrics/crowd.hpp"
#include "analyze/metrics/outliers.hpp"

namespace culprit::analyze {

inline constexpr std::size_t kLeastBins =
    5;  // of T; fewer samples say nothing about "during all of T"
inline constexpr std::size_t kPublishedLeast = 6;  // below, no z exceeds sqrt(n - 1) <= 2

// What was measured of a crowd in one bin.
struct CrowdInstant {
  std::int64_t bin;
  Crowd crowd;
};

// Entities first .. last of the sorted ones; those of roles that have too few are scored against
// all.
struct CrowdGroup {
  std::string name;
  std::size_t first = 0, last = 0;
  bool judged = true;  // false: only measured, for those that fall back to it
  CrowdMeter meter, means;
  std::vector<CrowdInstant> instants;
};

struct OutlierInterval {
  std::size_t entity = 0, group = 0;
  rules::MetricSide side = rules::MetricSide::high;
  enum Kind {
    instant,
    period,
    zero
  } kind = instant;  // what spoke: bin after bin; the mean over T; the metric's own threshold
  std::int64_t first = 0, last = 0;  // bins
  double score = 0;                  // of a period: the highest
};

struct OutlierScan {
  std::vector<const OutlierSeries*> series;  // by role, then name: roles are ranges
  std::vector<CrowdGroup> groups;
  std::vector<std::size_t> group_of;       // of each of the series
  std::vector<OutlierInterval> intervals;  // one entity may have several that say the same
  std::vector<std::uint8_t> judged;        // had enough samples in some T
  std::vector<NotEnough> not_enough;
  bool walked = false;   // false: too little to look at, see not_enough
  bool lasting = false;  // the samples allow to say that something lasted for T
  Nanoseconds bin = 0, start = 0, end = 0;
  int carry = 0;
  std::size_t bins = 0;     // of T
  std::size_t samples = 0;  // finite ones
};

// The difference that counts at least, at this middle of the crowd.
inline double least_effect(const OutlierMetric& metric, double center) {
  return std::max(metric.floor_absolute, metric.floor_relative * std::fabs(center));
}

OutlierScan scan_outliers(std::span<const OutlierSeries> series, const OutlierMetric& metric,
                          const OutlierParams& params);

}  // namespace culprit::analyze
