// What processes in containers call their machine: a pod has a name of its own, which its library
// prints, while the file of its output is named after the node that it ran on.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

// Names and the machines that they stand for: "grpo-worker-2" and "node-b3-03" of a file
// "node-b3-03_pod.log" in which nobody else speaks; "llm-2" of the log of a pod whose node a
// listing tells. Else only of machines that have a log of their own beside it, and one name a
// machine.
std::vector<std::pair<std::string, Host>> container_names(const Facts& facts);

}  // namespace culprit::analyze
