// Saves of checkpoints that take longer than those before them, in a job whose steps do not: what
// they are written to became slow.
#pragma once

#include <span>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/finding.hpp"
#include "analyze/pace/between_steps.hpp"
#include "model/series.hpp"

namespace culprit::analyze {

// What a log tells of how long its saves took, in the order of the log.
struct SaveTimes {
  MemberId member = 0;
  SeriesPoints points;
  double ms = 1;  // in one of their units
};

// One finding with SlowFacts, of the teller with most saves: they became longer, "slow_saves", or
// they stop the job for a good part of its time, "frequent_saves". step_ms: the usual step; 0: not
// known.
std::vector<Finding> slow_saves(const Facts& facts, std::span<const SaveTimes> told,
                                double step_ms);

// What lies between the steps, where timers tell nothing of saves: "frequent_saves" where a
// checkpoint was written in most pauses, else "between_steps".
std::vector<Finding> pauses_between(const Facts& facts, const JobSteps& steps,
                                    const BetweenSteps& between);

}  // namespace culprit::analyze
