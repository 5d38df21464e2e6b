// What is remembered of many incidents: one struct per table of schemas/fleet.sql, with the same
// names in the same order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "model/time.hpp"

namespace culprit {

// A machine or a part of it that a verdict names.
struct FleetTarget {
  std::string kind, id;
  std::string host;  // the machine it is or is part of; "" where none is known
  double confidence = 0;
  bool blamed = false;  // the verdict acts on it; otherwise it is a candidate
};

// A version, serial number or place of a machine at the time of the incident.
struct FleetAttribute {
  std::string host;
  std::string device;       // "" = the machine itself
  std::string name, value;  // "switch" "tor-3"; names of settings as config_item has them
};

// Where the time of the job went, as the report's time budget has it.
struct FleetTime {
  std::string part;
  double seconds = 0;
};

struct FleetIncident {
  std::string id;                          // digest of the bundle's contents
  std::string name, source;                // of the bundle; where it lay
  std::string job, job_id;                 // "" = not known
  std::optional<Nanoseconds> start, end;   // UTC; of the incident
  std::optional<double> ran_s;             // from the start of the job (or attempt) to the incident
  std::string symptom;                     // ByteRobust table 1's names; None when nothing failed
  std::string action, precision, restart;  // of the verdict
  std::string event_class, component;      // of the finding that the verdict rests on; "" = none
  double confidence = 0;                   // of the first target
  std::int64_t gpus = 0;                   // ranks of the job; 0 = not known
  bool complete = true;                    // the whole bundle was read
  std::string summary, report;             // the verdict's sentence; path of the report, "" = none
  std::vector<std::string> hosts;          // all machines of the incident, sorted
  std::vector<FleetTarget> targets;
  std::vector<FleetAttribute> attributes;
  std::vector<FleetTime> time;
};

// Something that another system recorded of a machine: an interval, open while `end` is missing.
struct FleetEvent {
  std::string id;      // digest of what it says, so that a second import adds nothing
  std::string system;  // who recorded it
  std::string kind;    // failure, or what was done: reboot, repair
  std::string host, device;
  std::string level, event_class, description;
  std::optional<Nanoseconds> start, end;  // UTC
  std::string place;                      // file:line it was read from

  auto key() const { return std::tie(start, host, device, event_class, description, id); }
};

// What a system watched: how many machines, and from when to when.
struct FleetScope {
  std::string system;  // "" = all of the fleet
  std::optional<Nanoseconds> from, to;
  std::optional<std::int64_t> hosts, gpus_per_host;
};

struct FleetRecord {
  std::vector<FleetIncident> incidents;  // by id
  std::vector<FleetEvent> events;        // by key()
  std::vector<FleetScope> scopes;        // by system
};

}  // namespace culprit
