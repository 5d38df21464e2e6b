// Faults of programs: exceptions, illegal accesses, crashes.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/ranges.hpp"

namespace culprit::decide {

namespace {

// The setting in which the GPUs of that host differ from all others; nullptr: none.
const Finding* other_gpus_of(const Walk& w, const Host& host) {
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::drift) && f.hosts == std::vector<Host>{host} &&
        f.subject.id.starts_with("gpu.product"))
      return &f;
  return nullptr;
}

// Out of memory on one machine alone, whose GPUs are not like the others'.
bool memory_of_one_host(Walk& w, const Cause& c) {
  std::set<Host> hosts;
  std::set<Rank> ranks;
  for (const Finding* f : c.findings) {
    if (!f->traits.has(Trait::gpu_memory_full)) return false;
    hosts.insert(f->hosts.begin(), f->hosts.end());
    ranks.insert(f->ranks.begin(), f->ranks.end());
  }
  if (hosts.size() != 1 || w.incident.hosts < 2) return false;
  const Host& host = *hosts.begin();
  const Finding* drift = other_gpus_of(w, host);
  if (drift == nullptr) return false;
  Verdict& v = w.verdict;
  act(v, Action::repair, Precision::exact, c.findings.front()->symptom, c.start);
  std::vector<std::string> because = ids(c.findings);
  because.push_back(drift->id);
  target(v, {SubjectKind::host, host}, confidence::kExceptionKnown, because);
  v.summary = say(Phrase::host_out_of_gpu_memory, host, at(c.start), drift->why);
  next(v, NextKind::plan, say(Phrase::same_gpus_in_job));
  return true;
}

// Software that one machine alone has otherwise, its image before a package, in a job that never
// made a step: programs that are not the same do not agree.
const Finding* other_software(const Walk& w) {
  if (w.incident.last_iteration || w.incident.last_progress) return nullptr;
  const Finding* out = nullptr;
  const auto weight = [](const Finding& f) {
    return std::pair(f.subject.id.starts_with("container.image."), f.severity);
  };
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::drift) && f.hosts.size() == 1 && w.incident.of_job(f.hosts.front()) &&
        (f.subject.id.starts_with("container.image.") || f.subject.id.starts_with("pip.")) &&
        (out == nullptr || weight(f) > weight(*out)))
      out = &f;
  return out;
}

// What stopped before the exception says more than its name; and what one machine has otherwise.
void explain(Walk& w, const Cause& c, const Finding& f) {
  Verdict& v = w.verdict;
  for (const Finding* one : c.findings)
    if (one->event_class != f.event_class && !one->traits.has(Trait::any_exception) &&
        one->subject.kind != SubjectKind::code) {
      v.summary += say(Phrase::shown_besides, inside(one->title));
      break;
    }
  if (const Finding* other = other_software(w)) {
    const auto& setting = std::get<SettingFacts>(other->facts);
    target(v, other->subject, confidence::kSettingDiffers, {other->id});
    v.summary += say(Phrase::alone_has, other->hosts.front(), setting.label, setting.value);
    if (!other->advice.empty()) next(v, NextKind::plan, other->advice);
  }
}

// The same in an earlier run, on ranks that are not among these.
bool other_ranks_had(const Walk& w, const std::string& event_class, const std::set<Rank>& ranks) {
  return std::ranges::any_of(w.incident.findings, [&](const Finding& f) {
    return f.event_class == event_class && f.analysis == Analysis::classify && !f.hearsay &&
           f.outcome == Outcome::ruled_out && !f.ranks.empty() &&
           std::ranges::none_of(f.ranks, [&](Rank r) { return ranks.count(r) != 0; });
  });
}

}  // namespace

Answer user_code(Walk& w) {
  const Cause* c = w.best(CauseKind::program);
  if (c == nullptr) return ruled_out(say(Phrase::no_exception_first));
  if (memory_of_one_host(w, *c))
    return taken(say(Phrase::memory_of_odd_host, w.verdict.targets.front().subject.id));
  Verdict& v = w.verdict;
  const Finding* f = c->findings.front();
  for (const Finding* one : c->findings)  // a place in the code says more than a line without one
    if (one->subject.kind == SubjectKind::code && f->subject.kind != SubjectKind::code) f = one;
  std::set<Rank> ranks;
  for (const Finding* one : c->findings)
    if (one->event_class == f->event_class) ranks.insert(one->ranks.begin(), one->ranks.end());
  const bool memory = f->traits.has(Trait::gpu_memory_full);
  const Text what = line_of(*f).exception.empty() ? f->title : Text(line_of(*f).exception);
  v.symptom = f->symptom;
  v.start = c->start;
  const std::vector<std::string> rank_names = [&] {
    std::vector<std::string> out;
    for (const auto r : ranks) out.push_back(std::to_string(number_of(r)));
    return out;
  }();
  // One rank after the other, run by run: no GPU of one of them, but what all have to hold.
  const bool others_before = memory && other_ranks_had(w, f->event_class, ranks);
  if (memory && ranks.size() == 1 && w.incident.ranks > 1 && !others_before) {
    act(v, Action::investigate, Precision::candidates);
    target(v, {SubjectKind::rank, rank_names[0]}, confidence::kMemoryOfOneRank, ids(c->findings));
    v.summary = say(Phrase::rank_out_of_gpu_memory, rank_names[0], at(c->start));
    next(v, NextKind::command,
         std::string("nvidia-smi --query-compute-apps=gpu_bus_id,pid,used_memory --format=csv   # "
                     "on that host, before the next start"));
    advise(v, *c);
    return taken(say(Phrase::cuda_oom_on_one_rank));
  }
  v.action = Action::rollback;
  if (f->subject.kind == SubjectKind::code)
    target(v, f->subject,
           f->traits.has(Trait::any_exception) ? confidence::kExceptionPlain
                                               : confidence::kExceptionKnown,
           ids(c->findings));
  if (ranks.size() == 1)
    target(v, {SubjectKind::rank, rank_names[0]}, confidence::kExceptionRank, ids(c->findings));
  if (v.targets.empty())
    target(v, {SubjectKind::code, "the program"}, confidence::kProgramUnplaced, ids(c->findings));
  const std::string function = line_of(*f).function;
  const Text place = f->subject.kind != SubjectKind::code
                         ? Text()
                         : say(Phrase::at_place, f->subject.id) +
                               (function.empty() ? Text() : say(Phrase::in_brackets, function));
  const std::string said = quoted(message_of(*f), 140);
  if (ranks.size() == 1)
    v.summary =
        say(Phrase::program_failed_on_rank, rank_names[0], said.empty() ? what : said, place);
  else if (ranks.empty())
    v.summary = say(Phrase::program_failed, said.empty() ? what : said, place);
  else
    v.summary =
        say(Phrase::program_failed_on_ranks, ranks.size(), said.empty() ? what : said, place);
  explain(w, *c, *f);
  if (ranks.size() == 1 && w.incident.ranks > 1)
    next(v, NextKind::plan, say(Phrase::only_rank_failed_this_way, rank_names[0]));
  next(v, NextKind::plan,
       memory ? say(Phrase::reduce_memory)
              : say(Phrase::go_back_or_fix, f->subject.kind == SubjectKind::code
                                                ? Text(f->subject.id)
                                                : say(Phrase::the_program)));
  return taken(say(Phrase::exception_at_on, what, place,
                   ranks.empty()       ? say(Phrase::unnamed_ranks)
                   : ranks.size() == 1 ? say(Phrase::rank_named, rank_names[0])
                                       : say(Phrase::ranks_counted, ranks.size())));
}

// GPUs on which earlier runs of the job ended with an illegal access: the driver reports it when
// the program does.
static std::set<std::string> gpus_of_runs_before(const Walk& w) {
  std::set<std::string> out;
  const auto when = [&](const Finding& f, const Finding& xid) {
    return (f.start && std::abs(*f.start - *xid.start) < w.params.same_moment) ||
           (f.end && std::abs(*f.end - *xid.start) < w.params.same_moment);
  };
  for (const Finding& f : w.incident.findings) {
    if (!f.traits.has(Trait::illegal_access) || f.hearsay || !w.incident.job_start || !f.end ||
        *f.end >= *w.incident.job_start || line_of(f).speaker != Speaker::job)
      continue;
    for (const Finding& xid : w.incident.findings)
      if (xid.traits.has(Trait::access_fault) && xid.subject.kind == SubjectKind::gpu &&
          xid.start && when(f, xid))
        out.insert(xid.subject.id);
  }
  return out;
}

// GPUs of several machines that ran into the fault within one moment of each other, in whatever
// zone their logs are: no device does that to another. Of the attempt in question, or of one
// before.
static std::set<std::string> gpus_at_one_moment(const Walk& w) {
  std::vector<const Finding*> faults;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::classify && f.traits.has(Trait::access_fault) && !f.hearsay &&
        f.subject.kind == SubjectKind::gpu && f.host && f.start)
      faults.push_back(&f);
  std::set<std::string> out;
  for (const Finding* a : faults)
    if (std::ranges::any_of(faults, [&](const Finding* b) {
          return std::abs(*a->start - *b->start) <= w.params.same_burst && a->host != b->host;
        }))
      out.insert(a->subject.id);
  return out;
}

// GPUs whose drivers report it, where the job's own output says that several ranks ran into it, in
// this run or earlier ones: several GPUs of several ranks are no broken device.
static std::set<std::string> gpus_of_several_ranks(const Walk& w) {
  std::set<Rank> ranks;
  std::set<Host> hosts;  // of these ranks, as far as they are known
  std::set<std::string> out;
  for (const Finding& f : w.incident.findings)
    if (!f.hearsay && f.traits.has(Trait::illegal_access) && line_of(f).speaker == Speaker::job) {
      ranks.insert(f.ranks.begin(), f.ranks.end());
      hosts.insert(f.hosts.begin(), f.hosts.end());
    }
  for (const auto& [rank, host] : w.incident.places)
    if (ranks.count(rank) > 0) hosts.insert(host);
  for (const Finding& f : w.incident.findings) {
    if (f.hearsay || (!hosts.empty() && f.host && hosts.count(*f.host) == 0)) continue;
    if (f.fired() && f.traits.has(Trait::access_fault) && f.subject.kind == SubjectKind::gpu &&
        f.host)
      out.insert(f.subject.id);
  }
  if (ranks.size() < 2 || ranks.size() < out.size()) out.clear();
  return out;
}

namespace {

// The GPU that all these ranks were: the same of one machine of several, which one run gives to one
// rank alone.
struct OneGpu {
  Host host;
  LocalRank local{};
};
std::optional<OneGpu> one_gpu_of(const Case& incident, const std::set<Rank>& ranks) {
  if (ranks.size() < 2 || incident.hosts < 2) return std::nullopt;
  std::optional<OneGpu> out;
  for (const Rank rank : ranks) {
    const auto place =
        std::ranges::find_if(incident.places, [&](const auto& one) { return one.first == rank; });
    const auto local = incident.local_ranks.find(rank);
    if (place == incident.places.end() || local == incident.local_ranks.end()) return std::nullopt;
    if (out && (out->host != place->second || out->local != local->second)) return std::nullopt;
    out = OneGpu{place->second, local->second};
  }
  return out;
}

}  // namespace

// GPUs that no broken device explains; empty, or several.
static std::set<std::string> gpus_of_the_fault(const Walk& w) {
  std::set<std::string> out = gpus_at_one_moment(w);
  out.merge(gpus_of_several_ranks(w));
  return out.size() > 1 ? out : std::set<std::string>{};
}

// Runs of the bundle ended so, on several machines, whatever the last one did.
bool failed_together(const Walk& w) {
  return std::ranges::any_of(w.incident.findings,
                             [](const Finding& f) {
                               return f.traits.has(Trait::illegal_access) && !f.hearsay &&
                                      line_of(f).speaker == Speaker::job;
                             }) &&
         !gpus_of_the_fault(w).empty();
}

// The line of code that it stood on, where a process of the same fault printed one.
static Subject code_of_access(const Walk& w, const Cause& c) {
  for (const Finding* f : c.findings)
    if (f->subject.kind == SubjectKind::code) return f->subject;
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::classify) && !f.hearsay && f.traits.has(Trait::illegal_access) &&
        f.subject.kind == SubjectKind::code)
      return f.subject;
  return {SubjectKind::code, "the program"};
}

static Answer in_runs_before(Walk& w) {
  Verdict& v = w.verdict;
  v.action = Action::rollback;
  v.symptom = Symptom::cuda_error;
  std::vector<std::string> because;
  for (const Finding& f : w.incident.findings)
    if (f.traits.has_any({Trait::illegal_access, Trait::access_fault}) && because.size() < 6)
      because.push_back(f.id);
  target(v, {SubjectKind::code, "the program"}, confidence::kSameOnSeveral, because);
  v.summary = say(Phrase::illegal_access_everywhere,
                  say(Phrase::gpus_counted, gpus_of_the_fault(w).size()), Text());
  next(v, NextKind::plan, say(Phrase::find_the_kernel));
  return taken(say(Phrase::fault_on_several_gpus));
}

Answer illegal_access(Walk& w) {
  const Cause* c = w.best(CauseKind::device_or_program);
  if (c == nullptr)
    return w.best() == nullptr && failed_together(w)
               ? in_runs_before(w)
               : ruled_out(say(Phrase::no_illegal_access_first));
  std::set<std::string> devices;
  std::set<Rank> ranks;
  std::optional<Nanoseconds> low, high;
  for (const Finding* f : c->findings) {
    if (f->subject.kind == SubjectKind::gpu) devices.insert(f->subject.id);
    ranks.insert(f->ranks.begin(), f->ranks.end());
  }
  const std::set<std::string> before = gpus_of_runs_before(w);
  devices.insert(before.begin(), before.end());
  devices.merge(gpus_of_the_fault(w));
  // Each time that this GPU ran into the fault, also in earlier attempts and runs.
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::classify && f.traits.has(Trait::access_fault) &&
        f.subject.kind == SubjectKind::gpu && devices.count(f.subject.id) > 0) {
      if (f.start && (!low || *f.start < *low)) low = f.start;
      if (f.end && (!high || *f.end > *high)) high = f.end;
    }
  Verdict& v = w.verdict;
  v.symptom = Symptom::cuda_error;
  v.start = c->start;
  if (const auto one = one_gpu_of(w.incident, ranks); one && devices.size() < 2) {
    act(v, Action::isolate, Precision::exact);
    target(v, {SubjectKind::host, one->host}, confidence::kDeviceAgainAndAgain, ids(c->findings));
    v.summary = say(Phrase::one_gpu_as_several_ranks, number_of(one->local), one->host,
                    inside(c->findings.front()->title),
                    to_ranges(std::vector<Rank>(ranks.begin(), ranks.end())));
    drain(w, one->host, c->findings.front()->event_class);
    next(v, NextKind::plan, say(Phrase::field_diagnostic_of_gpu));
    return taken(say(Phrase::same_gpu_in_each_run));
  }
  if (devices.size() > 1 || (devices.empty() && ranks.size() > 1)) {
    v.action = Action::rollback;
    target(v, code_of_access(w, *c), confidence::kSameOnSeveral, ids(c->findings));
    v.summary = say(Phrase::illegal_access_everywhere,
                    devices.empty() ? say(Phrase::ranks_counted, ranks.size())
                                    : say(Phrase::gpus_counted, devices.size()),
                    at(c->start));
    next(v, NextKind::plan, say(Phrase::find_the_kernel));
    return taken(say(Phrase::fault_on_several_gpus));
  }
  const bool repeated = devices.size() == 1 && low && high && *high - *low > w.params.same_burst;
  if (repeated) {
    const std::string gpu = *devices.begin();
    v.action = Action::isolate;
    if (const std::size_t end = gpu.find('/'); end != std::string::npos)  // else of no known host
      target(v, {SubjectKind::host, gpu.substr(0, end)}, confidence::kDeviceAgainAndAgain,
             ids(c->findings));
    target(v, {SubjectKind::gpu, gpu}, confidence::kDeviceAgainAndAgain, ids(c->findings));
    v.summary = say(Phrase::one_gpu_again_and_again, human_duration(*high - *low), gpu);
    next(v, NextKind::plan, say(Phrase::field_diagnostic_of_gpu));
    return taken(say(Phrase::fault_on_one_gpu_repeated));
  }
  act(v, Action::checks, Precision::candidates);
  for (const std::string& gpu : devices)
    target(v, {SubjectKind::gpu, gpu}, confidence::kIllegalAccessOnce, ids(c->findings));
  if (devices.empty() && ranks.size() == 1)
    target(v, {SubjectKind::rank, std::to_string(number_of(*ranks.begin()))},
           confidence::kIllegalAccessOnce, ids(c->findings));
  v.summary = say(Phrase::illegal_access_once, c->findings.front()->title, at(c->start));
  next(v, NextKind::plan, say(Phrase::checks_of_gpu));
  return taken(say(Phrase::one_occurrence));
}

// What others report that ends processes in this way, a node that is gone; else the crash itself.
static const Finding& because_of(const Walk& w, const Finding& crash) {
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::classify) && !f.hearsay && f.role == Role::cascade &&
        leads_to(f, crash.event_class) && line_of(f).peer)
      return f;
  return crash;
}

// The kernel's word for some process, where the job made steps and shows no failure: unless steps
// ended at that moment it was not the job's.
static bool of_another_process(const Walk& w, const Cause& c) {
  if (!w.incident.last_iteration || after_effects(w) || timed_out(w)) return false;
  const bool kernels = std::ranges::all_of(c.findings, [](const Finding* one) {
    return one->origin == Origin::kernel && one->ranks.empty();
  });
  const bool ended =
      std::ranges::any_of(w.incident.exits, [](const ExitFact& x) { return x.code != 0; });
  const auto& last = w.incident.last_progress;
  const bool then = c.start && last && *c.start + c.uncertainty >= *last - w.params.same_moment &&
                    *c.start - c.uncertainty <= *last + 3 * w.params.same_moment;
  return kernels && !ended && !then;
}

Answer process_crash(Walk& w) {
  const Cause* c = w.best(CauseKind::crash);
  if (c == nullptr) return ruled_out(say(Phrase::no_crash_first));
  const Finding& f = *c->findings.front();
  if (of_another_process(w, *c)) return ruled_out(say(Phrase::job_without_failure));
  Verdict& v = w.verdict;
  act(v, Action::investigate, Precision::candidates, f.symptom, c->start);
  std::set<Rank> ranks;
  for (const Finding* one : c->findings) ranks.insert(one->ranks.begin(), one->ranks.end());
  // The same crash in processes on other machines, also of other attempts.
  std::set<Host> hosts;
  for (const Finding& one : w.incident.findings)
    if (one.fired(Analysis::classify) && !one.hearsay && one.event_class == f.event_class &&
        one.role == Role::root &&
        !one.traits.has(Trait::not_of_host))  // others tell of it, each from where it runs
      hosts.insert(one.hosts.begin(), one.hosts.end());
  if (hosts.size() >= 2) {
    v.action = Action::rollback;
    target(v, {SubjectKind::code, "the program"}, confidence::kSameOnSeveral, ids(c->findings));
    v.summary = say(Phrase::same_crash_on_hosts, hosts.size(), inside(f.title), at(c->start));
    next(v, NextKind::plan, say(Phrase::debug_the_crash));
    advise(v, *c);
    return taken(say(Phrase::class_on_hosts, f.event_class, list(hosts)));
  }
  for (const Rank r : ranks)
    if (v.targets.size() < 4)
      target(v, {SubjectKind::rank, std::to_string(number_of(r))}, confidence::kCrashOnce,
             ids(c->findings));
  std::vector<std::string> who;
  for (const Rank r : ranks)
    if (who.size() < 4) who.push_back(fmt::format("rank {}", r));
  if (who.empty()) who.assign(c->hosts.begin(), c->hosts.end());
  const Finding& told = because_of(w, f);
  if (const auto& peer = line_of(told).peer; &told != &f && peer) who = {*peer};
  v.summary = say(Phrase::process_crashed, who.empty() ? Text() : say(Phrase::on_place, list(who)),
                  at(c->start), inside(told.title), in_its_words(told));
  next(v, NextKind::plan, say(Phrase::keep_core_dump));
  advise(v, *c);
  return taken(say(Phrase::class_once, f.event_class));
}

}  // namespace culprit::decide
