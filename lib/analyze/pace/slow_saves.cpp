// Finds the save from which on all are longer than all before it, and how much of the time saves
// take.
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

// How often the job saves, and what part of its time that takes.
struct Frequent {
  double save_ms = 0, share = 0;
  std::int64_t every = 0;  // iterations
};

std::optional<Frequent> share_of_saves(const SeriesPoints& points, const std::vector<double>& ms,
                                       double step_ms) {
  constexpr std::size_t kFewestSaves = 3;
  constexpr double kGoodPart = 0.2;
  if (!(step_ms > 0) || ms.size() < kFewestSaves || points.steps.size() != ms.size())
    return std::nullopt;
  std::vector<double> apart;
  for (std::size_t i = 1; i < ms.size(); ++i) {
    if (points.steps[i] == kNoValue || points.steps[i - 1] == kNoValue) continue;
    if (points.steps[i] > points.steps[i - 1])
      apart.push_back(static_cast<double>(points.steps[i] - points.steps[i - 1]));
  }
  if (apart.size() + 1 < kFewestSaves) return std::nullopt;
  Frequent out{.save_ms = median_of(ms)};
  const double every = median_of(apart);
  out.every = static_cast<std::int64_t>(every);
  out.share = out.save_ms / (out.save_ms + every * step_ms);
  if (out.share < kGoodPart || out.save_ms < kLeastMs) return std::nullopt;
  return out;
}

Finding finding_of_saves(const char* named, Text why, Text title, SlowFacts slow) {
  Finding f{.id = named,
            .analysis = Analysis::saves,
            .subject = {SubjectKind::job, "job"},
            .event_class = named,
            .symptom = Symptom::mfu_decline,
            .severity = Severity::warning,
            .role = Role::root,
            .scope = Scope::job_wide,
            .confidence = confidence::kSlowSettled,
            .why = std::move(why),
            .title = std::move(title)};
  f.facts = std::move(slow);
  return f;
}

}  // namespace

std::vector<Finding> slow_saves(const Facts& facts, std::span<const SaveTimes> told,
                                double step_ms) {
  const SaveTimes* most = nullptr;
  for (const SaveTimes& one : told)
    if (most == nullptr || one.points.size() > most->points.size()) most = &one;
  if (most == nullptr) return {};
  const SeriesPoints& points = most->points;
  std::vector<double> ms;
  for (const double value : points.values) ms.push_back(value * most->ms);
  const auto step = [&](std::size_t i) {
    return i < points.steps.size() && points.steps[i] != kNoValue ? points.steps[i] : 0;
  };
  const auto quote = [&](Finding& f, std::initializer_list<std::size_t> saves) {
    for (const std::size_t i : saves)
      if (i < points.lines.size() && points.lines[i] > 0)
        f.evidence.push_back(
            facts.evidence({most->member, static_cast<std::uint64_t>(points.lines[i]),
                            static_cast<std::uint64_t>(points.offsets[i]), 0},
                           fmt::format("{}", points.values[i])));
  };
  SlowFacts slow{.last = ms.empty() ? 0 : step(ms.size() - 1),
                 .grown = rules::name(rules::StepPart::checkpoint)};
  if (const auto longer = longer_since(ms)) {
    slow.first = step(longer->from);
    slow.baseline_ms = longer->before_ms;
    slow.level_ms = longer->since_ms;
    slow.factor = longer->since_ms / longer->before_ms;
    for (std::size_t i = longer->from; i < ms.size(); ++i)
      slow.cost_s += (ms[i] - longer->before_ms) / 1e3;
    Finding f = finding_of_saves(
        "slow_saves",
        say(Phrase::saves_take_longer, longer->since_ms / 1e3, slow.first, longer->before_ms / 1e3),
        say(Phrase::slow_saves), slow);
    f.count = ms.size() - longer->from;
    quote(f, {longer->from - 1, longer->from, ms.size() - 1});
    return {std::move(f)};
  }
  const auto frequent = share_of_saves(points, ms, step_ms);
  if (!frequent) return {};
  slow.first = step(0);
  slow.level_ms = frequent->save_ms;
  slow.share = frequent->share;
  for (const double one : ms) slow.cost_s += one / 1e3;
  Finding f = finding_of_saves("frequent_saves",
                               say(Phrase::saves_take_share, frequent->save_ms / 1e3,
                                   frequent->every, 100 * frequent->share),
                               say(Phrase::frequent_saves), slow);
  f.count = ms.size();
  quote(f, {0, ms.size() - 1});
  return {std::move(f)};
}

std::vector<Finding> pauses_between(const Facts& facts, const JobSteps& steps,
                                    const BetweenSteps& between) {
  const bool saves = 2 * between.saves >= between.pauses && between.pauses > 1;
  SlowFacts slow{.first = steps.iteration[between.first],
                 .last = steps.iteration[between.last],
                 .level_ms = between.pause_ms,
                 .cost_s = between.total_ms / 1e3,
                 .share = between.share};
  if (saves) slow.grown = rules::name(rules::StepPart::checkpoint);
  Finding f = saves ? finding_of_saves("frequent_saves",
                                       say(Phrase::saves_take_share, between.pause_ms / 1e3,
                                           between.every, 100 * between.share),
                                       say(Phrase::frequent_saves), slow)
                    : finding_of_saves("between_steps",
                                       say(Phrase::pauses_take_share, between.pauses,
                                           between.pause_ms / 1e3, 100 * between.share),
                                       say(Phrase::between_steps), slow);
  f.count = between.pauses;
  f.start = steps.time[between.first] - static_cast<Nanoseconds>(between.pause_ms * 1e6);
  f.end = steps.time[between.last];
  for (const std::size_t row : {between.first - 1, between.first})
    f.evidence.push_back(facts.evidence(steps.place[row], ""));
  return {std::move(f)};
}

}  // namespace culprit::analyze
