// Earlier runs of the job: from the incident itself, and from databases of earlier incidents
// (--history).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/attempt.hpp"
#include "model/result.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

struct PastIncident {
  std::string path;     // of its database
  std::string job;      // "" = not known
  std::string sources;  // what it was read from
  bool from_fleet =
      false;  // one of many in a fleet database: it counts when it fits, and is no mistake when not
  PastFailure failure;
};

// Databases of incidents, or of fleets. Errors (usage): no database, a database of something else,
// one without a verdict, one twice.
Result<std::vector<PastIncident>> load_history(std::span<const std::string> databases);

// Of a fleet only earlier incidents of this job; all that were named one by one.
std::vector<PastIncident> relevant_history(std::span<const PastIncident> past,
                                           const store::Database& db, const analyze::Facts& facts,
                                           std::optional<Nanoseconds> start);

// Errors (usage): an incident of another job, this incident itself, one that began after it.
Result<> check_history(std::span<const PastIncident> past, const store::Database& db,
                       const analyze::Facts& facts, std::optional<Nanoseconds> start);

AttemptHistory history_of(const store::Database& db, const analyze::Facts& facts,
                          std::span<const PastIncident> past);

}  // namespace culprit::diagnose
