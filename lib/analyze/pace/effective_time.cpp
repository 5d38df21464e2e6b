#include "analyze/pace/effective_time.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::analyze {

EffectiveTime effective_time(const FailureModel& model) {
  EffectiveTime out;
  if (model.between <= 0 || model.rebuild < 0 || model.stall < 0 || model.stall > model.rebuild ||
      model.replicas < 1)
    return out;
  out.valid = true;
  const double between = static_cast<double>(model.between),
               replicas = static_cast<double>(model.replicas);
  out.synchronous = std::max(0.0, 1 - static_cast<double>(model.rebuild) / between);
  // Each failure takes `stall` from everybody and the rest of the rebuild from one replica.
  const double stalled = static_cast<double>(model.stall) / between;
  out.down = static_cast<double>(model.rebuild - model.stall) / between;
  out.replicated = std::max(0.0, 1 - stalled - std::min(out.down, replicas) / replicas);
  if (model.replicas == 1) out.replicated = out.synchronous;
  out.overlapping = model.rebuild > model.between;
  return out;
}

Nanoseconds time_between_failures(double a_day_and_1000_servers, double servers) {
  const double a_day = a_day_and_1000_servers * servers / 1000;
  if (!std::isfinite(a_day) || a_day <= 0) return 0;
  return static_cast<Nanoseconds>(std::clamp(86'400e9 / a_day, 1.0, 9e18));
}

}  // namespace culprit::analyze
