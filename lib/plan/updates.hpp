// What updates of the code of a running job cost: the job queued again for each, updated in place
// (a hot update, which keeps machines and containers), or in place and lazily: what is not urgent
// waits for the next failure, whose restart applies it for nothing, or until a window is over
// (ByteRobust section 6.1).
#pragma once

#include <vector>

#include "model/result.hpp"

namespace culprit::plan {

// Seconds.
struct UpdateParams {
  // ByteRobust table 7, means over its four scales.
  double requeue = 600, hot = 54;
  double window = 24 * 3600;  // section 6.1
};

struct UpdateCost {
  double stops = 0;         // of training, for updates alone
  double lost = 0;          // by them
  double wait = 0;          // mean over all updates, until one is applied
  double longest_wait = 0;  // no update waits longer
  double pending = 0;       // never applied: the time was over
};

struct UpdateCosts {
  UpdateCost requeue, hot, lazy;
};

struct RequestedUpdate {
  double time = 0;
  bool urgent = false;
};

// The updates and failures that a job had, within [0, end); any order. A failure applies what
// waits; an urgent update is applied at once, and what waits with it. Errors (usage): times that
// are out of range.
Result<UpdateCosts> replay_updates(std::vector<RequestedUpdate> updates,
                                   std::vector<double> failures, double end,
                                   const UpdateParams& params = {});

// The same a day, with updates, urgent ones and failures at random (Poisson). The first update that
// waits does so for T, the sooner of a failure, an urgent update and the window: r of these two a
// second, E[T] = (1 - e^(-rW)) / r. Those that come meanwhile go with it, so such waits follow each
// other every 1 / u + E[T], and e^(-rW) of them end with a stop. Errors (usage): numbers that are
// out of range.
Result<UpdateCosts> expected_updates(double updates_a_day, double urgent_a_day, double mtbf,
                                     const UpdateParams& params = {});

}  // namespace culprit::plan
