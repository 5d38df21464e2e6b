// What would have settled an open verdict: the files that the bundle lacks, the likeliest first.
#pragma once

#include "decide/walk.hpp"

namespace culprit::decide {

// Puts them among the next steps of a verdict that leaves something open, in place of the steps'
// general wishes; nothing that was collected is asked for. A verdict that is sure stays as it is.
void ask_for_missing(Walk& w);

}  // namespace culprit::decide
