// Whether the learning rate jumped: a schedule or a resumed run that does not fit makes a training
// diverge that ran well before.
#pragma once

#include <functional>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/finding.hpp"
#include "model/series.hpp"

namespace culprit::analyze {

struct LearningRateParams {
  double jump = 4;         // times the value before
  double steady = 1.5;     // the values before it are within this factor: no warm-up
  std::size_t before = 5;  // such values
};

// At most one finding, "divergence/learning_rate", subject the job: the first jump by `jump` after
// values that were steady, which is not taken back at once. Values as the logs print them, by step.
std::vector<Finding> learning_rate_jump(const Facts& facts,
                                        const std::function<SeriesPoints(SeriesId)>& load,
                                        const LearningRateParams& params = {});

}  // namespace culprit::analyze
