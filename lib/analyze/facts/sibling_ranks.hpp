// Ranks of trainers that a listing of processes shows without them, by the order of their numbers.
#pragma once

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

// A launcher starts the ranks of a machine one after the other. Where one parent has as many
// trainers as its machine has ranks, and those whose rank is known stand in that order, the others
// have the ranks between. REQUIRES: roles of processes, facts.ranks.
void rank_siblings(Facts& facts);

// The same for dumps of stacks, which tell no parent: numbers of processes without a gap.
void rank_dumped_siblings(Facts& facts);

}  // namespace culprit::analyze
