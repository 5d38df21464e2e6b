// Counters become rates: a counter tells nothing by its height, which counts from the start of a
// driver.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/time.hpp"

namespace culprit::analyze {

struct CounterRate {
  std::vector<Nanoseconds> times;  // of the later of two samples
  std::vector<double> rates;       // per second; finite
  std::size_t resets = 0;  // steps down: the driver or the host started again; no rate there
  std::size_t saturated =
      0;  // samples at the ceiling: it stands still whatever happens, so no rate either
  std::size_t unusable = 0;  // not finite, or not later than the one before
};

// times: ascending. ceiling: where the counter sticks (255 for an 8-bit PMA counter), 0 for
// nowhere. The step that reaches the ceiling counts: something happened, at least so much.
CounterRate counter_rate(std::span<const Nanoseconds> times, std::span<const double> values,
                         double ceiling = 0);

}  // namespace culprit::analyze
