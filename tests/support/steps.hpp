// Steps of a job as tests make them, one behind the other.
#pragma once

#include "analyze/pace/job_steps.hpp"

namespace culprit::analyze {

// One more step of so many milliseconds, of one attempt and one log; `now` becomes its end.
inline void add_step(JobSteps& out, double ms, Nanoseconds& now) {
  const std::size_t i = out.size();
  now += static_cast<Nanoseconds>(ms * 1e6);
  out.iteration.push_back(static_cast<std::int64_t>(i) + 1);
  out.time.push_back(now);
  out.ms.push_back(ms);
  out.loss.push_back(2);
  out.grad_norm.push_back(1);
  out.not_a_number.push_back(0);
  out.attempt.push_back(0);
  out.place.push_back({1, i + 1, i * 50, 0});
}

}  // namespace culprit::analyze
