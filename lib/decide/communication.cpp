// Steps for faults that show only in who can no longer talk to whom, and who waits for whom.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "decide/walk.hpp"
#include "model/confidence.hpp"

namespace culprit::decide {

Answer root_diag(Walk& w) {
  const Finding* diag = nullptr;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::root_diag) diag = &f;
  if (diag == nullptr) return not_enough("no connection error names its peer");
  if (diag->outcome == Outcome::not_enough_evidence && diag->hosts.size() == 2 &&
      w.incident.hosts > 2) {
    // One connection broke before all others: one of its two ends, which checks can tell apart.
    Verdict& v = w.verdict;
    v.action = Action::checks;
    v.symptom = diag->symptom;
    v.start = diag->start;
    v.precision = Precision::candidates;
    for (const std::string& host : diag->hosts)
      target(v, {SubjectKind::host, host}, 0.45, {diag->id});
    v.summary = fmt::format(
        "The connection between {} broke first{}: one of the two is at fault, and the logs cannot "
        "say which.",
        list(diag->hosts), at(diag->start));
    next(v, NextKind::plan,
         fmt::format("All-gather between {} and a machine that is known to be good, one after the "
                     "other; evict the one that fails.",
                     list(diag->hosts)));
    next(v, NextKind::collect, "kernel log and ibstat of both hosts");
    return taken(diag->why);
  }
  if (diag->outcome != Outcome::fired)
    return {diag->outcome == Outcome::ruled_out ? StepOutcome::ruled_out
                                                : StepOutcome::not_enough_evidence,
            diag->why};
  Verdict& v = w.verdict;
  v.symptom = diag->symptom;
  v.start = diag->start;
  v.action = diag->subject.kind == SubjectKind::network_switch ? Action::repair : Action::isolate;
  v.precision = Precision::exact;
  target(v, diag->subject, diag->confidence, {diag->id});
  v.summary =
      diag->subject.kind == SubjectKind::network_switch
          ? fmt::format("All connections that broke first cross {}: the switch, not the hosts.",
                        diag->subject.id)
          : fmt::format("The connections of {} broke first{}; everything else follows from that.",
                        diag->subject.id, at(diag->start));
  if (diag->subject.kind == SubjectKind::host)
    drain(v, diag->subject.id, "connections broke first");
  next(v, NextKind::plan, diag->advice);
  if (diag->subject.kind == SubjectKind::host)
    next(v, NextKind::collect,
         fmt::format("kernel log, ibstat and nvidia-smi -q of {}: they say which part broke",
                     diag->subject.id));
  return taken(diag->why);
}

namespace {

bool no_output(const Finding& f) {
  const auto* silence = std::get_if<SilenceFacts>(&f.facts);
  return silence != nullptr && silence->no_output;
}

}  // namespace

Answer silent_rank(Walk& w) {
  std::vector<const Finding*> silent;
  const Finding* none = nullptr;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::silence)
      (f.outcome == Outcome::fired ? (void)silent.push_back(&f) : (void)(none = &f));
  if (silent.empty())
    return none == nullptr ? ruled_out("no rank timed out")
                           : Answer{StepOutcome::not_enough_evidence, none->why};
  Verdict& v = w.verdict;
  v.action = Action::investigate;
  v.symptom = Symptom::job_hang;
  v.start = silent.front()->start;
  v.precision = silent.size() == 1 ? Precision::exact : Precision::candidates;
  std::vector<std::string> names;
  for (const Finding* f : silent) {
    target(v, f->subject, f->confidence, {f->id});
    names.push_back(f->host ? fmt::format("{} (on {})", f->subject.id, *f->host) : f->subject.id);
  }
  v.summary = no_output(*silent.front()) ? fmt::format(
                                               "The job hung: all ranks that were heard timed out "
                                               "waiting, and of rank {} nothing was collected.",
                                               list(names))
                                         : fmt::format(
                                               "The job hung: all others timed out waiting, rank "
                                               "{} never did, so they probably waited for it.",
                                               list(names));
  next(v, NextKind::collect,
       "stacks of that rank while it hangs: py-spy dump --native --pid PID, or a loop over all "
       "ranks");
  next(v, NextKind::collect,
       "TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1: the flight recorder says which "
       "collective it never entered");
  return taken(silent.front()->why);
}

Answer distributed_errors(Walk& w) {
  std::set<std::string> hosts, peers;
  std::vector<const Finding*> from;
  bool nameless = false;
  for (const Finding& f : w.incident.findings) {
    if (f.analysis != Analysis::classify || f.outcome != Outcome::fired ||
        f.severity != Severity::distributed || f.role != Role::cascade)
      continue;
    from.push_back(&f);
    hosts.insert(f.hosts.begin(), f.hosts.end());
    nameless = nameless || f.hosts.empty();
    if (const auto& peer = line_of(f).peer) peers.insert(*peer);
  }
  if (from.empty())
    return ruled_out("no rank reports a distributed error");  // the paper's "at most two" also
                                                              // holds for none: it is no evidence
  if (nameless || hosts.empty())
    return not_enough("the reports cannot be tied to hosts: no rank-to-host map");
  if (hosts.size() > w.params.few_reporters)
    return ruled_out(fmt::format("{} hosts report distributed errors", hosts.size()));
  if (w.incident.hosts_with_output < 3 || w.incident.hosts_with_output <= hosts.size())
    return not_enough(
        fmt::format("{} of {} hosts of which there is output report them: nobody to compare with",
                    hosts.size(), w.incident.hosts_with_output));
  Verdict& v = w.verdict;
  v.action = Action::isolate;
  v.precision = hosts.size() == 1 && peers.empty() ? Precision::exact : Precision::candidates;
  v.symptom =
      from.front()->symptom == Symptom::none ? Symptom::infiniband_error : from.front()->symptom;
  v.start = from.front()->start;
  for (const std::string& host : hosts)
    target(v, {SubjectKind::host, host}, confidence::kFewReporters, ids(from));
  v.summary = fmt::format(
      "Only {} of {} hosts report broken communication: {}. Isolating them may take one too many "
      "and ends the question.",
      hosts.size(), w.incident.hosts_with_output, list({hosts.begin(), hosts.end()}));
  for (const std::string& host : hosts) drain(v, host, "distributed errors");
  return taken(
      fmt::format("at most {} hosts report (Aegis section 4.1.1)", w.params.few_reporters));
}

}  // namespace culprit::decide
