// What saves and restarts took in an incident, for the plans that weigh them.
#pragma once

#include <cstddef>
#include <optional>

#include "from_incident.hpp"
#include "plan/checkpoint_interval.hpp"

namespace culprit::cli {

// How long it takes until the job goes on.
struct NewStart {
  double took = 0;  // seconds, the median
  std::size_t count = 0;
  bool from_decision = false;  // to start anew; else from the last step, with the detection
};

// Seconds; medians.
struct MeasuredJob {
  plan::CheckpointTrace trace;
  std::optional<double> stall;        // what a save adds to the distance of two steps
  std::optional<double> interval;     // training between two saves
  std::optional<double> restart;      // from the last step of a run to the first of the next one
  std::optional<NewStart> new_start;  // without the detection (efficiency) where that is told
  std::optional<double> regroup;  // rendezvous and communicators of the last start that tells them
  std::optional<double> step;     // one step
  std::size_t saves = 0;
};

MeasuredJob measured_job(const PlanIncident& incident);

}  // namespace culprit::cli
