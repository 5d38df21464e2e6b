// The joined answer to "who is everybody waiting for": frontiers of collectives, stacks, and who
// stayed silent, weighed together. Two sources that agree are surer than one; a source that
// contradicts costs certainty; what an agent or a watchdog claims is not among them.
#pragma once

#include <vector>

#include "analyze/hang/collectives.hpp"
#include "analyze/facts/facts.hpp"
#include "analyze/facts/signal.hpp"
#include "analyze/hang/stacks.hpp"
#include "analyze/facts/topology.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

struct HangParams {
  double assumed =
      0.85;  // nothing in the bundle says that the job stood still, and nothing says that it moved
  double by_files = 0.95;  // that it did is told by the age of its dumps alone
  double snapshot = 0.65;  // one snapshot of stacks alone, in which all wait for one
  std::size_t crowd = 3;   // this many, at least
  double contradiction =
      0.6;  // a stack inside a collective, of a rank that the counters call stopped on the host
};

// Findings of analysis "hang": one a suspect, the surest first, or one that says why there is none.
// Empty when the bundle holds neither dumps nor counters nor stacks. `others`: the findings of
// collectives, stacks and silence.
std::vector<Finding> hang(const Facts& facts, const Topology& topology,
                          const std::vector<Signal>& signals, const CollectiveReport& collectives,
                          const StackReport& stacks, const std::vector<Finding>& others,
                          const HangParams& params = {});

}  // namespace culprit::analyze
