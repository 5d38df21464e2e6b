// What new micro-batches would do for an incident, for the plan that weighs them.
#pragma once

#include <optional>

#include "diagnose/slow_spells.hpp"
#include "from_incident.hpp"

namespace culprit::cli {

// Micro-batches of a step that are taken for granted, for each group and stage.
inline constexpr std::int64_t kAssumedMicrobatches = 16;

// The share of the slow time that the best distribution over data-parallel groups removes; nothing
// when the layout is not known, when no rank is slow or when a rank of every group is.
std::optional<double> microbatch_share(const PlanIncident& incident,
                                       const diagnose::SlowSpells& slow);

}  // namespace culprit::cli
