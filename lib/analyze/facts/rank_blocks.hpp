// Places of ranks whose own machine nothing names, by the ranks around them.
#pragma once

#include <cstdint>
#include <map>

#include "model/rows.hpp"

namespace culprit::analyze {

// Launchers give each machine a block of consecutive ranks. Where the ranks whose machine is known
// fill such blocks of equal size, one machine a block and of each at least half or its two ends,
// the ranks between them are of the same machine. world: number of ranks, 0 where it is not known;
// changes nothing unless every block has its machine.
void place_by_blocks(std::map<Rank, RankRow>& ranks, std::int64_t world);

}  // namespace culprit::analyze
