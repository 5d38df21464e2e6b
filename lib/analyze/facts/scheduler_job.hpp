// Which of the jobs that a scheduler's records speak of is the one in question.
#pragma once

#include <string>

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

// Its number: the manifest's; the only one recorded; of several the one in the names of output, or
// the one whose nodes the bundle is of. "" where that leaves several.
std::string job_in_question(const Facts& facts);

}  // namespace culprit::analyze
