#include "decide/causes.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace culprit::decide {

namespace {

constexpr Nanoseconds kSlack = 5 * kSecond;

bool one_of(const std::string& word, std::initializer_list<std::string_view> words) { return std::find(words.begin(), words.end(), word) != words.end(); }

bool contains(const std::vector<std::string>& words, const std::string& word) { return std::find(words.begin(), words.end(), word) != words.end(); }

bool consequence(const Finding& f) { return f.role == Role::cascade || f.role == Role::teardown; }

bool leads_to(const Finding& cause, const std::string& event_class) {
  for (const std::string& one : cause.leads_to)
    if (one == event_class || (one.find('{') == std::string::npos && event_class.rfind(one + "/", 0) == 0)) return true;
  return false;
}

std::string peer_of(const Finding& f) {
  const auto* line = std::get_if<LineFacts>(&f.facts);
  return line == nullptr ? std::string() : line->peer.value_or("");
}

// One cause per kind and moment: the same fault on two hosts at once is one cause with two hosts.
void add(std::vector<Cause>& causes, CauseKind kind, const Finding& f, const DecideParams& params) {
  const bool machine = kind == CauseKind::machine || kind == CauseKind::network;
  for (Cause& c : causes) {
    if (c.kind != kind) continue;
    const bool together = !c.start || !f.start || std::abs(*f.start - *c.start) <= (machine ? c.uncertainty + f.uncertainty + kSlack : params.same_moment);
    const bool same_host = machine && f.host && contains(c.hosts, *f.host);
    const bool same_class = std::any_of(c.findings.begin(), c.findings.end(), [&](const Finding* other) { return other->event_class == f.event_class; });
    const bool near = !c.start || !f.start || std::abs(*f.start - *c.start) <= params.same_moment;
    if (!(same_host || together || (same_class && near))) continue;
    c.findings.push_back(&f);
    for (const auto& host : f.hosts)
      if (!contains(c.hosts, host)) c.hosts.push_back(host);
    c.confidence = std::max(c.confidence, f.confidence);
    return;
  }
  Cause c;
  c.kind = kind;
  c.findings = {&f};
  c.hosts = f.hosts;
  c.start = f.start;
  c.uncertainty = f.uncertainty;
  c.confidence = f.confidence;
  causes.push_back(std::move(c));
}

// Sorts out, one reason after the other, what cannot have come first.
class Sieve {
 public:
  Sieve(const Case& incident, const DecideParams& params) : incident_(incident), params_(params) {}

  FirstFailure run() {
    find_first_consequence();
    for (const Finding& f : incident_.findings) {
      if (f.transient) remember_transient(f);
      else if (const auto kind = kind_of(f); kind && passes(f, *kind)) candidates_.push_back(&f);
    }
    drop_known_consequences();
    find_first_trouble();
    for (const Finding* f : own_)
      if (came_first(*f)) add(out_.causes, *kind_of(*f), *f, params_);
    order();
    return std::move(out_);
  }

 private:
  void exclude(const Finding& f, Exclusion reason, std::string why) { out_.excluded.push_back({&f, reason, std::move(why)}); }

  bool went_on(const Finding& f) const { return f.end && incident_.last_progress && *f.end + f.uncertainty + params_.went_on < *incident_.last_progress; }

  // When others began to notice. Noise of a healthy phase (a reset connection an hour before) does not count.
  void find_first_consequence() {
    for (const Finding& f : incident_.findings) {
      if (f.outcome != Outcome::fired || !consequence(f) || !f.start || f.analysis != Analysis::classify || f.subject.kind != SubjectKind::job) continue;
      // The scheduler's word is a decision; what failed before it is another question (user_request).
      if (went_on(f) || one_of(f.event_class, {"scheduler_teardown", "scheduler_time_limit", "k8s_teardown"})) continue;
      const Nanoseconds begin = incident_.last_progress ? std::max(*f.start, std::min(*incident_.last_progress, f.end.value_or(*f.start))) : *f.start;
      if (!out_.first_consequence || begin < *out_.first_consequence) out_.first_consequence = begin;
      if (f.role == Role::cascade && (!first_cascade_ || begin < *first_cascade_)) first_cascade_ = begin;
    }
  }

  // What was taken back is a cause only when something broke while it lasted.
  void remember_transient(const Finding& f) {
    // Only what carries the traffic that broke: a server's hiccup breaks no connection between ranks.
    if (!out_.first_consequence || went_on(f) || f.scope != Scope::host_local || f.symptom != Symptom::infiniband_error || !touched(f)) return;
    for (const Alert& a : f.alerts)
      if (a.begin && a.end && *a.begin - f.uncertainty - kSlack <= *out_.first_consequence && *out_.first_consequence <= *a.end + f.uncertainty + params_.after_alert) {
        out_.transients.push_back(&f);
        return;
      }
  }

  // Its host is an end of something that broke, as far as ends are known.
  bool touched(const Finding& f) const {
    bool known = false;
    for (const Finding& other : incident_.findings) {
      if (other.analysis != Analysis::classify || other.outcome != Outcome::fired || other.role != Role::cascade || other.symptom == Symptom::job_hang) continue;
      known = known || !other.hosts.empty();
      if (f.host && (contains(other.hosts, *f.host) || peer_of(other) == *f.host)) return true;
    }
    return !known;
  }

  bool passes(const Finding& f, CauseKind kind) {
    if (went_on(f)) return exclude(f, Exclusion::ran_on, fmt::format("the job completed steps for {} after it", human_duration(*incident_.last_progress - *f.end))), false;
    if (kind == CauseKind::shared && f.severity == Severity::warning && (f.hosts.size() < 2 || static_cast<double>(f.hosts.size()) < params_.shared_hosts * static_cast<double>(incident_.hosts)))
      return exclude(f, Exclusion::too_few, fmt::format("{} of {} hosts report it, and only as a warning", std::max<std::size_t>(1, f.hosts.size()), incident_.hosts)), false;
    const bool of_host = kind == CauseKind::machine || kind == CauseKind::network || (kind == CauseKind::resource && f.origin != Origin::any);
    if (of_host && f.host && !incident_.job_hosts.empty() && !contains(incident_.job_hosts, *f.host))
      return exclude(f, Exclusion::not_of_job, fmt::format("no process of the job ran on {}", *f.host)), false;
    // To its peers a host that died looks like one that was never reached: of a job that made steps this is a consequence.
    if (kind == CauseKind::environment && one_of(f.event_class, {"no_route_to_host", "rendezvous_timeout", "node_unreachable_ssh"}) && incident_.last_iteration.value_or(0) > 0)
      return exclude(f, Exclusion::after_failure, "the job had completed steps: its peers were reachable then"), false;
    if ((!f.start || vague(f)) && !corroborated(f, kind))
      return exclude(f, Exclusion::unplaced, !f.start ? "nothing tells when it was, and no other source confirms it"
                                                      : fmt::format("its time is known to {} only, so it may have come after the failure, and no other source confirms it", human_duration(f.uncertainty))), false;
    // Xid 13 and 31 are printed for any process that errs on the machine: they concern the job when it reports a CUDA
    // error, or when they fall into its last moments.
    if (kind == CauseKind::device_or_program && f.event_class.rfind("gpu_xid/", 0) == 0 && incident_.any_training_output && !cuda_error() &&
        !(f.start && out_.first_consequence && std::abs(*out_.first_consequence - *f.start) < params_.same_moment))
      return exclude(f, Exclusion::unplaced, "no rank reports a CUDA error, and it cannot be placed near the failure"), false;
    return true;
  }

  bool communication_failed() const {
    return std::any_of(incident_.findings.begin(), incident_.findings.end(), [](const Finding& f) {
      return f.outcome == Outcome::fired && f.analysis == Analysis::classify && f.role == Role::cascade && f.severity >= Severity::distributed && f.event_class.rfind("rdzv", 0) != 0;
    });
  }

  // Its clock is so uncertain that it may stand on either side of the first failure.
  bool vague(const Finding& f) const {
    return f.uncertainty > kSlack && out_.first_consequence && *f.start + f.uncertainty > *out_.first_consequence && *f.start - f.uncertainty <= *out_.first_consequence;
  }

  bool cuda_error() const {
    return std::any_of(incident_.findings.begin(), incident_.findings.end(), [](const Finding& f) { return f.outcome == Outcome::fired && f.event_class.rfind("cuda_", 0) == 0; });
  }

  // A second source that is independent of the machine's own log names it: its ranks, or who waits for whom. Without
  // any output of the job there is no story in which it could have another place.
  bool corroborated(const Finding& f, CauseKind kind) const {
    if (f.origin == Origin::any || !incident_.any_training_output) return true;
    // What most hosts of the job report, and no line takes back, they report of one thing that they share.
    if (kind == CauseKind::shared) return f.hosts.size() >= 2 && 2 * f.hosts.size() >= incident_.hosts;
    if (!f.host) return false;
    // The process that the kernel killed or that crashed there.
    for (const ExitFact& x : incident_.exits)
      if (x.host == f.host && ((kind == CauseKind::resource && (x.code == -9 || x.code == 137)) || (kind == CauseKind::crash && (x.code == -11 || x.code == 139)))) return true;
    for (const Finding& other : incident_.findings) {
      if (&other == &f || other.outcome != Outcome::fired || !contains(other.hosts, *f.host)) continue;
      if (other.analysis == Analysis::hang || other.analysis == Analysis::root_diag || other.analysis == Analysis::silence) return true;
      const bool of_program = other.analysis == Analysis::classify && other.origin == Origin::any && !other.hearsay && other.hosts.size() == 1;
      if (of_program && (other.event_class.rfind("cuda_", 0) == 0 || other.cause == CauseKind::machine || other.cause == CauseKind::crash || other.cause == CauseKind::device_or_program)) return true;
    }
    return false;
  }

  // A known consequence of another candidate that came before it on the same machine is none.
  void drop_known_consequences() {
    std::map<std::string, std::vector<const Finding*>> parents;   // that lead to something, by host; "": of no host
    for (const Finding* f : candidates_)
      if (!f->leads_to.empty() || gpu_fault(*f)) parents[f->host.value_or("")].push_back(f);
    for (const Finding* f : candidates_) {
      const Finding* parent = nullptr;
      const auto look = [&](const std::vector<const Finding*>& list) {
        for (const Finding* other : list)
          if (parent == nullptr && is_parent(*other, *f)) parent = other;
      };
      if (f->host && !f->hosts.empty()) {
        if (const auto own = parents.find(*f->host); own != parents.end()) look(own->second);
        if (const auto free = parents.find(""); free != parents.end()) look(free->second);
      } else {
        for (const auto& [host, list] : parents) look(list);
      }
      if (parent != nullptr) exclude(*f, Exclusion::led_to, fmt::format("{} on {} leads to it", parent->event_class, parent->subject.id));
      else own_.push_back(f);
    }
  }

  static bool gpu_fault(const Finding& f) { return kind_of(f) == CauseKind::machine && (f.symptom == Symptom::gpu_unavailable || f.symptom == Symptom::gpu_memory_error); }

  static bool is_parent(const Finding& other, const Finding& f) {
    if (&other == &f || other.event_class == f.event_class) return false;
    const bool before = !f.start || !other.start || *other.start <= *f.start + other.uncertainty + f.uncertainty;
    const bool after = f.start && other.start && *f.start + f.uncertainty + other.uncertainty < *other.start;
    if (!before || after) return false;
    // Of two that lead to each other the earlier is the parent, or the first by name.
    const bool mutual = leads_to(f, other.event_class);
    const bool first = mutual && (f.start && other.start && *f.start != *other.start ? *f.start < *other.start : f.id < other.id);
    if (leads_to(other, f.event_class) && !first) return true;
    // A device's fault reaches the program as a CUDA error or an exception on the same host.
    return gpu_fault(other) && f.host && f.host == other.host && (f.event_class.rfind("cuda_", 0) == 0 || one_of(f.event_class, {"gpu_xid/13", "gpu_xid/31"}));
  }

  // The earliest moment of trouble: a cause's, or the first consequence's.
  void find_first_trouble() {
    first_ = out_.first_consequence;
    for (const Finding* f : own_) {
      if (*kind_of(*f) == CauseKind::network || *kind_of(*f) == CauseKind::device_or_program) continue;
      if (f->start && (!first_ || *f->start < *first_)) { first_ = f->start; first_uncertainty_ = f->uncertainty; first_is_cause_ = true; }
    }
  }

  bool came_first(const Finding& f) {
    // Whoever is asked to stop after others broke down is being cleaned up.
    if (*kind_of(f) == CauseKind::outside && (f.start ? first_cascade_ && *f.start + f.uncertainty >= *first_cascade_ : communication_failed()))
      return exclude(f, Exclusion::after_failure, "ranks reported failed communication before it, or it cannot be placed before that"), false;
    if (f.start && first_ && *f.start - f.uncertainty - first_uncertainty_ - kSlack > *first_)
      return exclude(f, Exclusion::after_failure, fmt::format("it came {} after the first {}", human_duration(*f.start - *first_), first_is_cause_ ? "failure" : "sign of failure on other ranks")), false;
    if (*kind_of(f) == CauseKind::network && f.start && out_.first_consequence && *out_.first_consequence - f.end.value_or(*f.start) > params_.network_lead)
      return exclude(f, Exclusion::over_before, fmt::format("it ended {} before the first broken connection", human_duration(*out_.first_consequence - f.end.value_or(*f.start)))), false;
    return true;
  }

  // A moment that can be placed before the trouble is better than one that cannot; then the kind; then the earlier. A
  // reading of a counter must not stand before an exception with a moment.
  void order() {
    for (Cause& c : out_.causes) std::sort(c.hosts.begin(), c.hosts.end());
    std::stable_sort(out_.causes.begin(), out_.causes.end(), [](const Cause& a, const Cause& b) {
      const auto key = [](const Cause& c) { return std::tuple(c.confidence < 0.6, static_cast<int>(c.kind), !c.start.has_value(), c.start.value_or(0)); };
      return key(a) < key(b);
    });
  }

  const Case& incident_;
  const DecideParams& params_;
  FirstFailure out_;
  std::vector<const Finding*> candidates_, own_;
  std::optional<Nanoseconds> first_, first_cascade_;
  Nanoseconds first_uncertainty_ = 0;
  bool first_is_cause_ = false;
};

}  // namespace

std::optional<CauseKind> kind_of(const Finding& f) {
  if (f.analysis != Analysis::classify || f.outcome != Outcome::fired || f.hearsay) return std::nullopt;
  // A confirmation of a machine's fault stands for it when the fault itself left no line.
  const bool confirms = f.role == Role::confirmation && f.severity == Severity::critical && f.scope == Scope::host_local;
  if (f.role != Role::root && !confirms) return std::nullopt;
  switch (f.cause) {
    case CauseKind::none: return std::nullopt;
    // A warning of these is a cause by its place in the story; a warning of a machine or the program never ends a job.
    case CauseKind::network:
    case CauseKind::shared:
    case CauseKind::numerics:
    case CauseKind::device_or_program:
    case CauseKind::environment:
    case CauseKind::outside: return f.cause;
    default: return f.severity == Severity::critical ? std::optional(f.cause) : std::nullopt;
  }
}

FirstFailure first_failure(const Case& incident, const DecideParams& params) { return Sieve(incident, params).run(); }

}  // namespace culprit::decide
