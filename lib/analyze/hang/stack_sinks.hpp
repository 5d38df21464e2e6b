// Whom the others wait for, by their stacks: where each sink stands in the program, and whose fault
// that is: a worker's, a branch's of the program, storage's.
#pragma once

#include "analyze/facts/facts.hpp"
#include "analyze/facts/topology.hpp"
#include "analyze/hang/stacks.hpp"

namespace culprit::analyze {

// Fills what a report says of covers, waits, sinks, ranks without a stack, storage and confidence.
// REQUIRES: all the rest of it.
void find_sinks(const Facts& facts, const Topology& topology, const StackParams& params,
                StackReport& report);

}  // namespace culprit::analyze
