#include "decide/calibration.hpp"

#include <algorithm>

namespace culprit::decide {

namespace {

// Of 192 incidents of the simulator's 31 kinds, nothing left out of their bundles.
struct Counted {
  StepId step;
  double from;  // the least weight of a verdict that was right
  int right, of;
  bool job_only = false;  // ranks that it names were not counted
};
constexpr Counted kCounted[] = {
    {StepId::config_check, 0.45, 5, 5},       {StepId::critical_errors, 0.75, 35, 35},
    {StepId::distributed_errors, 0.65, 6, 6}, {StepId::network_alerts, 0.85, 12, 12},
    {StepId::numerics, 0.5, 12, 12, true},    {StepId::resources, 0.68, 12, 12},
    {StepId::root_diag, 0.75, 12, 12},        {StepId::shared_cause, 0.8, 6, 6},
    {StepId::slow_job, 0.75, 24, 24},         {StepId::stopped_rank, 0.72, 16, 16},
    {StepId::stuck_group, 0.84, 13, 13},      {StepId::transient_alert, 0.5, 6, 6},
    {StepId::user_code, 0.95, 12, 12},        {StepId::user_request, 0.8, 6, 6},
};
constexpr double kMost =
    0.97;  // what no count of simulated incidents lifts: real ones hold surprises

}  // namespace

void calibrate(Verdict& verdict, StepId step) {
  const auto* counted = std::find_if(std::begin(kCounted), std::end(kCounted),
                                     [&](const Counted& c) { return c.step == step; });
  if (counted == std::end(kCounted)) return;
  const double rate = std::min(kMost, (counted->right + 0.5) / (counted->of + 1));
  for (Target& t : verdict.targets)
    if (t.confidence >= counted->from && (!counted->job_only || t.subject.kind == SubjectKind::job))
      t.confidence = rate;
}

}  // namespace culprit::decide
