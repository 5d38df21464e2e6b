// Runs that failed at one place of the program before this one, which shows no failure: what they
// failed of is what is asked.
#include <algorithm>
#include <map>
#include <set>

#include "decide/ledger.hpp"
#include "decide/walk.hpp"
#include "model/confidence.hpp"

namespace culprit::decide {

namespace {

// What shows that a class may be the program's fault; nullptr: nothing does.
const Finding* of_program(const Case& incident, const std::string& event_class) {
  const auto found = std::ranges::find_if(incident.findings, [&](const Finding& f) {
    return f.event_class == event_class &&
           (f.cause == CauseKind::program || f.cause == CauseKind::device_or_program);
  });
  return found == incident.findings.end() ? nullptr : &*found;
}

// Something of a machine, a service or a setting failed in a run before.
bool another_cause_before(const Case& incident) {
  return std::ranges::any_of(incident.findings, [&](const Finding& f) {
    return f.analysis == Analysis::classify && f.role == Role::root && !f.hearsay &&
           f.severity >= Severity::distributed && f.cause != CauseKind::program &&
           f.cause != CauseKind::device_or_program && f.cause != CauseKind::none &&
           before_this_run(incident.history, f);
  });
}

}  // namespace

std::optional<FailedAlike> failed_alike(const Walk& w) {
  constexpr std::size_t kLeast = 2;
  const Case& incident = w.incident;
  if (ended_well(w) || another_cause_before(incident)) return std::nullopt;
  struct Roots {
    FailedAlike alike;
    std::set<std::string> parts;  // machines or ranks; of a place of the program it alone
  };
  std::map<Subject, Roots> by_fault;
  std::size_t failed = 0;
  for (const PastFailure& f : incident.history.failures) {
    if (f.ended_well || f.requested || f.roots.empty()) continue;
    ++failed;
    for (const FailureRoot& root : f.roots) {
      const bool code = root.subject.kind == SubjectKind::code;
      const Finding* shown = code ? nullptr : of_program(incident, root.event_class);
      if (!code && shown == nullptr) return std::nullopt;  // no fault of a program
      auto& [one, parts] =
          by_fault[code ? root.subject : Subject{SubjectKind::job, root.event_class}];
      one.what = code ? Text(root.subject.id) : inside(shown->title);
      one.shown = shown;
      one.place = code ? root.subject : Subject{SubjectKind::code, "the program"};
      if (one.runs.empty() || one.runs.back() != &f) one.runs.push_back(&f);
      parts.insert(root.subject.id);
    }
  }
  if (failed < kLeast) return std::nullopt;
  // The same part each time may be at fault itself.
  if (std::ranges::any_of(by_fault, [](const auto& one) {
        return one.first.kind != SubjectKind::code && one.second.parts.size() == 1;
      }))
    return std::nullopt;
  for (const auto& [fault, roots] : by_fault)
    if (roots.alike.runs.size() == failed) return roots.alike;
  return std::nullopt;
}

Answer earlier_runs(Walk& w) {
  const auto alike = failed_alike(w);
  if (!alike) return ruled_out(say(Phrase::no_runs_failed_alike));
  if (const Text why = failure(w); !why.empty()) return ruled_out(why);
  Verdict& v = w.verdict;
  act(v, Action::rollback, alike->shown == nullptr ? Precision::exact : Precision::candidates,
      Symptom::code_data_adjustment);
  const Finding* shown = alike->shown;
  target(v, alike->place,
         shown == nullptr ? confidence::kExceptionPlain : confidence::kProgramUnplaced,
         shown == nullptr ? std::vector<std::string>{} : std::vector{shown->id});
  v.summary = say(Phrase::runs_failed_alike, attempts_of(alike->runs), alike->what);
  next(v, NextKind::plan, say(Phrase::compare_with_this_run));
  return taken(say(Phrase::runs_failed_at, attempts_of(alike->runs), alike->what));
}

}  // namespace culprit::decide
