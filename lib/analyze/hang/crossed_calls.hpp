// Ranks of one group that wait for each other in different collectives.
//
// Collectives of a group complete in one order on all of its ranks. Where some stand in one
// operation of it and others in another, and each set waits for the other, the program called them
// in different orders (a rank alone evaluates, saves, or takes another branch): nobody is at fault
// but the code, and the wait-for chain has no end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/hang/stacks.hpp"

namespace culprit::analyze {

struct CrossedCalls {
  std::vector<Rank> ranks, others;  // the fewer, and those who wait for them; sorted
  std::string operation, operation_of_others;
};

// Of the waits of one snapshot; nothing where no two groups of ranks cross, or where as many stand
// on one side as on the other. Point-to-point operations cross by design.
std::optional<CrossedCalls> crossed_calls(const std::vector<StackWait>& waits);

// The frame at which one stack leaves another, both innermost first as in StackTable: the first
// from the outside whose function, file or line differs. -1: they are equal, or no frame is left.
std::int32_t branch_of(const StackTable& table, std::size_t stack, std::size_t other);

}  // namespace culprit::analyze
