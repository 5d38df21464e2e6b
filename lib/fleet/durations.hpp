// How long things take when some have not ended yet, and how many are down at the same time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fleet/failures.hpp"

namespace culprit::fleet {

struct Duration {
  double seconds = 0;
  bool open = false;  // it lasted at least so long
};

// Quantiles of the Kaplan-Meier estimate: what is open counts as long as it was seen. Nothing where
// more is open than the quantile leaves.
struct DurationSummary {
  std::int64_t count = 0, open = 0;
  double mean = 0, longest = 0;  // of those that ended
  std::optional<double> median, p90;
};

DurationSummary summarise(std::vector<Duration> durations);

// Machines that are down at the same time, over the time that was watched.
struct DownSummary {
  double mean = 0;
  std::int64_t median = 0, p99 = 0, most = 0;  // by time
  std::int64_t p99_new = 0, most_new = 0;      // machines that fail within one day
  double mean_new = 0;
  std::int64_t days = 0;
};

// Only failures with a start and an end (or open ones of a system that tells ends) hold a machine
// down.
DownSummary machines_down(const std::vector<Failure>& failures, const Watched& watched);

}  // namespace culprit::fleet
