// Absence as evidence. In a hang everybody who waits reports a time-out; the rank that never does
// is the lead, not those who print. And a host whose log ends before all
// others' was the first to go.
#pragma once

#include <vector>

#include "analyze/faults/by_signals.hpp"

namespace culprit::analyze {

struct SilenceParams {
  double reporters = 0.5;  // at least this share of the ranks reported the time-out
  double silent = 0.125;   // at most this share, and at least one, did not
};

// One finding per silent rank; else, where all that were heard report and a few ranks were not
// heard at all, one for each of those (number "unheard" = 1: it stopped, or its output was not
// collected); else one that says why absence tells nothing here. Empty without time-outs.
std::vector<Finding> silence(const Facts& facts, const std::vector<Signal>& signals,
                             const SilenceParams& params);

}  // namespace culprit::analyze
