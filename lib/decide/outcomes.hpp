// Outcomes of checks that were run since: who failed is taken out, who passed all is no longer
// suspected, and what does not fit is named (ByteRobust section 4.2).
#pragma once

#include "decide/walk.hpp"

namespace culprit::decide {

// Moves the verdict on by the findings of Analysis::outcomes, and adds "history" steps. Does
// nothing without them.
void consider_outcomes(Walk& w);

}  // namespace culprit::decide
