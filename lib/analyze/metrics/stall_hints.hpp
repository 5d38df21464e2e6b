// Hints of a hang in a metric: RDMA traffic at zero for ten minutes, tensor cores (nearly) idle
// (ByteRobust section 4.1, table 3; culprit-algorithms(7)). A hint, no verdict: an evaluation on
// the host looks the same for a while.
#pragma once

#include <span>
#include <vector>

#include "model/time.hpp"

namespace culprit::analyze {

struct MetricPoint {
  Nanoseconds time = 0;
  double value = 0;  // a rate, not a counter that grows
};

struct StallParams {
  Nanoseconds lasts =
      600 * kSecond;  // ten minutes: the default time-out of PyTorch (ByteRobust table 3)
  double zero = 0;    // at most this is zero
  // Low: at most this share of the series' own usual level (the median of what is above zero).
  double low = 0.1;
  double gap = 5;  // no sample for so many usual distances: nothing is known in between
};

struct Stall {
  Nanoseconds begin = 0, end = 0;  // first and last sample of it
  bool zero = false;               // all of it zero; else low
  bool open = false;               // lasts until the end of the series
  double level = 0, usual = 0;     // its highest value; the usual one
};

// Samples in any order; NaN is no sample. A series that was never above zero has no stall: nothing
// ever ran there.
std::vector<Stall> stall_hints(std::span<const MetricPoint> series, const StallParams& params = {});

}  // namespace culprit::analyze
