#include "analyze/metrics/counter_rate.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::analyze {

CounterRate counter_rate(std::span<const Nanoseconds> times, std::span<const double> values,
                         double ceiling) {
  CounterRate out;
  const std::size_t n = std::min(times.size(), values.size());
  out.times.reserve(n);
  out.rates.reserve(n);
  bool have = false;
  Nanoseconds before = 0;
  double last = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(values[i]) || (have && times[i] <= before)) {
      ++out.unusable;
      continue;
    }
    const bool full = ceiling > 0 && values[i] >= ceiling;
    if (full) ++out.saturated;
    if (have) {
      const double seconds = (static_cast<double>(times[i]) - static_cast<double>(before)) / 1e9,
                   step = values[i] - last;
      if (step < 0)
        ++out.resets;
      else if (seconds > 0 && std::isfinite(step / seconds) && !(ceiling > 0 && last >= ceiling)) {
        out.times.push_back(times[i]);
        out.rates.push_back(step / seconds);
      }
    }
    have = true;
    before = times[i];
    last = values[i];
  }
  return out;
}

}  // namespace culprit::analyze
