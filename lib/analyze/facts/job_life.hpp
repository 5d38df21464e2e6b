// Plain facts of the job itself: where it ran, whether it came to its end, whether it used GPUs.
#pragma once

#include <vector>

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

// Short names, sorted. Empty when the list may have gaps: it is used to say that a machine had no
// part in the job.
std::vector<Host> hosts_of_job(const Facts& facts);

// Names that pods call themselves by, and as many nodes whose kernels were collected beside them,
// while nothing tells which pod ran on which; short, sorted. Else empty.
struct PodsAndNodes {
  std::vector<Host> pods, nodes;
};
PodsAndNodes pods_beside_nodes(const Facts& facts);

// Machines that serve files and of which no rank is known; short names, sorted.
std::vector<Host> storage_servers(const Facts& facts);

// The steps of that log go on in another one that begins after it: how it ended is not how the job
// did.
bool goes_on_elsewhere(const Facts& facts, MemberId log);

// The framework's closing line of the run in question, the last by place; nullptr: none.
const EventRow* closing_line(const Facts& facts);

// A closing line of the framework, or the scheduler's COMPLETED.
bool job_completed(const Facts& facts);
// The scheduler's record of the job says that it failed.
bool recorded_failed(const Facts& facts);

// False when no line, setting or dump speaks of a GPU, CUDA or NCCL: advice about GPUs would be
// noise then.
bool uses_gpus(const Facts& facts);

}  // namespace culprit::analyze
