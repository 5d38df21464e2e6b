// What outcomes of checks say of machines, as findings (ByteRobust section 4.2: stop-time checks).
#pragma once

#include <vector>

#include "analyze/facts/facts.hpp"

namespace culprit::diagnose {

// Machines that failed alone or are the only ones left of a group; those of which one is at fault;
// those that passed (ruled out); and each contradiction. Empty without outcomes.
std::vector<Finding> outcomes_of(const analyze::Facts& facts);

}  // namespace culprit::diagnose
