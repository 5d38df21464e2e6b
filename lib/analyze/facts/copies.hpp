// Logs that were collected twice.
#pragma once

#include <vector>

#include "model/rows.hpp"

namespace culprit::analyze {

// Sets duplicate_of. Equal bytes alone prove nothing: a process that stands still prints the same
// stack in each look, ranks of one program the same last words, and a counter that does not move
// the same snapshot. REQUIRES: hosts and ranks of members.
void mark_copies(std::vector<MemberRow>& members);

}  // namespace culprit::analyze
