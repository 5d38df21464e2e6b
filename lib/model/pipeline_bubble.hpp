// How long the stages of a pipeline stand still in each step, by the schedule alone.
#pragma once

#include <cstdint>
#include <optional>

namespace culprit {

struct PipelineBubble {
  std::int64_t stages = 0, micro_batches = 0;
  double share = 0;              // of a step
  std::optional<double> before;  // in the run before, where that tells its own
};

}  // namespace culprit
