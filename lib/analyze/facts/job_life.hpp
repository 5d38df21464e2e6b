// Plain facts of the job itself: where it ran, whether it came to its end, whether it used GPUs.
#pragma once

#include <string>
#include <vector>

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

// Short names, sorted. Empty when the list may have gaps: it is used to say that a machine had no
// part in the job.
std::vector<Host> hosts_of_job(const Facts& facts);

// A closing line of the framework, or the scheduler's COMPLETED.
bool job_completed(const Facts& facts);

// False when no line, setting or dump speaks of a GPU, CUDA or NCCL: advice about GPUs would be
// noise then.
bool uses_gpus(const Facts& facts);

}  // namespace culprit::analyze
