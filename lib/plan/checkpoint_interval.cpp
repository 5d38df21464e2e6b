#include "plan/checkpoint_interval.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::plan {

namespace {

constexpr double kSavesOfARun =
    4096;  // intervals below that share of the longest run are not tried

Result<> sound(const CheckpointParams& p) {
  const auto positive = [](double x) { return std::isfinite(x) && x > 0; };
  if (!positive(p.mtbf)) return usage_error("the time between failures must be above 0");
  if (!positive(p.stall)) return usage_error("the stall of a save must be above 0");
  if (!(std::isfinite(p.restart) && p.restart >= 0))
    return usage_error("the time of a restart cannot be below 0");
  if (!(std::isfinite(p.now) && p.now >= 0))
    return usage_error("the interval in use cannot be below 0");
  return {};
}

double daly(const CheckpointParams& p) {
  if (p.stall >= 2 * p.mtbf) return p.mtbf;
  const double ratio = p.stall / (2 * p.mtbf);
  return std::sqrt(2 * p.stall * p.mtbf) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - p.stall;
}

}  // namespace

double checkpoint_share(double interval, const CheckpointParams& p) {
  return interval /
         (p.mtbf * std::exp(p.restart / p.mtbf) * std::expm1((interval + p.stall) / p.mtbf));
}

Result<CheckpointInterval> checkpoint_interval(const CheckpointParams& params) {
  CULPRIT_CHECK(sound(params));
  CheckpointInterval out{.young = std::sqrt(2 * params.stall * params.mtbf), .daly = daly(params)};
  // One maximum: the share rises to it and falls. By thirds of the logarithm.
  double low = std::log(out.young * 1e-3), high = std::log(std::max(out.young, params.mtbf) * 1e3);
  while (high - low > 1e-10) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    if (checkpoint_share(std::exp(a), params) < checkpoint_share(std::exp(b), params))
      low = a;
    else
      high = b;
  }
  out.best = std::exp((low + high) / 2);
  out.young_share = checkpoint_share(out.young, params);
  out.daly_share = checkpoint_share(out.daly, params);
  out.best_share = checkpoint_share(out.best, params);
  if (params.now > 0) out.now_share = checkpoint_share(params.now, params);
  return out;
}

double trace_share(double interval, const CheckpointTrace& trace, const CheckpointParams& params) {
  double kept = 0, all = 0;
  for (std::size_t i = 0; i < trace.runs.size(); ++i) {
    const double run = trace.runs[i];
    const bool failed = i + 1 < trace.runs.size() || trace.last_failed;
    // A run that is a whole number of intervals has saved the last of them.
    const double saves = std::floor(run / (interval + params.stall) * (1 + 1e-12));
    kept += failed ? saves * interval : std::max(0.0, run - saves * params.stall);
    all += run + (failed ? params.restart : 0);
  }
  return all > 0 ? kept / all : 0;
}

Result<double> best_of_trace(const CheckpointTrace& trace, const CheckpointParams& params) {
  CULPRIT_CHECK(sound(params));
  double longest = 0;
  for (std::size_t i = 0; i < trace.runs.size(); ++i) {
    if (!(std::isfinite(trace.runs[i]) && trace.runs[i] >= 0))
      return usage_error("a run cannot be shorter than 0");
    if (i + 1 < trace.runs.size() || trace.last_failed) longest = std::max(longest, trace.runs[i]);
  }
  if (longest <= params.stall)
    return usage_error("no run that failed is longer than a save")
        .hint("without one every interval loses the same");
  const double least = longest / kSavesOfARun;
  double best = 0, share = -1;
  const auto attempt = [&](double interval) {
    if (!(interval > 0) || interval + params.stall < least) return;
    const double here = trace_share(interval, trace, params);
    if (here > share * (1 + 1e-12) || (here > share * (1 - 1e-12) && interval > best))
      best = interval, share = here;
  };
  for (std::size_t i = 0; i < trace.runs.size(); ++i) {
    if (i + 1 == trace.runs.size() && !trace.last_failed) break;
    for (double k = 1; trace.runs[i] / k > params.stall && trace.runs[i] / k >= least; ++k)
      attempt(trace.runs[i] / k - params.stall);
  }
  // A last run that did not fail loses nothing where it never saves.
  attempt(std::max(longest, trace.runs.back()));
  return best;
}

}  // namespace culprit::plan
