// What it costs to isolate whom a verdict names, in one line: the price of an over-eviction
// (ByteRobust §5).
#pragma once

#include <string>

#include "analyze/facts/topology.hpp"
#include "model/finding.hpp"

namespace culprit::diagnose {

// "" when the verdict isolates nobody.
std::string isolation_cost(const Verdict& verdict, const analyze::Facts& facts,
                           const analyze::Topology& topology);

}  // namespace culprit::diagnose
