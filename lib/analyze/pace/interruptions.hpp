// When each interruption of a job was noticed, and when its restart began (ByteRobust section 2.2,
// figure 3): from the last step to the first dated error or watchdog is detection; from there to
// the decision of scheduler or agent to start anew, localisation; the rest, fail-over.
#pragma once

#include <span>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/pace/efficiency.hpp"
#include "analyze/pace/job_steps.hpp"
#include "analyze/pace/restart_parts.hpp"

namespace culprit::analyze {

struct InterruptionParams {
  double exact = 0.1;  // a moment is told to this share of the time between the steps, or not
};

// Of attempts whose last step and whose successor's first step have times. `reported` is an error
// of the job or its machines, `located` the begin of an allocation (a requeue) or a rendezvous (of
// a restarted worker group). A moment counts when the clock of its file is tied to that of the
// steps: each other one is left out.
std::vector<Interruption> interruptions(const Facts& facts, const JobSteps& steps,
                                        std::span<const Start> starts,
                                        const InterruptionParams& params = {});

}  // namespace culprit::analyze
