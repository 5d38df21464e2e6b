// What bears out a fault that a machine reports.
#include "decide/witnesses.hpp"

#include <algorithm>
#include <charconv>

#include "decide/candidate.hpp"
#include "decide/walk.hpp"

namespace culprit::decide {

namespace {

constexpr std::int64_t kLeastProcess = 1000;    // of containers they begin with 1 again
constexpr Nanoseconds kLongAgo = 40 * kMinute;  // longer than time-outs of collectives
constexpr std::size_t kMostLost = 64;           // more are no single process's fate

bool digit_at(const std::string& text, std::size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

bool before(const ExitFact& a, const ExitFact& b) {
  if (a.evidence.member == b.evidence.member) return a.evidence.line < b.evidence.line;
  return a.time && b.time && *a.time < *b.time;
}

// The job's own words on one host that a failed device may be behind.
bool told_by_program(const Finding& f) {
  const auto* line = std::get_if<LineFacts>(&f.facts);
  return f.analysis == Analysis::classify && f.origin == Origin::any && !f.hearsay &&
         (line == nullptr || line->speaker == Speaker::job) && f.hosts.size() == 1 &&
         (f.traits.has(Trait::by_gpu) || f.cause == CauseKind::machine ||
          f.cause == CauseKind::crash || f.cause == CauseKind::device_or_program);
}

// A book of the cluster tells of some node, at no known time, and nothing says that the job ran
// there: no list of its machines, and nobody collected that one's log. It may be of another job, or
// of another day.
bool node_of_any_job(const Case& incident, const Finding& f) {
  if (!f.traits.has(Trait::node_missed) || f.start || !f.host) return false;
  const auto& hosts = incident.job_hosts;
  return !std::binary_search(hosts.begin(), hosts.end(), *f.host) &&
         incident.pod_nodes.count(*f.host) == 0 && incident.holds.kernel_logs.count(*f.host) == 0 &&
         incident.holds.outputs.count(*f.host) == 0;
}

// Only the job's own processes print it.
bool error_of_program(const Finding& f) {
  const auto* line = std::get_if<LineFacts>(&f.facts);
  return f.fired() && f.cause == CauseKind::program && f.origin == Origin::any && line != nullptr &&
         line->speaker == Speaker::job;
}

// What nobody had missed for longer than any time-out is another matter.
bool long_apart(const Finding& f, const Finding& missed) {
  return f.end && missed.start &&
         *f.end + f.uncertainty + kLongAgo < *missed.start - missed.uncertainty;
}

// A machine's own log tells that some process crashed, of which the job may have none.
bool crash_of_any_process(const Finding& f, CauseKind kind) {
  const auto* line = std::get_if<LineFacts>(&f.facts);
  return kind == CauseKind::crash && !f.start && line != nullptr && line->speaker != Speaker::job;
}

}  // namespace

Witnesses::Witnesses(const Case& incident, const BrokenConnections& broken)
    : incident_(incident),
      heard_job_(incident.any_training_output || broken.any ||
                 std::ranges::any_of(incident.findings, error_of_program)) {
  for (const Finding& f : incident.findings) {
    if (const auto* broke = std::get_if<BreakFacts>(&f.facts); broke != nullptr) {
      if (!broke->most.empty()) note_witness(Host(broke->most), f);
      for (const Host& host : broke->alerted) note_witness(host, f);
    }
    if (f.fired()) collect(f);
  }
  for (const ExitFact& x : incident.exits) {
    const std::int64_t signal = signal_of(x.code);
    if (x.host && signal == 9) killed_.insert(*x.host);
    if (x.host && signal == 11) crashed_.insert(*x.host);
    if (signal == 6 && (first_abort_ == nullptr || before(x, *first_abort_))) first_abort_ = &x;
  }
}

void Witnesses::collect(const Finding& f) {
  note_lost_processes(f);
  cuda_error = cuda_error || f.traits.has(Trait::by_gpu);
  const auto kind = f.cause;
  // Of a failed device the processes often know no place.
  const bool unplaced_device =
      (kind == CauseKind::machine || kind == CauseKind::device_or_program) &&
      std::ranges::none_of(f.hosts, [&](const Host& h) { return incident_.machines.contains(h); });
  if ((kind == CauseKind::resource || kind == CauseKind::shared || kind == CauseKind::environment ||
       unplaced_device) &&
      f.role == Role::root && f.origin == Origin::any && f.hosts.size() <= 1)
    lost_there_[unplaced_device || f.hosts.empty() ? Host() : f.hosts.front()].push_back(&f);
  if (!told_by_program(f) && !f.traits.has(Trait::node_missed) && f.analysis != Analysis::hang &&
      f.analysis != Analysis::root_diag && f.analysis != Analysis::silence)
    return;
  // A group that most machines belong to names none of them.
  if (f.hosts.size() > 1 && 2 * f.hosts.size() > incident_.hosts) return;
  for (const Host& host : f.hosts) note_witness(host, f);
}

void Witnesses::note_witness(const Host& host, const Finding& f) {
  auto& two = by_host_[host];
  if (std::ranges::find(two, &f) != two.end()) return;
  two.push_back(&f);
  // None without a time is too late.
  std::ranges::stable_sort(two, {}, [](const Finding* l) { return l->start; });
  if (two.size() > 2) two.pop_back();
}

// "DataLoader worker (pid 61772) is killed by signal": a number of four digits or more.
void Witnesses::note_lost_processes(const Finding& f) {
  constexpr std::string_view kBefore = "(pid ", kBehind = ") is killed by signal";
  if (f.origin != Origin::any || f.hearsay) return;
  for (const Evidence& e : f.evidence) {
    const std::size_t found = e.excerpt.find(kBefore);
    if (found == std::string::npos) continue;
    const std::size_t from = found + kBefore.size();
    std::size_t end = from;
    while (digit_at(e.excerpt, end)) ++end;
    if (end - from >= 4 && e.excerpt.compare(end, kBehind.size(), kBehind) == 0 &&
        lost_processes_.size() < kMostLost)
      lost_processes_[e.excerpt.substr(from, end - from)].insert(f.hosts.begin(), f.hosts.end());
  }
}

bool Witnesses::corroborate(const Finding& f, CauseKind kind) const {
  if (counters_of_switch(f)) return links_break_everywhere();
  if ((f.origin == Origin::any && !crash_of_any_process(f, kind) &&
       !node_of_any_job(incident_, f)) ||
      !heard_job_)
    return true;
  // What most hosts of the job report, and no line takes back, they report of one thing that they
  // share.
  if (kind == CauseKind::shared)
    return f.hosts.size() >= 2 && 2 * f.hosts.size() >= incident_.hosts;
  if (!f.host) return false;
  // The process that the kernel killed or that crashed there.
  if ((kind == CauseKind::resource && killed_.count(*f.host) != 0) ||
      (kind == CauseKind::crash && crashed_.count(*f.host) != 0))
    return true;
  if (f.origin == Origin::kernel &&
      (of_own_process(f) || of_lost_process(f) || took_away(f) || felt_by_others(f)))
    return true;
  // Processes report a CUDA error, and the first that ended itself was there.
  if (gpu_fault(f) && cuda_error && first_abort_ != nullptr && first_abort_->host == f.host)
    return true;
  const auto witnesses = by_host_.find(*f.host);
  return witnesses != by_host_.end() && std::ranges::any_of(witnesses->second, [&](const auto* l) {
           return l != &f && !(kind == CauseKind::resource && long_apart(f, *l));
         });
}

// Several hosts report connections of the fabric that broke, and none of them stands out.
bool Witnesses::links_break_everywhere() const {
  std::set<Host> reporters;
  for (const Finding& f : incident_.findings) {
    if (!f.fired()) continue;
    if (f.analysis == Analysis::root_diag) return false;
    if (f.analysis == Analysis::classify && f.role == Role::cascade &&
        f.symptom == Symptom::infiniband_error)
      reporters.insert(f.hosts.begin(), f.hosts.end());
  }
  return reporters.size() > 2;
}

// The job's word for what it lost there, which a program takes for a limit or for remote storage: a
// worker that died of a bus error, where the kernel says which program's memory failed; a file that
// this machine could not read, or nobody says which, where its own disk failed.
bool Witnesses::took_away(const Finding& f) const {
  const auto* line = std::get_if<LineFacts>(&f.facts);
  if (line == nullptr) return false;
  const auto by = [&](const Finding* l) {
    return l != &f && !long_apart(f, *l) && leads_to(f, l->event_class) &&
           (line->names_trainer || l->cause != CauseKind::resource);
  };
  const auto there = lost_there_.find(*f.host), somewhere = lost_there_.find(Host());
  if (there != lost_there_.end() && std::ranges::any_of(there->second, by)) return true;
  if (somewhere == lost_there_.end()) return false;
  // What ranks of several devices report alike is no device's.
  const auto of_one_device = [&](const Finding* l) {
    return l->cause != CauseKind::device_or_program ||
           (l->ranks.size() <= 1 &&
            std::ranges::count(somewhere->second, l->event_class, &Finding::event_class) == 1);
  };
  return std::ranges::any_of(somewhere->second, [&](const Finding* l) {
    return by(l) && l->cause != CauseKind::resource && of_one_device(l) && alone_with(f, *l);
  });
}

// Of several machines whose kernels were asked, it alone reports what leads to that.
bool Witnesses::alone_with(const Finding& f, const Finding& lost) const {
  return incident_.holds.kernel_logs.size() > 1 &&
         std::ranges::none_of(incident_.findings, [&](const Finding& other) {
           return other.fired() && other.host && other.host != f.host &&
                  leads_to(other, lost.event_class);
         });
}

// At that moment drivers of several other machines report of their own GPUs, too: only a job has
// GPUs of several machines at work on one thing.
bool Witnesses::felt_by_others(const Finding& f) const {
  constexpr Nanoseconds kSoon = 10 * kSecond;
  constexpr std::size_t kLeastHosts = 2;
  if (!f.start || !gpu_fault(f)) return false;
  std::set<Host> others;
  for (const Finding& other : incident_.findings)
    if (other.fired() && other.origin == Origin::kernel && other.host && other.host != f.host &&
        other.start && other.traits.has(Trait::gpu_xid) && *other.start >= *f.start &&
        *other.start <= *f.start + kSoon)
      others.insert(*other.host);
  return others.size() >= kLeastHosts;
}

// The kernel names a process by its number, and that is one of the job's. Small ones are of
// daemons, and are alike on many machines.
bool Witnesses::of_own_process(const Finding& f) const {
  const auto* line = std::get_if<LineFacts>(&f.facts);
  if (line == nullptr || !line->names_trainer) return false;
  const auto known = [&](const std::optional<Host>& host, std::int64_t pid) {
    const auto own = incident_.processes.find(host);
    return own != incident_.processes.end() && own->second.count(pid) != 0;
  };
  for (const Evidence& e : f.evidence)
    for (const std::string_view words : {" pid=", "Killed process "}) {
      const std::size_t found = e.excerpt.find(words);
      if (found == std::string::npos) continue;
      std::int64_t pid = 0;
      std::from_chars(e.excerpt.data() + found + words.size(), e.excerpt.data() + e.excerpt.size(),
                      pid);
      if (pid >= kLeastProcess && (known(f.host, pid) || known(std::nullopt, pid))) return true;
    }
  return false;
}

// The same, and the job says that it lost the process with that number.
bool Witnesses::of_lost_process(const Finding& f) const {
  for (const Evidence& e : f.evidence)
    for (const auto& [pid, hosts] : lost_processes_) {
      if (!hosts.empty() && hosts.count(*f.host) == 0) continue;
      for (const std::string& words : {":" + pid + " due to ", "pid " + pid, "pid=" + pid})
        if (const std::size_t found = e.excerpt.find(words);
            found != std::string::npos && !digit_at(e.excerpt, found + words.size()))
          return true;
    }
  return false;
}

}  // namespace culprit::decide
