// Settings that differ between hosts, where connections broke as they were set up.
#include <algorithm>
#include <set>

#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::decide {

Answer config_check(Walk& w) {
  std::vector<const Finding*> from;
  std::size_t others = 0;
  bool compared = false;
  for (const Finding& f : w.incident.findings) {
    if (f.analysis != Analysis::drift) continue;
    compared = compared || f.outcome != Outcome::not_enough_evidence;
    if (f.outcome != Outcome::fired) continue;
    if ((f.severity == Severity::warning || f.severity == Severity::critical) &&
        explains_communication(f))
      from.push_back(&f);
    else
      ++others;
  }
  if (!compared) return not_enough(say(Phrase::settings_of_one_host));
  if (from.empty())
    return ruled_out(others == 0   ? say(Phrase::settings_equal)
                     : others == 1 ? say(Phrase::setting_differs_harmlessly)
                                   : say(Phrase::settings_differ_harmlessly, others));
  // Time-outs alone are a hang: a rank that stopped explains them better.
  const Finding* broke = nullptr;
  for (const Finding& f : w.incident.findings)
    if (broke == nullptr && f.analysis == Analysis::classify && f.outcome == Outcome::fired &&
        f.role == Role::cascade && f.symptom != Symptom::job_hang &&
        f.severity >= Severity::distributed)
      broke = &f;
  if (broke == nullptr) return ruled_out(say(Phrase::settings_differ_nothing_broke));
  sort_rows(from, [](const Finding* a, const Finding* b) { return a->severity > b->severity; });
  // What does not fit shows when communicators are set up: a job that completed steps ran with it.
  // Where the connections that broke first have no common end, one host that differs from all
  // others is the answer all the same (Aegis algorithm 1).
  const bool ran = w.incident.last_iteration.value_or(0) > 0 || w.incident.last_progress;
  const bool no_common_end =
      std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [](const Finding& f) {
        return f.analysis == Analysis::root_diag && f.outcome == Outcome::ruled_out;
      });
  if (ran && !(no_common_end && from.front()->hosts.size() == 1 && w.incident.hosts >= 4)) {
    next(w.verdict, NextKind::plan, say(Phrase::make_settings_equal, from.front()->subject.id));
    return ruled_out(say(Phrase::setting_differs_job_ran, from.front()->subject.id));
  }
  std::set<Host> reporters, odd;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::classify && f.outcome == Outcome::fired &&
        f.role == Role::cascade && f.severity >= Severity::distributed)
      reporters.insert(f.hosts.begin(), f.hosts.end());
  for (const Finding* f : from) odd.insert(f->hosts.begin(), f->hosts.end());
  if (!reporters.empty() && !odd.empty() && reporters.size() <= w.params.few_reporters &&
      std::none_of(reporters.begin(), reporters.end(),
                   [&](const Host& host) { return odd.count(host) > 0; }))
    return ruled_out(say(Phrase::reporters_have_majority_settings, list(reporters)));
  Verdict& v = w.verdict;
  v.action = Action::repair;
  v.precision = Precision::candidates;
  v.symptom = broke->symptom;
  v.start = broke->start;
  std::set<Host> hosts;
  for (std::size_t i = 0; i < from.size() && i < 3; ++i) {
    target(v, from[i]->subject,
           from[i]->severity == Severity::critical ? confidence::kSettingCritical
                                                   : confidence::kSettingDiffers,
           {from[i]->id});
    hosts.insert(from[i]->hosts.begin(), from[i]->hosts.end());
  }
  std::size_t named = 0;
  for (const Host& host : hosts)
    if (named++ < 8) target(v, {SubjectKind::host, host}, confidence::kHostOfSetting, ids(from));
  v.summary = say(Phrase::setting_explains_connections, from.front()->why);
  for (std::size_t i = 0; i < from.size() && i < 3; ++i)
    if (!from[i]->advice.empty()) next(v, NextKind::plan, from[i]->advice);
  next(v, NextKind::collect, say(Phrase::collect_drift));
  return taken(say(Phrase::setting_differs, from.front()->subject.id));
}

}  // namespace culprit::decide
