// Whether the loss rose for long before it, or the gradients, were no numbers. All ranks sum their
// gradients, so a slow rise is the training's own: learning rate, data, precision or code; what a
// device computes wrongly shows from one step to the next. Chowdhery et al., PaLM (2022), section
// 5.1: such runs go on from a checkpoint well before the rise, with other data or settings.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/pace/job_steps.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

struct DivergenceParams {
  std::size_t window = 9;  // values of the running median
  std::size_t least = 15;  // steps from the lowest loss to the last good one
  std::size_t parts = 5;   // of that stretch: the median rises from each to the next
  double rise = 0.25;      // of the lowest
  double noise = 5;        // times the usual distance of neighbours
  std::size_t norms = 5;   // norms of gradients in a row, each above the one before
  double norm_rise = 10;   // times the usual norm, at their end
  // A loss that is a number to the end, and goes up all the time: times the lowest, over so many
  // steps; of one that is never near nought, as that of policies is.
  double far = 2;
  std::size_t for_long = 100;
  double least_loss = 1;
};

// What all findings have that say that a training left its way by itself.
Finding divergence_named(std::string id, std::string event_class, Text title);

// One finding, "divergence/loss", of the last run; none where the loss did not rise, or where loss
// and gradients stayed numbers and the loss is not far above its lowest. classified: what the
// program said of its end.
std::vector<Finding> divergence_findings(const Facts& facts, const JobSteps& steps,
                                         std::span<const Finding> classified,
                                         const DivergenceParams& params = {});

}  // namespace culprit::analyze
