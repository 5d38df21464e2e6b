// What counts: every incident that is a failure, and every failure of a machine, whoever recorded
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/fleet.hpp"

namespace culprit::fleet {

// A failure of one machine: a verdict that acts on it, or an episode of events of another system.
struct Failure {
  std::string host, device;
  std::string component;  // component_group()
  std::string what;       // class or symptom
  std::string system;     // "" = a verdict of ours
  std::optional<Nanoseconds> start, end;
  std::size_t events = 1;  // of the episode
};

struct FailureParams {
  std::optional<Nanoseconds> from, to;  // [from, to)
  std::optional<std::int64_t> hosts, gpus_per_host;
  // Events of one class on one machine belong to one episode when the next begins within this time
  // after the last ended: a link that flaps ten times in an hour is one failure. Verdicts are never
  // joined, each stopped a job.
  Nanoseconds episode_gap = 24 * 3600 * kSecond;
};

struct Watched {
  std::optional<Nanoseconds> from, to;
  double days = 0;                   // 0: no two times
  std::int64_t hosts = 0, gpus = 0;  // gpus 0: not known
  std::vector<std::string> notes;    // what was taken for granted
};

// Something went wrong: the verdict says what, or asks somebody to look for it. Of an incident that
// is `undecided`, not even that is known: its bundle does not tell how the job went.
bool failed(const FleetIncident& incident);
bool undecided(const FleetIncident& incident);
std::string component_of(const FleetIncident& incident);

// Within the time asked for, when both ends of that are given or the row has no time.
bool inside(const std::optional<Nanoseconds>& start, const FailureParams& params);

Watched watched(const FleetRecord& record, const FailureParams& params);

// By start, then host. A failure that a verdict and another system report of one machine at one
// time is one failure.
std::vector<Failure> failures(const FleetRecord& record, const FailureParams& params);

}  // namespace culprit::fleet
