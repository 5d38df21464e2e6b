// Adds up what each run takes for a step, by its own durations and by the clock.
#include "analyze/pace/slower_run.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "analyze/pace/slow_job.hpp"
#include "model/median.hpp"
#include "model/phrases.hpp"
#include "rules/step_parts.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kFewestRowsOfRun = 60;
constexpr std::size_t kFirstRowsOfRun = 10;  // a start compiles, and fills its caches
constexpr double kLongerRun = 1.08;          // the mean step, of the run before
constexpr double kErrors = 4;                // of the difference of both means
constexpr double kLongStep = 1.25;           // times the usual step
constexpr double kLeastRunCostMs = 60'000;
constexpr double kPause = 2;                    // times the usual step, that it stands
constexpr std::int64_t kFewestPausesOfRun = 4;  // one or two are no habit
constexpr double kMostOfOne = 50;  // times the usual step: what is longer is told as a pause

struct RunPace {
  std::vector<std::size_t> rows;
  double usual = 0;            // ms, median
  double mean = 0, error = 0;  // ms, of its own durations; the standard error
  double long_share = 0;       // of its steps
  double clock = 0;            // ms a step, what lies between steps included; 0: not known
  std::int64_t count = 0;      // iterations
  std::int64_t pauses = 0;     // between them
};

// Attempts follow each other.
std::vector<std::size_t> rows_of(const JobSteps& steps, std::size_t attempt) {
  const auto [begin, end] = std::equal_range(steps.attempt.begin(), steps.attempt.end(), attempt);
  const auto first = static_cast<std::size_t>(begin - steps.attempt.begin());
  const auto past = static_cast<std::size_t>(end - steps.attempt.begin());
  std::vector<std::size_t> out;
  for (std::size_t i = first; i < past; ++i)
    if (steps.ms[i] > 0 && steps.iteration[i] != kNoValue) out.push_back(i);
  if (out.size() > kFirstRowsOfRun) out.erase(out.begin(), out.begin() + kFirstRowsOfRun);
  return out;
}

// For how long the job stood between two rows of a run, beside its steps; nothing without times.
struct Between {
  std::int64_t steps = 0;
  double pause_ms = 0;
};
std::optional<Between> between(const JobSteps& steps, std::size_t before, std::size_t row) {
  const std::int64_t apart = steps.iteration[row] - steps.iteration[before];
  if (apart <= 0 || steps.time[row] == kNoValue || steps.time[before] == kNoValue)
    return std::nullopt;
  const double took = static_cast<double>(steps.time[row] - steps.time[before]) / 1e6;
  return Between{apart, took - steps.ms[row] * static_cast<double>(apart)};
}

RunPace pace_of_run(const JobSteps& steps, std::vector<std::size_t> rows) {
  RunPace out{.rows = std::move(rows)};
  if (out.rows.size() < kFewestRowsOfRun) return out;
  std::vector<double> all;
  for (const std::size_t i : out.rows) all.push_back(steps.ms[i]);
  out.usual = median_of(all);
  double sum = 0, squares = 0, paused = 0;
  std::size_t longer = 0, known = 0;
  for (std::size_t k = 0; k < out.rows.size(); ++k) {
    const std::size_t i = out.rows[k];
    const double ms = std::min(steps.ms[i], kMostOfOne * out.usual);
    sum += ms;
    squares += ms * ms;
    longer += steps.ms[i] >= kLongStep * out.usual;
    if (k == 0) continue;
    const auto since = between(steps, out.rows[k - 1], i);
    if (!since) continue;
    out.count += since->steps;
    ++known;
    if (since->pause_ms > kMostOfOne * out.usual) continue;
    paused += std::max(0.0, since->pause_ms);
    out.pauses += since->pause_ms > kPause * out.usual;
  }
  const auto rows_known = static_cast<double>(out.rows.size());
  out.mean = sum / rows_known;
  out.error = std::sqrt(std::max(0.0, squares / rows_known - out.mean * out.mean) / rows_known);
  out.long_share = static_cast<double>(longer) / rows_known;
  if (out.count <= 0) out.count = static_cast<std::int64_t>(out.rows.size());
  if (2 * known > out.rows.size() && !steps.from_times && !steps.reckoned)
    out.clock = out.mean + paused / static_cast<double>(out.count);
  return out;
}

bool same_job(std::span<const std::uint32_t> jobs, const RunPace& a, const RunPace& b) {
  return jobs.empty() || jobs[a.rows.back()] == jobs[b.rows.back()];
}

// Most of the pauses of the run have a checkpoint beside them.
bool saves_between(const JobSteps& steps, const RunPace& run,
                   std::span<const JobCheckpoint> checkpoints) {
  const std::set<std::size_t> saved = rows_of_saves(checkpoints);
  std::size_t saves = 0, pauses = 0;
  for (std::size_t k = 1; k < run.rows.size(); ++k) {
    const auto since = between(steps, run.rows[k - 1], run.rows[k]);
    if (!since || since->pause_ms < kPause * run.usual) continue;
    ++pauses;
    const auto save = saved.lower_bound(run.rows[k - 1]);
    saves += save != saved.end() && *save <= run.rows[k];
  }
  return pauses > 1 && 2 * saves >= pauses;
}

}  // namespace

std::optional<Finding> slower_run(const Facts& facts, const JobSteps& steps,
                                  std::span<const std::uint32_t> jobs,
                                  std::span<const JobCheckpoint> checkpoints) {
  if (steps.size() == 0 || steps.attempt.back() == 0 || steps.of_moments ||
      !steps.from_calls.empty())
    return std::nullopt;
  const RunPace now = pace_of_run(steps, rows_of(steps, steps.attempt.back()));
  if (now.rows.size() < kFewestRowsOfRun) return std::nullopt;
  RunPace before;
  for (std::size_t attempt = 0; attempt < steps.attempt.back(); ++attempt) {
    RunPace one = pace_of_run(steps, rows_of(steps, attempt));
    if (one.rows.size() >= std::max(kFewestRowsOfRun, before.rows.size()) &&
        same_job(jobs, one, now))
      before = std::move(one);
  }
  if (before.rows.empty()) return std::nullopt;
  const bool by_steps = now.mean >= kLongerRun * before.mean &&
                        now.mean - before.mean >= kErrors * std::hypot(now.error, before.error);
  const bool by_clock =
      !by_steps && now.clock > 0 && before.clock > 0 && now.clock >= kLongerRun * before.clock &&
      now.pauses >= kFewestPausesOfRun &&
      // The run before went on for longer than from one pause to the next but one.
      before.count * now.pauses >= 2 * now.count;
  if (!by_steps && !by_clock) return std::nullopt;
  const double was = by_steps ? before.mean : before.clock, is = by_steps ? now.mean : now.clock;
  const double cost = (is - was) * static_cast<double>(now.count);
  if (cost < kLeastRunCostMs) return std::nullopt;
  Finding f = slow_job("slow/run");
  const std::size_t first = now.rows.front(), last = now.rows.back();
  if (steps.time[first] != kNoValue) f.start = steps.time[first];
  if (steps.time[last] != kNoValue) f.end = steps.time[last];
  f.count = now.rows.size();
  f.title = say(Phrase::steps_took, is / was);
  SlowFacts slow{.first = steps.iteration[first],
                 .last = steps.iteration[last],
                 .baseline_ms = was,
                 .level_ms = is,
                 .factor = is / was,
                 .cost_s = cost / 1e3,
                 .share = 1 - was / is,
                 .from_start = true};
  if (facts.world_size > 0) slow.gpu_hours = cost / 3.6e6 * static_cast<double>(facts.world_size);
  if (by_steps)
    f.why = say(Phrase::more_long_steps, now.mean / 1e3, before.mean / 1e3, now.usual / 1e3,
                100 * now.long_share, 100 * before.long_share);
  else {
    const bool saves = saves_between(steps, now, checkpoints);
    if (saves) slow.grown = rules::name(rules::StepPart::checkpoint);
    f.why = say(Phrase::stands_longer_between, (now.clock - now.mean) / 1e3,
                (before.clock - before.mean) / 1e3, saves ? 1 : 2);
  }
  f.facts = std::move(slow);
  // The longest, and the last.
  const auto longest =
      std::ranges::max_element(now.rows, {}, [&](std::size_t i) { return steps.ms[i]; });
  for (const std::size_t i : {*longest, last})
    if (steps.place[i].line != 0)
      f.evidence.push_back(facts.evidence(
          steps.place[i], fmt::format("iteration={} ms={:.6g}", steps.iteration[i], steps.ms[i])));
  return f;
}

}  // namespace culprit::analyze
