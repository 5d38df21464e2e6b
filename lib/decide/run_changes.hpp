// What somebody changed since the run before, held against what happened in this one: where it
// explains that and no machine is accused, the answer is to take it back.
#pragma once

#include "decide/walk.hpp"

namespace culprit::decide {

// Moves the verdict on by the findings of Analysis::changes. Does nothing without them.
void consider_changes(Walk& w);

}  // namespace culprit::decide
