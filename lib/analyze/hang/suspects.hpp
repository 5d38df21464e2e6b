// Who it is that everybody waits for, by all sources together.
#pragma once

#include <optional>
#include <vector>

#include "analyze/facts/topology.hpp"
#include "analyze/hang/collectives.hpp"
#include "analyze/hang/stacks.hpp"
#include "analyze/hang/suspect.hpp"

namespace culprit::analyze {

// The surest first. others: findings, of which the silent ranks are taken; odd: the one trainer
// whose process is in another state; standing: it is known that the job stood still. Without that
// such a state says nothing, unless somebody traces the process.
std::vector<Suspect> find_suspects(const Facts& facts, const Topology& topology,
                                   const CollectiveReport& collectives, const StackReport& stacks,
                                   const std::vector<Finding>& others,
                                   const std::optional<Suspect>& odd, bool standing,
                                   double contradiction);

}  // namespace culprit::analyze
