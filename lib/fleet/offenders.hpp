// Machines that fail more often than chance explains, and classes of failures that come in batches.
//
// Each machine's failures are Poisson with a rate of its own, drawn from a gamma distribution that
// is fitted to all machines (empirical Bayes): a machine with two failures in a fleet where most
// have one is drawn to the mean, one with eight is not. Beside the rate stands what chance alone
// would do: the tail of the Poisson distribution with the fleet's mean, with the share of false
// discoveries held at 5 % (Benjamini & Hochberg 1995).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "fleet/failures.hpp"
#include "fleet/intervals.hpp"

namespace culprit::fleet {

struct OffenderParams {
  double false_discoveries = 0.05;
  std::int64_t least = 2;  // one failure is never a repeat
};

struct Offender {
  std::string host;
  std::int64_t count = 0;
  double rate = 0;       // a day: mean of the posterior
  Interval interval;     // its 95 %
  double twice = 0;      // probability that its rate is above twice the fleet's mean
  double by_chance = 0;  // machines of the fleet that would have as many by chance
  bool beyond_chance = false;
};

struct CountRow {
  std::int64_t count = 0;     // failures of a machine
  std::int64_t machines = 0;  // that have so many
  double expected = 0;        // by chance: Poisson with the fleet's mean
};

struct OffenderReport {
  double mean = 0;        // failures of a machine, all of the time
  double dispersion = 1;  // variance / mean: 1 when all machines are alike
  double shape = 0,
         rate_days = 0;            // the fitted gamma distribution of daily rates; shape 0: no data
  std::vector<Offender> machines;  // with `least` failures and more, worst first
  std::vector<CountRow> counts;    // from 0 up to the highest
  std::int64_t beyond = 0;         // machines beyond chance ...
  double expected_beyond = 0;      // ... and how many of those chance alone would give
};

// machines: of the fleet, at least as many as there are names in `counts`.
OffenderReport offenders(const std::map<std::string, std::int64_t>& counts, std::int64_t machines,
                         double days, const OffenderParams& params = {});

struct BurstParams {
  double bin_days = 7;
  double level = 0.01;  // of a false alarm, over all bins and classes together
  std::int64_t least = 3;
};

// A week in which a class failed more often than in all weeks before it (Aegis 8: contaminated
// optics).
struct Burst {
  std::string component;
  Nanoseconds from = 0, to = 0;
  std::int64_t count = 0, hosts = 0;
  double expected = 0;  // by the class' own past
  double chance = 0;    // of a false alarm, corrected for the number of looks
};

std::vector<Burst> bursts(std::span<const Failure> failures, const Watched& watched,
                          const BurstParams& params = {});

// A value that machines share (a switch, a firmware): do more of those machines fail?
struct GroupRow {
  std::string name, value;
  std::int64_t hosts = 0, failing = 0, failures = 0;
  double expected = 0;  // failing machines, were all values alike
  double chance = 0;    // corrected for the number of values
};

// host_values: name -> machine -> value. Names with one value only compare nothing. Worst first.
std::vector<GroupRow> groups(
    const std::map<std::string, std::map<std::string, std::string>>& host_values,
    const std::map<std::string, std::int64_t>& counts);

// Reboot or repair (Aegis appendix B): a machine that came back three times and fails again is sent
// for repair.
struct ReturnParams {
  std::int64_t reboots = 3;
  Nanoseconds within =
      30LL * 86400 * kSecond;  // of the failure before: later ones are another story
};

struct Returning {
  std::string host, component;
  std::int64_t failures = 0;  // in a row, of one component
  Nanoseconds first = 0, last = 0;
  bool repair = false;  // otherwise a reboot with tests is still in order
};

// Rows of at least two failures that are not ended by a recorded repair, by failures.
std::vector<Returning> returning(std::span<const Failure> failures,
                                 std::span<const FleetEvent> events,
                                 const ReturnParams& params = {});

}  // namespace culprit::fleet
