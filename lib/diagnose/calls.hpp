// Collective calls of an incident: who waits for whom, and who joins last.
#pragma once

#include <vector>

#include "analyze/hang/collectives.hpp"
#include "analyze/facts/facts.hpp"
#include "analyze/facts/signal.hpp"
#include "analyze/hang/slow_ranks.hpp"
#include "analyze/facts/topology.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

// Who waits for whom by counters; nobody, where the logs say that the job went on.
analyze::CollectiveReport collectives_of(const analyze::Facts& facts,
                                         const analyze::Topology& topology,
                                         const std::vector<analyze::Signal>& signals);
// Ranks that join the collectives of their group last, from the histories of all groups of three
// and more.
std::vector<analyze::SlowRank> slow_ranks_of(const store::Database& db,
                                             const analyze::Facts& facts);

}  // namespace culprit::diagnose
