// Adds up what lies between the steps of the last attempt.
#include "analyze/pace/between_steps.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "model/median.hpp"

namespace culprit::analyze {

namespace {

constexpr double kLeastPauseMs = 10'000, kTimesStep = 3;  // what is no jitter
constexpr double kGoodPart = 0.2, kLeastTotalMs = 180'000;
constexpr std::size_t kFewestSteps = 20;

}  // namespace

std::optional<BetweenSteps> between_steps(const JobSteps& steps,
                                          std::span<const JobCheckpoint> checkpoints) {
  if (steps.reckoned || !steps.from_calls.empty() || steps.size() < kFewestSteps)
    return std::nullopt;
  // Distances of lines hold the pauses; a step takes the middle one, and saves alone are told
  // apart.
  const double usual = steps.from_times ? usual_step_ms(steps) : 0;
  if (steps.from_times && !(usual > 0)) return std::nullopt;
  const std::set<std::size_t> saved = rows_of_saves(checkpoints);
  const std::size_t attempt = steps.attempt.back();
  BetweenSteps out;
  std::vector<double> pauses, apart;
  std::optional<std::int64_t> before;
  double whole = 0;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps.attempt[i] != attempt || steps.attempt[i - 1] != attempt ||
        steps.time[i] == kNoValue || steps.time[i - 1] == kNoValue || std::isnan(steps.ms[i]) ||
        steps.iteration[i] == kNoValue || steps.iteration[i - 1] == kNoValue)
      continue;
    const double took = static_cast<double>(steps.time[i] - steps.time[i - 1]) / 1e6;
    const bool at_save = saved.count(i - 1) > 0 || saved.count(i) > 0;
    const double each = steps.from_times ? usual : steps.ms[i];
    const double own = each * static_cast<double>(steps.iteration[i] - steps.iteration[i - 1]);
    if (took <= 0 || own <= 0) continue;
    whole += std::max(took, own);
    const double more = took - own;
    if (more < std::max(kLeastPauseMs, kTimesStep * each) || (steps.from_times && !at_save))
      continue;
    pauses.push_back(more);
    out.total_ms += more;
    out.saves += at_save;
    if (before) apart.push_back(static_cast<double>(steps.iteration[i] - *before));
    before = steps.iteration[i];
    if (out.first == 0) out.first = i;
    out.last = i;
  }
  out.pauses = pauses.size();
  constexpr std::size_t kFewestPauses = 3;  // one is a restart, or a hang that passed
  if (pauses.size() < kFewestPauses || whole <= 0) return std::nullopt;
  out.share = out.total_ms / whole;
  if (out.share < kGoodPart || out.total_ms < kLeastTotalMs) return std::nullopt;
  out.pause_ms = median_of(std::move(pauses));
  if (!apart.empty()) out.every = static_cast<std::int64_t>(median_of(std::move(apart)));
  return out;
}

}  // namespace culprit::analyze
