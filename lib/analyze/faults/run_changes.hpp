// What somebody changed between the run before and this one: the first question of whoever looks at
// a run that fails or is slow since its start. From a diff that was collected, and from arguments
// that both runs print.
#pragma once

#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

// One finding of analysis "changes" a setting, "changes/NAME", with ChangeFacts; those that may
// explain something first. A change accuses nobody by itself. Names, folders and lengths of runs,
// which differ by right, are none.
std::vector<Finding> run_changes(const Facts& facts);

}  // namespace culprit::analyze
