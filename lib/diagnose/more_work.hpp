// Steps that take longer because each has more to do.
#pragma once

#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/pace/job_steps.hpp"
#include "model/finding.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

// Of slow stretches in which the program did as much a second and GPU as before: each of their
// steps has more to do, so nothing is slow.
void note_more_work(const store::Database& db, const analyze::Facts& facts,
                    const analyze::JobSteps& steps, std::vector<Finding>& slow);

}  // namespace culprit::diagnose
