// Looks for the gap between two dated steps that no usual distance explains.
#include "analyze/pace/step_gap.hpp"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "analyze/pace/slow_job.hpp"
#include "model/median.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

namespace {

constexpr double kLeastGapMs = 300'000, kGapOfUsual = 20;
constexpr std::size_t kFewestSteps = 20, kFewestBehind = 5;
constexpr std::size_t kMostGaps = 2;  // more are how the job is made

// How long each iteration took up to this row, by the times of the lines; NaN where they do not
// tell.
double distance_ms(const JobSteps& steps, std::size_t row) {
  if (row == 0 || steps.attempt[row] != steps.attempt[row - 1] || steps.time[row] == kNoValue ||
      steps.time[row - 1] == kNoValue || steps.iteration[row] <= steps.iteration[row - 1] ||
      steps.iteration[row - 1] == kNoValue)
    return kNoFigure;
  return static_cast<double>(steps.time[row] - steps.time[row - 1]) / 1e6 /
         static_cast<double>(steps.iteration[row] - steps.iteration[row - 1]);
}

bool at_checkpoint(std::span<const JobCheckpoint> checkpoints, std::size_t row) {
  return std::ranges::any_of(
      checkpoints, [&](const JobCheckpoint& c) { return c.row == row || c.row + 1 == row; });
}

}  // namespace

std::optional<StepGap> longest_gap(const JobSteps& steps,
                                   std::span<const JobCheckpoint> checkpoints) {
  if (steps.reckoned || !steps.from_calls.empty() || steps.size() < kFewestSteps)
    return std::nullopt;
  std::vector<double> told;
  for (std::size_t row = 1; row < steps.size(); ++row)
    if (const double ms = distance_ms(steps, row); std::isfinite(ms)) told.push_back(ms);
  if (told.size() < kFewestSteps) return std::nullopt;
  StepGap out{.usual_ms = median_of(std::move(told))};
  std::size_t gaps = 0;
  for (std::size_t row = 1; row + kFewestBehind <= steps.size(); ++row) {
    if (steps.attempt[row] != steps.attempt.back()) continue;
    const double each = distance_ms(steps, row);
    if (!std::isfinite(each)) continue;
    const auto iterations = static_cast<double>(steps.iteration[row] - steps.iteration[row - 1]);
    const double usual = out.usual_ms * iterations, gap = each * iterations - usual;
    if (!(gap >= kLeastGapMs && gap >= kGapOfUsual * usual)) continue;
    ++gaps;
    if (gap > out.gap_ms && !at_checkpoint(checkpoints, row)) out.row = row, out.gap_ms = gap;
  }
  return out.row > 0 && gaps <= kMostGaps ? std::optional(out) : std::nullopt;
}

Finding gap_finding(const Facts& facts, const JobSteps& steps, const StepGap& gap) {
  const std::size_t before = gap.row - 1;
  Finding f = slow_job("slow/stall");
  f.id = fmt::format("slow/stall/{}", steps.iteration[before]);
  f.start = steps.time[before];
  f.end = steps.time[gap.row];
  f.title = say(Phrase::job_stood_a_while, human_duration(*f.end - *f.start));
  f.why = say(Phrase::no_step_between, human_duration(*f.end - *f.start), steps.iteration[before],
              steps.iteration[gap.row]);
  f.facts = SlowFacts{.first = steps.iteration[before],
                      .last = steps.iteration[gap.row],
                      .baseline_ms = gap.usual_ms,
                      .level_ms = gap.usual_ms + gap.gap_ms,
                      .factor = 1 + gap.gap_ms / gap.usual_ms,
                      .cost_s = gap.gap_ms / 1e3,
                      .over = true,
                      .stall = true};
  for (const std::size_t row : {before, gap.row})
    f.evidence.push_back(
        facts.evidence(steps.place[row], fmt::format("iteration={}", steps.iteration[row])));
  return f;
}

}  // namespace culprit::analyze
