// When the job stopped, as far as its own output tells: what began in just that moment, and lasted,
// belongs to it, where the same line at any other time may be of a port that nobody uses.
#pragma once

#include <optional>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/facts/signal.hpp"

namespace culprit::analyze {

struct FailureMomentParams {
  // A step that had begun may end, and clocks of machines differ.
  Nanoseconds slack = 60 * kSecond;
  // Time-outs of collectives are ten minutes, or thirty in older versions.
  Nanoseconds longest_timeout = 30 * kMinute;
};

class FailureMoment {
 public:
  FailureMoment(const Facts& facts, const std::vector<Signal>& signals,
                const FailureMomentParams& params = {});

  bool broke() const { return broke_; }  // the job's communication failed
  // UTC, to within uncertainty. True: the job's communication failed, it made no step behind that
  // time, and it had been running until then or failed soon after.
  bool began_with(Nanoseconds time, Nanoseconds uncertainty) const;

 private:
  FailureMomentParams params_;
  bool broke_ = false;                            // connections or collectives failed
  std::optional<Nanoseconds> first_break_;        // of those with a time
  std::optional<Nanoseconds> stuck_;              // when the first collective that timed out began
  std::optional<Nanoseconds> last_step_, begin_;  // of the job
};

}  // namespace culprit::analyze
