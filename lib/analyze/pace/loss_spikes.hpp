// A loss that jumped to five times the usual one (ByteRobust section 4.1): the last jump of the
// last run, and whether it came back. Losses that change sign, or whose usual value wanders as far
// as the jump, have no usual value: the policy losses of reinforcement learning.
#pragma once

#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/pace/job_steps.hpp"
#include "analyze/pace/loss_signals.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

struct LossSpikeParams {
  LossParams loss;
  double above_highest = 2;  // times the highest value of the window before
  std::size_t stays = 5;     // steps up to the last one: it did not come back
};

// At most one finding, "loss_spike/loss", a warning that proves nothing by itself.
std::vector<Finding> loss_spike_findings(const Facts& facts, const JobSteps& steps,
                                         const LossSpikeParams& params = {});

}  // namespace culprit::analyze
