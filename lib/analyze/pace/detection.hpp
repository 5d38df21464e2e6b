// When online detectors would have spoken: the same rules over what was there up to each moment of
// the last attempt, and how long before the job's end they would have held.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "analyze/metrics/incident_metrics.hpp"
#include "analyze/pace/job_steps.hpp"
#include "analyze/pace/loss_signals.hpp"
#include "model/enum_name.hpp"

namespace culprit::analyze {

struct DetectionParams {
  Nanoseconds watchdog = 600 * kSecond;  // the default time-out of a collective (PyTorch, NCCL)
  Nanoseconds exact = kSecond;           // moments are told to this
};

// stall: traffic or tensor cores of most machines at zero for ten minutes, until the end
// (ByteRobust section 4.1). outliers: a machine left the crowd for ten minutes (Aegis section 5.1).
// loss: a value five times the usual one, NaN or Inf (ByteRobust section 4.1). watchdog: a
// collective that began behind the last step did not end in time.
enum class Detector : std::uint8_t { stall, outliers, loss, watchdog };
constexpr std::string_view name(Detector detector) { return enum_name(detector); }

// fired: it would have spoken, or did. silent: not before the end. no_data: nothing that it looks
// at was collected.
enum class DetectorState : std::uint8_t { fired, silent, no_data };
constexpr std::string_view name(DetectorState state) { return enum_name(state); }

struct Detection {
  Detector detector = Detector::stall;
  DetectorState state = DetectorState::no_data;
  std::optional<Nanoseconds> fired;   // UTC
  std::optional<Nanoseconds> before;  // the end
  std::string what;                   // a metric, a machine, an iteration; for people
  bool printed = false;               // watchdog: a line says so; else reckoned
};

struct Detections {
  std::optional<Nanoseconds> begin, end;  // of the last attempt; without both nothing is told
  std::vector<Detection> all;             // one a detector, in their order
};

Detections detections(const Facts& facts, const JobSteps& steps, const IncidentMetrics& metrics,
                      const rules::Catalogue& catalogue, const DetectionParams& params = {});

// Losses and norms of the steps, in their order; of the last attempt alone, and of what was printed
// by then, where that is asked for.
std::vector<LossRecord> losses_of(const JobSteps& steps, bool last_attempt = false,
                                  std::optional<Nanoseconds> until = {});

}  // namespace culprit::analyze
