// Looks for long steps beside lines that may have held them up.
#include "analyze/pace/spikes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analyze/pace/slow_job.hpp"
#include "model/median.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

namespace {

constexpr double kSpike = 2, kGoodPartOfTime = 0.1, kMostHaveOne = 0.6;
constexpr std::size_t kFewestSpikes = 8;

// Steps of the last attempt that are long, and what they have more than others.
struct Spikes {
  std::vector<std::size_t> rows;
  double usual_ms = 0, cost_ms = 0, share = 0;
};

Spikes spikes_of(const JobSteps& steps) {
  Spikes out{.usual_ms = usual_step_ms(steps)};
  double whole = 0;
  for (std::size_t row = 0; row < steps.size(); ++row) {
    const double ms = steps.ms[row];
    if (!std::isfinite(ms) || steps.iteration[row] == kNoValue ||
        steps.attempt[row] != steps.attempt.back())
      continue;
    whole += ms;
    if (row == 0 || ms < kSpike * out.usual_ms) continue;
    out.rows.push_back(row);
    out.cost_ms += ms - out.usual_ms;
  }
  if (whole > 0) out.share = out.cost_ms / whole;
  return out;
}

// Whether lines of the class come as often as they do, in one log or in those of all ranks, and in
// the same part of the run. Lines of one kind are kept as few rows that count them.
bool come_with(const Facts& facts, const JobSteps& steps, const Spikes& spikes,
               const std::string& event_class) {
  constexpr double kFewestLines = 0.6, kMostLines = 3;  // lines for each spike
  struct Lines {
    double count = 0;
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max(), last = 0;
    std::optional<Nanoseconds> begin, end;
  };
  std::map<MemberId, Lines> logs;
  for (const EventRow& e : facts.events) {
    if (e.event_class != event_class || e.elsewhere) continue;
    Lines& log = logs[e.place.member];
    log.count += static_cast<double>(std::max<std::uint64_t>(1, e.count));
    log.first = std::min(log.first, e.place.line);
    log.last = std::max({log.last, e.place.line, e.last_line});
    if (!e.time_ns) continue;
    const Nanoseconds end = e.last_time_ns.value_or(*e.time_ns);
    log.begin = std::min(log.begin.value_or(*e.time_ns), *e.time_ns);
    log.end = std::max(log.end.value_or(end), end);
  }
  const auto n = static_cast<double>(spikes.rows.size());
  Lines all;
  for (const auto& [member, log] : logs) {
    all.count += log.count;
    if (!log.begin) continue;
    all.begin = std::min(all.begin.value_or(*log.begin), *log.begin);
    all.end = std::max(all.end.value_or(*log.end), *log.end);
  }
  if (logs.size() > 1) logs.emplace(0, all);  // of no member
  return std::ranges::any_of(logs, [&](const auto& one) {
    const MemberId member = one.first;
    const Lines& log = one.second;
    const auto among = [&](std::size_t row) {
      const Place& at = steps.place[row];
      if (at.member == member) return at.line >= log.first && steps.place[row - 1].line <= log.last;
      return steps.time[row] != kNoValue && log.begin && steps.time[row] >= *log.begin &&
             steps.time[row] - static_cast<Nanoseconds>(steps.ms[row] * 1e6) <= *log.end;
    };
    const auto within = static_cast<double>(std::ranges::count_if(spikes.rows, among));
    return log.count >= kFewestLines * n && log.count <= kMostLines * n &&
           within >= kMostHaveOne * n;
  });
}

}  // namespace

std::optional<Finding> explained_spikes(const Facts& facts, const JobSteps& steps,
                                        std::span<const Finding> classified) {
  if (steps.size() == 0 || !steps.from_calls.empty()) return std::nullopt;
  const Spikes spikes = spikes_of(steps);
  if (spikes.rows.size() < kFewestSpikes || spikes.share < kGoodPartOfTime) return std::nullopt;
  std::set<std::string> classes;
  for (const Finding& f : classified)
    if (f.analysis == Analysis::classify && !f.hearsay &&
        f.traits.has_any({Trait::may_slow, Trait::held_up}))
      classes.insert(f.event_class);
  if (std::ranges::none_of(classes, [&](const std::string& event_class) {
        return come_with(facts, steps, spikes, event_class);
      }))
    return std::nullopt;
  std::vector<double> long_ones;
  for (const std::size_t row : spikes.rows) long_ones.push_back(steps.ms[row]);
  const double level = median_of(std::move(long_ones)), factor = level / spikes.usual_ms;
  const std::size_t first = spikes.rows.front(), last = spikes.rows.back();
  Finding f = slow_job("slow/spikes");
  if (steps.time[first] != kNoValue)
    f.start = steps.time[first] - static_cast<Nanoseconds>(steps.ms[first] * 1e6);
  if (steps.time[last] != kNoValue) f.end = steps.time[last];
  f.count = spikes.rows.size();
  f.title = say(Phrase::steps_took, factor);
  f.why = say(Phrase::single_long_steps, spikes.rows.size(), factor, 100 * spikes.share);
  f.facts = SlowFacts{.first = steps.iteration[first],
                      .last = steps.iteration[last],
                      .baseline_ms = spikes.usual_ms,
                      .level_ms = level,
                      .factor = factor,
                      .cost_s = spikes.cost_ms / 1e3,
                      .share = spikes.share};
  for (const std::size_t row : {first, last})
    f.evidence.push_back(
        facts.evidence(steps.place[row],
                       fmt::format("iteration={} ms={:.6g}", steps.iteration[row], steps.ms[row])));
  return f;
}

}  // namespace culprit::analyze
