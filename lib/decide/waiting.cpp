// Steps for a job that stood still: whom everybody waited for, by counters of collectives and by
// stacks.
#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "decide/ledger.hpp"
#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

namespace {

constexpr double kIsolate = confidence::kLeastToIsolate;
// The kernel of the one machine that all wait for reports a stall.
constexpr double kStalledByKernel = 0.5;

std::vector<const Finding*> suspects(const Walk& w) {
  std::vector<const Finding*> out;
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::hang)) out.push_back(&f);
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

Text waiter_name(const Finding& f) {
  if (f.subject.kind == SubjectKind::host) return say(Phrase::trainer_on_host, f.subject.id);
  if (f.subject.kind == SubjectKind::code || f.subject.kind == SubjectKind::job)
    return say(Phrase::one_process);  // whose rank nobody knows
  if (!rank_alone(f))
    return say(Phrase::two_joined, f.subject.id, f.host ? say(Phrase::on_place, *f.host) : Text());
  if (f.host) return say(Phrase::rank_on_host, f.subject.id, *f.host);
  return say(Phrase::rank_named, f.subject.id);
}

std::vector<std::string> because(const Finding& f) {
  std::vector<std::string> out{f.id};
  for (const std::string& id : f.leads_to)
    if (out.size() < 5) out.push_back(id);
  return out;
}

Text in_group(const Finding& f) {
  const std::string &operation = hang_of(f).operation, &group = hang_of(f).group;
  if (operation.empty() && group.empty()) return {};
  return say(Phrase::operation_of_group,
             operation.empty() ? say(Phrase::a_collective) : Text(operation),
             group.empty() ? Text() : say(Phrase::of_group, group));
}

// Since when nothing moves: a time-out comes half an hour later than that.
Text since(const Walk& w) {
  if (!w.incident.last_iteration) return {};
  return say(Phrase::last_step_told, *w.incident.last_iteration, at(w.incident.last_progress));
}

// "is in all_reduce of tp", "waits for its data loader".
Text doing(const Finding& f) {
  const Text& reason = hang_of(f).reason;
  if (!hang_of(f).state.empty()) return say(Phrase::is_so, reason);
  const WaitKind wait = hang_of(f).wait;
  const bool call = wait == WaitKind::call || wait == WaitKind::lock || wait == WaitKind::program;
  return call ? say(Phrase::is_in, reason) : reason;
}

// "one rank waits for it", "7 ranks wait for them"; "" when nobody is known to.
Text waiting_for(const Finding& f, bool several) {
  const std::int64_t count = hang_of(f).waiting;
  if (count == 0) return {};
  return say(several ? Phrase::waiting_for_them : Phrase::waiting_for_it,
             count == 1 ? say(Phrase::one_rank_waits) : say(Phrase::ranks_wait, count));
}

// What to look at on the machines before they get work again.
void look_at(Verdict& v, const std::set<Host>& hosts) {
  if (hosts.empty() || hosts.size() > 4) return;
  check(v, {hosts.begin(), hosts.end()});
  next(v, NextKind::plan, say(Phrase::look_at_hosts, list(hosts)));
}

// What the state of its process asks for.
void by_state(Verdict& v, const Finding& f) {
  const std::string state = hang_of(f).state;
  if (state == "T") next(v, NextKind::plan, say(Phrase::state_t));
  if (state == "t") next(v, NextKind::plan, say(Phrase::state_traced));
  if (state == "Z") next(v, NextKind::plan, say(Phrase::state_z));
  if (state == "D") next(v, NextKind::plan, say(Phrase::state_d));
}

void collect_more(Walk& w) {
  Verdict& v = w.verdict;
  if (!w.incident.has_stacks)
    next(v, NextKind::collect, say(Phrase::next_time_stacks, kDumpStacks));
  if (!w.incident.has_recorder) next(v, NextKind::collect, say(Phrase::next_time_recorder));
  if (!w.incident.has_stacks || !w.incident.has_recorder)
    next(v, NextKind::collect, say(Phrase::next_time_ncclras));
}

// Ranks wait for each other or left early by the program's own fault: no machine is to blame.
Answer program_stopped(Walk& w, const Finding& f, std::span<const Finding* const> sure) {
  Verdict& v = w.verdict;
  const bool tie = hang_of(f).tie;
  act(v, Action::rollback,
      tie             ? Precision::group
      : rank_alone(f) ? Precision::exact
                      : Precision::group);
  if (const std::string place = hang_of(f).code; !place.empty())
    target(v, {SubjectKind::code, place}, f.confidence, because(f));
  for (const Finding* s : sure) target(v, s->subject, s->confidence, because(*s));
  if (!rank_alone(f) && !tie)
    for (const Rank r : f.ranks)
      if (f.ranks.size() <= 4)
        target(v, {SubjectKind::rank, std::to_string(number_of(r))}, f.confidence, because(f));
  v.summary =
      kind_is(f, StopKind::left_early)
          ? say(Phrase::left_early, waiter_name(f), in_group(f))
          : say(Phrase::program_no_machine, f.why,
                hang_of(f).code.empty() ? Text() : say(Phrase::in_brackets, hang_of(f).code));
  next(v, NextKind::plan,
       kind_is(f, StopKind::left_early) ? say(Phrase::look_at_step_counts)
                                        : say(Phrase::find_the_branch));
  next(v, NextKind::collect, say(Phrase::collect_distributed_debug));
  return taken(f.why);
}

// The program asks something outside the job, inside the training loop, and waits for the answer;
// or its own code does not come to an end.
Answer program_waited(Walk& w, const Finding& f, std::span<const Finding* const> sure) {
  Verdict& v = w.verdict;
  act(v, Action::rollback, Precision::exact);
  const std::string place = hang_of(f).code;
  if (!place.empty()) target(v, {SubjectKind::code, place}, f.confidence, because(f));
  for (const Finding* s : sure)
    if (place.empty() || s->subject.kind != SubjectKind::host)
      target(v, s->subject, s->confidence, because(*s));
  std::vector<Text> names;
  for (const Finding* s : sure) names.push_back(waiter_name(*s));
  v.summary = say(Phrase::hung_on_service, list(names), doing(f),
                  hang_of(f).code.empty() || hang_of(f).role == "dataloader" ||
                          hang_of(f).wait == WaitKind::program
                      ? Text()  // the reason has the place
                      : say(Phrase::in_brackets, hang_of(f).code),
                  since(w));
  next(v, NextKind::plan,
       say(hang_of(f).wait == WaitKind::program ? Phrase::bound_the_code
           : hang_of(f).wait == WaitKind::lock  ? Phrase::unlock_the_loader
                                                : Phrase::give_it_a_timeout));
  collect_more(w);
  return taken(f.why);
}

// A lock that a file stands for, which none of the ranks holds that somebody looked at.
Answer lock_file_waited(Walk& w, const Finding& f) {
  Verdict& v = w.verdict;
  act(v, Action::repair, Precision::exact, f.symptom, f.start);
  target(v, f.subject, f.confidence, because(f));
  // Where only ranks of one machine wait for it, it is that machine's.
  if (f.host && hang_of(f).waiting > 0)
    target(v, {SubjectKind::host, *f.host}, f.confidence, because(f));
  v.summary = say(
      Phrase::hung_on_lock_file,
      f.ranks.empty()
          ? say(Phrase::one_process)
          : say(f.ranks.size() == 1 ? Phrase::rank_named : Phrase::ranks_named, hang_of(f).ranks),
      hang_of(f).reason);
  next(v, NextKind::plan, say(Phrase::free_the_lock_file));
  return taken(f.why);
}

// Many ranks of a few machines, of which each has several: it is the machines that did not come.
// Empty: other ranks, or nobody knows where they ran.
std::set<Host> few_machines_of(std::span<const Finding* const> sure) {
  constexpr std::size_t kFew = 4, kEach = 4;
  std::set<Host> out;
  for (const Finding* s : sure) {
    if (!s->host || !rank_alone(*s)) return {};
    out.insert(*s->host);
  }
  if (out.size() > kFew || sure.size() < kEach * out.size()) return {};
  return out;
}

// They may have stopped the job, and it is not sure enough to take their machines out.
Answer probably_stopped(Walk& w, const Finding& f, std::span<const Finding* const> sure) {
  Verdict& v = w.verdict;
  act(v, Action::investigate, sure.size() == 1 ? Precision::exact : Precision::candidates);
  std::vector<Text> names;
  if (const std::set<Host> machines = few_machines_of(sure); !machines.empty()) {
    v.action = Action::checks;
    for (const Host& host : machines) {
      target(v, {SubjectKind::host, host}, f.confidence, because(f));
      names.emplace_back(std::string(host));
    }
  } else {
    for (const Finding* s : sure) {
      if (s->host && sure.size() == 1)
        target(v, {SubjectKind::host, *s->host}, s->confidence, because(*s));
      if (v.targets.size() < 8) target(v, s->subject, s->confidence, because(*s));
      names.push_back(waiter_name(*s));
    }
  }
  const Text& reason = hang_of(f).reason;
  const Text is_in = reason.empty() || sure.size() > 1 ? Text() : say(Phrase::which_does, doing(f));
  const bool silent = hang_of(f).sources ==
                      std::vector<std::string>{"silence"};  // its reason names the rank already
  v.summary = !hang_of(f).standing ? say(Phrase::waited_if_stood_still, list(names), is_in)
              : silent && sure.size() == 1
                  ? say(Phrase::hung_probably_because, list(names), f.why, since(w))
                  : say(Phrase::hung_probably_waited, list(names), is_in, f.why, since(w));
  std::set<Host> hosts;
  for (const Finding* s : sure)
    if (s->host) hosts.insert(*s->host);
  by_state(v, f);
  look_at(v, hosts);
  collect_more(w);
  return taken(f.why);
}

// Somebody stopped the process or looks at it: the machine is none the worse for it.
bool held(const Finding& f) { return hang_of(f).state == "T" || hang_of(f).state == "t"; }

// They stopped the job: their machines are taken out.
Answer machine_stopped(Walk& w, const Finding& f, std::span<const Finding* const> sure) {
  Verdict& v = w.verdict;
  v.precision = Precision::exact;
  // Who waited has given up, or somebody ended it.
  const bool over =
      !w.incident.exits.empty() || std::ranges::any_of(w.incident.findings, [](const Finding& one) {
        return one.fired() && (one.role == Role::cascade || one.role == Role::teardown);
      });
  v.action = !held(f) ? Action::isolate : over ? Action::reattempt : Action::repair;
  by_state(v, f);
  std::set<Host> hosts;
  bool nameless = false;
  std::vector<Text> names;
  for (const Finding* s : sure) {
    nameless = nameless || !s->host;
    if (s->host) {
      target(v, {SubjectKind::host, *s->host}, s->confidence, because(*s));
      hosts.insert(*s->host);
    }
    names.push_back(waiter_name(*s));
  }
  for (const Finding* s : sure) target(v, s->subject, s->confidence, because(*s));
  const Text& reason = hang_of(f).reason;
  const Text where = in_group(f);
  const bool worker = hang_of(f).role == "dataloader", several = sure.size() > 1;
  const bool device = kind_is(f, StopKind::device_stopped);
  Text what = say(Phrase::it_waits_for_nobody);
  if (!reason.empty())
    what = say(worker ? Phrase::its_data_loader : Phrase::it_does, doing(f));
  else if (!where.empty() && several)
    what = say(device ? Phrase::peers_finished : Phrase::peers_wait_in, f.subject.id, where);
  else if (!where.empty())
    what = say(device ? Phrase::its_peers_finished : Phrase::it_never_entered, where);
  v.summary =
      say(Phrase::hung_because_stopped, list(names),
          device ? say(Phrase::inside_a_collective) : Text(), what, waiting_for(f, several));
  v.summary += since(w);
  if (!held(f))
    for (const Host& host : hosts) drain(w, host, "hang");
  if (nameless) next(v, NextKind::collect, say(Phrase::collect_job_json_for_rank));
  if (kind_is(f, StopKind::device_stopped))
    next(v, NextKind::plan, say(Phrase::checks_of_device));
  else if (hang_of(f).wait == WaitKind::device)
    next(v, NextKind::plan, say(Phrase::gpu_does_not_finish));
  else if (!reason.empty())
    next(v, NextKind::plan, say(Phrase::stack_says_what));
  else
    next(v, NextKind::plan, say(Phrase::process_stopped_between));
  collect_more(w);
  return taken(f.why);
}

// The machine on which all of them run; empty: not on one.
Host machine_of(std::span<const Finding* const> sure) {
  std::set<Host> hosts;
  for (const Finding* s : sure) {
    if (!s->host && s->hosts.empty()) return {};
    hosts.insert(s->hosts.begin(), s->hosts.end());
    if (s->host) hosts.insert(*s->host);
  }
  return hosts.size() == 1 ? *hosts.begin() : Host();
}

// It may be of that time: dated so, or without a date in one of several kernel logs, where the
// stacks chose this machine and knew nothing of its kernel.
bool while_it_stood(const Walk& w, const Finding& f) {
  if (!f.start) return w.incident.holds.kernel_logs.size() > 1;
  return *f.start + f.uncertainty >= *w.incident.last_progress - w.params.went_on &&
         (!w.first.first_consequence || *f.start <= *w.first.first_consequence);
}

// What the kernel of that machine alone reports while the job stood still: a source that knows
// nothing of collectives.
const Finding* kernel_of_machine(const Walk& w, const Host& host) {
  if (host.empty() || !w.incident.last_progress) return nullptr;
  const Finding* out = nullptr;
  std::map<std::string, std::set<Host>> hosts;  // by class
  for (const Finding& f : w.incident.findings) {
    if (!f.fired(Analysis::classify) || f.hearsay || f.origin != Origin::kernel ||
        f.severity != Severity::critical || !while_it_stood(w, f))
      continue;
    hosts[f.event_class].insert(f.hosts.begin(), f.hosts.end());
    if (f.host == host && (out == nullptr || (f.start && (!out->start || *f.start < *out->start))))
      out = &f;
  }
  return out != nullptr && hosts[out->event_class].size() == 1 ? out : nullptr;
}

// The job waited for ranks of one machine, and its kernel says that it stalled: two sources.
Answer stalled_machine(Walk& w, const Finding& f, const Host& host, const Finding& kernel) {
  Verdict& v = w.verdict;
  const double confidence =
      std::min(confidence::kMostOfDumps, 1 - (1 - f.confidence) * (1 - kStalledByKernel));
  std::vector<std::string> grounds = because(f);
  grounds.insert(grounds.begin() + 1, kernel.id);
  act(v, Action::isolate, Precision::exact);
  target(v, {SubjectKind::host, host}, confidence, grounds);
  v.summary = say(Phrase::hung_because_stopped, host, Text(),
                  inside(kernel.title) + at(kernel.start), waiting_for(f, true));
  v.summary += since(w);
  drain(w, host, kernel.event_class);
  if (!kernel.advice.empty()) next(v, NextKind::plan, kernel.advice);
  look_at(v, {host});
  collect_more(w);
  return taken(f.why + say(Phrase::two_reasons) + kernel.why);
}

}  // namespace

// One or a few ranks that everybody waited for, and that waited for nobody.
// What the one rank that others wait for printed of its own failure: it did not stop, it failed.
static const Finding* reported_itself(const Walk& w, const std::vector<const Finding*>& sure) {
  if (sure.size() != 1 || !rank_alone(*sure.front()) || sure.front()->ranks.size() != 1)
    return nullptr;
  const Rank rank = sure.front()->ranks.front();
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::classify) && !f.hearsay && f.role == Role::root &&
        f.severity == Severity::critical && line_of(f).speaker == Speaker::job &&
        contains(f.ranks, rank))
      return &f;
  return nullptr;
}

Answer stopped_rank(Walk& w) {
  const auto all = suspects(w);
  if (all.empty()) {
    for (const Finding& f : w.incident.findings)
      if (f.analysis == Analysis::hang)
        return {f.outcome == Outcome::ruled_out ? StepOutcome::ruled_out
                                                : StepOutcome::not_enough_evidence,
                f.why};
    return not_enough(say(Phrase::no_wait_evidence));
  }
  const Finding& f = *all.front();
  Verdict& v = w.verdict;
  if (kind_is(f, StopKind::storage)) {
    act(v, Action::repair, Precision::exact, f.symptom, f.start);
    target(v, f.subject, f.confidence, because(f));
    v.summary = say(Phrase::hung_on_storage, f.hosts.size(), hang_of(f).reason);
    next(v, NextKind::plan, say(Phrase::look_at_storage));
    return taken(f.why);
  }
  if (kind_is(f, StopKind::lock_file)) return lock_file_waited(w, f);
  if (!stopped(f) && !code(f)) return not_enough(f.why);
  // Suspects as sure as the first are culprits together; more than a few are candidates.
  std::vector<const Finding*> sure;
  for (const Finding* s : all)
    if (s->event_class == f.event_class && s->confidence >= f.confidence - confidence::kAsSure)
      sure.push_back(s);
  // A set of ranks is a direction to look in, and no machine, unless they are all on one.
  const bool alone = std::ranges::all_of(
      sure, [](const Finding* s) { return rank_alone(*s) || s->hosts.size() == 1; });
  const bool exact = f.confidence >= confidence::kExactWait && sure.size() <= 4 && alone;
  v.symptom = f.symptom;
  v.start = f.start;
  if (code(f)) return program_stopped(w, f, sure);
  // A worker of a data loader that stands on a lock, which it got from its parent when it was
  // forked or shares with a thread of its own.
  const bool deadlock = hang_of(f).wait == WaitKind::lock && hang_of(f).role == "dataloader";
  const bool own_code =
      hang_of(f).wait == WaitKind::program && hang_of(f).standing && sure.size() == 1;
  const Host machine = machine_of(sure);
  const Finding* kernel = kernel_of_machine(w, machine);
  // Code that reads a file does not come to an end where the disk does not answer, either.
  if (own_code && kernel != nullptr) return stalled_machine(w, f, machine, *kernel);
  if (hang_of(f).wait == WaitKind::service || deadlock || own_code)
    return program_waited(w, f, sure);
  if (const Finding* own = reported_itself(w, sure); own != nullptr && !exact)
    return ruled_out(say(Phrase::rank_failed_itself, f.subject.id, inside(own->title)));
  if (exact) return machine_stopped(w, f, sure);
  if (kernel != nullptr) return stalled_machine(w, f, machine, *kernel);
  return probably_stopped(w, f, sure);
}

namespace {

// What else stands like the first: the reader should not look at one group of three.
Text others_like(const std::vector<const Finding*>& all) {
  std::vector<Text> names;
  for (const Finding* s : all)
    if (s != all.front() && s->event_class == all.front()->event_class)
      names.push_back(say(Phrase::group_and_ranks, s->subject.id, hang_of(*s).ranks));
  return names.empty() ? Text() : say(Phrase::same_is_true_of, list(names));
}

// Machines of these whose network left the crowd while the job stood still; one finding a machine.
std::vector<const Finding*> odd_ends(const Walk& w, const std::set<Host>& hosts) {
  std::map<std::string, const Finding*> out;
  for (const Finding& f : w.incident.findings) {
    if (!f.fired(Analysis::outliers) || !f.host || hosts.count(*f.host) == 0 ||
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
  const double confidence =
      std::min(confidence::kMostOfDumps, 1 - (1 - f.confidence) * (1 - metric.confidence));
  std::vector<std::string> grounds = because(f);
  grounds.insert(grounds.begin() + 1, metric.id);
  act(v, Action::isolate, Precision::exact);
  target(v, {SubjectKind::host, *metric.host}, confidence, grounds);
  if (metric.subject.kind == SubjectKind::nic) target(v, metric.subject, confidence, {metric.id});
  v.summary = say(Phrase::hung_on_network_of, *metric.host, f.ranks.size(),
                  in_group(f).empty() ? Text(f.subject.id) : in_group(f), *metric.host, metric.why,
                  since(w));
  drain(w, *metric.host, "hang, network");
  next(v, NextKind::collect, say(Phrase::collect_network_state, *metric.host));
  collect_more(w);
  return taken(f.why + say(Phrase::two_reasons) + metric.why);
}

// What stands lies within one machine, or has one machine at an end of each.
Answer stuck_machines(Walk& w, const std::vector<const Finding*>& machines) {
  const Finding& f = *machines.front();
  const bool within = hang_of(f).within;
  Verdict& v = w.verdict;
  std::set<Host> hosts;
  for (const Finding* s : machines) hosts.insert(decide::machine_of(s->subject));
  const bool proven = hang_of(f).standing && f.confidence >= kIsolate;
  act(v, proven ? Action::isolate : Action::checks,
      machines.size() == 1 ? Precision::exact : Precision::candidates);
  for (const Finding* s : machines) target(v, s->subject, s->confidence, because(*s));
  for (const Finding* s : machines)
    if (within && !hang_of(*s).group.empty())
      target(v, {SubjectKind::group, hang_of(*s).group}, s->confidence, because(*s));
  const Text operation = in_group(f).empty() ? say(Phrase::one_operation) : in_group(f);
  v.summary =
      within ? say(Phrase::hung_inside_machine,
                   proven ? say(Phrase::it_hung) : say(Phrase::if_it_hung),
                   machines.size() == 1 ? say(Phrase::inside_one_machine)
                                        : say(Phrase::inside_single_machines),
                   list(hosts), hang_of(f).ranks, operation, f.subject.id, since(w))
             : say(Phrase::hung_on_network, proven ? say(Phrase::it_hung) : say(Phrase::if_it_hung),
                   f.subject.id, f.why, since(w));
  if (proven)
    for (const Host& host : hosts)
      drain(w, host, within ? "hang inside the machine" : "hang, network");
  if (within) {
    next(v, NextKind::plan, say(Phrase::checks_within_machine, list(hosts)));
  } else {
    next(v, NextKind::collect, say(Phrase::collect_network_state, f.subject.id));
  }
  if (!proven) look_at(v, hosts);
  collect_more(w);
  return taken(f.why);
}

// Of these machines the few that report a fault of their own, or a link that stays down, without a
// time: host -> findings.
std::map<Host, std::vector<std::string>> undated_among(const Walk& w, const std::set<Host>& hosts) {
  std::map<Host, std::vector<std::string>> out;
  const auto note = [&](const Finding& f) {
    if (!f.start && f.host && hosts.count(*f.host) > 0) out[*f.host].push_back(f.id);
  };
  for (const Excluded& e : w.first.excluded) {
    const auto kind = kind_of(*e.finding);
    if (e.reason == Exclusion::unplaced &&
        (kind == CauseKind::machine || kind == CauseKind::network))
      note(*e.finding);
  }
  if (out.empty())
    for (const Finding& f : w.incident.findings)
      if (f.analysis == Analysis::classify && f.cause == CauseKind::network &&
          f.outcome == Outcome::not_enough_evidence && !f.hearsay)
        note(f);
  if (out.size() > 4 || 2 * out.size() > hosts.size()) out.clear();
  return out;
}

// All ranks of which anything was collected time out in one operation: that narrows down nothing,
// so that there is no group to test before the others. Of the ranks that nobody heard of one may
// have stayed away.
bool knows_only_that_all_wait(const Walk& w, const Finding& f) {
  std::set<Rank> heard;
  for (const Finding& one : w.incident.findings)
    if (one.analysis == Analysis::classify) heard.insert(one.ranks.begin(), one.ranks.end());
  const std::set<Rank> waiting(f.ranks.begin(), f.ranks.end());
  return w.incident.ranks > 1 && !hang_of(f).within && !w.incident.has_stacks &&
         !w.incident.has_recorder && std::ranges::includes(waiting, heard);
}

// Source and destination of work requests that are not over: their network is tested before either
// is accused (Aegis section 4.2.2: NetDiag on them).
Answer requests_not_over(Walk& w, const Finding& f, const std::set<Host>& hosts) {
  Verdict& v = w.verdict;
  act(v, Action::checks, Precision::candidates);
  target(v, f.subject, f.confidence, because(f));
  if (hosts.size() <= 8)
    for (const Host& host : hosts)
      target(v, {SubjectKind::host, host},
             f.confidence / static_cast<double>(std::max<std::size_t>(1, hosts.size())),
             because(f));
  v.summary =
      say(Phrase::hung_on_requests,
          hang_of(f).standing ? say(Phrase::it_hung) : say(Phrase::if_it_hung), f.why, since(w));
  check(v, {hosts.begin(), hosts.end()});
  next(v, NextKind::plan,
       say(Phrase::test_network_of, hosts.empty() ? say(Phrase::these_ranks) : list(hosts)));
  collect_more(w);
  return taken(f.why);
}

}  // namespace

// Only a set of ranks can be named: a collective that makes no progress, or ranks of which nothing
// was collected.
Answer stuck_group(Walk& w) {
  const auto all = suspects(w);
  if (all.empty()) return ruled_out(say(Phrase::nobody_waits));
  const Finding& f = *all.front();
  if (kind_is(f, StopKind::lock_file)) return ruled_out(f.why);
  Verdict& v = w.verdict;
  v.symptom = f.symptom;
  v.start = f.start;
  std::set<Host> hosts;
  for (const Finding* s : all) hosts.insert(s->hosts.begin(), s->hosts.end());
  if (kind_is(f, StopKind::no_dump)) {
    // A group says less than the rank that its members did not hear of.
    if (std::ranges::none_of(all, [](const Finding* s) { return rank_alone(*s); }) &&
        std::ranges::any_of(w.incident.findings,
                            [](const Finding& s) { return s.fired(Analysis::silence); }))
      return not_enough(f.why);
    act(v, Action::investigate, all.size() == 1 ? Precision::exact : Precision::candidates);
    std::vector<Text> names;
    for (const Finding* s : all) {
      if (v.targets.size() < 8) target(v, s->subject, s->confidence, because(*s));
      if (rank_alone(*s)) names.push_back(waiter_name(*s));
    }
    const bool standing = hang_of(f).standing;
    v.summary = names.empty() && !hang_of(f).operation.empty()
                    ? say(Phrase::nothing_collected_of_others,
                          say(standing ? Phrase::it_hung : Phrase::if_it_hung),
                          hang_of(f).operation, std::max<std::int64_t>(1, hang_of(f).waiting))
                    : say(Phrase::nothing_collected_of,
                          say(standing ? Phrase::hung_others_wait : Phrase::if_it_waited),
                          names.empty() ? Text(f.subject.id) : list(names));
    if (hang_of(f).standing) v.summary += since(w);
    if (hosts.size() == 1) look_at(v, hosts);
    next(v, NextKind::collect,
         say(Phrase::is_machine_alive, names.empty() ? Text(f.subject.id) : list(names)));
    collect_more(w);
    return taken(f.why);
  }
  // Several operations that stand, each within one machine: as sure as the first are culprits
  // together, a few at most.
  std::vector<const Finding*> machines;
  for (const Finding* s : all)
    if (s->subject.kind == SubjectKind::host && s->confidence >= f.confidence - confidence::kAsSure)
      machines.push_back(s);
  if (f.subject.kind == SubjectKind::host && machines.size() <= 4)
    return stuck_machines(w, machines);
  if (const auto ends = odd_ends(w, hosts); ends.size() == 1 && hang_of(f).standing)
    return stuck_at(w, f, *ends.front());
  if (hang_of(f).requests) return requests_not_over(w, f, hosts);
  // A fault without a date decides nothing, and says which of these machines to look at first.
  const auto undated = undated_among(w, hosts);
  const bool whole = undated.empty() && knows_only_that_all_wait(w, f);
  act(v, whole ? Action::investigate : Action::checks, Precision::group);
  target(v, f.subject, f.confidence, because(f));
  for (const auto& [host, ids] : undated)
    target(v, {SubjectKind::host, host}, confidence::kOneOfUndated, ids);
  if (undated.empty() && !whole && hosts.size() <= 8)
    for (const Host& host : hosts)
      target(v, {SubjectKind::host, host},
             f.confidence / static_cast<double>(std::max<std::size_t>(1, hosts.size())),
             because(f));
  v.summary = say(Phrase::hung_in_group, in_group(f).empty() ? Text(f.subject.id) : in_group(f),
                  f.ranks.size(), others_like(all), since(w));
  if (!undated.empty()) {
    std::vector<Host> first;
    for (const auto& [host, ids] : undated) first.push_back(host);
    v.summary += say(Phrase::undated_faults_among, list(first));
    check(v, first);
  }
  next(v, NextKind::plan,
       say(Phrase::all_gather_between, hosts.empty() ? say(Phrase::these_ranks) : list(hosts)));
  collect_more(w);
  return taken(f.why);
}

}  // namespace culprit::decide
