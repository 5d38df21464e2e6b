// Single steps that take many times as long as all others, here and there, each with a line of one
// kind that says why: compiled anew, swapped in, written out. No stretch of steps is slow.
#pragma once

#include <optional>
#include <span>

#include "analyze/facts/facts.hpp"
#include "analyze/pace/job_steps.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

// As a slow stretch of the whole job from the first to the last of them. classified: whose lines
// may say why. Nothing where they cost no good part of the time, or where most have no such line.
std::optional<Finding> explained_spikes(const Facts& facts, const JobSteps& steps,
                                        std::span<const Finding> classified);

}  // namespace culprit::analyze
