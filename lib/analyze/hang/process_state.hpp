// What process lists say of a hang: the kernel knows who is stopped, dead, held by a debugger, or
// asleep where no signal reaches it.
#pragma once

#include <optional>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/hang/suspect.hpp"

namespace culprit::analyze {

// The one trainer of several that is stopped (T) or held by a debugger (t), dead and not buried
// (Z), or sleeps where no signal reaches it (D). Without rank and host where nothing places it.
std::optional<Suspect> odd_trainer(const Facts& facts);

// Adds to suspects of one rank what the kernel says of its process. REQUIRES: facts with roles.
void add_kernel_states(const Facts& facts, std::vector<Suspect>& suspects);

}  // namespace culprit::analyze
