// Where did regimes begin, seen from the end? The exact most probable segmentation under the model
// of run_length.hpp:
//
//     score(t) = max over s of  score(s) + log m(s..t) + log H + (t-s-1) log(1-H),      H = 1 /
//     lambda
//
// with m the marginal likelihood of a regime in closed form (Murphy, "Conjugate Bayesian analysis
// of the Gaussian distribution", 2007, eq. 95) over prefix sums of centred data: one log per start
// and sample. Starts that are more than log(lambda) + `slack` nats behind the best are dropped:
// they would have to win that back by a new regime, which costs log(lambda); 8 nats agrees with the
// unpruned answer, 10 at lambda 2000 in all does not. The others are summed up only when they could
// be the best, in groups (segmentation.cpp): a sample costs about 1 us, however long the series.
#pragma once

#include <vector>

#include "analyze/pace/run_length.hpp"

namespace culprit::analyze {

struct SegmentationParams {
  double lambda = 100;
  NormalPrior prior;
  double slack = 8;  // nats beyond log(lambda)
  bool prune = true;
};

// Change points, ascending. Missing samples are not learned; a change never falls on one that all
// dimensions lack, but on the next that is there.
std::vector<std::size_t> most_probable_segmentation(Dimensions series,
                                                    const SegmentationParams& params = {});

}  // namespace culprit::analyze
