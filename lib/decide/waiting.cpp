// Steps for a job that stood still: whom everybody waited for, by counters of collectives and by
// stacks.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "decide/walk.hpp"

namespace culprit::decide {

namespace {

constexpr double kIsolate = 0.6;  // below that a machine is checked, not taken out

std::vector<const Finding*> suspects(const Walk& w) {
  std::vector<const Finding*> out;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::hang && f.outcome == Outcome::fired) out.push_back(&f);
  return out;
}

bool rank_alone(const Finding& f) { return f.subject.kind == SubjectKind::rank; }
bool kind_is(const Finding& f, StopKind kind) { return hang_of(f).kind == kind; }
bool stopped(const Finding& f) {
  return kind_is(f, StopKind::host_stopped) || kind_is(f, StopKind::device_stopped);
}
bool code(const Finding& f) {
  return kind_is(f, StopKind::mismatch) || kind_is(f, StopKind::left_early);
}

std::string waiter_name(const Finding& f) {
  if (f.subject.kind == SubjectKind::host) return "a trainer on " + f.subject.id;
  if (f.subject.kind == SubjectKind::code || f.subject.kind == SubjectKind::job)
    return "one process";  // whose rank nobody knows
  if (!rank_alone(f)) return fmt::format("{}{}", f.subject.id, f.host ? " on " + *f.host : "");
  if (f.host) return fmt::format("rank {} on {}", f.subject.id, *f.host);
  return "rank " + f.subject.id;
}

std::vector<std::string> because(const Finding& f) {
  std::vector<std::string> out{f.id};
  for (const std::string& id : f.leads_to)
    if (out.size() < 5) out.push_back(id);
  return out;
}

std::string in_group(const Finding& f) {
  const std::string &operation = hang_of(f).operation, &group = hang_of(f).group;
  if (operation.empty() && group.empty()) return {};
  return fmt::format("{}{}{}", operation.empty() ? "a collective" : operation,
                     group.empty() ? "" : " of ", group);
}

// Since when nothing moves: a time-out comes half an hour later than that.
std::string since(const Walk& w) {
  if (!w.incident.last_iteration) return {};
  return fmt::format(" The last step that the logs tell of is {}{}.", *w.incident.last_iteration,
                     at(w.incident.last_progress));
}

// "is in all_reduce of tp", "waits for its data loader".
std::string doing(const std::string& reason) {
  for (const char* verb : {"waits for ", "makes "})
    if (reason.rfind(verb, 0) == 0) return reason;
  return "is in " + reason;
}

// "one rank waits for it", "7 ranks wait for them"; "" when nobody is known to.
std::string waiting_for(const Finding& f, bool several) {
  const std::int64_t count = hang_of(f).waiting;
  if (count == 0) return {};
  return fmt::format("; {} for {}",
                     count == 1 ? "one rank waits" : fmt::format("{} ranks wait", count),
                     several ? "them" : "it");
}

// What to look at on the machines before they get work again.
void look_at(Verdict& v, const std::set<std::string>& hosts) {
  if (hosts.empty() || hosts.size() > 4) return;
  next(v, NextKind::command, checks_of({hosts.begin(), hosts.end()}));
  next(v, NextKind::plan,
       fmt::format("Look at {} before the next start: kernel log, free memory, the mounts its job "
                   "reads from, nvidia-smi -q.",
                   list({hosts.begin(), hosts.end()})));
}

// What the state of its process asks for.
void by_state(Verdict& v, const Finding& f) {
  const std::string state = hang_of(f).state;
  if (state == "T")
    next(v, NextKind::plan,
         "A process in state T goes on with SIGCONT only: find out who stopped it (a debugger, "
         "kill -STOP, job control); kill -CONT PID lets it go on.");
  if (state == "Z")
    next(v, NextKind::plan,
         "A trainer that is dead and not reaped leaves its reason in its own stderr and in the "
         "kernel log (killed process, segfault); its launcher should have ended the job.");
  if (state == "D")
    next(v, NextKind::plan,
         "A process in state D waits inside the kernel, mostly for storage or a driver: "
         "/proc/PID/stack and the kernel log (hung task) of that machine say for what.");
}

void collect_more(Walk& w) {
  Verdict& v = w.verdict;
  if (!w.incident.has_stacks)
    next(v, NextKind::collect,
         fmt::format("next time, stacks of all ranks while it hangs: {}", kDumpStacks));
  if (!w.incident.has_recorder)
    next(v, NextKind::collect,
         "next time, TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1: the flight recorder "
         "says which collective a rank never entered");
  if (!w.incident.has_stacks || !w.incident.has_recorder)
    next(v, NextKind::collect,
         "next time, ncclras -v while it hangs (NCCL 2.24 and later): who has launched what, at "
         "once for the whole job");
}

}  // namespace

// One or a few ranks that everybody waited for, and that waited for nobody.
Answer stopped_rank(Walk& w) {
  const auto all = suspects(w);
  if (all.empty()) {
    for (const Finding& f : w.incident.findings)
      if (f.analysis == Analysis::hang)
        return {f.outcome == Outcome::ruled_out ? StepOutcome::ruled_out
                                                : StepOutcome::not_enough_evidence,
                f.why};
    return not_enough("no stack, no flight recorder and no counters of collectives in the bundle");
  }
  const Finding& f = *all.front();
  Verdict& v = w.verdict;
  if (kind_is(f, StopKind::storage)) {
    v.action = Action::repair;
    v.symptom = f.symptom;
    v.start = f.start;
    v.precision = Precision::exact;
    target(v, f.subject, f.confidence, because(f));
    v.summary = fmt::format("The job hung on storage, not on a machine: {} hosts wait in {}.",
                            f.hosts.size(), hang_of(f).reason);
    next(v, NextKind::plan,
         "Look at the file system and its servers first (client log: dmesg | grep -i -e lustre -e "
         "nfs -e ceph; lfs check servers; nfsiostat), then start again from the last checkpoint.");
    return taken(f.why);
  }
  if (!stopped(f) && !code(f)) return not_enough(f.why);
  // Suspects as sure as the first are culprits together; more than a few are candidates.
  std::vector<const Finding*> sure;
  for (const Finding* s : all)
    if (s->event_class == f.event_class && s->confidence >= f.confidence - 0.15) sure.push_back(s);
  // A set of ranks is a direction to look in, and no machine, unless they are all on one.
  const bool alone = std::all_of(sure.begin(), sure.end(), [](const Finding* s) {
    return rank_alone(*s) || s->hosts.size() == 1;
  });
  const bool exact = f.confidence >= 0.7 && sure.size() <= 4 && alone;
  v.symptom = f.symptom;
  v.start = f.start;
  if (code(f)) {
    const bool tie = hang_of(f).tie;
    v.action = Action::rollback;
    v.precision = tie ? Precision::group : rank_alone(f) ? Precision::exact : Precision::group;
    if (const std::string place = hang_of(f).code; !place.empty())
      target(v, {SubjectKind::code, place}, f.confidence, because(f));
    for (const Finding* s : sure) target(v, s->subject, s->confidence, because(*s));
    if (!rank_alone(f) && !tie)
      for (const std::int64_t r : f.ranks)
        if (f.ranks.size() <= 4)
          target(v, {SubjectKind::rank, std::to_string(r)}, f.confidence, because(f));
    v.summary =
        kind_is(f, StopKind::left_early)
            ? fmt::format(
                  "The program, no machine: {} left while the others still wait for it in {}.",
                  waiter_name(f), in_group(f))
            : fmt::format("The program, no machine: {}{}.", f.why,
                          hang_of(f).code.empty() ? "" : " (" + hang_of(f).code + ")");
    next(v, NextKind::plan,
         kind_is(f, StopKind::left_early)
             ? "Look at what decides how many steps a rank makes: uneven data, a condition on the "
               "rank, an early exit. A restart without a fix will fail again."
             : "Find the branch that some ranks take and others do not (a condition on rank, data "
               "or step around a collective), or go back to the last code that ran past this "
               "point. A restart without a fix will fail again.");
    next(v, NextKind::collect,
         "TORCH_DISTRIBUTED_DEBUG=DETAIL for one run: torch then compares every collective before "
         "it starts");
    return taken(f.why);
  }
  if (!exact) {
    v.action = Action::investigate;
    v.precision = sure.size() == 1 ? Precision::exact : Precision::candidates;
    std::vector<std::string> names;
    for (const Finding* s : sure) {
      if (s->host && sure.size() == 1)
        target(v, {SubjectKind::host, *s->host}, s->confidence, because(*s));
      if (v.targets.size() < 8) target(v, s->subject, s->confidence, because(*s));
      names.push_back(waiter_name(*s));
    }
    const std::string reason = hang_of(f).reason;
    const std::string is_in = reason.empty() || sure.size() > 1 ? "" : ", which " + doing(reason);
    const bool silent = hang_of(f).sources ==
                        std::vector<std::string>{"silence"};  // its reason names the rank already
    v.summary =
        !hang_of(f).standing ? fmt::format(
                                   "If the job stood still, it waited for {}{}; nothing else in "
                                   "the bundle confirms it.",
                                   list(names), is_in)
        : silent && sure.size() == 1
            ? fmt::format("The job hung, probably because of {}: {}{}", list(names), f.why,
                          since(w))
            : fmt::format("The job hung, and the others probably waited for {}{}: {}{}{}",
                          list(names), is_in, f.why, f.why.ends_with('.') ? "" : ".", since(w));
    std::set<std::string> hosts;
    for (const Finding* s : sure)
      if (s->host) hosts.insert(*s->host);
    by_state(v, f);
    look_at(v, hosts);
    collect_more(w);
    return taken(f.why);
  }
  v.precision = Precision::exact;
  v.action = Action::isolate;
  by_state(v, f);
  std::set<std::string> hosts;
  bool nameless = false;
  std::vector<std::string> names;
  for (const Finding* s : sure) {
    nameless = nameless || !s->host;
    if (s->host) {
      target(v, {SubjectKind::host, *s->host}, s->confidence, because(*s));
      hosts.insert(*s->host);
    }
    names.push_back(waiter_name(*s));
  }
  for (const Finding* s : sure) target(v, s->subject, s->confidence, because(*s));
  const std::string reason = hang_of(f).reason, where = in_group(f);
  const bool worker = hang_of(f).role == "dataloader", several = sure.size() > 1;
  const bool device = kind_is(f, StopKind::device_stopped);
  std::string what = "it waits for nobody";
  if (!reason.empty())
    what = (worker ? "its data loader " : "it ") + doing(reason);
  else if (!where.empty() && several)
    what = fmt::format("peers of rank {} {} {}", f.subject.id,
                       device ? "finished" : "wait for it in", where);
  else if (!where.empty())
    what = device ? "its peers finished " + where : "it never entered " + where;
  v.summary = fmt::format("The job hung because {} stopped{}: {}{}.", list(names),
                          device ? " inside a collective" : "", what, waiting_for(f, several));
  v.summary += since(w);
  for (const std::string& host : hosts) drain(v, host, "hang");
  if (nameless)
    next(v, NextKind::collect,
         "a job.json with hosts in node-rank order, or NCCL_DEBUG=INFO: nothing in the bundle ties "
         "this rank to a host name");
  if (kind_is(f, StopKind::device_stopped))
    next(v, NextKind::plan,
         "dcgmi diag -r 3 and nvidia-smi -q on that machine, and its kernel log from the moment of "
         "the hang: the GPU or its link stopped inside a collective.");
  else if (reason.rfind("waits for its GPU", 0) == 0)
    next(v, NextKind::plan,
         "Its GPU does not finish what was launched on it: nvidia-smi -q, dcgmi diag -r 3 and the "
         "kernel log (Xid) of that machine; if the same kernel hangs elsewhere too, it is the "
         "program.");
  else if (!reason.empty())
    next(v, NextKind::plan,
         "The stack says what it waited in: if that is a file, check this machine's mount and the "
         "file before it comes back; if it is the program's own code, a restart elsewhere may meet "
         "it again.");
  else
    next(v, NextKind::plan,
         "Its host process stopped between collectives: a lock, the data, a checkpoint, or the "
         "machine. Its stack would say which.");
  collect_more(w);
  return taken(f.why);
}

namespace {

// What else stands like the first: the reader should not look at one group of three.
std::string others_like(const std::vector<const Finding*>& all) {
  std::vector<std::string> names;
  for (const Finding* s : all)
    if (s != all.front() && s->event_class == all.front()->event_class)
      names.push_back(fmt::format("{} (ranks {})", s->subject.id, hang_of(*s).ranks));
  return names.empty() ? "" : fmt::format(" The same is true of {}.", list(names));
}

// Machines of these whose network left the crowd while the job stood still; one finding a machine.
std::vector<const Finding*> odd_ends(const Walk& w, const std::set<std::string>& hosts) {
  std::map<std::string, const Finding*> out;
  for (const Finding& f : w.incident.findings) {
    if (f.analysis != Analysis::outliers || f.outcome != Outcome::fired || !f.host ||
        hosts.count(*f.host) == 0 ||
        (f.event_class.rfind("network/", 0) != 0 && f.event_class.rfind("nic/", 0) != 0))
      continue;
    if (f.end && w.incident.last_progress && *f.end < *w.incident.last_progress)
      continue;  // it was over before
    out.emplace(*f.host, &f);
  }
  std::vector<const Finding*> list;
  for (const auto& [host, f] : out) list.push_back(f);
  return list;
}

// A group over several machines stands, and of one of them the network's metrics are odd: dumps and
// metrics agree.
Answer stuck_at(Walk& w, const Finding& f, const Finding& metric) {
  Verdict& v = w.verdict;
  const double confidence = std::min(0.95, 1 - (1 - f.confidence) * (1 - metric.confidence));
  std::vector<std::string> grounds = because(f);
  grounds.insert(grounds.begin() + 1, metric.id);
  v.action = Action::isolate;
  v.precision = Precision::exact;
  target(v, {SubjectKind::host, *metric.host}, confidence, grounds);
  if (metric.subject.kind == SubjectKind::nic) target(v, metric.subject, confidence, {metric.id});
  v.summary = fmt::format(
      "The job hung on the network of {}: all {} ranks of {} have entered it and none finishes, "
      "and of their machines {} alone stands out: {}.{}",
      *metric.host, f.ranks.size(), in_group(f).empty() ? f.subject.id : in_group(f), *metric.host,
      metric.why, since(w));
  drain(v, *metric.host, "hang, network");
  next(v, NextKind::collect,
       fmt::format("kernel log, ibstat and ethtool -S of {}: they say which part broke",
                   *metric.host));
  collect_more(w);
  return taken(f.why + "; " + metric.why);
}

// What stands lies within one machine, or has one machine at an end of each.
Answer stuck_machines(Walk& w, const std::vector<const Finding*>& machines) {
  const Finding& f = *machines.front();
  const bool within = hang_of(f).within;
  Verdict& v = w.verdict;
  std::set<std::string> hosts;
  for (const Finding* s : machines) hosts.insert(s->subject.id);
  const bool proven = hang_of(f).standing && f.confidence >= kIsolate;
  v.action = proven ? Action::isolate : Action::checks;
  v.precision = machines.size() == 1 ? Precision::exact : Precision::candidates;
  for (const Finding* s : machines) target(v, s->subject, s->confidence, because(*s));
  for (const Finding* s : machines)
    if (within && !hang_of(*s).group.empty())
      target(v, {SubjectKind::group, hang_of(*s).group}, s->confidence, because(*s));
  const std::string operation = in_group(f).empty() ? "one operation" : in_group(f);
  v.summary = within ? fmt::format(
                           "{} {} on {}: ranks {} have all entered {} and none finishes, and all "
                           "of them run on {}.{}",
                           proven ? "The job hung" : "If the job stood still, it hung",
                           machines.size() == 1 ? "inside one machine," : "inside single machines,",
                           list({hosts.begin(), hosts.end()}), hang_of(f).ranks, operation,
                           f.subject.id, since(w))
                     : fmt::format("{} on the network of {}: {}.{}",
                                   proven ? "The job hung" : "If the job stood still, it hung",
                                   f.subject.id, f.why, since(w));
  if (proven)
    for (const std::string& host : hosts)
      drain(v, host, within ? "hang inside the machine" : "hang, network");
  if (within) {
    next(v, NextKind::plan,
         fmt::format("On {}: dcgmi diag -r 3, nvidia-smi nvlink -s and -e, nvidia-smi -q, and the "
                     "kernel log (Xid, SXid, NVSwitch, PCIe). The group talks over NVLink, "
                     "NVSwitch or PCIe, so its network cards are not involved.",
                     list({hosts.begin(), hosts.end()})));
  } else {
    next(v, NextKind::collect,
         fmt::format("kernel log, ibstat and ethtool -S of {}: they say which part broke",
                     f.subject.id));
  }
  if (!proven) look_at(v, hosts);
  collect_more(w);
  return taken(f.why);
}

}  // namespace

// Only a set of ranks can be named: a collective that makes no progress, or ranks of which nothing
// was collected.
Answer stuck_group(Walk& w) {
  const auto all = suspects(w);
  if (all.empty()) return ruled_out("nobody is known to wait");
  const Finding& f = *all.front();
  Verdict& v = w.verdict;
  v.symptom = f.symptom;
  v.start = f.start;
  std::set<std::string> hosts;
  for (const Finding* s : all) hosts.insert(s->hosts.begin(), s->hosts.end());
  if (kind_is(f, StopKind::no_dump)) {
    v.action = Action::investigate;
    v.precision = all.size() == 1 ? Precision::exact : Precision::candidates;
    std::vector<std::string> names;
    for (const Finding* s : all) {
      if (v.targets.size() < 8) target(v, s->subject, s->confidence, because(*s));
      if (rank_alone(*s)) names.push_back(waiter_name(*s));
    }
    v.summary = fmt::format(
        "{} for {}, of which nothing was collected.",
        hang_of(f).standing ? "The job hung; the others wait" : "If the job stood still, it waited",
        names.empty() ? f.subject.id : list(names));
    if (hang_of(f).standing) v.summary += since(w);
    if (hosts.size() == 1) look_at(v, hosts);
    next(v, NextKind::collect,
         fmt::format("Is the machine of {} alive? Its kernel log, its stacks and its dump decide "
                     "whether it is the cause or its files are merely missing.",
                     names.empty() ? f.subject.id : list(names)));
    collect_more(w);
    return taken(f.why);
  }
  // Several operations that stand, each within one machine: as sure as the first are culprits
  // together, a few at most.
  std::vector<const Finding*> machines;
  for (const Finding* s : all)
    if (s->subject.kind == SubjectKind::host && s->confidence >= f.confidence - 0.15)
      machines.push_back(s);
  if (f.subject.kind == SubjectKind::host && machines.size() <= 4)
    return stuck_machines(w, machines);
  if (const auto ends = odd_ends(w, hosts); ends.size() == 1 && hang_of(f).standing)
    return stuck_at(w, f, *ends.front());
  v.action = Action::checks;
  v.precision = Precision::group;
  target(v, f.subject, f.confidence, because(f));
  if (hosts.size() <= 8)
    for (const std::string& host : hosts)
      target(v, {SubjectKind::host, host},
             f.confidence / static_cast<double>(std::max<std::size_t>(1, hosts.size())),
             because(f));
  v.summary = fmt::format(
      "The job hung in {}: all {} ranks have entered it and none finishes, so one of their GPUs or "
      "links is at fault and nothing says which.{}{}",
      in_group(f).empty() ? f.subject.id : in_group(f), f.ranks.size(), others_like(all), since(w));
  next(v, NextKind::plan,
       fmt::format(
           "All-gather between neighbours of {}, then within each machine; evict what fails.",
           hosts.empty() ? "these ranks" : list({hosts.begin(), hosts.end()})));
  collect_more(w);
  return taken(f.why);
}

}  // namespace culprit::decide
