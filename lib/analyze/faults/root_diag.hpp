// RootDiag (Aegis section 4.1.1, algorithm 1, lines for L_DE): when many hosts report broken
// connections, the machine at fault is the one whose connections broke first. Builds the graph of
// (reporter, peer, time), looks at the earliest burst only, and asks for a node that (nearly) all
// of its edges touch and that is clearly ahead of the next.
#pragma once

#include <vector>

#include "analyze/faults/by_signals.hpp"

namespace culprit::analyze {

struct RootDiagParams {
  Nanoseconds burst = 5 * kSecond;     // edges that begin this soon after the first one
  Nanoseconds retried = 20 * kSecond;  // a break after which all ranks stepped on for as long
  double cover = 0.8;                  // share of the burst's edges that the culprit touches
  double ahead = 0.6;  // the second best touches at most this share of the culprit's edges
};

// At most one `fired` finding; else one that says why not. A network node of the manifest (ToR,
// pod) whose two sides every edge crosses is named instead of a host (NetDiag). Empty when no
// connection error names a peer.
std::vector<Finding> root_diag(const Facts& facts, const std::vector<Signal>& signals,
                               const RootDiagParams& params);

}  // namespace culprit::analyze
