// The state of every rank, for a picture of the job: from the findings alone, so that the picture
// shows what they say.
#pragma once

#include <span>

#include "analyze/facts/facts.hpp"
#include "analyze/facts/topology.hpp"
#include "model/picture.hpp"

namespace culprit::analyze {

// Empty when nobody knows of any rank, or of more than `most`.
RankMap rank_map(const Facts& facts, const Topology& topology, std::span<const Finding> findings,
                 const Verdict& verdict, std::int64_t most = 1 << 20);

}  // namespace culprit::analyze
