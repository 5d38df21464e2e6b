// A signal is one thing that happened, told once: the lines of a storm, the same line in dmesg and
// dmesg -T, the same exception in stderr, error.json and torchrun's report are one signal with
// several pieces of evidence.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/finding.hpp"
#include "rules/pack.hpp"

namespace culprit::analyze {

struct Signal {
  std::string event_class;
  std::string rule;
  Origin origin = Origin::any;
  rules::Meaning meaning;  // resolved: number, printed word, driver branch, folding
  std::optional<Host> host, peer_host;
  std::optional<std::string> gpu, nic, peer;
  std::optional<Rank> rank;
  std::optional<std::int64_t> code, attempt;
  std::optional<Nanoseconds> start, end;  // UTC
  Nanoseconds uncertainty = 0;
  std::uint64_t count = 1;
  std::vector<Nanoseconds> times;  // of single occurrences, as far as they were kept apart
  std::string message;
  std::string code_place;           // file:line of a Python exception
  std::string function, exception;  // TypeError
  bool before_job = false;          // ended well before the job began
  bool reset_since = false;         // its device was reset after it, and nothing dates the job
  bool absent = false;              // of a machine that is not in the last attempt
  bool after_end = false;           // of a machine, when the job had ended
  bool unplaced = false;            // nothing ties the file to the job
  bool unknown_exception = false;   // its text meets no rule
  bool steps_after = false;  // each line stands well before its log's last steps, undated ones

  // May tell of the job's end: of its own story, not over before and not behind it.
  bool takes_part() const {
    return !before_job && !reset_since && !hearsay && !stranger && !absent && !after_end &&
           !unplaced && !steps_after;
  }
  std::string after;  // the Xid that it is a consequence of: class, and title if the line names it
  bool hearsay = false;   // a kernel's, BMC's or scheduler's line inside a program's own output
  bool stranger = false;  // of another program of the machine, not of the job
  Speaker speaker = Speaker::job;
  std::vector<Alert>
      alerts;          // of a class that can be taken back, in order of the log with the most lines
  bool state = false;  // a reading of counters or port states: no moment of its own
  std::vector<Evidence> evidence;
};

// "ran for 600037 milliseconds before timing out" of a watchdog's line: how long it had waited.
std::optional<Nanoseconds> ran_for(std::string_view message);

// What ranks say of a collective that took too long, not before the job. A watchdog that ends its
// process because a connection broke is none, unless others did time out.
std::vector<const Signal*> timeouts(const std::vector<Signal>& signals);

// All signals of the incident except advice, ordered by time, class and place. Xid 45 is folded
// into the Xid it names, or one of the same GPU within seconds.
std::vector<Signal> collect_signals(const Facts& facts, const rules::RulePack& pack);

}  // namespace culprit::analyze
