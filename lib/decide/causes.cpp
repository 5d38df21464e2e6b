#include "decide/causes.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace culprit::decide {

namespace {

constexpr Nanoseconds kSlack = 5 * kSecond;

bool one_of(const std::string& word, std::initializer_list<std::string_view> words) { return std::find(words.begin(), words.end(), word) != words.end(); }

bool consequence(const Finding& f) { return f.role == Role::cascade || f.role == Role::teardown; }

bool leads_to(const Finding& cause, const std::string& event_class) {
  for (const std::string& one : cause.leads_to)
    if (one == event_class || (one.find('{') == std::string::npos && event_class.rfind(one + "/", 0) == 0)) return true;
  return false;
}

// One cause per kind and moment: the same fault on two hosts at once is one cause with two hosts.
void add(std::vector<Cause>& causes, CauseKind kind, const Finding& f, const DecideParams& params) {
  const bool machine = kind == CauseKind::machine || kind == CauseKind::network;
  for (Cause& c : causes) {
    if (c.kind != kind) continue;
    const bool together = !c.start || !f.start || std::abs(*f.start - *c.start) <= (machine ? c.uncertainty + f.uncertainty + kSlack : params.same_moment);
    const bool same_host = machine && f.host && std::find(c.hosts.begin(), c.hosts.end(), *f.host) != c.hosts.end();
    const bool same_class = std::any_of(c.findings.begin(), c.findings.end(), [&](const Finding* other) { return other->event_class == f.event_class; });
    const bool near = !c.start || !f.start || std::abs(*f.start - *c.start) <= params.same_moment;
    if (!(same_host || together || (same_class && near))) continue;
    c.findings.push_back(&f);
    for (const auto& host : f.hosts) if (std::find(c.hosts.begin(), c.hosts.end(), host) == c.hosts.end()) c.hosts.push_back(host);
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

}  // namespace

std::optional<CauseKind> kind_of(const Finding& f) {
  if (f.analysis == "hang" || f.analysis == "stacks" || f.analysis == "collectives") return std::nullopt;  // the step stopped_rank asks them
  if (f.analysis != "classify" || f.outcome != Outcome::fired) return std::nullopt;
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

FirstFailure first_failure(const Case& incident, const DecideParams& params) {
  FirstFailure out;
  std::vector<const Finding*> candidates;
  const auto went_on = [&](const Finding& f) { return f.end && incident.last_progress && *f.end + f.uncertainty + params.went_on < *incident.last_progress; };

  // When others began to notice. Noise of a healthy phase (a reset connection an hour before) does not count.
  for (const Finding& f : incident.findings) {
    if (f.outcome != Outcome::fired || !consequence(f) || !f.start || f.analysis != "classify" || f.subject.kind != "job") continue;
    // The scheduler's word is a decision; what failed before it is another question (user_request).
    if (went_on(f) || f.event_class == "scheduler_teardown" || f.event_class == "scheduler_time_limit" || f.event_class == "k8s_teardown") continue;
    const Nanoseconds begin = incident.last_progress ? std::max(*f.start, std::min(*incident.last_progress, f.end.value_or(*f.start))) : *f.start;
    if (!out.first_consequence || begin < *out.first_consequence) out.first_consequence = begin;
  }

  const bool cuda_error = std::any_of(incident.findings.begin(), incident.findings.end(), [](const Finding& f) { return f.outcome == Outcome::fired && f.event_class.rfind("cuda_", 0) == 0; });
  for (const Finding& f : incident.findings) {
    const auto kind = kind_of(f);
    if (!kind) continue;
    if (went_on(f)) {
      out.excluded.emplace_back(&f, fmt::format("the job completed steps for {} after it", human_duration(*incident.last_progress - *f.end)));
      continue;
    }
    if (*kind == CauseKind::shared && f.severity == Severity::warning && (f.hosts.size() < 2 || static_cast<double>(f.hosts.size()) < params.shared_hosts * static_cast<double>(incident.hosts))) {
      out.excluded.emplace_back(&f, fmt::format("{} of {} hosts report it, and only as a warning", std::max<std::size_t>(1, f.hosts.size()), incident.hosts));
      continue;
    }
    // Xid 13 and 31 are printed for any process that errs on the machine: they concern the job when it reports a CUDA
    // error, or when they fall into its last moments.
    if (*kind == CauseKind::device_or_program && f.event_class.rfind("gpu_xid/", 0) == 0 && !cuda_error &&
        !(f.start && out.first_consequence && std::abs(*out.first_consequence - *f.start) < params.same_moment)) {
      out.excluded.emplace_back(&f, "no rank reports a CUDA error, and it cannot be placed near the failure");
      continue;
    }
    candidates.push_back(&f);
  }

  // A known consequence of another candidate that came before it on the same machine is none.
  std::vector<const Finding*> own;
  for (const Finding* f : candidates) {
    const Finding* parent = nullptr;
    for (const Finding* other : candidates) {
      if (other == f || other->event_class == f->event_class) continue;
      const bool before = !f->start || !other->start || *other->start <= *f->start + other->uncertainty + f->uncertainty;
      const bool after = f->start && other->start && *f->start + f->uncertainty + other->uncertainty < *other->start;
      const bool here = !f->host || !other->host || f->host == other->host || f->hosts.empty();
      const bool mutual = leads_to(*f, other->event_class);
      if (before && !after && here && leads_to(*other, f->event_class) &&
          // Of two that lead to each other the earlier is the parent, or the first by name.
          !(mutual && (f->start && other->start && *f->start != *other->start ? *f->start < *other->start : f->id < other->id))) {
        parent = other;
        break;
      }
      // A device's fault reaches the program as a CUDA error or an exception on the same host.
      const bool gpu_fault = *kind_of(*other) == CauseKind::machine && (other->symptom == "GPU Unavailable" || other->symptom == "GPU Memory Error");
      if (gpu_fault && before && !after && f->host && f->host == other->host && (f->event_class.rfind("cuda_", 0) == 0 || one_of(f->event_class, {"gpu_xid/13", "gpu_xid/31"}))) { parent = other; break; }
    }
    if (parent != nullptr) out.excluded.emplace_back(f, fmt::format("{} on {} leads to it", parent->event_class, parent->subject.id));
    else own.push_back(f);
  }

  // The earliest moment of trouble: a cause's, or the first consequence's.
  std::optional<Nanoseconds> first = out.first_consequence;
  Nanoseconds first_uncertainty = 0;
  bool first_is_cause = false;
  for (const Finding* f : own) {
    if (*kind_of(*f) == CauseKind::network || *kind_of(*f) == CauseKind::device_or_program) continue;
    if (f->start && (!first || *f->start < *first)) { first = f->start; first_uncertainty = f->uncertainty; first_is_cause = true; }
  }
  for (const Finding* f : own) {
    if (f->start && first && *f->start - f->uncertainty - first_uncertainty - kSlack > *first) {
      out.excluded.emplace_back(f, fmt::format("it came {} after the first {}", human_duration(*f->start - *first), first_is_cause ? "failure" : "sign of failure on other ranks"));
      continue;
    }
    if (*kind_of(*f) == CauseKind::network && f->start && out.first_consequence && *out.first_consequence - f->end.value_or(*f->start) > params.network_lead) {
      out.excluded.emplace_back(f, fmt::format("it ended {} before the first broken connection", human_duration(*out.first_consequence - f->end.value_or(*f->start))));
      continue;
    }
    add(out.causes, *kind_of(*f), *f, params);
  }
  for (Cause& c : out.causes) std::sort(c.hosts.begin(), c.hosts.end());
  // A moment that can be placed before the trouble is better than one that cannot; then the kind; then the earlier.
  std::stable_sort(out.causes.begin(), out.causes.end(), [](const Cause& a, const Cause& b) {
    const auto key = [](const Cause& c) { return std::tuple(static_cast<int>(c.kind), !c.start.has_value(), c.start.value_or(0)); };
    return key(a) < key(b);
  });
  // A reading of a counter must not stand before an exception with a moment.
  std::stable_sort(out.causes.begin(), out.causes.end(), [](const Cause& a, const Cause& b) { return (a.confidence >= 0.6) > (b.confidence >= 0.6); });
  return out;
}

}  // namespace culprit::decide
