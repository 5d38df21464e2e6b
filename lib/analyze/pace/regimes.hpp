// Levels of one attempt's iteration times: noise, single outliers, regimes. Steps 1 to 3 of
// fail_slow.hpp; its own file because they know nothing of what is slow.
#pragma once

#include <span>
#include <vector>

#include "analyze/pace/fail_slow.hpp"
#include "model/median.hpp"

namespace culprit::analyze {

struct Segment {
  std::size_t start = 0, end = 0;
  double level = 0;  // median of the logarithms
};

struct Levels {
  double noise = 0;              // sd of log time, local
  double wander = 0;             // sd of medians of blocks within a regime
  double required = 0;           // difference of logarithms that a fault must exceed
  std::vector<Segment> fine;     // at least min_regime long, but for the last
  std::vector<Segment> regimes;  // boundaries exceed `required`
  std::vector<std::size_t> raw;  // boundaries of the segmentation, before short ones were merged
};

// y: logarithms, no NaN.
Levels find_levels(std::span<const double> y, const FailSlowParams& params);

}  // namespace culprit::analyze
