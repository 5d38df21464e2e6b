// Earlier runs of a job and what was done after each: the history that a new verdict must not
// repeat.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/enum_name.hpp"
#include "model/finding.hpp"

namespace culprit {

enum class Measure {
  evict,
  repair,
  reboot,
  investigate,
  mitigate,
  checks,
  reattempt,
  rollback,
  replay,
  stop,
  other
};
constexpr std::string_view name(Measure measure) { return enum_name(measure); }

// One thing that was done between two runs of the job.
struct Tried {
  Measure measure = Measure::other;
  std::vector<Host> hosts;     // whom it was done to, as far as that is told; sorted
  std::string to;              // of a rollback: the version or iteration
  std::optional<bool> passed;  // of checks
  bool inferred = false;       // from what differs between the runs; nobody wrote it down
  bool advised = false;        // an earlier verdict asked for it; whether it was done is not known
  bool operator==(const Tried&) const = default;
};

// What a run failed of: enough to know the same failure again.
struct FailureRoot {
  std::optional<Symptom> symptom;  // nullopt = not known
  std::string event_class;         // "" = not known
  Subject subject;
  bool verdict = false;  // an earlier verdict says so; else it is a sign in the logs of that run
};

struct PastFailure {
  std::string name;                       // for people: "attempt 2", "the incident of old.db"
  std::optional<Nanoseconds> start, end;  // UTC
  std::optional<std::int64_t> furthest;   // highest iteration with a loss that is a number
  bool ended_well = false;                // no failure: its exit code was 0
  bool requested = false;                 // the scheduler ended it: no failure either
  std::vector<Host> hosts;                // sorted; empty = not known
  std::vector<FailureRoot> roots;
  std::vector<Tried> answers;  // what was done before the job ran again
};

struct AttemptHistory {
  std::vector<PastFailure> failures;  // in the order of time; without the run in question
  // Of the run in question:
  std::optional<std::int64_t> first, furthest;  // iterations
  std::vector<Host> hosts;                      // sorted; empty = not known
  std::optional<Nanoseconds>
      start;  // UTC, or that of its first step; only when the incident itself holds the runs before
  std::optional<Evidence> first_step;  // where its log begins to tell of steps, behind what the run
                                       // before wrote to the same file
};

}  // namespace culprit
