// A run that takes longer for as many steps than the run before it, while no stretch of it is slow
// by itself: it has more long steps, or stands longer between them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analyze/facts/facts.hpp"
#include "analyze/pace/checkpoints.hpp"
#include "analyze/pace/job_steps.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

// Of the last attempt, held against the longest before it of the same job (jobs: step_jobs.hpp; of
// each step, or empty), as a slow stretch of the whole job. Nothing where one of both is short,
// where the difference is small, or no more than steps differ anyway.
std::optional<Finding> slower_run(const Facts& facts, const JobSteps& steps,
                                  std::span<const std::uint32_t> jobs,
                                  std::span<const JobCheckpoint> checkpoints);

}  // namespace culprit::analyze
