// Which candidates are known consequences of others. Inside of this room only.
#pragma once

#include <vector>

#include "decide/causes.hpp"

namespace culprit::decide {

// The candidates of which no other is the known cause: none that came before on the same machine.
// The others go to `excluded`. Candidates are found by class and host, so that as many as there are
// machines need not be held against each other.
std::vector<const Finding*> without_consequences(const std::vector<const Finding*>& candidates,
                                                 std::vector<Excluded>& excluded);

}  // namespace culprit::decide
