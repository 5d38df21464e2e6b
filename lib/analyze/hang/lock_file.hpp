// Ranks that wait for a lock file: one that a process which is left over holds, or that a process
// which was killed left behind.
#pragma once

#include <optional>

#include "analyze/facts/topology.hpp"
#include "analyze/hang/stacks.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

// Trainers stand at one, and all others of which there is a stack wait for them or for it: who
// holds it is none of these. base: what all findings of the hang have; standing: it is proven that
// the job stood; sure: how sure that is, 0 to 1.
std::optional<Finding> lock_file_wait(const Facts& facts, const Topology& topology,
                                      const StackReport& stacks, const Finding& base, bool standing,
                                      double sure);

}  // namespace culprit::analyze
