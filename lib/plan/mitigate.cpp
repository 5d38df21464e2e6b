#include "plan/mitigate.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/sort.hpp"

namespace culprit::plan {

namespace {

constexpr double kMostMs = 1e12;  // thirty years
constexpr std::int64_t kMostIteration = 1'000'000'000'000;

Result<> check(std::span<const SlowInterval> intervals, std::span<const Strategy> strategies) {
  for (const SlowInterval& i : intervals) {
    if (i.start < 0 || i.end > kMostIteration || i.end <= i.start)
      return usage_error(fmt::format(
          "iterations {} to {} are no interval: the end comes after the start, both from 0 to {}",
          i.start, i.end, kMostIteration));
    if (!(i.healthy_ms > 0 && i.slow_ms >= i.healthy_ms && i.slow_ms <= kMostMs))
      return usage_error(
          fmt::format("an iteration takes {} ms instead of {} ms: the slow time is not below the "
                      "healthy one, and both are more than 0",
                      i.slow_ms, i.healthy_ms));
  }
  for (std::size_t s = 0; s < strategies.size(); ++s) {
    const Strategy& one = strategies[s];
    const auto share = [](double v) { return v >= 0 && v <= 1; };
    if (one.name.empty()) return usage_error("a strategy has a name");
    for (std::size_t o = 0; o < s; ++o)
      if (strategies[o].name == one.name)
        return usage_error(fmt::format("there are two strategies '{}'", one.name));
    if (!(one.cost_ms >= 0 && one.cost_ms <= kMostMs))
      return usage_error(fmt::format("{} costs {} ms: a price lies between 0 and {:g}", one.name,
                                     one.cost_ms, kMostMs));
    if (!share(one.helps_computation) || !share(one.helps_communication))
      return usage_error(
          fmt::format("{} removes a share of the excess between 0 and 1, not {} and {}", one.name,
                      one.helps_computation, one.helps_communication));
  }
  return {};
}

IntervalReplay replay(const SlowInterval& interval, const std::vector<Strategy>& ladder,
                      std::span<const Strategy> strategies, SlowCause cause) {
  IntervalReplay out;
  out.interval = interval;
  const double excess = interval.slow_ms - interval.healthy_ms;
  const auto all = static_cast<double>(interval.end - interval.start);
  out.ignored_ms = excess * all;

  // Iterations until the next price is reached, at once instead of one by one.
  double lost = 0, paid = 0, per = excess;
  std::int64_t at = interval.start;
  for (const Strategy& next : ladder) {
    if (lost < next.cost_ms) {
      if (!(per > 0)) break;
      const double wait = std::ceil((next.cost_ms - lost) / per);
      if (wait >= static_cast<double>(interval.end - at))
        break;  // it ended first, or with the last iteration
      at += static_cast<std::int64_t>(wait);
      lost += wait * per;
    }
    if (!(excess > 0)) break;
    out.taken.push_back({next.name, at, lost});
    paid += next.cost_ms;
    per = excess * (1 - next.helps(cause));
  }
  lost += per * static_cast<double>(interval.end - at);
  out.rule_ms = lost + paid;

  out.best = "ignore";
  out.best_ms = out.ignored_ms;
  out.alone.push_back({"ignore", out.ignored_ms});
  for (const Strategy& s : strategies) {
    const double total = s.cost_ms + excess * (1 - s.helps(cause)) * all;
    out.alone.push_back({s.name, total});
    if (total < out.best_ms) {
      out.best_ms = total;
      out.best = s.name;
    }
  }
  return out;
}

}  // namespace

double Strategy::helps(SlowCause cause) const {
  switch (cause) {
    case SlowCause::computation: return helps_computation;
    case SlowCause::communication: return helps_communication;
    case SlowCause::unknown: break;
  }
  return std::min(helps_computation, helps_communication);
}

std::vector<Strategy> default_strategies() {
  return {{"micro-batches", 5'000, 0.7, 0},
          {"topology", 60'000, 0.54, 0.5},
          {"restart", 600'000, 1, 1}};
}

Result<MitigationReplay> replay_mitigation(std::span<const SlowInterval> intervals,
                                           std::span<const Strategy> strategies, SlowCause cause) {
  CULPRIT_CHECK(check(intervals, strategies));
  MitigationReplay out;
  std::vector<Strategy> ladder(strategies.begin(), strategies.end());
  sort_rows(ladder, [&](const Strategy& a, const Strategy& b) {
    return a.cost_ms != b.cost_ms ? a.cost_ms < b.cost_ms : a.helps(cause) > b.helps(cause);
  });
  std::vector<Strategy> useful;
  double helps = 0;
  for (const Strategy& s : ladder) {
    if (s.helps(cause) > helps) {
      helps = s.helps(cause);
      out.ladder.push_back(s.name);
      useful.push_back(s);
    } else {
      out.passed_over.push_back(s.name);
    }
  }
  double prices = 0;
  for (const Strategy& s : useful) {
    prices += s.cost_ms;
    if (s.cost_ms > 0) out.bound = std::max(out.bound, 1 + prices / s.cost_ms);
  }

  out.alone.push_back({"ignore", 0});
  for (const Strategy& s : strategies) out.alone.push_back({s.name, 0});
  for (const SlowInterval& interval : intervals) {
    out.intervals.push_back(replay(interval, useful, strategies, cause));
    const IntervalReplay& one = out.intervals.back();
    out.ignored_ms += one.ignored_ms;
    out.rule_ms += one.rule_ms;
    out.best_ms += one.best_ms;
    for (std::size_t i = 0; i < one.alone.size(); ++i) out.alone[i].lost_ms += one.alone[i].lost_ms;
  }
  return out;
}

}  // namespace culprit::plan
