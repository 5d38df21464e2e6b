// The unit of step times that are printed without one ("step_time": 0.41 or 410?). Two records tell
// how long a step took; three that agree settle it for the file, and a value that fits no unit
// leaves it open. A wait between steps makes the difference longer than the value, never a thousand
// times shorter.
#pragma once

#include <cstdint>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

class StepTimeUnit final : public Kept {
 public:
  // Milliseconds in one of the unit of `value`, as far as the records up to this one tell; 0: not
  // known.
  double to_ms(std::int64_t step, const Timestamp& time, double value);
  // A record without such a time.
  void pass(std::int64_t step, const Timestamp& time);

 private:
  std::int64_t step_before_ = kNoValue;
  Timestamp time_before_;
  double to_ms_ = 0, candidate_ = 0;
  int votes_ = 0;
};

}  // namespace culprit::ingest
