// The statistics of a fleet as a document (schemas/fleet-v1.json), which every format is printed
// from.
#pragma once

#include <vector>
#include <span>
#include <string>

#include "fleet/card.hpp"
#include "fleet/durations.hpp"
#include "fleet/failures.hpp"
#include "fleet/offenders.hpp"
#include "model/fleet.hpp"

namespace culprit::fleet {

struct DocumentParams {
  FailureParams failures;
  OffenderParams offenders;
  BurstParams bursts;
  ReturnParams returns;
  std::size_t machines = 50;     // of lists; all beyond are counted
  const Cards* cards = nullptr;  // whose outcomes are counted
};

std::string document(const FleetRecord& record, const DocumentParams& params = {});

// The rate at which machines fail, for plans: failures of one machine a day.
struct MachineRate {
  std::int64_t failures = 0, machines = 0;
  double days = 0, rate = 0;
  Interval interval;  // 95 %
};
MachineRate machine_rate(const FleetRecord& record, const FailureParams& params = {});

// How much more likely each of these machines is to fail than an average one of the fleet, by its
// own failures (the means of the posterior rates of offenders.hpp): below 1 of
// a machine that the record does not know. Empty without failures over a time.
std::vector<double> relative_rates(const FleetRecord& record, std::span<const std::string> hosts,
                                   const FailureParams& params = {});

}  // namespace culprit::fleet
