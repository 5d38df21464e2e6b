// Finds the save from which on all are longer than all before it.
#include "analyze/pace/slow_saves.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "model/confidence.hpp"
#include "model/median.hpp"
#include "model/phrases.hpp"
#include "rules/step_parts.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kFewest = 2;           // saves on either side
constexpr double kLonger = 2, kClear = 1.5;  // medians; the shortest slow one to the longest
constexpr double kLeastMs = 30'000;          // that a save takes longer: less is no matter

struct Longer {
  std::size_t from = 0;
  double before_ms = 0, since_ms = 0;
};

// From one save on all to the last.
std::optional<Longer> longer_since(const std::vector<double>& ms) {
  if (ms.size() < 2 * kFewest) return std::nullopt;
  std::optional<Longer> best;
  for (std::size_t k = kFewest; k + kFewest <= ms.size(); ++k) {
    const auto at = ms.begin() + static_cast<std::ptrdiff_t>(k);
    if (*std::min_element(at, ms.end()) < kClear * *std::max_element(ms.begin(), at)) continue;
    const Longer one{k, median_of({ms.begin(), at}), median_of({at, ms.end()})};
    if (one.since_ms >= kLonger * one.before_ms && one.since_ms - one.before_ms >= kLeastMs &&
        (!best || one.since_ms / one.before_ms > best->since_ms / best->before_ms))
      best = one;
  }
  return best;
}

}  // namespace

std::vector<Finding> slow_saves(const Facts& facts, std::span<const SaveTimes> told) {
  const SaveTimes* most = nullptr;
  for (const SaveTimes& one : told)
    if (most == nullptr || one.points.size() > most->points.size()) most = &one;
  if (most == nullptr) return {};
  const SeriesPoints& points = most->points;
  std::vector<double> ms;
  for (const double value : points.values) ms.push_back(value * most->ms);
  const auto longer = longer_since(ms);
  if (!longer) return {};
  const auto step = [&](std::size_t i) {
    return i < points.steps.size() && points.steps[i] != kNoValue ? points.steps[i] : 0;
  };
  SlowFacts slow{.first = step(longer->from),
                 .last = step(ms.size() - 1),
                 .baseline_ms = longer->before_ms,
                 .level_ms = longer->since_ms,
                 .factor = longer->since_ms / longer->before_ms,
                 .grown = rules::name(rules::StepPart::checkpoint)};
  for (std::size_t i = longer->from; i < ms.size(); ++i)
    slow.cost_s += (ms[i] - longer->before_ms) / 1e3;
  Finding f{.id = "slow_saves",
            .analysis = Analysis::saves,
            .subject = {SubjectKind::job, "job"},
            .event_class = "slow_saves",
            .symptom = Symptom::mfu_decline,
            .severity = Severity::warning,
            .role = Role::root,
            .scope = Scope::job_wide,
            .confidence = confidence::kSlowSettled,
            .why = say(Phrase::saves_take_longer, longer->since_ms / 1e3, slow.first,
                       longer->before_ms / 1e3),
            .title = say(Phrase::slow_saves)};
  f.count = ms.size() - longer->from;
  for (const std::size_t i : {longer->from - 1, longer->from, ms.size() - 1})
    if (i < points.lines.size() && points.lines[i] > 0)
      f.evidence.push_back(
          facts.evidence({most->member, static_cast<std::uint64_t>(points.lines[i]),
                          static_cast<std::uint64_t>(points.offsets[i]), 0},
                         fmt::format("{}", points.values[i])));
  f.facts = std::move(slow);
  return {std::move(f)};
}

}  // namespace culprit::analyze
