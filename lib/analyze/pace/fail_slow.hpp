// Is a job slow, since when, until when, by how much? From its iteration times alone.
//
// GREYHOUND §4.2 finds change points (BOCD) and verifies each by comparing the mean before and
// after (10 %). What is done here, and what each step answers (measured in
// bench/fail_slow_accuracy.cpp):
//   1. logarithms: a fault multiplies. Noise is taken locally (first differences, distance to a
//   running median of 15), so that
//      a long slow stretch does not count as noise. Single iterations far off (4 MAD) are set
//      aside: collections of garbage, stalls, checkpoints. A global |z| > 3 would set severe short
//      events aside, too.
//   2. the exact most probable segmentation (segmentation.hpp), lambda 2000, vague prior.
//   3. regimes shorter than `min_regime` go to the neighbour nearest in level; then the weakest
//   boundary goes, levels are taken
//      anew, until each boundary is a change of `required`. Levels are medians: means move with
//      every checkpoint.
//   4. the baseline is the lowest level that was sustained (max(45, 1 %) iterations), of this
//   attempt or another one. Every
//      segment of step 2 is compared with it, not with its predecessor: a ladder of steps under 10
//      % (the one case the paper missed) adds up. An interval goes on while the level stays above
//      half the difference; such a stretch before or behind belongs to it when it is a step of the
//      ladder, that is, no further from it than a fault is from the baseline.
//   5. set aside, and told: what recurs with a period (evaluation, checkpoints), an excess that
//   ends within the first
//      `warm_up` iterations (compilation, caches, clocks rising); a slow start that lasts longer is
//      a fault.
//
// How large a difference must be: `min_change`, and more when the machine itself is restless. The
// medians of blocks of `min_regime` iterations scatter within the regimes ("wander"); a level is
// known no better than that, so a difference must exceed `wander_factor` x wander, too. On a shared
// machine whose speed wanders by 5 % for minutes, a first stretch that is 13 % slower than the last
// one is no fault: such stretches are what it does anyway. On a quiet machine (0.5 %) the same 13 %
// is one. Wander is what goes and comes back: blocks within a segment, and segments that rise and
// fall again by less than 10 % (more than that is what a fault looks like, and is told). A ladder
// and a slow start go one way; they do not count, so they cannot hide themselves.
//
// Pure; positions are indices into the span given, `end` is exclusive: the first iteration of the
// relief.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/pace/job_steps.hpp"
#include "analyze/pace/run_length.hpp"
#include "model/enum_name.hpp"
#include "model/text.hpp"

namespace culprit::analyze {

struct FailSlowParams {
  double min_change = 0.10;     // GREYHOUND §4.2
  std::size_t min_regime = 15;  // iterations, and at least 5 rows; 10 lets stalls of data loading
                                // through, 30 hides short events
  double lambda = 2000;
  NormalPrior prior{0, 0.02, 2, 2};  // of log times in units of their noise
  double wander_factor = 4;
  std::size_t warm_up = 60;
  std::size_t sustained = 45;     // iterations of a baseline, and
  double sustained_share = 0.01;  // ... of all
  double spike = 4;               // MADs
  double noise_floor = 0.002;     // 0.2 %: a clock that prints milliseconds is not that steady
  std::size_t recurrences = 3;    // of a pause
  double time_gap = 20;           // a gap of so many iteration times (and 60 s) is a restart
};

struct IterationTimes {
  std::span<const double> time;  // ms; NaN: missing
  std::span<const double> number =
      {};  // iteration numbers, or empty; a step back begins a new attempt
  std::span<const double> clock = {};  // when each ended, ms, or empty
  std::span<const std::uint32_t> job =
      {};  // or empty; another number: other machines or batch, a pace of its own (step_jobs.hpp)
  bool means = false;  // a time is the mean of all iterations since the last that has one
};

struct Regime {
  std::size_t start = 0, end = 0;
  double level = 0;   // ms, median
  double factor = 1;  // to the baseline
};

struct SlowInterval {
  enum class Shape {
    step,
    ladder,
    drift,
    compound
  };  // one level; rising in two; in more, small ones; several levels
  std::size_t start = 0, end = 0;
  double level = 0, baseline = 0, factor = 1;
  double worst = 1;  // factor of the worst part
  double cost = 0;   // ms lost: sum of time - baseline over the iterations that each row stands for
  bool relieved = false;       // false: lasts to the end of the attempt
  bool from_start = false;     // the attempt began slow
  bool against_other = false;  // slow only beside another attempt: was it the same job?
  bool against_peers = false;  // the whole run: slow by what one rank works more than all others
  Shape shape = Shape::step;
  std::vector<Regime> parts;
};

struct Pause {
  std::size_t period = 0, first = 0, length = 0,
              count = 0;  // iterations; first: index of the first one
  double extra = 0;       // ms each, median
};

// How fast one attempt ran, in its part of the series.
struct AttemptPace {
  std::size_t start = 0, end = 0;
  double baseline = 0, noise = 0, wander = 0, required = 0;  // ms; the rest relative: 0.02 is 2 %
  bool judged = false;
  std::uint32_t job = 0;  // only attempts of the same job are held against each other
};

struct FailSlow {
  bool enough = false;
  Text reason;                           // why not
  std::size_t missing = 0, dropped = 0;  // dropped: 0 or less
  std::vector<AttemptPace> attempts;
  std::vector<std::size_t> change_points;  // boundaries of the regimes
  std::vector<Regime> regimes;
  std::vector<SlowInterval> intervals;
  std::vector<SlowInterval> unconfirmed;  // the last iterations, fewer than min_regime
  std::vector<Regime> warm_ups;
  std::vector<Pause> pauses;
  std::size_t spikes = 0;  // single iterations (or two) far above their regime, outside of pauses
  std::size_t stalls = 0;  // three and more, fewer than min_regime
};

FailSlow find_fail_slow(const IterationTimes& iterations, const FailSlowParams& params = {});
// Of the first `rows` steps of a job. jobs: of each step, or empty: all of one job.
FailSlow find_fail_slow(const JobSteps& steps, std::span<const std::uint32_t> jobs,
                        std::size_t rows, const FailSlowParams& params = {});

constexpr std::string_view name(SlowInterval::Shape shape) { return enum_name(shape); }

}  // namespace culprit::analyze
