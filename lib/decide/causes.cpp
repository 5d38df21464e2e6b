#include "decide/causes.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "decide/surroundings.hpp"
#include "model/phrases.hpp"
#include "model/confidence.hpp"
#include "model/sort.hpp"

namespace culprit::decide {

namespace {

constexpr Nanoseconds kSlack = 5 * kSecond;
constexpr std::int64_t kLeastProcess = 1000;  // of containers they begin with 1 again
// SlurmdTimeout is five minutes by default, Kubernetes' grace period 40 seconds.
constexpr Nanoseconds kPolling = 6 * kMinute;
constexpr Nanoseconds kSetUpSlack = 2 * kMinute;  // of retries of RDMA and TCP connections

bool consequence(const Finding& f) { return f.role == Role::cascade || f.role == Role::teardown; }

std::string peer_of(const Finding& f) {
  const auto* line = std::get_if<LineFacts>(&f.facts);
  return line == nullptr ? std::string() : line->peer.value_or("");
}

// Each of its lines stands before steps of the same log, and not all of these have a time.
bool steps_after(const Finding& f) {
  const auto* line = std::get_if<LineFacts>(&f.facts);
  return line != nullptr && line->steps_after;
}

// One cause per kind and moment: the same fault on two hosts at once is one cause with two hosts.
// Causes are found by host and by moment, so that a hundred thousand hosts are no more work than
// their findings.
class Gathering {
 public:
  Gathering(std::vector<Cause>& causes, const DecideParams& params)
      : causes_(causes), params_(params) {}

  void add(CauseKind kind, const Finding& f) {
    std::size_t i = home(kind, f);
    const bool fresh = i == causes_.size();
    if (fresh) {
      Cause c;
      c.kind = kind;
      c.start = f.start;
      c.uncertainty = f.uncertainty;
      c.confidence = f.confidence;
      causes_.push_back(std::move(c));
      known_.emplace_back();
      Kind& of = kinds_[kind];
      of.first = std::min(of.first, i);
      if (f.start)
        of.by_start.emplace(*f.start, i);
      else
        of.undated = std::min(of.undated, i);
      of.most_uncertain = std::max(of.most_uncertain, f.uncertainty);
    }
    Cause& c = causes_[i];
    c.findings.push_back(&f);
    known_[i].classes.insert(f.event_class);
    for (const auto& host : f.hosts) {
      if (fresh || known_[i].hosts.count(host) == 0) c.hosts.push_back(host);
      known_[i].hosts.insert(host);
      kinds_[kind].by_host.emplace(host, i);  // keeps the first
    }
    c.confidence = std::max(c.confidence, f.confidence);
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  struct Kind {
    std::size_t first = kNone, undated = kNone;
    Nanoseconds most_uncertain = 0;
    std::multimap<Nanoseconds, std::size_t> by_start;
    std::map<Host, std::size_t> by_host;
  };
  struct Known {
    std::set<Host> hosts;
    std::set<std::string> classes;
  };

  // The first cause that the finding belongs to, or the number of causes.
  std::size_t home(CauseKind kind, const Finding& f) const {
    const auto at = kinds_.find(kind);
    if (at == kinds_.end()) return causes_.size();
    const Kind& of = at->second;
    std::size_t best = std::min(of.undated, f.start ? kNone : of.first);
    const bool machine = kind == CauseKind::machine || kind == CauseKind::network;
    if (machine && f.host)
      if (const auto own = of.by_host.find(*f.host); own != of.by_host.end())
        best = std::min(best, own->second);
    if (f.start) {
      const Nanoseconds reach =
          std::max(params_.same_moment, of.most_uncertain + f.uncertainty + kSlack);
      for (auto it = of.by_start.lower_bound(*f.start - reach);
           it != of.by_start.end() && it->first <= *f.start + reach; ++it) {
        const Cause& c = causes_[it->second];
        const Nanoseconds apart = std::abs(*f.start - *c.start);
        const bool together =
            apart <= (machine ? c.uncertainty + f.uncertainty + kSlack : params_.same_moment);
        const bool alike =
            apart <= params_.same_moment && known_[it->second].classes.count(f.event_class) != 0;
        if (together || alike) best = std::min(best, it->second);
      }
    }
    return std::min(best, causes_.size());
  }

  std::vector<Cause>& causes_;
  const DecideParams& params_;
  std::vector<Known> known_;  // beside causes_
  std::map<CauseKind, Kind> kinds_;
};

// Sorts out, one reason after the other, what cannot have come first.
class Sieve {
 public:
  Sieve(const Case& incident, const DecideParams& params) : incident_(incident), params_(params) {}

  FirstFailure run() {
    look_around();
    find_first_consequence();
    const Surroundings surroundings(incident_, params_, out_.first_consequence);
    for (const Finding& f : incident_.findings) {
      if (f.transient)
        remember_transient(f);
      else if (const auto kind = kind_of(f); kind) {
        if (auto why = surroundings.unrelated(f))
          exclude(f, Exclusion::surroundings, std::move(*why));
        else if (passes(f, *kind))
          candidates_.push_back(&f);
      }
    }
    drop_known_consequences();
    find_first_trouble();
    Gathering gathering(out_.causes, params_);
    for (const Finding* f : own_)
      if (came_first(*f)) gathering.add(*kind_of(*f), *f);
    order();
    return std::move(out_);
  }

 private:
  void exclude(const Finding& f, Exclusion reason, Text why) {
    out_.excluded.push_back({&f, reason, std::move(why)});
  }

  bool went_on(const Finding& f) const {
    return decide::went_on(incident_, params_, f) && !evicted_for(f);
  }

  // A node that is not ready keeps its pods for minutes (tolerationSeconds, 300 by default); then
  // they are evicted, and with them the job, which had no other fault until then.
  bool evicted_for(const Finding& f) const {
    if (!f.traits.has(Trait::node_missed) || !f.host || !f.start) return false;
    const auto own = evictions_.find(*f.host);
    if (own == evictions_.end()) return false;
    const auto next = own->second.lower_bound(*f.start);
    return next != own->second.end() && *next - *f.start <= params_.evicted_within;
  }

  // When others began to notice. Noise of a healthy phase (a reset connection an hour before) does
  // not count.
  void find_first_consequence() {
    for (const Finding& f : incident_.findings) {
      if (f.outcome != Outcome::fired || !consequence(f) || !f.start ||
          f.analysis != Analysis::classify || f.subject.kind != SubjectKind::job)
        continue;
      // The scheduler's word is a decision; what failed before it is another question
      // (user_request).
      if (went_on(f)) continue;
      if (f.traits.has_any({Trait::scheduler_ended, Trait::time_limit, Trait::pods_evicted})) {
        scheduler_spoke_ = std::max(scheduler_spoke_.value_or(*f.start), *f.start);
        continue;
      }
      const Nanoseconds begin =
          incident_.last_progress
              ? std::max(*f.start, std::min(*incident_.last_progress, f.end.value_or(*f.start)))
              : *f.start;
      if (!out_.first_consequence || begin < *out_.first_consequence) {
        out_.first_consequence = begin;
        first_consequence_ = &f;
      }
      if (f.role == Role::cascade && (!first_cascade_ || begin < *first_cascade_))
        first_cascade_ = begin;
    }
    out_.noticed = out_.first_consequence;
    if (!out_.first_consequence) find_undated_consequence();
  }

  // Broken connections without times, behind the last step of its log: they were noticed when the
  // next step was due.
  void find_undated_consequence() {
    const auto& last = incident_.last_step;
    if (!last || !incident_.last_progress) return;
    for (const Finding& f : incident_.findings)
      if (f.outcome == Outcome::fired && f.role == Role::cascade && !f.start &&
          f.analysis == Analysis::classify && f.severity >= Severity::distributed &&
          f.symptom != Symptom::job_hang && f.subject.kind == SubjectKind::job &&
          !f.evidence.empty() &&
          std::all_of(f.evidence.begin(), f.evidence.end(), [&](const Evidence& e) {
            return e.member == last->member && e.line > last->line;
          })) {
        out_.noticed = *incident_.last_progress + incident_.step_time;
        return;
      }
  }

  // What was taken back is a cause only when something broke while it lasted.
  void remember_transient(const Finding& f) {
    // Only what carries the traffic that broke: a server's hiccup breaks no connection between
    // ranks.
    const auto& noticed = out_.noticed;
    if (!noticed || went_on(f) || f.scope != Scope::host_local ||
        f.symptom != Symptom::infiniband_error || !touched(f))
      return;
    for (const Alert& a : f.alerts)
      if (a.begin && a.end && *a.begin - f.uncertainty - kSlack <= *noticed &&
          *noticed <= *a.end + f.uncertainty + params_.after_alert) {
        out_.transients.push_back(&f);
        return;
      }
  }

  // What one finding is asked of all others, by host, so that each need not walk all of them.
  void index() {
    for (const Finding& f : incident_.findings) {
      if (f.outcome != Outcome::fired) continue;
      if (f.host && f.start && f.traits.has_any({Trait::node_drained, Trait::pods_evicted}))
        evictions_[*f.host].insert(*f.start);
      if (gpu_fault(f) && on_other_gpu(f)) other_gpus_[*f.host].push_back(&f);
      if (f.analysis == Analysis::root_diag) broke_first_ = f.host;
      if (f.traits.has(Trait::node_missed) && f.host) missed_.insert(*f.host);
      const bool root = f.origin == Origin::any && f.analysis == Analysis::classify &&
                        f.role == Role::root && kind_of(f) && !f.hearsay;
      job_names_root_ = job_names_root_ || root;
      names_another_root_ = names_another_root_ || (root && !f.traits.has(Trait::node_missed));
    }
    all_left_with_0_ = std::all_of(incident_.exits.begin(), incident_.exits.end(),
                                   [](const ExitFact& x) { return x.code == 0; });
  }

  static bool digit_at(const std::string& text, std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  }

  // "DataLoader worker (pid 61772) is killed by signal": a number of four digits or more.
  void note_lost_processes(const Finding& f) {
    constexpr std::size_t kMostLost = 64;  // more are no single process's fate
    constexpr std::string_view kBefore = "(pid ", kBehind = ") is killed by signal";
    if (f.origin != Origin::any || f.hearsay) return;
    for (const Evidence& e : f.evidence) {
      const std::size_t found = e.excerpt.find(kBefore);
      if (found == std::string::npos) continue;
      const std::size_t from = found + kBefore.size();
      std::size_t end = from;
      while (digit_at(e.excerpt, end)) ++end;
      if (end - from >= 4 && e.excerpt.compare(end, kBehind.size(), kBehind) == 0)
        if (lost_processes_.size() < kMostLost)
          lost_processes_[e.excerpt.substr(from, end - from)].insert(f.hosts.begin(),
                                                                     f.hosts.end());
    }
  }

  // What single findings are held against, once: there may be as many of them as hosts.
  void look_around() {
    index();
    for (const auto& [rank, host] : incident_.places) heard_.insert(host);
    for (const Finding& f : incident_.findings) {
      if (const auto* broke = std::get_if<BreakFacts>(&f.facts); broke != nullptr) {
        if (!broke->most.empty()) witnesses_[Host(broke->most)].insert(&f);
        for (const Host& host : broke->alerted) witnesses_[host].insert(&f);
      }
      if (f.outcome != Outcome::fired) continue;
      note_lost_processes(f);
      cuda_error_ = cuda_error_ || f.traits.has(Trait::by_gpu);
      if (out_of_gpu_memory(f) && f.hosts.size() > 1 && !went_on(f) &&
          (memory_ == nullptr || came_before(f, *memory_)))
        memory_ = &f;
      const bool cascade = f.analysis == Analysis::classify && f.role == Role::cascade;
      if (cascade && f.severity >= Severity::distributed && !f.traits.has(Trait::rendezvous))
        communication_failed_ = true;
      if (cascade && f.origin == Origin::any && f.severity >= Severity::distributed)
        reporters_.insert(f.hosts.begin(), f.hosts.end());
      if (cascade && f.symptom != Symptom::job_hang) {
        ends_known_ = ends_known_ || !f.hosts.empty();
        ends_.insert(f.hosts.begin(), f.hosts.end());
        if (const std::string peer = peer_of(f); !peer.empty()) {
          ends_.insert(Host(peer));
          peers_.insert(Host(peer));
        }
      }
      const auto* line = std::get_if<LineFacts>(&f.facts);
      const bool of_program =
          f.analysis == Analysis::classify && f.origin == Origin::any && !f.hearsay &&
          (line == nullptr || line->speaker == Speaker::job) && f.hosts.size() == 1 &&
          (f.traits.has(Trait::by_gpu) || f.cause == CauseKind::machine ||
           f.cause == CauseKind::crash || f.cause == CauseKind::device_or_program);
      if (!of_program && f.analysis != Analysis::hang && f.analysis != Analysis::root_diag &&
          f.analysis != Analysis::silence)
        continue;
      // A group that most machines belong to names none of them.
      if (f.hosts.size() > 1 && 2 * f.hosts.size() > incident_.hosts) continue;
      for (const Host& host : f.hosts)
        if (auto& witnesses = witnesses_[host]; witnesses.size() < 2) witnesses.insert(&f);
    }
    for (const ExitFact& x : incident_.exits) {
      if (x.host && (x.code == -9 || x.code == 137)) killed_.insert(*x.host);
      if (x.host && (x.code == -11 || x.code == 139)) crashed_.insert(*x.host);
      if ((x.code == -6 || x.code == 134) && (first_abort_ == nullptr || before(x, *first_abort_)))
        first_abort_ = &x;
    }
  }

  static bool before(const ExitFact& a, const ExitFact& b) {
    if (a.evidence.member == b.evidence.member) return a.evidence.line < b.evidence.line;
    return a.time && b.time && *a.time < *b.time;
  }

  // Its host is an end of something that broke, as far as ends are known.
  bool touched(const Finding& f) const {
    return (f.host && ends_.count(*f.host) != 0) || !ends_known_;
  }

  // The job ran there, as far as its machines are known.
  bool of_job(const Host& host) const {
    const std::vector<Host>& hosts = incident_.job_hosts;
    return hosts.empty() || std::binary_search(hosts.begin(), hosts.end(), host);
  }

  // It would be the fault of the machine that reports it.
  static bool of_machine(const Finding& f, CauseKind kind) {
    return kind == CauseKind::machine || kind == CauseKind::network ||
           (kind == CauseKind::resource && f.origin != Origin::any) ||
           (kind == CauseKind::environment && f.origin == Origin::scheduler);
  }

  // What machines report on which no process of the job ran has no part in it.
  bool on_own_machines(const Finding& f, bool of_host) {
    if (of_host && f.host && !of_job(*f.host))
      return exclude(f, Exclusion::not_of_job, say(Phrase::no_process_on_host, *f.host)), false;
    if (f.traits.has(Trait::node_drained) && !f.hosts.empty() &&
        std::none_of(f.hosts.begin(), f.hosts.end(), [&](const Host& h) { return of_job(h); }))
      return exclude(f, Exclusion::not_of_job, say(Phrase::no_process_on_host, list(f.hosts))),
             false;
    if (of_host && f.host &&
        std::binary_search(incident_.storage_servers.begin(), incident_.storage_servers.end(),
                           *f.host))
      return exclude(f, Exclusion::not_of_job, say(Phrase::serves_storage, *f.host)), false;
    return true;
  }

  bool passes(const Finding& f, CauseKind kind) {
    // Steps without a number are no sign that it passed.
    if (went_on(f) && !(kind == CauseKind::numerics && incident_.ended_not_a_number))
      return exclude(f, Exclusion::ran_on,
                     steps_after(f) ? say(Phrase::steps_after_it)
                                    : say(Phrase::job_went_on,
                                          human_duration(*incident_.last_progress - *f.end))),
             false;
    if (const auto lived = lived_with(f, kind))
      return exclude(f, Exclusion::ran_on, say(Phrase::job_lived_with_it, human_duration(*lived))),
             false;
    if (kind == CauseKind::shared && f.severity == Severity::warning &&
        (f.hosts.size() < 2 || static_cast<double>(f.hosts.size()) <
                                   params_.shared_hosts * static_cast<double>(incident_.hosts)))
      return exclude(f, Exclusion::too_few,
                     say(Phrase::few_and_only_warning, std::max<std::size_t>(1, f.hosts.size()),
                         incident_.hosts)),
             false;
    const bool of_host = of_machine(f, kind);
    if (!on_own_machines(f, of_host)) return false;
    // To its peers a host that died looks like one that was never reached, and what is asked for
    // when a job begins was there in one that made steps: here it is a consequence.
    if (kind == CauseKind::environment && f.traits.has(Trait::setup_only) &&
        (incident_.last_iteration.value_or(0) > 0 || incident_.last_progress))
      return exclude(f, Exclusion::after_failure, say(Phrase::peers_were_reachable)), false;
    // Clocks are set when a machine starts; a job that begins later never sees it.
    if (f.traits.has(Trait::clock_set) &&
        !(f.start && incident_.job_start && *f.start + f.uncertainty > *incident_.job_start))
      return exclude(f, Exclusion::over_before, say(Phrase::before_job_began)), false;
    if (of_other_gpu(f))
      return exclude(f, Exclusion::not_of_job, say(Phrase::gpu_of_no_rank)), false;
    if (kind == CauseKind::machine && memory_ != nullptr && (memory_->start || !at_the_end(f)) &&
        f.hosts.size() < memory_->hosts.size() && !came_before(f, *memory_))
      return exclude(f, Exclusion::unplaced,
                     say(Phrase::ranks_elsewhere_out_of_memory, memory_->hosts.size())),
             false;
    if (of_host && f.host && nowhere_else(f))
      return exclude(f, Exclusion::unplaced, say(Phrase::named_from_elsewhere_only, *f.host)),
             false;
    if ((!f.start || vague(f)) && !corroborated(f, kind))
      return exclude(f, Exclusion::unplaced,
                     !f.start ? say(Phrase::undated_unconfirmed)
                              : say(Phrase::vague_time_unconfirmed, human_duration(f.uncertainty))),
             false;
    if (const auto before = long_before(f); before && !corroborated(f, kind)) {
      const auto ahead = in_another_zone(f);
      return exclude(f, ahead ? Exclusion::unplaced : Exclusion::over_before,
                     ahead ? say(Phrase::before_failure_in_zone_behind,
                                 human_duration(*first_sign() + *ahead - *f.start),
                                 human_duration(-*ahead))
                           : say(Phrase::long_before_the_end, human_duration(*before))),
             false;
    }
    // The kernel ended a process at once; whoever waits for it notices within its time-out.
    if (kind == CauseKind::resource && of_foreign_process(f) && !corroborated(f, kind)) {
      if (!out_.first_consequence)
        return exclude(f, Exclusion::unplaced, say(Phrase::undated_unconfirmed)), false;
      if (f.end && *f.end + f.uncertainty + params_.longest_timeout < *out_.first_consequence)
        return exclude(f, Exclusion::over_before,
                       say(Phrase::long_before_the_end,
                           human_duration(*out_.first_consequence - *f.end))),
               false;
    }
    if (of_host && without_story(f, kind) && !corroborated(f, kind))
      return exclude(f, Exclusion::unplaced, say(Phrase::job_without_times)), false;
    // Xid 13 and 31 are printed for any process that errs on the machine: they concern the job when
    // it reports a CUDA error, or when they fall into its last moments.
    if (kind == CauseKind::device_or_program && f.traits.has(Trait::gpu_xid) &&
        incident_.any_training_output && !cuda_error_ &&
        !(f.start && out_.first_consequence &&
          std::abs(*out_.first_consequence - *f.start) < params_.same_moment))
      return exclude(f, Exclusion::unplaced, say(Phrase::xid_without_cuda_error)), false;
    return true;
  }

  static bool out_of_gpu_memory(const Finding& f) {
    return f.traits.has(Trait::gpu_memory_full) && f.analysis == Analysis::classify && !f.hearsay;
  }

  // What the job prints from its beginning on, for hours, is how it runs and not what ended it: how
  // long it lived with that.
  std::optional<Nanoseconds> lived_with(const Finding& f, CauseKind kind) const {
    if ((kind != CauseKind::shared && kind != CauseKind::resource &&
         kind != CauseKind::environment) ||
        f.origin != Origin::any || !f.start || !incident_.job_start || !out_.first_consequence)
      return std::nullopt;
    if (const auto* line = std::get_if<LineFacts>(&f.facts);
        line == nullptr || line->speaker != Speaker::job)
      return std::nullopt;
    const Nanoseconds before = *f.start - *incident_.job_start;
    const Nanoseconds after = *out_.first_consequence - *f.start - f.uncertainty;
    if (after < params_.lived_with || before > (before + after) / 10) return std::nullopt;
    return after;
  }

  // The machine itself reports it when others began to notice that something had failed.
  bool at_the_end(const Finding& f) const {
    return f.origin == Origin::kernel && f.start && out_.first_consequence &&
           std::abs(*out_.first_consequence - *f.start) <= params_.same_moment;
  }

  // Surely: both have a time.
  static bool came_before(const Finding& a, const Finding& b) {
    return a.start && b.start && *a.start + a.uncertainty + b.uncertainty < *b.start;
  }

  // Schedulers keep the books of whole clusters: a machine that only they name, beside machines
  // whose own logs were collected, need not be one of the job.
  bool nowhere_else(const Finding& f) const {
    return !incident_.any_training_output && incident_.job_hosts.empty() && f.ranks.empty() &&
           !incident_.machines.empty() && incident_.machines.count(*f.host) == 0 &&
           incident_.holds.outputs.count(*f.host) == 0;
  }

  // A GPU of the host that no rank of the job runs on: another program had it.
  bool on_other_gpu(const Finding& f) const {
    if (f.subject.kind != SubjectKind::gpu || !f.host) return false;
    const auto own = incident_.job_gpus.find(*f.host);
    return own != incident_.job_gpus.end() && f.subject.id.size() > f.host->size() &&
           own->second.count(f.subject.id.substr(f.host->size() + 1)) == 0;
  }
  // The same, or what the program that had such a GPU says of it.
  bool of_other_gpu(const Finding& f) const {
    if (on_other_gpu(f)) return true;
    if (!by_gpu(f) || !f.ranks.empty() || f.hosts.size() != 1) return false;
    const auto own = other_gpus_.find(*f.host);  // by_gpu: it has one
    return own != other_gpus_.end() &&
           std::any_of(own->second.begin(), own->second.end(), [&](const Finding* other) {
             return !f.start || !other->start ||
                    std::abs(*f.start - *other->start) < params_.same_moment;
           });
  }

  // How far a time of the scheduler may be from one of a machine for their zones alone.
  Nanoseconds widest_zone() const { return incident_.mixed_clocks ? 14 * kHour : 0; }

  // Over for so long before the job ended that it explains the end only if the job ran then, of
  // which nothing tells.
  std::optional<Nanoseconds> long_before(const Finding& f) const {
    const auto word =
        scheduler_spoke_ ? std::optional(*scheduler_spoke_ - widest_zone()) : std::nullopt;
    const auto sign = out_.first_consequence ? out_.first_consequence
                      : incident_.job_end    ? incident_.job_end
                                             : word;
    if (!f.end || !sign || incident_.last_progress ||
        *f.end + f.uncertainty + params_.long_before >= *sign ||
        (incident_.job_start && *incident_.job_start <= *f.end + f.uncertainty))
      return std::nullopt;
    return *sign - *f.end;
  }

  // The machine's own log has a time, and nothing that the job printed: before, during, after? What
  // the job itself says of its end is then the better answer. Memory runs out for any program.
  bool without_story(const Finding& f, CauseKind kind) const {
    return f.origin != Origin::any && f.start && !out_.first_consequence && !incident_.job_end &&
           !incident_.job_start && !incident_.last_progress &&
           (over_for_days(f) || (kind == CauseKind::resource && communication_failed_) ||
            job_names_root_ || connections_name_another(f));
  }

  // The kernel names a process that is none of a job's.
  static bool of_foreign_process(const Finding& f) {
    const auto* line = std::get_if<LineFacts>(&f.facts);
    return line != nullptr && f.origin == Origin::kernel && !line->names_trainer;
  }

  // The connections that broke first have another host in common.
  bool connections_name_another(const Finding& f) const {
    return broke_first_ && f.host && broke_first_ != f.host;
  }

  // A job counts steps and shows no failure, and the machines' logs go on for more than a day
  // behind it.
  bool over_for_days(const Finding& f) const {
    return incident_.last_iteration.value_or(0) > 0 && f.end && incident_.last_word &&
           *f.end + kDay < *incident_.last_word && all_left_with_0_;
  }

  // Its clock is so uncertain that it may stand on either side of the first failure.
  bool vague(const Finding& f) const {
    return f.uncertainty > kSlack && out_.first_consequence &&
           *f.start + f.uncertainty > *out_.first_consequence &&
           *f.start - f.uncertainty <= *out_.first_consequence;
  }

  // A second source that is independent of the machine's own log names it: its ranks, or who waits
  // for whom. Without any output of the job there is no story in which it could have another place.
  bool corroborated(const Finding& f, CauseKind kind) const {
    if ((f.origin == Origin::any && !crash_of_any_process(f, kind)) ||
        (!incident_.any_training_output && !communication_failed_))
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
    if (f.origin == Origin::kernel && names_process(f)) return true;
    // Processes report a CUDA error, and the first that ended itself was there.
    if (gpu_fault(f) && cuda_error_ && first_abort_ != nullptr && first_abort_->host == f.host)
      return true;
    const auto witnesses = witnesses_.find(*f.host);
    return witnesses != witnesses_.end() && witnesses->second.size() > witnesses->second.count(&f);
  }

  // How far the clock of a machine's fault would be ahead of the job's for the fault to stand right
  // before the failure, where nothing tells the zone of either and that is what zones differ by.
  std::optional<Nanoseconds> in_another_zone(const Finding& f) const {
    constexpr Nanoseconds kStep = 30 * kMinute, kFarthest = 14 * kHour, kLead = 2 * kMinute;
    const auto sign = first_sign();
    if (!incident_.zone_guessed || f.origin == Origin::any || !f.start || !sign)
      return std::nullopt;
    const Nanoseconds apart = *f.start - *sign;
    const Nanoseconds whole =
        (apart + kLead + (apart > 0 ? 0 : -kStep + 1)) / kStep * kStep;  // rounded down
    if (whole == 0 || std::abs(whole) > kFarthest || apart - whole > 0) return std::nullopt;
    return whole;
  }

  std::optional<Nanoseconds> first_sign() const { return first_ ? first_ : out_.first_consequence; }

  // A machine's own log tells that some process crashed, of which the job may have none.
  static bool crash_of_any_process(const Finding& f, CauseKind kind) {
    const auto* line = std::get_if<LineFacts>(&f.facts);
    return kind == CauseKind::crash && !f.start && line != nullptr && line->speaker != Speaker::job;
  }

  // The kernel names a process by its number, and that is one of the job's; or the job says that it
  // lost the process with that number. Small ones are of daemons, and are alike on many machines.
  bool names_process(const Finding& f) const {
    const auto* line = std::get_if<LineFacts>(&f.facts);
    if (const auto own = incident_.processes.find(*f.host);
        own != incident_.processes.end() && line != nullptr && line->names_trainer)
      for (const Evidence& e : f.evidence)
        for (const std::string_view words : {" pid=", "Killed process "}) {
          const std::size_t found = e.excerpt.find(words);
          if (found == std::string::npos) continue;
          std::int64_t pid = 0;
          std::from_chars(e.excerpt.data() + found + words.size(),
                          e.excerpt.data() + e.excerpt.size(), pid);
          if (pid >= kLeastProcess && own->second.count(pid) != 0) return true;
        }
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

  // Candidates of one class that lead to the same, in order, and the earliest moment among the
  // first so many.
  struct Parents {
    std::vector<std::pair<std::size_t, const Finding*>> list;  // with their place among all
    std::vector<Nanoseconds> earliest;  // running minimum; without a time: the least there is

    void add(std::size_t place, const Finding& f) {
      const Nanoseconds moment =
          f.start ? *f.start - f.uncertainty : std::numeric_limits<Nanoseconds>::min();
      list.emplace_back(place, &f);
      earliest.push_back(earliest.empty() ? moment : std::min(moment, earliest.back()));
    }
  };
  using Families = std::map<std::tuple<std::string, std::vector<std::string>, bool>, Parents>;
  using Parent = std::pair<std::size_t, const Finding*>;

  // The first of them that is a parent of `f`, if it stands before the best so far.
  static void look(const Families& families, const Finding& f, Parent& best) {
    const Nanoseconds latest =
        f.start ? *f.start + f.uncertainty : std::numeric_limits<Nanoseconds>::max();
    for (const auto& [key, parents] : families) {
      const Finding& any = *parents.list[0].second;
      if (any.event_class == f.event_class ||
          !(leads_to(any, f.event_class) || (gpu_fault(any) && by_gpu(f))))
        continue;
      const auto too_late = [&](Nanoseconds moment) { return moment > latest; };
      const auto from =
          std::partition_point(parents.earliest.begin(), parents.earliest.end(), too_late);
      for (auto at = parents.list.begin() + (from - parents.earliest.begin());
           at != parents.list.end(); ++at) {
        if (best.second != nullptr && at->first >= best.first) break;
        if (is_parent(*at->second, f)) {
          best = *at;
          break;
        }
      }
    }
  }

  // A known consequence of another candidate that came before it on the same machine is none.
  void drop_known_consequences() {
    std::map<Host, std::vector<const Finding*>> by_host;  // that lead to something; "": of no host
    for (const Finding* f : candidates_)
      if (!f->leads_to.empty() || gpu_fault(*f)) by_host[f->host.value_or(Host())].push_back(f);
    std::map<Host, Families> of_host;
    Families all;  // that lead to something on other hosts, too: a GPU's fault reaches programs of
                   // its own host
    std::size_t place = 0;
    for (const auto& [host, list] : by_host)
      for (const Finding* f : list) {
        const std::tuple key(f->event_class, f->leads_to, gpu_fault(*f));
        of_host[host][key].add(place, *f);
        if (!f->leads_to.empty())
          all[std::tuple(f->event_class, f->leads_to, false)].add(place, *f);
        ++place;
      }
    for (const Finding* f : candidates_) {
      Parent parent{0, nullptr};
      const auto of = [&](const Host& host) {
        if (const auto own = of_host.find(host); own != of_host.end())
          look(own->second, *f, parent);
      };
      if (f->host) of(*f->host);
      if (!f->host || f->hosts.empty())
        look(all, *f, parent);
      else if (parent.second == nullptr)
        of(Host());
      if (parent.second != nullptr)
        exclude(
            *f, Exclusion::led_to,
            say(Phrase::known_consequence, parent.second->event_class, parent.second->subject.id));
      else
        own_.push_back(f);
    }
  }

  static bool gpu_fault(const Finding& f) {
    return kind_of(f) == CauseKind::machine &&
           (f.symptom == Symptom::gpu_unavailable || f.symptom == Symptom::gpu_memory_error);
  }

  // A program tells so of the GPU that it ran on.
  static bool by_gpu(const Finding& f) {
    return f.host && !(out_of_gpu_memory(f) && f.hosts.size() > 1) &&
           f.traits.has_any({Trait::by_gpu, Trait::access_fault});
  }

  static bool is_parent(const Finding& other, const Finding& f) {
    if (&other == &f || other.event_class == f.event_class) return false;
    const bool before =
        !f.start || !other.start || *other.start <= *f.start + other.uncertainty + f.uncertainty;
    const bool after =
        f.start && other.start && *f.start + f.uncertainty + other.uncertainty < *other.start;
    if (!before || after) return false;
    // Of two that lead to each other the earlier is the parent, or the first by name.
    const bool mutual = leads_to(f, other.event_class);
    const bool first =
        mutual && (f.start && other.start && *f.start != *other.start ? *f.start < *other.start
                                                                      : f.id < other.id);
    if (leads_to(other, f.event_class) && !first) return true;
    // A device's fault reaches the program as a CUDA error or an exception on the same host.
    return gpu_fault(other) && by_gpu(f) && f.host == other.host;
  }

  // The earliest moment of trouble: a cause's, or the first consequence's.
  void find_first_trouble() {
    first_ = out_.first_consequence;
    for (const Finding* f : own_) {
      if (*kind_of(*f) == CauseKind::network || *kind_of(*f) == CauseKind::device_or_program)
        continue;
      if (f->start && (!first_ || *f->start < *first_)) {
        first_ = f->start;
        first_uncertainty_ = f->uncertainty;
        first_is_cause_ = true;
      }
    }
  }

  // Before the first step hosts wait for each other with retries of their own: who prints first
  // says nothing of who lacks the setting that all of them then miss.
  bool explains_set_up(const Finding& f) const {
    return *kind_of(f) == CauseKind::environment && !incident_.last_progress && !first_is_cause_ &&
           first_consequence_ != nullptr && leads_to(f, first_consequence_->event_class);
  }

  // A decision without a time, and what it leads to has one: before anything failed.
  bool asked_before(const Finding& f) const {
    return first_cascade_ &&
           std::any_of(incident_.findings.begin(), incident_.findings.end(),
                       [&](const Finding& other) {
                         return kind_of(other) == CauseKind::outside && other.start &&
                                leads_to(f, other.event_class) &&
                                *other.start + other.uncertainty < *first_cascade_;
                       });
  }

  // A scheduler misses one node after minutes in which nobody there said a word, while all the
  // others told of connections that failed, and nothing of anything else. Several are taken away,
  // or lost together.
  bool noticed_late(const Finding& f) const {
    return f.traits.has(Trait::node_missed) && f.host && missed_.size() == 1 && !first_is_cause_ &&
           !names_another_root_ && reporters_.count(*f.host) == 0 && !reporters_.empty() &&
           killed_or_crashed_elsewhere(*f.host) == 0 &&
           (peers_.empty() || peers_ == std::set<Host>{*f.host}) &&
           std::all_of(heard_.begin(), heard_.end(), [&](const Host& host) {
             return host == *f.host || reporters_.count(host) != 0;
           });
  }
  std::size_t killed_or_crashed_elsewhere(const Host& host) const {
    return killed_.size() + crashed_.size() - killed_.count(host) - crashed_.count(host);
  }

  bool came_first(const Finding& f) {
    // Whoever is asked to stop after others broke down is being cleaned up.
    if (*kind_of(f) == CauseKind::outside &&
        (f.start ? first_cascade_ && *f.start + f.uncertainty >= *first_cascade_
                 : communication_failed_ && !asked_before(f)))
      return exclude(f, Exclusion::after_failure, say(Phrase::after_failed_communication)), false;
    if (*kind_of(f) == CauseKind::outside && f.end && out_.first_consequence &&
        *f.end + f.uncertainty + kHour < *out_.first_consequence)
      return exclude(f, Exclusion::over_before,
                     say(Phrase::long_before_the_end,
                         human_duration(*out_.first_consequence - *f.end))),
             false;
    const Nanoseconds slack = explains_set_up(f) ? kSetUpSlack
                              : noticed_late(f)  ? kPolling
                                                 : kSlack;
    // The scheduler had ended the job by then, and it did not go on.
    const auto goes_on = [&](const std::optional<Nanoseconds>& sign) {
      return sign && *sign > *scheduler_spoke_ + kMinute;
    };
    if (f.start && f.origin != Origin::any && scheduler_spoke_ && !corroborated(f, *kind_of(f)) &&
        *f.start - f.uncertainty - kMinute - widest_zone() > *scheduler_spoke_ &&
        !zones_apart(*f.start, *scheduler_spoke_) && !goes_on(out_.first_consequence) &&
        !goes_on(incident_.last_progress))
      return exclude(
                 f, Exclusion::after_failure,
                 say(Phrase::after_the_scheduler, human_duration(*f.start - *scheduler_spoke_))),
             false;
    if (f.start && first_ && *f.start - f.uncertainty - first_uncertainty_ - slack > *first_) {
      if (const auto ahead = in_another_zone(f); !ahead)
        return exclude(f, Exclusion::after_failure,
                       say(first_is_cause_ ? Phrase::after_first_failure : Phrase::after_first_sign,
                           human_duration(*f.start - *first_))),
               false;
      else if (!corroborated(f, *kind_of(f)))
        return exclude(f, Exclusion::unplaced,
                       say(Phrase::before_failure_in_zone,
                           human_duration(*first_ + *ahead - *f.start), human_duration(*ahead))),
               false;
    }
    if (*kind_of(f) == CauseKind::network && f.start && out_.first_consequence &&
        *out_.first_consequence - f.end.value_or(*f.start) > params_.network_lead)
      return exclude(f, Exclusion::over_before,
                     say(Phrase::over_before_connections_broke,
                         human_duration(*out_.first_consequence - f.end.value_or(*f.start)))),
             false;
    return true;
  }

  // A moment that can be placed before the trouble is better than one that cannot; then the kind;
  // then the earlier. A reading of a counter must not stand before an exception with a moment.
  void order() {
    for (Cause& c : out_.causes) sort_rows(c.hosts);
    sort_rows(out_.causes, [](const Cause& a, const Cause& b) {
      const auto key = [](const Cause& c) {
        return std::tuple(c.confidence < confidence::kLeastToIsolate, static_cast<int>(c.kind),
                          !c.start.has_value(), c.start.value_or(0));
      };
      return key(a) < key(b);
    });
  }

  const Case& incident_;
  const DecideParams& params_;
  FirstFailure out_;
  std::vector<const Finding*> candidates_, own_;
  std::optional<Nanoseconds> first_, first_cascade_;
  std::optional<Nanoseconds> scheduler_spoke_;  // the last time that it ended the job or a step
  const Finding* first_consequence_ = nullptr;
  std::map<std::string, std::set<Host>>
      lost_processes_;               // numbers of processes that the job says were killed
  const Finding* memory_ = nullptr;  // GPU memory that ran out on several hosts, the first time
  Nanoseconds first_uncertainty_ = 0;
  bool first_is_cause_ = false;
  const ExitFact* first_abort_ = nullptr;  // by its place in one log, or by time
  bool cuda_error_ = false, communication_failed_ = false, ends_known_ = false;
  bool names_another_root_ = false;  // beside a node that the scheduler misses
  bool job_names_root_ = false;      // the job itself prints what may be a cause
  std::set<Host> missed_;            // by the scheduler
  std::set<Host> heard_;             // of which there is output of the job
  std::set<Host> peers_;             // that broken connections name as their other end
  std::set<Host> reporters_;         // on which the job tells of failed communication
  std::optional<Host> broke_first_;  // that the connections which broke first have in common
  bool all_left_with_0_ = false;
  std::map<Host, std::set<Nanoseconds>> evictions_;         // when pods of a host had to leave
  std::map<Host, std::vector<const Finding*>> other_gpus_;  // faults of GPUs that no rank has
  std::set<Host> ends_;                                     // hosts of connections that broke
  std::set<Host> killed_, crashed_;                         // hosts on which a process ended so
  std::map<std::string, std::set<const Finding*>>
      witnesses_;  // what may corroborate, by host; two are enough
};

}  // namespace

bool leads_to(const Finding& cause, const std::string& event_class) {
  for (const std::string& one : cause.leads_to)
    if (one == event_class ||
        (one.find('{') == std::string::npos && event_class.rfind(one + "/", 0) == 0))
      return true;
  return false;
}

bool went_on(const Case& incident, const DecideParams& params, const Finding& f) {
  return steps_after(f) || (f.end && incident.last_progress &&
                            *f.end + f.uncertainty + params.went_on < *incident.last_progress);
}

std::optional<CauseKind> kind_of(const Finding& f) {
  if (f.analysis != Analysis::classify || f.outcome != Outcome::fired || f.hearsay)
    return std::nullopt;
  // A confirmation of a machine's fault stands for it when the fault itself left no line.
  const bool confirms = f.role == Role::confirmation && f.severity == Severity::critical &&
                        f.scope == Scope::host_local;
  if (f.role != Role::root && !confirms) return std::nullopt;
  switch (f.cause) {
    case CauseKind::none: return std::nullopt;
    // A warning of these is a cause by its place in the story; a warning of a machine or the
    // program never ends a job.
    case CauseKind::network:
    case CauseKind::shared:
    case CauseKind::numerics:
    case CauseKind::device_or_program:
    case CauseKind::environment:
    case CauseKind::outside: return f.cause;
    default: return f.severity == Severity::critical ? std::optional(f.cause) : std::nullopt;
  }
}

FirstFailure first_failure(const Case& incident, const DecideParams& params) {
  return Sieve(incident, params).run();
}

}  // namespace culprit::decide
