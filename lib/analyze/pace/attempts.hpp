// The runs of one job in the order of time: how far each got, who took part, and what was done
// before it. From the manifest, which knows best; else from folders named after attempts
// (torchrun's attempt_0); else from steps that begin again (an appended Slurm file). ByteRobust
// §4.2 needs them: what failed once is not tried a second time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/pace/job_steps.hpp"
#include "model/attempt.hpp"

namespace culprit::analyze {

struct Attempt {
  std::int64_t id = 0;                    // the manifest's or the folder's; else counted from 0
  std::string source;                     // manifest, folder, steps
  std::optional<Nanoseconds> start, end;  // UTC
  std::optional<std::int64_t> exit_code;
  std::optional<Evidence> first_step;  // its place, for runs that only the steps tell apart
  std::optional<std::int64_t> first,
      furthest;  // iterations; furthest: the highest with a loss that is a number
  bool progressed =
      false;  // beyond all attempts before, as far as they are known; false for the first
  std::vector<Host> hosts;         // short names, sorted; empty = not known
  std::vector<Tried> before;       // what was done before it; empty for the first
  std::vector<FailureRoot> roots;  // critical errors and exceptions of its logs
};

// "evicted node-07, rollback to 1200", "checks passed", "none": what it says was done, in its
// order, each kind once. hosts: short names, sorted. Words that name none of them are hosts only
// when there are none and they have a digit. Text that says something else gives one Tried of kind
// other; "" and "none" nothing.
std::vector<Tried> parse_measures(std::string_view text, std::span<const Host> hosts);

// Fewer than two: there is no history.
std::vector<Attempt> attempts(const Facts& facts, const JobSteps& steps);

// The last attempt is the one in question. earlier: verdicts of other incidents of this job. One
// that ended within an attempt is that attempt's failure, and its answer counts only when nothing
// tells what was done; any other stands for itself.
AttemptHistory history_of(std::span<const Attempt> attempts, std::span<const PastFailure> earlier);

}  // namespace culprit::analyze
