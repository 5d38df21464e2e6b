// Numbers that are none from the same iteration on in several runs: what comes back at the same
// place lies in the data or the program. A machine that computes wrongly does so by chance.
#pragma once

#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/pace/job_steps.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

// At most one finding of analysis "divergence", class "nan_at_same_iteration". Runs are logs that
// are of other machines or a while apart, or attempts that one log tells of; in each the iteration
// is not among its first. steps: of the job; empty where there are none.
std::vector<Finding> nan_again(const Facts& facts, const JobSteps& steps);

}  // namespace culprit::analyze
