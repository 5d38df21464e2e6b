// Series that tell of training steps: in which unit, and of which of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analyze/pace/job_steps.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

// Milliseconds in one of the series' units; 0 when it does not measure time.
double in_ms(const SeriesRow& s);

// What is told once of the whole run: a profile's medians, a summary by rank.
bool of_whole_run(const SeriesPoints& points);

// Figures without units: a column of whole steps tells, or all parts of a step together, beside
// what the job's log says that its steps took.
class Units {
 public:
  // ms: of the job's steps; NaN where one is not told.
  Units(const store::Database& db, const analyze::Facts& facts, const std::vector<double>& ms);

  // Milliseconds in one of the series' units; 0: not known.
  double ms(const SeriesRow& s) const;

 private:
  std::map<MemberId, double> of_member_;
};

// Which step was the last when something was said of a time, and of no step.
class StepClock {
 public:
  explicit StepClock(const analyze::JobSteps& steps);

  // offset: of the clock of the series; none: its times are tied to nothing. kNoValue: before all.
  std::int64_t step_of(const SeriesPoints& points, std::size_t i,
                       std::optional<Nanoseconds> offset) const;

  const bool of_moments;  // the steps are the moments of a table

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> at_;  // times and iterations
};

// Of one time in several statistics those that stand for it; a maximum does where nothing else is
// told. In the order of the bundle.
std::vector<const SeriesRow*> comparable(const analyze::Facts& facts);

}  // namespace culprit::diagnose
