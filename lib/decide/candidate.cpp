// What a finding says of itself.
#include "decide/candidate.hpp"

namespace culprit::decide {

std::optional<CauseKind> kind_of(const Finding& f) {
  if (!f.fired(Analysis::classify) || f.hearsay) return std::nullopt;
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

bool steps_after(const Finding& f) {
  const auto* line = std::get_if<LineFacts>(&f.facts);
  return line != nullptr && line->steps_after;
}

bool went_on(const Case& incident, const DecideParams& params, const Finding& f) {
  return steps_after(f) || (f.end && incident.last_progress &&
                            *f.end + f.uncertainty + params.went_on < *incident.last_progress);
}

bool outlived(const Case& incident, const Evidence& line, Nanoseconds end) {
  constexpr Nanoseconds kLong = 30 * kMinute;
  const auto& last = incident.last_step;
  return incident.last_progress && last && line.member == last->member &&
         (incident.newest_first || line.line < last->line) && end + kLong < *incident.last_progress;
}

bool survived(const Case& incident, const Finding& f) {
  const auto& end = f.end ? f.end : f.start;
  // What ranks met while they gathered, they met before the first step, and the next try worked.
  if (f.role == Role::cascade && end && incident.first_progress &&
      *end + f.uncertainty < *incident.first_progress &&
      *incident.first_progress < *incident.last_progress)
    return true;
  return end && std::ranges::any_of(f.evidence, [&](const Evidence& e) {
           return outlived(incident, e, *end + f.uncertainty);
         });
}

bool leads_to(const Finding& cause, const std::string& event_class) {
  for (const std::string& one : cause.leads_to)
    if (one == event_class ||
        (one.find('{') == std::string::npos && event_class.rfind(one + "/", 0) == 0))
      return true;
  return false;
}

bool consequence(const Finding& f) { return f.role == Role::cascade || f.role == Role::teardown; }

bool explains_communication(const Finding& f) {
  const auto* setting = std::get_if<SettingFacts>(&f.facts);
  return setting != nullptr && setting->explains == "communication";
}

bool gpu_fault(const Finding& f) {
  return kind_of(f) == CauseKind::machine &&
         (f.symptom == Symptom::gpu_unavailable || f.symptom == Symptom::gpu_memory_error);
}

bool out_of_gpu_memory(const Finding& f) {
  return f.traits.has(Trait::gpu_memory_full) && f.analysis == Analysis::classify && !f.hearsay;
}

bool told_of_gpu(const Finding& f) {
  return f.host && !(out_of_gpu_memory(f) && f.hosts.size() > 1) &&
         f.traits.has_any({Trait::by_gpu, Trait::access_fault});
}

bool of_machine(const Finding& f, CauseKind kind) {
  return kind == CauseKind::machine || kind == CauseKind::network ||
         (kind == CauseKind::resource && f.origin != Origin::any) ||
         (kind == CauseKind::environment && f.origin == Origin::scheduler);
}

bool counters_of_switch(const Finding& f) {
  return f.analysis == Analysis::classify && !f.start &&
         f.subject.kind == SubjectKind::network_switch && f.symptom == Symptom::infiniband_error;
}

bool of_foreign_process(const Finding& f) {
  const auto* line = std::get_if<LineFacts>(&f.facts);
  return line != nullptr && f.origin == Origin::kernel && !line->names_trainer;
}

const std::vector<Host>& places_of(CauseKind kind, const Finding& f) {
  static const std::vector<Host> kNowhere;
  return kind == CauseKind::machine && f.scope == Scope::job_wide ? kNowhere : f.hosts;
}

bool came_before(const Finding& a, const Finding& b) {
  return a.start && b.start && *a.start + a.uncertainty + b.uncertainty < *b.start;
}

}  // namespace culprit::decide
