// Hangs for the eye: the graph of those who wait, and the tree of all stacks. Both show what the
// findings say, and nothing where no finding says that somebody waits.
#pragma once

#include <span>

#include "analyze/facts/facts.hpp"
#include "analyze/facts/topology.hpp"
#include "analyze/hang/collectives.hpp"
#include "analyze/hang/stacks.hpp"
#include "model/picture.hpp"

namespace culprit::analyze {

// Empty unless the end of the chain is whom a fired finding names: counters of collectives first,
// which know the operation, then stacks.
WaitPicture wait_graph(const Topology& topology, const Facts& facts,
                       const CollectiveReport& collectives, const StackReport& stacks,
                       std::span<const Finding> findings);

// Empty without stacks of trainers.
StackIcicle stack_icicle(const Topology& topology, const StackReport& stacks,
                         std::size_t most = 240);

}  // namespace culprit::analyze
