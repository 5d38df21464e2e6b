// What saves and restarts took in an incident, for the plans that weigh them.
#pragma once

#include <cstddef>
#include <optional>

#include "from_incident.hpp"
#include "plan/checkpoint_interval.hpp"

namespace culprit::cli {

// Seconds; medians.
struct MeasuredJob {
  plan::CheckpointTrace trace;
  std::optional<double> stall;     // what a save adds to the distance of two steps
  std::optional<double> interval;  // training between two saves
  std::optional<double> restart;   // from the last step of a run to the first of the next one
  std::optional<double> requeue;   // of that, from the decision to start anew (efficiency) on
  std::optional<double> regroup;   // rendezvous and communicators of the last start that tells them
  std::optional<double> step;      // one step
  std::size_t saves = 0, restarts = 0, requeues = 0;
};

MeasuredJob measured_job(const PlanIncident& incident);

}  // namespace culprit::cli
