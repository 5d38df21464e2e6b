// Collective calls of an incident: who waits for whom, and who joins last.
#pragma once

#include <vector>

#include "analyze/collectives.hpp"
#include "analyze/facts.hpp"
#include "analyze/signal.hpp"
#include "analyze/slow_ranks.hpp"
#include "analyze/topology.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

// Who waits for whom by counters; nobody, where the logs say that the job went on.
analyze::CollectiveReport collectives_of(const analyze::Facts& facts, const analyze::Topology& topology, const std::vector<analyze::Signal>& signals);
// Ranks that join the collectives of their group last, from the histories of all groups of three and more.
std::vector<analyze::SlowRank> slow_ranks_of(const store::Database& db, const analyze::Facts& facts);

}  // namespace culprit::diagnose
