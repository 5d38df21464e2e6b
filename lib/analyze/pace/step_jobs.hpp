// Which steps were made by the same job: with as many GPUs and the same global batch. Others take
// another time by right, so that their pace must not be compared (a restart on fewer machines, a
// batch that is ramped up).
#pragma once

#include <functional>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/pace/job_steps.hpp"

namespace culprit::analyze {

// A number for each step, the same for the same job; empty when nothing tells them apart. What a
// log does not say is taken to be as it was before. Sources: "world_size" among the settings,
// "global batch size" on the lines of the steps.
std::vector<std::uint32_t> step_jobs(const Facts& facts, const JobSteps& steps,
                                     const std::function<SeriesPoints(SeriesId)>& load);

}  // namespace culprit::analyze
