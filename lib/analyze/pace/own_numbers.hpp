// Whose own numbers were none first, by tables that ranks wrote before numbers are summed over all:
// the device that computes wrongly, where it was another rank's in another run.
#pragma once

#include <functional>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/finding.hpp"
#include "model/series.hpp"

namespace culprit::analyze {

// At most one finding a file, "own_numbers/PATH", subject the GPU: it alone of at least four had a
// norm or a loss that is no number, at the first step at which anybody had. Not in the files in
// which several had, or nothing tells the machine and the GPU.
std::vector<Finding> own_numbers_gone(const Facts& facts,
                                      const std::function<SeriesPoints(SeriesId)>& load);

}  // namespace culprit::analyze
