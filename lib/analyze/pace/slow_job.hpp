// The finding that the job as a whole is slow, before anything is said of how.
#pragma once

#include <string>
#include <utility>

#include "model/confidence.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

// what: "slow/rhythm", "slow/growing" ...; its id too, where a job has one of them.
inline Finding slow_job(std::string what) {
  return {.id = what,
          .analysis = Analysis::slow,
          .subject = {SubjectKind::job, "job"},
          .event_class = std::move(what),
          .symptom = Symptom::mfu_decline,
          .severity = Severity::warning,
          .role = Role::confirmation,
          .scope = Scope::job_wide,
          .confidence = confidence::kSlowOver};
}

}  // namespace culprit::analyze
