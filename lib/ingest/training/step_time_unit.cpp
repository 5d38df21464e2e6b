// Which unit makes a printed step time fit the distance of the records around it.
#include "ingest/training/step_time_unit.hpp"

namespace culprit::ingest {

namespace {

constexpr int kVotes = 3;  // records in a row that must agree on a unit

}  // namespace

double StepTimeUnit::to_ms(std::int64_t step, const Timestamp& time, double value) {
  if (to_ms_ == 0 && time.clock != Clock::none && time_before_.clock == time.clock &&
      step_before_ != kNoValue && step > step_before_ && time.ns > time_before_.ns && value > 0) {
    const double steps = static_cast<double>(step) - static_cast<double>(step_before_);
    const double ratio =
        (static_cast<double>(time.ns) - static_cast<double>(time_before_.ns)) / 1e6 / steps / value;
    double unit = 0;
    for (const double one : {1e3, 1.0, 1e-3})
      if (ratio > one * 0.3 && ratio < one * 30) unit = one;
    votes_ = unit != 0 && unit == candidate_ ? votes_ + 1 : unit != 0;
    candidate_ = unit;
    if (votes_ >= kVotes) to_ms_ = unit;
  }
  pass(step, time);
  return to_ms_;
}

void StepTimeUnit::pass(std::int64_t step, const Timestamp& time) {
  step_before_ = step;
  time_before_ = time;
}

}  // namespace culprit::ingest
