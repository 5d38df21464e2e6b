// Steps that are slow now and again, at equal distances: by the clock, as what a timer starts
// beside the job (probes, backups, rotation of logs), or by the count of steps, as what the program
// does itself (saves, evaluations, collecting garbage). No stretch of them is long enough to be a
// change of pace.
#pragma once

#include <optional>

#include "analyze/pace/job_steps.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

struct Rhythm {
  Nanoseconds every = 0;          // from the beginning of one to the next; median
  std::int64_t steps = 0;         // the same in iterations
  Nanoseconds lasts = 0;          // median
  bool by_clock = false;          // the times are more alike than the counts of steps
  double factor = 1;              // of the slow steps' duration
  double cost_ms = 0, share = 0;  // of the time from the first slow step to the last
  std::size_t times = 0;
  std::size_t first = 0, last = 0;  // rows: of the first and the last slow step
  double baseline_ms = 0, level_ms = 0;
};

// Of the last attempt. Nothing where slow steps are few, cost little or keep no distance.
std::optional<Rhythm> rhythm_of(const JobSteps& steps);

// As a slow stretch of the whole job.
Finding rhythm_finding(const Facts& facts, const JobSteps& steps, const Rhythm& rhythm);

}  // namespace culprit::analyze
