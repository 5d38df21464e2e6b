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

// Of a class that may be the program's: what differs between the machines that it hit is then the
// machine, which is not at fault.
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

std::optional<FailedAlike> failed_alike(const Case& incident) {
  constexpr std::size_t kLeast = 2;
  // A root that is no program's, or the same rank each time, is another question.
  const auto of_part = [&](const FailureRoot& root) {
    return root.subject.kind != SubjectKind::code &&
           of_program(incident, root.event_class) == nullptr;
  };
  std::map<Subject, FailedAlike> alike;
  std::map<Subject, std::set<std::string>> machines;
  std::size_t failed = 0;
  if (another_cause_before(incident)) return std::nullopt;
  for (const PastFailure& f : incident.history.failures) {
    if (f.ended_well || f.requested || f.roots.empty()) continue;
    ++failed;
    if (std::ranges::any_of(f.roots, of_part)) return std::nullopt;
    for (const FailureRoot& root : f.roots) {
      const bool code = root.subject.kind == SubjectKind::code;
      const Finding* shown = code ? nullptr : of_program(incident, root.event_class);
      if (!code && shown == nullptr) continue;
      const Subject what = code ? root.subject : Subject{SubjectKind::job, root.event_class};
      FailedAlike& one = alike[what];
      one.what = code ? Text(what.id) : inside(shown->title);
      one.shown = shown;
      one.place = code ? root.subject : Subject{SubjectKind::code, "the program"};
      if (one.runs.empty() || one.runs.back() != &f) one.runs.push_back(&f);
      machines[what].insert(root.subject.id);
    }
  }
  for (const auto& [what, on] : machines)
    if (what.kind != SubjectKind::code && on.size() == 1 && failed > 1) return std::nullopt;
  for (const auto& [what, one] : alike)
    if (one.runs.size() >= kLeast && one.runs.size() == failed &&
        (what.kind == SubjectKind::code || machines[what].size() > 1))
      return one;
  return std::nullopt;
}

Answer earlier_runs(Walk& w) {
  const auto alike = failed_alike(w.incident);
  if (!alike || ended_well(w)) return ruled_out(say(Phrase::no_runs_failed_alike));
  if (const Text why = failure(w); !why.empty()) return ruled_out(why);
  Verdict& v = w.verdict;
  v.action = Action::rollback;
  v.precision = alike->shown == nullptr ? Precision::exact : Precision::candidates;
  v.symptom = Symptom::code_data_adjustment;
  const Finding* shown = alike->shown;
  target(v, alike->place,
         shown == nullptr ? confidence::kExceptionPlain : confidence::kProgramUnplaced,
         shown == nullptr ? std::vector<std::string>{} : std::vector{shown->id});
  v.summary = say(Phrase::runs_failed_alike, attempts_of(alike->runs), alike->what);
  next(v, NextKind::plan, say(Phrase::compare_with_this_run));
  return taken(say(Phrase::runs_failed_at, attempts_of(alike->runs), alike->what));
}

}  // namespace culprit::decide
