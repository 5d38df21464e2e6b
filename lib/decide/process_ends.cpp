// Steps for jobs that were set up wrongly, ended from outside, or whose processes died without a
// word.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "decide/walk.hpp"

namespace culprit::decide {

namespace {

// A set-up failure that one host of several reports is that host's environment.
std::string only_host(const Walk& w, const Finding& f, const Cause& c) {
  if (f.scope == Scope::job_wide)
    return f.host && f.hosts.size() == 1 && f.subject.kind == SubjectKind::host ? *f.host : "";
  return c.hosts.size() == 1 && w.incident.hosts_with_output > 1   ? c.hosts.front()
         : f.hosts.size() == 1 && w.incident.hosts_with_output > 1 ? f.hosts.front()
                                                                   : "";
}

// What one host reports of itself explains what all report of the meeting.
const Finding& most_specific(const Cause& c) {
  for (const Finding* f : c.findings)
    if (f->scope == Scope::host_local && f->severity == Severity::critical) return *f;
  return *c.findings.front();
}

std::string signal_name(std::int64_t code) {
  static const std::map<std::int64_t, std::string> kNames{
      {1, "SIGHUP"}, {2, "SIGINT"},  {4, "SIGILL"},   {6, "SIGABRT"}, {7, "SIGBUS"},
      {8, "SIGFPE"}, {9, "SIGKILL"}, {11, "SIGSEGV"}, {15, "SIGTERM"}};
  const auto it = kNames.find(code);
  return it == kNames.end() ? fmt::format("signal {}", code) : it->second;
}

// The number of the signal that ended a process: -9 of Python, 137 of a shell or a container. 0: no
// signal.
std::int64_t signal_of(std::int64_t code) {
  return code < 0 && code >= -64 ? -code : code > 128 && code <= 128 + 64 ? code - 128 : 0;
}

// The first process that ended badly: by time, then by place. Without times the parent's claim
// comes first.
const ExitFact* first_bad_end(const Walk& w) {
  const ExitFact* out = nullptr;
  const auto key = [](const ExitFact& x) {
    const std::int64_t s = signal_of(x.code);
    // The launcher ends what is left with SIGTERM: that is never the first end.
    return std::tuple(s == 15, !x.time.has_value(), x.time.value_or(0), !x.blamed, x.evidence.path,
                      x.evidence.line);
  };
  for (const ExitFact& x : w.incident.exits)
    if (x.code != 0 && (out == nullptr || key(x) < key(*out))) out = &x;
  return out;
}

// What the rules made of the same end: a target rests on a finding.
std::vector<std::string> findings_of(const Walk& w, const ExitFact& x) {
  std::vector<std::string> out;
  for (const Finding& f : w.incident.findings) {
    if (f.outcome != Outcome::fired || f.analysis != Analysis::classify ||
        f.event_class.rfind("proc_", 0) != 0 || out.size() >= 6)
      continue;
    const bool of_rank =
        x.rank && std::find(f.ranks.begin(), f.ranks.end(), *x.rank) != f.ranks.end();
    const bool of_host =
        x.host && std::find(f.hosts.begin(), f.hosts.end(), *x.host) != f.hosts.end();
    if (of_rank || of_host) out.push_back(f.id);
  }
  return out;
}

struct Ending {
  Action action;
  const char* meaning;
  const char* advice;
};

Ending ending_of(std::int64_t code) {
  switch (signal_of(code)) {
    case 9:
      return {
          Action::investigate,
          "somebody killed it: the kernel for lack of memory, a memory limit, the scheduler, or a "
          "person",
          "Look for who sent SIGKILL: dmesg -T | grep -i 'out of memory', the cgroup's "
          "memory.events, sacct -j JOBID --format=State,ExitCode,MaxRSS, kubectl describe pod."};
    case 6:
      return {Action::investigate, "it aborted itself; its own last lines say why",
              "Read that process's stderr just before the abort: an assertion, a C++ exception or "
              "a watchdog."};
    case 7:
      return {Action::repair, "a mapped file or shared memory had no room behind it",
              "Look at the size of /dev/shm and of the file system that holds mapped files."};
    case 11:
      return {Action::reattempt, "it touched memory that is not mapped",
              "Keep the core dump (ulimit -c unlimited); a second crash on the same host calls for "
              "a memory test of that host."};
    case 4:
      return {Action::repair, "its binary holds instructions that this processor does not have",
              "Rebuild for the processor of that host, or take hosts of one generation."};
    case 15:
    case 1:
    case 2:
      return {Action::none, "somebody asked it to stop",
              "Ask the scheduler or the owner of the job who ended it."};
    default: break;
  }
  return {Action::investigate, "its own output says why",
          "Collect stderr of that process: torchrun --log-dir DIR -r 3 -t 3 keeps a file for every "
          "rank."};
}

}  // namespace

Answer setup_failure(Walk& w) {
  const Cause* c = w.best(CauseKind::environment);
  if (c == nullptr) return ruled_out("no address, library, device, file or permission was missing");
  const Finding& f = most_specific(*c);
  Verdict& v = w.verdict;
  v.action = Action::repair;
  v.symptom = f.symptom;
  v.start = c->start;
  v.precision = Precision::exact;
  const std::string host = only_host(w, f, *c);
  target(v, {SubjectKind::config, host.empty() ? f.event_class : host + ": " + f.event_class},
         c->confidence * 0.9, ids(c->findings));
  const bool never = !w.incident.last_iteration && !w.incident.last_progress;
  const std::string message = message_of(f);
  v.summary = fmt::format("{}: {}{}{}.{}",
                          never ? "The job failed in set-up, no machine broke"
                                : "The job's environment failed, no machine broke",
                          lower_first(f.title), host.empty() ? "" : " on " + host, at(c->start),
                          message.empty() ? "" : fmt::format(" \"{}\"", quoted(message, 240)));
  if (!host.empty())
    next(v, NextKind::plan,
         fmt::format("Only {} reports it: compare its environment with another host (`culprit "
                     "drift -d incident.db`).",
                     host));
  advise(v, *c);
  return taken(fmt::format("{}{}", f.event_class, host.empty() ? "" : " on " + host));
}

Answer ended_outside(Walk& w) {
  const Cause* c = w.best(CauseKind::outside);
  if (c == nullptr) return ruled_out("nobody asked the job to stop");
  const Finding& f = *c->findings.front();
  Verdict& v = w.verdict;
  v.action = Action::none;
  v.symptom = Symptom::none;
  v.start = c->start;
  target(v, {SubjectKind::job, "job"}, c->confidence, ids(c->findings));
  v.summary =
      fmt::format("The job was ended from outside, nothing in its logs failed before: {}{}. \"{}\"",
                  lower_first(f.title), at(c->start), quoted(message_of(f), 200));
  advise(v, *c);
  next(v, NextKind::collect,
       "the scheduler's or the platform's own record of that moment: who ended the job, and why");
  return taken(fmt::format("{}, and no error before it", f.event_class));
}

Answer process_ended(Walk& w) {
  if (timed_out(w)) return ruled_out("ranks timed out: how their processes ended is a consequence");
  const ExitFact* x = first_bad_end(w);
  if (x == nullptr) return ruled_out("no process is known to have ended badly");
  const std::int64_t signal = signal_of(x->code);
  if (signal == 0 && !strongest_leads(w).empty())
    return ruled_out("an exit code says less than the lines that were printed before it");
  const Ending ending = ending_of(x->code);
  Verdict& v = w.verdict;
  v.action = ending.action;
  v.precision = Precision::candidates;
  const std::string process =
      x->rank   ? fmt::format("rank {}{}", *x->rank, x->host ? " on " + *x->host : "")
      : x->host ? "a process on " + *x->host
                : "a process of the job";
  const std::string how =
      signal != 0 ? fmt::format("was ended by {} (exit code {})", signal_name(signal), x->code)
                  : fmt::format("ended with exit code {} and left no traceback", x->code);
  v.start = x->time;
  if (signal == 9) v.symptom = Symptom::cpu_oom;
  if (const auto because = findings_of(w, *x); x->rank && !because.empty())
    target(v, {SubjectKind::rank, std::to_string(*x->rank)}, 0.5, because);
  v.summary = fmt::format("{}{} {}{}: {}.",
                          static_cast<char>(std::toupper(static_cast<unsigned char>(process[0]))),
                          process.substr(1), how, at(x->time), ending.meaning);
  quote_leads(w, strongest_leads(w));
  next(v, NextKind::plan, ending.advice);
  if (signal == 0)
    next(v, NextKind::collect,
         fmt::format("stderr of {}: {}", process, "torchrun --log-dir DIR -r 3 -t 3"));
  return taken(how);
}

Answer transient_alert(Walk& w) {
  if (w.first.transients.empty())
    return ruled_out("no alert that was taken back lasted while something broke");
  if (!after_effects(w)) return ruled_out("no rank reports failed communication");
  const Finding& f = *w.first.transients.front();
  Verdict& v = w.verdict;
  v.action = Action::reattempt;
  v.symptom = f.symptom;
  v.start = f.start;
  v.precision = Precision::candidates;
  std::set<std::string> hosts;
  for (const Finding* one : w.first.transients) {
    if (v.targets.size() < 4) target(v, one->subject, 0.5, {one->id});
    hosts.insert(one->hosts.begin(), one->hosts.end());
  }
  v.summary = fmt::format(
      "A transient fault broke the job: {} on {}{}, and it recovered. Once is below the tolerance: "
      "start again, isolate nobody.",
      lower_first(f.title), list({hosts.begin(), hosts.end()}), at(f.start));
  next(v, NextKind::plan,
       fmt::format("If it comes back on {}, that link or part is at fault: {}",
                   list({hosts.begin(), hosts.end()}), f.advice));
  return taken(
      fmt::format("{} was taken back, and connections broke while it lasted", f.event_class));
}

}  // namespace culprit::decide
