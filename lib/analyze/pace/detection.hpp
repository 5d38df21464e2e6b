// When online detectors would have spoken: the same rules over what was there up to each moment of
// the last attempt, and how long before the job's end they would have held.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyze/metrics/incident_metrics.hpp"
#include "analyze/pace/fail_slow.hpp"
#include "analyze/pace/job_steps.hpp"
#include "analyze/pace/loss_signals.hpp"
#include "model/enum_name.hpp"

namespace culprit::analyze {

struct DetectionParams {
  Nanoseconds watchdog = 600 * kSecond;  // the default time-out of a collective (PyTorch, NCCL)
  Nanoseconds exact = kSecond;           // moments are told to this
  // Without a step for so long, FT-HSDP section 4.1 takes a replica for failed: 60 s where a step
  // takes 20 s.
  Nanoseconds step_timeout = 60 * kSecond;
  double steps_of_timeout = 3;
};

// stall: traffic or tensor cores of most machines at zero for ten minutes, until the end
// (ByteRobust section 4.1). outliers: a machine left the crowd for ten minutes (Aegis section 5.1).
// loss: a value five times the usual one, NaN or Inf (ByteRobust section 4.1). watchdog: a
// collective that began behind the last step did not end in time. slow_steps: a change point of the
// step times, of at least 10 % (GREYHOUND section 4.2). step_timeout: no step in time (FT-HSDP
// section 4.1).
enum class Detector : std::uint8_t { stall, outliers, loss, watchdog, slow_steps, step_timeout };
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
  std::string what;      // a metric, a machine, an iteration, earlier pauses; for people
  bool printed = false;  // watchdog: a line says so; else reckoned
};

struct Detections {
  std::optional<Nanoseconds> begin, end;  // of the last attempt; without both nothing is told
  std::vector<Detection> all;             // one a detector, in their order
};

// jobs: of each step, or empty: all of one job. report: of all steps.
Detections detections(const Facts& facts, const JobSteps& steps,
                      std::span<const std::uint32_t> jobs, const FailSlow& report,
                      const IncidentMetrics& metrics, const rules::Catalogue& catalogue,
                      const DetectionParams& params = {});

// Losses and norms of the steps, in their order; of the last attempt alone, and of what was printed
// by then, where that is asked for.
std::vector<LossRecord> losses_of(const JobSteps& steps, bool last_attempt = false,
                                  std::optional<Nanoseconds> until = {});

}  // namespace culprit::analyze
