// The training steps of the job as one line of numbers, out of the logs that report them: every
// rank may print each step, a restart repeats some, and an attempt may have a file of its own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/steps.hpp"
#include "model/text.hpp"

namespace culprit::analyze {

struct JobSteps {
  // Equally long, in the order in which they happened.
  std::vector<std::int64_t> iteration;     // kNoValue = not printed
  std::vector<Nanoseconds> time;           // end of the step, UTC; kNoValue = not known
  std::vector<double> ms;                  // duration of one iteration; NaN = not known
  std::vector<double> loss, grad_norm;     // NaN = not printed or not a number
  std::vector<std::uint8_t> not_a_number;  // bit 0: the loss, bit 1: the norm
  std::vector<std::size_t> attempt;        // 0, 1 ...: how often the job had begun again by then
  std::vector<Place> place;
  bool from_times =
      false;  // durations are distances of the lines' times, not what the program measured
  bool of_moments = false;  // rows are the moments of a table, by their place: no steps of the job
  bool reckoned = false;    // times are the log's first one and the durations since
  Text from_calls;  // no log reports steps: how they were told from communication calls; else ""
  std::vector<std::string> sources;  // paths, in order
  std::size_t repeated = 0;          // rows left out because another process printed the same step
  std::size_t size() const { return iteration.size(); }
};

// The median of the durations that are known, in milliseconds; NaN where none is.
double usual_step_ms(const JobSteps& steps);

// Which members to read: the log that reports most steps, and logs of other times beside it. In the
// order of time.
std::vector<MemberId> step_logs(const Facts& facts);

// tables: of those members, in that order. Empty when no log reports steps.
JobSteps job_steps(const Facts& facts, std::span<const StepTable> tables);

}  // namespace culprit::analyze
