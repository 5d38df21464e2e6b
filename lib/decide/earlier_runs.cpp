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

}  // namespace

std::optional<FailedAlike> failed_alike(const Case& incident) {
  constexpr std::size_t kLeast = 2;
  std::map<Subject, FailedAlike> alike;
  std::map<Subject, std::set<std::string>> machines;
  std::size_t failed = 0;
  for (const PastFailure& f : incident.history.failures) {
    if (f.ended_well || f.requested || f.roots.empty()) continue;
    ++failed;
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
  for (const auto& [what, one] : alike)
    if (one.runs.size() >= kLeast && one.runs.size() == failed &&
        (what.kind == SubjectKind::code || machines[what].size() > 1))
      return one;
  return std::nullopt;
}

Answer earlier_runs(Walk& w) {
  const auto alike = failed_alike(w.incident);
  if (!alike) return ruled_out(say(Phrase::no_runs_failed_alike));
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
