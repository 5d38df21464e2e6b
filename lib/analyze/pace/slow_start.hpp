// A job whose start took long, whatever its steps are: for which part of it (FT-HSDP figure 2).
#pragma once

#include <span>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/pace/restart_parts.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

// Of the last start that reached a step: its longest part, if that takes a quarter of an hour and
// most of the start. Where lines tell of no such part, imports of modules, if that is what most
// processes are seen at. One finding, "slow_start/PART", or none.
std::vector<Finding> slow_start(const Facts& facts, const JobSteps& steps,
                                std::span<const Start> starts);

}  // namespace culprit::analyze
