// The two methods of analyze/call_period that look for a lag at which the log repeats itself: the
// published autocorrelation (GREYHOUND section 4.2) and the label-free match rate. An inner part of
// analyze/call_period.
#pragma once

#include "analyze/pace/call_period.hpp"
#include "model/text.hpp"

namespace culprit::analyze {

struct LagPeriod {
  std::size_t period = 0;  // calls; 0: none found
  std::vector<std::size_t> starts;
  std::optional<Nanoseconds> median;  // over all calls, not only over the starts
  double confidence = 0;
  Text why;
};

// The smallest lag with a biased autocorrelation of operation codes of at least acf_threshold.
LagPeriod published_acf(std::span<const Call> calls, const CallPeriodParams& params);

// Smallest lag at which nearly as many calls as at the best lag equal the one a lag later.
// `symbols` numbers the kinds of calls. Lags are screened by autocorrelation of random signs (their
// product averages to the match rate) and the best ones counted exactly: O(n log n).
LagPeriod match_rate(std::span<const Call> calls, std::span<const std::uint32_t> symbols,
                     const CallPeriodParams& params);

}  // namespace culprit::analyze
