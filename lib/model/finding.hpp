// What an analysis concludes, and what the decision makes of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/enum_name.hpp"
#include "model/finding_facts.hpp"
#include "model/rows.hpp"
#include "model/terms.hpp"
#include "model/text.hpp"
#include "model/trait.hpp"

namespace culprit {

enum class Outcome { fired, ruled_out, not_enough_evidence };
constexpr std::string_view name(Outcome outcome) { return enum_name(outcome); }

// A piece of the bundle that a claim rests on. excerpt is text that stands on that line; reading is
// what the reader of its format found there, where the bytes alone tell a person little: "step 150,
// compute_ms" of a number, "all_reduce 41 of default_pg, started" of an entry in a binary dump.
struct Evidence {
  MemberId member = 0;
  std::string path;
  std::uint64_t line = 0;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  std::string excerpt = {};
  std::string reading = {};
};

struct Subject {
  SubjectKind kind = SubjectKind::job;
  std::string
      id;  // node-07 · node-07/gpu 0000:3b:00 · node-07/mlx5_2 · 12 · model/attention.py:212
  auto operator<=>(const Subject&) const = default;
};
// What the job's machines are joined by, where nothing in it stands out.
inline const Subject kNetworkOfJob{SubjectKind::network_switch, "network of the job"};

// From the line that reports a trouble to the one that takes it back; no end: still open. Without
// times nullopt.
struct Alert {
  std::optional<Nanoseconds> begin, end;  // UTC
  std::optional<Nanoseconds>
      begin_boot;  // on the machine's own boot clock: distances hold although the date is unknown
  bool closed = false;
};

struct Finding {
  std::string id;  // analysis/what/where, the same in every run
  Analysis analysis = Analysis::none;
  Outcome outcome = Outcome::fired;
  Subject subject;
  std::string event_class;
  Symptom symptom = Symptom::none;
  Severity severity = Severity::info;
  Role role = Role::advice;
  Scope scope = Scope::host_local;
  CauseKind cause = CauseKind::none;  // what it would be if it came first
  Origin origin = Origin::any;        // who prints it
  double confidence = 0;              // 0 to 1
  Text why;                           // the reason of the confidence, a sentence
  Text title;                         // a noun phrase
  Text advice;
  std::string remedy;                     // of the rule, a short word for machines; decides nothing
  std::optional<Nanoseconds> start, end;  // UTC
  Nanoseconds uncertainty = 0;
  std::uint64_t count = 0;
  FindingFacts facts;
  std::vector<std::pair<std::string, std::string>> figures;  // for people alone: name, value
  std::vector<Evidence> evidence;

  // Not stored: what the decision orders and judges by.
  Traits traits;  // of the rule
  std::optional<Host> host;
  std::vector<Host> hosts;  // all hosts it was seen on, sorted
  std::vector<Rank> ranks;  // all ranks, sorted
  std::vector<std::string> leads_to;
  std::vector<Alert> alerts;  // of a class that can be taken back, in order
  bool hearsay = false;       // a program's output quotes it: it accuses nobody
  bool transient = false;     // taken back each time, and below its tolerance

  bool fired() const { return outcome == Outcome::fired; }
  bool fired(Analysis by) const { return analysis == by && fired(); }
};

// Facts and figures of a finding as words, by name: what reports, database and `show` print of
// them.
std::map<std::string, std::string> numbers_of(const Finding& finding, Wording words);
// Facts of a stored finding, from its numbers; of slow stretches only, which plans ask a database
// for.
FindingFacts facts_named(Analysis analysis, const std::map<std::string, std::string>& numbers);

struct Target {
  Subject subject;
  double confidence = 0;
  std::vector<std::string> because;  // finding ids
};

struct Step {
  StepId step{};
  StepOutcome outcome{};
  Text why;
};

struct NextStep {
  NextKind kind{};
  Text text;
  Source source = Source::none;  // of what is to be collected, where it would settle the verdict
  Subject of = {};               // whose
};

struct ChainLink {
  std::optional<Nanoseconds> time;
  Text who;
  Text what;
  std::string finding;
};

// What speaks for a hypothesis, or against it, in decibans: 10 log10 of how much more often it is
// seen where the hypothesis is true than where the cause is unknown.
struct Weight {
  int decibans = 0;
  Text reason;
};

// How far ahead of the next hypothesis the verdict is.
enum class Sureness : std::uint8_t { open, possible, likely, certain };
constexpr std::string_view name(Sureness sureness) { return enum_name(sureness); }

// One of the hypotheses that were compared.
struct Candidate {
  StepId kind{};
  std::string name;  // of the kind, as people call it
  Action action = Action::none;
  std::vector<Target> targets;
  int score = 0;  // decibans against "cause unknown"
  Text what;      // one sentence
  Text against;   // the best reason against it; of the verdict's own: empty
  Text tells;     // what would tell it from the verdict's own
  std::vector<Weight> weights;
};

// Of verdicts with that word on incidents made by others, at first sight: how many were right.
struct Counted {
  int right = 0, of = 0;
};

struct Verdict {
  Action action = Action::none;
  Sureness sureness = Sureness::open;
  std::optional<Counted> counted;       // of that word; nullopt: too few to say
  std::vector<Candidate> differential;  // best first; the first is the verdict's own
  std::vector<Target> targets;
  Precision precision = Precision::exact;
  Symptom symptom = Symptom::none;
  std::optional<Nanoseconds> start, end;
  Text summary;
  Text request;  // what the summary ends with; the history may withdraw it
  std::vector<Step> steps;
  std::vector<NextStep> next;
  std::vector<ChainLink> chain;  // cause to consequence
};

}  // namespace culprit
