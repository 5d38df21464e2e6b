// Nobody knows: what is known is quoted, and what would tell is asked for.
#include <algorithm>
#include <set>

#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

namespace {

// Whether the machines were at work when it crashed: processes that never came together were kept
// from it by addresses, settings or time-outs, and tests of GPUs show nothing of that.
bool machines_at_work(const Walk& w) {
  if (w.incident.last_iteration || w.incident.last_progress) return true;
  return std::ranges::any_of(w.incident.findings, [](const Finding& f) {
    return f.fired(Analysis::classify) && f.role == Role::cascade &&
           f.severity >= Severity::distributed &&
           !f.traits.has_any({Trait::rendezvous, Trait::rendezvous_timeout, Trait::store_unreached,
                              Trait::store_lost, Trait::launcher_failed, Trait::process_end,
                              Trait::nonzero_exit});
  });
}

// The few machines between which connections of the fabric broke: one of them, a cable or a switch
// between them is at fault, and no other machine need be asked.
void ends_of_broken_links(Walk& w) {
  std::set<Host> ends;
  std::vector<std::string> because;
  for (const Finding& f : w.incident.findings) {
    if (f.analysis != Analysis::classify || f.outcome != Outcome::fired ||
        f.role != Role::cascade || f.symptom != Symptom::infiniband_error)
      continue;
    ends.insert(f.hosts.begin(), f.hosts.end());
    because.push_back(f.id);
  }
  if (ends.size() != 2 || w.incident.hosts <= 2 * ends.size() ||
      !std::ranges::all_of(ends, [&](const Host& host) { return w.incident.of_job(host); }))
    return;
  for (const Host& host : ends)
    target(w.verdict, {SubjectKind::host, host}, confidence::kEndUnexplained, because);
  w.verdict.summary +=
      say(Phrase::links_broke_between, std::string(*ends.begin()), std::string(*ends.rbegin()));
  check(w.verdict, {ends.begin(), ends.end()});
}

}  // namespace

Answer not_enough_evidence(Walk& w) {
  Verdict& v = w.verdict;
  const bool hang = timed_out(w);
  const bool crash =
      after_effects(w) ||
      std::ranges::any_of(w.incident.exits, [](const ExitFact& x) { return x.code != 0; });
  const std::vector<const Finding*> leads = strongest_leads(w);
  v.precision = Precision::candidates;
  if (hang) {
    v.action = Action::investigate;
    v.symptom = Symptom::job_hang;
    v.summary = say(Phrase::hung_nobody_named);
    next(v, NextKind::collect, say(Phrase::stacks_of_all_while_hanging, kDumpStacks));
    next(v, NextKind::collect, say(Phrase::recorder_and_ncclras));
  } else if (crash) {
    const bool at_work = machines_at_work(w);
    v.action = at_work ? Action::checks : Action::investigate;
    for (const Finding& f : w.incident.findings)
      if (f.fired() && f.role == Role::cascade && f.symptom != Symptom::none) v.symptom = f.symptom;
    v.summary = leads.empty() ? say(Phrase::crashed_no_cause) : say(Phrase::crashed_nothing_proven);
    if (leads.empty() && at_work) v.request = say(Phrase::request_stop_time_checks);
    ends_of_broken_links(w);
    if (w.incident.uses_gpus && at_work) next(v, NextKind::plan, say(Phrase::stop_time_checks));
    for (const Finding& f : w.incident.findings)
      if (f.analysis == Analysis::root_diag && f.outcome == Outcome::ruled_out &&
          f.hosts.size() > w.params.few_reporters)
        halve(v, f.hosts);
  } else {
    v.action = Action::investigate;
    v.summary = say(Phrase::trouble_without_cause);
  }
  for (const Finding& f : w.incident.findings)
    if (f.fired() && f.role == Role::cascade && f.start && (!v.start || *f.start < *v.start))
      v.start = f.start;
  quote_leads(w, leads);
  next(v, NextKind::collect,
       w.incident.uses_gpus ? say(Phrase::collect_host_state)
                            : say(Phrase::collect_kernel_logs_short));
  if (w.incident.uses_gpus) next(v, NextKind::collect, say(Phrase::collect_nccl_debug));
  if (!w.incident.has_rank_map) next(v, NextKind::collect, say(Phrase::collect_job_json));
  return taken(say(Phrase::nothing_else_applies));
}

}  // namespace culprit::decide
