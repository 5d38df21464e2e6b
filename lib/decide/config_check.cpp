// Settings that differ between hosts, where connections broke as they were set up.
#include <algorithm>
#include <set>

#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::decide {

namespace {

// The machines whom others wait for, or whom the first broken connections have in common.
std::set<Host> pointed_at(const Walk& w) {
  std::set<Host> out;
  for (const Finding& f : w.incident.findings) {
    if (f.fired(Analysis::hang) && f.host)
      out.insert(*f.host);
    else if (f.analysis == Analysis::root_diag && f.outcome != Outcome::ruled_out &&
             f.hosts.size() == 1 && f.subject.kind == SubjectKind::host)
      out.insert(f.hosts.front());
  }
  return out;
}

// Or it ran for so long that it has, whatever its logs say of it.
bool made_a_step(const Walk& w) {
  constexpr Nanoseconds kSetUp = kHour;
  return w.incident.last_iteration.value_or(0) > 0 || w.incident.last_progress ||
         (w.incident.job_start && w.first.noticed &&
          *w.first.noticed - *w.incident.job_start > kSetUp);
}

// All that differ are machines of the job.
bool of_the_job(const Walk& w, const Finding& f) {
  const std::vector<Host>& job = w.incident.job_hosts;
  return std::ranges::all_of(f.hosts, [&](const Host& host) {
    return job.empty() ? has(w.incident.all_hosts, host)
                       : std::binary_search(job.begin(), job.end(), host);
  });
}

// The first report of broken connections. Time-outs alone are a hang.
const Finding* broken(const Walk& w) {
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::classify) && f.role == Role::cascade && f.symptom != Symptom::job_hang &&
        f.severity >= Severity::distributed)
      return &f;
  return nullptr;
}

// A hang in which each rank has entered the collective.
bool stands_in_network(const Walk& w) {
  return std::ranges::any_of(w.incident.findings, [](const Finding& f) {
    return f.fired(Analysis::hang) && hang_of(f).kind == StopKind::network;
  });
}

// Few report, and none of them has the odd settings.
std::set<Host> others_report(const Walk& w, const std::vector<const Finding*>& settings) {
  std::set<Host> reporters, odd;
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::classify) && f.role == Role::cascade &&
        f.severity >= Severity::distributed)
      reporters.insert(f.hosts.begin(), f.hosts.end());
  for (const Finding* f : settings) odd.insert(f->hosts.begin(), f->hosts.end());
  if (odd.empty() || reporters.size() > w.params.few_reporters ||
      std::ranges::any_of(reporters, [&](const Host& host) { return odd.count(host) > 0; }))
    return {};
  return reporters;
}

void accuse(Walk& w, const std::vector<const Finding*>& settings, bool met) {
  constexpr std::size_t kMostSettings = 3, kMostHosts = 8;
  Verdict& v = w.verdict;
  // One machine that has another build pulls it anew; several show that the image has no one name.
  const bool of_image = std::ranges::any_of(settings, [](const Finding* f) {
    const auto* set = std::get_if<SettingFacts>(&f->facts);
    return set != nullptr && set->of_image && f->hosts.size() > 1;
  });
  act(v, of_image ? Action::rollback : Action::repair, Precision::candidates);
  std::set<Host> hosts;
  for (std::size_t i = 0; i < settings.size() && i < kMostSettings; ++i) {
    const Finding& f = *settings[i];
    target(v, f.subject,
           met                                ? confidence::kSettingMet
           : f.severity == Severity::critical ? confidence::kSettingCritical
                                              : confidence::kSettingDiffers,
           {f.id});
    if (!of_image) hosts.insert(f.hosts.begin(), f.hosts.end());
    if (!f.advice.empty()) next(v, NextKind::plan, f.advice);
  }
  std::size_t named = 0;
  for (const Host& host : hosts)
    if (named++ < kMostHosts)
      target(v, {SubjectKind::host, host}, confidence::kHostOfSetting, ids(settings));
  next(v, NextKind::collect, say(Phrase::collect_drift));
}

}  // namespace

const Finding* setting_none_survives(const Walk& w) {
  if (made_a_step(w)) return nullptr;
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::drift) && f.severity == Severity::critical && explains_communication(f) &&
        !f.hosts.empty() && !std::get<SettingFacts>(f.facts).device && of_the_job(w, f))
      return &f;  // what devices differ in may be one that the job does not use
  return nullptr;
}

// What does not fit shows when communicators are set up: a job that completed steps ran with it.
// One host that differs from all others is the answer all the same where the connections that broke
// first have no common end (Aegis algorithm 1), and is the better one where it is the machine whom
// all others wait for.
Answer config_check(Walk& w) {
  std::vector<const Finding*> from;
  std::size_t others = 0;
  bool compared = false;
  for (const Finding& f : w.incident.findings) {
    if (f.analysis != Analysis::drift) continue;
    compared = compared || f.outcome != Outcome::not_enough_evidence;
    if (!f.fired()) continue;
    if (f.severity >= Severity::warning && explains_communication(f))
      from.push_back(&f);
    else
      ++others;
  }
  if (!compared) return not_enough(say(Phrase::settings_of_one_host));
  if (from.empty())
    return ruled_out(others == 0   ? say(Phrase::settings_equal)
                     : others == 1 ? say(Phrase::setting_differs_harmlessly)
                                   : say(Phrase::settings_differ_harmlessly, others));
  const bool ran = made_a_step(w);
  const auto alone = [&](const Finding* f) {
    return f->hosts.size() == 1 && w.incident.hosts >= 4;
  };
  const std::set<Host> suspects = pointed_at(w);
  const auto met_by = [&](const Finding* f) {
    const auto* setting = std::get_if<SettingFacts>(&f->facts);
    const bool may = !ran || (setting != nullptr && setting->under_load);
    return may && alone(f) && of_the_job(w, *f) && suspects == std::set<Host>{f->hosts.front()};
  };
  sort_rows(from, [&](const Finding* a, const Finding* b) {
    return std::pair(met_by(a), a->severity) > std::pair(met_by(b), b->severity);
  });
  const Finding& first = *from.front();
  const bool met = met_by(&first);
  const Finding* broke = broken(w);
  // All have entered and none completes: nobody is waited for, and what differs is between them.
  const bool stands = !ran && alone(&first) && of_the_job(w, first) && stands_in_network(w);
  if (broke == nullptr && !((met || stands) && timed_out(w)))
    return ruled_out(say(Phrase::settings_differ_nothing_broke));
  const bool no_common_end = std::ranges::any_of(w.incident.findings, [](const Finding& f) {
    return f.analysis == Analysis::root_diag && f.outcome == Outcome::ruled_out;
  });
  if (ran && !met && !(no_common_end && alone(&first))) {
    next(w.verdict, NextKind::plan, say(Phrase::make_settings_equal, first.subject.id));
    return ruled_out(say(Phrase::setting_differs_job_ran, first.subject.id));
  }
  if (!met && !stands)
    if (const std::set<Host> reporters = others_report(w, from); !reporters.empty())
      return ruled_out(say(Phrase::reporters_have_majority_settings, list(reporters)));
  accuse(w, from, met);
  w.verdict.symptom = broke != nullptr ? broke->symptom : Symptom::job_hang;
  w.verdict.start = broke != nullptr ? broke->start : w.first.noticed;
  w.verdict.summary =
      met ? say(ran ? Phrase::setting_of_whom_all_lost : Phrase::setting_of_whom_all_wait,
                first.hosts.front(), first.why)
          : say(broke != nullptr ? Phrase::setting_explains_connections
                                 : Phrase::setting_explains_hang,
                first.why);
  return taken(say(Phrase::setting_differs, first.subject.id));
}

}  // namespace culprit::decide
