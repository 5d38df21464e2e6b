#include "analyze/pace/rhythm.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "analyze/pace/slow_job.hpp"
#include "model/median.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

namespace {

constexpr double kSlow = 1.25;               // times the usual step
constexpr double kLongest = 7 * 24 * 3.6e6;  // ms; more is no step
// What a program does itself at intervals is usual, and worth a word only where it costs much.
constexpr double kLeastShare = 0.03, kLeastShareOfProgram = 0.1, kMostRows = 0.34;
constexpr std::size_t kFewestRowsOfRhythm = 60, kFewestBursts = 5;
constexpr double kAlike = 0.08;  // of the distance
constexpr double kLeastCostOfRhythmMs = 60'000;

struct SlowBurst {
  std::size_t first = 0, last = 0;
};

// Slow steps that follow each other; one in between that is not belongs to them.
std::vector<SlowBurst> bursts_of(const JobSteps& steps, const std::vector<std::size_t>& rows,
                                 double usual) {
  constexpr std::size_t kBetween = 2;
  std::vector<SlowBurst> out;
  std::size_t last = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (steps.ms[rows[k]] < kSlow * usual) continue;
    if (out.empty() || k > last + kBetween)
      out.push_back({rows[k], rows[k]});
    else
      out.back().last = rows[k];
    last = k;
  }
  return out;
}

// How far distances are from their median, as a share of it. A burst that was missed leaves twice
// or thrice the distance.
double unlike(std::vector<double> distances) {
  const double usual = median_of(std::vector(distances));
  if (usual <= 0) return 1;
  for (double& d : distances)
    d = std::abs(d / std::max(1.0, std::round(d / usual)) - usual) / usual;
  std::ranges::sort(distances);
  return distances[distances.size() * 8 / 10];
}

// Where steps are even, both are alike: then people choose round numbers.
bool of_the_clock(double by_clock, double by_count, const Rhythm& r) {
  constexpr Nanoseconds kJitter = 5 * kSecond;
  if (by_clock > kAlike || by_count > kAlike) return by_clock < by_count;
  const Nanoseconds off = std::abs(r.every - (r.every + kMinute / 2) / kMinute * kMinute);
  const bool minutes = r.every >= kMinute && off <= kJitter, round = r.steps % 10 == 0;
  return minutes != round ? minutes : by_clock < by_count;
}

struct RhythmSteps {
  std::vector<std::size_t> rows;  // of the last attempt, with a duration, a time and a number
  double usual = 0;               // ms
};

std::optional<Rhythm> rhythm_of_bursts(const JobSteps& steps, const RhythmSteps& all,
                                       const std::vector<SlowBurst>& bursts) {
  Rhythm out{.times = bursts.size(), .baseline_ms = all.usual};
  if (bursts.size() < kFewestBursts) return std::nullopt;
  std::vector<double> slow, apart, counts, lasts;
  for (const SlowBurst& burst : bursts)
    for (auto row = std::ranges::lower_bound(all.rows, burst.first);
         row != all.rows.end() && *row <= burst.last; ++row)
      if (steps.ms[*row] >= kSlow * all.usual) {
        slow.push_back(steps.ms[*row]);
        out.cost_ms += steps.ms[*row] - all.usual;
      }
  for (std::size_t b = 0; b < bursts.size(); ++b) {
    lasts.push_back(static_cast<double>(steps.time[bursts[b].last] - steps.time[bursts[b].first]) +
                    steps.ms[bursts[b].first] * 1e6);
    if (b == 0) continue;
    apart.push_back(
        static_cast<double>(steps.time[bursts[b].first] - steps.time[bursts[b - 1].first]));
    counts.push_back(static_cast<double>(steps.iteration[bursts[b].first] -
                                         steps.iteration[bursts[b - 1].first]));
  }
  // It may have begun in the middle of the run.
  double whole = 0;
  for (auto row = std::ranges::lower_bound(all.rows, bursts.front().first);
       row != all.rows.end() && *row <= bursts.back().last; ++row)
    whole += steps.ms[*row];
  out.share = out.cost_ms / whole;
  if (out.share < kLeastShare || out.cost_ms < kLeastCostOfRhythmMs ||
      static_cast<double>(slow.size()) > kMostRows * static_cast<double>(all.rows.size()))
    return std::nullopt;
  const double by_clock = unlike(apart), by_count = unlike(counts);
  if (std::min(by_clock, by_count) > kAlike) return std::nullopt;
  out.every = static_cast<Nanoseconds>(median_of(std::move(apart)));
  out.steps = static_cast<std::int64_t>(median_of(std::move(counts)));
  out.by_clock = of_the_clock(by_clock, by_count, out);
  if (!out.by_clock && out.share < kLeastShareOfProgram) return std::nullopt;
  out.level_ms = median_of(std::move(slow));
  out.factor = out.level_ms / all.usual;
  out.lasts = static_cast<Nanoseconds>(median_of(std::move(lasts)));
  out.first = bursts.front().first;
  out.last = bursts.back().last;
  return out;
}

}  // namespace

std::optional<Rhythm> rhythm_of(const JobSteps& steps) {
  if (steps.size() < kFewestRowsOfRhythm || !steps.from_calls.empty()) return std::nullopt;
  RhythmSteps all;
  std::vector<double> ms;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps.attempt[i] != steps.attempt.back() || !(steps.ms[i] > 0 && steps.ms[i] < kLongest) ||
        steps.time[i] == kNoValue || steps.iteration[i] == kNoValue)
      continue;
    all.rows.push_back(i);
    ms.push_back(steps.ms[i]);
  }
  if (all.rows.size() < kFewestRowsOfRhythm) return std::nullopt;
  all.usual = median_of(std::move(ms));
  const std::vector<SlowBurst> bursts = bursts_of(steps, all.rows, all.usual);
  if (auto out = rhythm_of_bursts(steps, all, bursts)) return out;
  // What the program does itself in one step, as saving, beside what lasts for several.
  std::vector<SlowBurst> longer;
  std::ranges::copy_if(bursts, std::back_inserter(longer),
                       [](const SlowBurst& b) { return b.last > b.first; });
  auto out = rhythm_of_bursts(steps, all, longer);
  return out && out->by_clock ? out : std::nullopt;
}

Finding rhythm_finding(const Facts& facts, const JobSteps& steps, const Rhythm& rhythm) {
  Finding f = slow_job("slow/rhythm");
  f.start = steps.time[rhythm.first];
  f.end = steps.time[rhythm.last];
  f.count = rhythm.times;
  f.title = say(Phrase::steps_took, rhythm.factor);
  f.why = rhythm.by_clock ? say(Phrase::slow_by_the_clock, human_duration(rhythm.every),
                                human_duration(rhythm.lasts), rhythm.factor, rhythm.times)
                          : say(Phrase::slow_by_the_count, rhythm.steps,
                                human_duration(rhythm.lasts), rhythm.factor, rhythm.times);
  SlowFacts slow{.first = steps.iteration[rhythm.first],
                 .last = steps.iteration[rhythm.last],
                 .baseline_ms = rhythm.baseline_ms,
                 .level_ms = rhythm.level_ms,
                 .factor = rhythm.factor,
                 .cost_s = rhythm.cost_ms / 1e3,
                 .share = rhythm.share};
  if (facts.world_size > 0)
    slow.gpu_hours = rhythm.cost_ms / 3.6e6 * static_cast<double>(facts.world_size);
  slow.from_start = true;
  slow.rhythm = rhythm.by_clock ? SlowRhythm::clock : SlowRhythm::count;
  slow.period = rhythm.by_clock ? static_cast<double>(rhythm.every) / static_cast<double>(kSecond)
                                : static_cast<double>(rhythm.steps);
  f.facts = std::move(slow);
  for (const std::size_t i : {rhythm.first, rhythm.last})
    if (steps.place[i].line != 0)
      f.evidence.push_back(facts.evidence(
          steps.place[i], fmt::format("iteration={} ms={:.6g}", steps.iteration[i], steps.ms[i])));
  return f;
}

}  // namespace culprit::analyze
