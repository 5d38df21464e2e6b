// How often to save a checkpoint: often enough that a failure loses little, seldom enough that
// saving stalls little. Young (CACM 17, 1974) and Daly (FGCS 22, 2006) for failures at random, and
// exactly for the runs that a job had.
//
// Times are in one unit, whatever it is. An interval is the training between two saves.
#pragma once

#include <vector>

#include "model/result.hpp"

namespace culprit::plan {

struct CheckpointParams {
  double mtbf = 0;     // between failures of the whole job
  double stall = 0;    // for which a save holds up training; what goes on beside it is free
  double restart = 0;  // from a failure until training goes on; what is computed again not included
  double now = 0;      // the interval in use; 0: not told
};

// Training that a run had before it failed, in order. The last may not have failed.
struct CheckpointTrace {
  std::vector<double> runs;
  bool last_failed = true;
};

struct CheckpointInterval {
  double young = 0;  // sqrt(2 stall mtbf)
  double daly = 0;   // its higher order (equation 37): mtbf where the stall is longer than 2 mtbf
  double best = 0;   // the maximum of share(), to 1e-9 of itself
  double young_share = 0, daly_share = 0, best_share = 0, now_share = 0;
};

// The share of the time that is training which is not lost, with failures at random (exponential):
// w / (M e^(R/M) (e^((w + C) / M) - 1)), Daly's complete model.
double checkpoint_share(double interval, const CheckpointParams& params);

// Errors (usage): numbers that are not positive (restart and now: negative).
Result<CheckpointInterval> checkpoint_interval(const CheckpointParams& params);

// The share over the trace: of a run of u that failed, what was saved, floor(u / (w + C)) w, over
// all time, restarts included; of one that did not fail, all but its saves.
double trace_share(double interval, const CheckpointTrace& trace, const CheckpointParams& params);

// The interval with the highest trace_share. Between the points at which a run holds one save
// fewer, u / k - C, the share only grows with the interval, so one of these points is it; of equal
// ones the longest. Errors (usage): no run that failed and is longer than the stall.
Result<double> best_of_trace(const CheckpointTrace& trace, const CheckpointParams& params);

}  // namespace culprit::plan
