// How much of a job's time was training, and where the rest went.
//
//   ETTR                 productive time / wall-clock time, cumulative and over a sliding hour
//   (ByteRobust section 8.1.3).
//                        A step counts the first time it is done; done again after a restart it is
//                        recomputation.
//   unproductive time    detection, localisation, fail-over (ByteRobust section 2.2, figure 3),
//   recomputation degradation          sum over T_k > T_S of (T_k - T_S) / sum T_k, T_S = 1.2
//   mean(T_k)      (Aegis section 7.3) relative MFU         MFU over the job's lowest MFU
//   (ByteRobust figures 2 and 11); for the same work a step this is the
//                        slowest iteration time over each one
//
// What is not known is not shared out: a gap between two attempts without marks stays
// "unexplained".
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/time.hpp"
#include "model/text.hpp"

namespace culprit::analyze {

// A progress line of one rank (clocks of several ranks would look like restarts). Rows may come in
// any order and may name every tenth iteration only: a row then stands for those since the row
// before it. `ms` is the time of one iteration.
struct StepRecord {
  std::int64_t attempt = 0;
  std::int64_t iteration = 0;
  std::optional<Nanoseconds> end;
  std::optional<double> ms;
};

struct AttemptTimes {
  std::int64_t id = 0;
  std::optional<Nanoseconds> start, end;
};

// What is known of the interruption that ended an attempt. Each part is optional.
struct Interruption {
  std::int64_t attempt = 0;
  std::optional<Nanoseconds> failed, reported, located, restarted;
};

struct JobTimes {
  std::vector<StepRecord> steps;
  std::vector<AttemptTimes>
      attempts;  // may be empty: an iteration number that falls begins a new run
  std::vector<Interruption> interruptions;
  std::optional<Nanoseconds> start, end;  // of the job; else of its attempts, else of its steps
  std::optional<double> gpus;
};

struct EfficiencyParams {
  double slow_factor = 1.2;             // Aegis section 7.3
  Nanoseconds window = 3600 * kSecond;  // ByteRobust section 8.1.3
  std::size_t points = 500;             // most points of a curve
};

struct CurvePoint {
  Nanoseconds time = 0;
  double value = 0;
};

// One run of steps without a restart.
struct Run {
  std::int64_t attempt = 0;
  std::int64_t first = 0, last = 0;  // iterations
  std::size_t rows = 0;
  Nanoseconds begin = 0, end = 0;  // of the first step, of the last
  Nanoseconds recomputed = 0;
};

// Parts of the wall-clock time. They add up to it.
struct TimeParts {
  Nanoseconds productive = 0;  // first runs of steps, without what makes them slow
  Nanoseconds slow = 0;        // sum of T_k - T_S over those above T_S
  Nanoseconds recomputation = 0;
  Nanoseconds detection = 0, localisation = 0, restart = 0;
  Nanoseconds unexplained = 0;    // between two runs, not told by any mark
  Nanoseconds start_up = 0;       // before the first step
  Nanoseconds after = 0;          // after the last step
  Nanoseconds between_steps = 0;  // evaluation, checkpoints, data: inside a run, in no step
};

struct Degradation {
  double mean_ms = 0, median_ms = 0;
  double threshold_ms = 0;  // T_S
  double share = 0;         // as published
  std::size_t slow_steps = 0;
  // The same against 1.2 median: a mean that contains long slow stretches hides them.
  double robust_threshold_ms = 0;
  double robust_share = 0;
};

struct RelativeMfu {
  double highest =
      1;            // the best stretch over the worst: ByteRobust figure 11 ends at 1.25 and 1.58
  double last = 1;  // the last stretch over the worst
  double worst_of_best = 1;  // the worst stretch over the best: 0.8 is a loss of a fifth
  std::vector<CurvePoint>
      curve;  // over the worst; medians of stretches, so that one slow step is no stretch
};

struct Efficiency {
  bool enough = false;  // else `why`
  Text why;
  Nanoseconds start = 0, end = 0;
  double ettr = 0;                     // cumulative, whole job
  std::vector<CurvePoint> cumulative;  // ETTR from the start up to each time
  std::vector<CurvePoint>
      sliding;  // ETTR of the hour before each time; empty when the job is shorter
  std::optional<CurvePoint> sliding_lowest;  // exact, not only among the points of the curve
  TimeParts parts;
  std::optional<double> gpus;
  std::vector<Run> runs;
  std::int64_t steps = 0;  // iterations done, each once
  std::int64_t recomputed_steps = 0;
  std::optional<Degradation> degradation;  // needs durations
  std::optional<RelativeMfu> mfu;
  std::vector<Text> notes;  // what was assumed or left out
};

Efficiency efficiency(const JobTimes& job, const EfficiencyParams& params = {});

// GPU-hours of a part; nothing when the number of GPUs is unknown.
std::optional<double> gpu_hours(Nanoseconds part, const std::optional<double>& gpus);

}  // namespace culprit::analyze
