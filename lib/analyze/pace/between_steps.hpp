// Time that a job spends between its steps, while none of them is longer than usual: it saves
// checkpoints, evaluates, or is suspended. Where the log measures its steps and dates them, what
// lies between is what the dates have more.
#pragma once

#include <optional>
#include <span>

#include "analyze/pace/checkpoints.hpp"
#include "analyze/pace/job_steps.hpp"

namespace culprit::analyze {

struct BetweenSteps {
  std::size_t pauses = 0;
  double pause_ms = 0;  // median
  double total_ms = 0;
  double share = 0;                 // of the time from the first to the last step
  std::int64_t every = 0;           // iterations from one to the next, median; 0: one pause alone
  std::size_t saves = 0;            // pauses in which a checkpoint was written
  std::size_t first = 0, last = 0;  // rows of the steps behind the first and the last pause
};

// Of the last attempt. Nothing where durations are no measurements of their own, or where the
// pauses are no good part of the time.
std::optional<BetweenSteps> between_steps(const JobSteps& steps,
                                          std::span<const JobCheckpoint> checkpoints);

}  // namespace culprit::analyze
