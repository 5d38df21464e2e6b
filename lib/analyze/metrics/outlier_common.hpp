// Changes of a whole crowd: where its middle goes from one level to another.
#pragma once

#include <span>
#include <vector>

namespace culprit::analyze {

struct LevelChange {
  std::size_t before = 0, after = 0;  // last point of the old level, first of the new one
  double from = 0, to = 0;            // medians
};

// middle: of the crowd, one value an instant, finite. A level lasts for `shortest` points or more,
// a change exceeds both floors and the noise between neighbouring points. Found by binary
// segmentation on means (Scott & Knott 1974), merged bottom-up, told as medians. Neighbouring
// changes in one direction (a drift, a ladder) are one. At most `most` changes are sought: what
// swings more often has no level.
std::vector<LevelChange> level_changes(std::span<const double> middle, std::size_t shortest,
                                       double floor_absolute, double floor_relative,
                                       std::size_t most = 32);

}  // namespace culprit::analyze
