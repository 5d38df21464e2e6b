// One long gap between two steps, behind which the job goes on as before: it waited for something
// that came back. Where a log measures its steps they do not show it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "analyze/facts/facts.hpp"
#include "analyze/pace/checkpoints.hpp"
#include "analyze/pace/job_steps.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

struct StepGap {
  std::size_t row = 0;  // of the first step behind it
  double gap_ms = 0;    // that the steps between do not take
  double usual_ms = 0;  // a step
};

// The longest of the last attempt. Nothing where it lies at a checkpoint, or where such gaps come
// again and again.
std::optional<StepGap> longest_gap(const JobSteps& steps,
                                   std::span<const JobCheckpoint> checkpoints);

// As a slow stretch of the whole job that is over.
Finding gap_finding(const Facts& facts, const JobSteps& steps, const StepGap& gap);

}  // namespace culprit::analyze
