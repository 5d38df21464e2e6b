#include "plan/updates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "model/sort.hpp"

namespace culprit::plan {

namespace {

constexpr double kDay = 86'400;
constexpr double kLongest = 1e12;

bool in_range(double value) { return value >= 0 && value <= kLongest; }

Result<> check(const UpdateParams& p) {
  if (!in_range(p.requeue) || !in_range(p.hot) || !in_range(p.window))
    return usage_error("times of a restart and of the window are seconds from 0 to 1e12");
  return {};
}

// Each update stops the job, and waits for nothing.
UpdateCost at_once(double updates, double each) {
  return {.stops = updates, .lost = updates * each};
}

}  // namespace

Result<UpdateCosts> replay_updates(std::vector<RequestedUpdate> updates,
                                   std::vector<double> failures, double end,
                                   const UpdateParams& params) {
  CULPRIT_CHECK(check(params));
  if (!in_range(end)) return usage_error("the time of the job is out of range");
  for (const RequestedUpdate& one : updates)
    if (!(one.time >= 0 && one.time < end))
      return usage_error(
          fmt::format("an update at {:g} s is not within the job's {:g} s", one.time, end));
  for (const double failure : failures)
    if (!in_range(failure))
      return usage_error(fmt::format("a failure at {:g} s is out of range", failure));
  sort_by(updates, [](const RequestedUpdate& one) { return std::pair(one.time, one.urgent); });
  sort_rows(failures);
  const auto count = static_cast<double>(updates.size());
  UpdateCosts out{at_once(count, params.requeue), at_once(count, params.hot), {}};
  std::vector<double> waiting;  // since when
  const auto apply = [&](double now) {
    for (const double since : waiting) {
      out.lazy.wait += now - since;
      out.lazy.longest_wait = std::max(out.lazy.longest_wait, now - since);
    }
    waiting.clear();
  };
  auto next = failures.begin();
  // What happens to those that wait before `now`.
  const auto pass = [&](double now) {
    while (!waiting.empty()) {
      while (next != failures.end() && *next < waiting.front()) ++next;
      const double over = waiting.front() + params.window;
      const double failed =
          next != failures.end() ? *next : std::numeric_limits<double>::infinity();
      if (std::min(over, failed) > now) return;
      out.lazy.stops += over < failed;
      apply(std::min(over, failed));
    }
  };
  for (const RequestedUpdate& one : updates) {
    pass(one.time);
    if (one.urgent) {
      ++out.lazy.stops;
      apply(one.time);
    } else {
      waiting.push_back(one.time);
    }
  }
  pass(end);
  out.lazy.pending = static_cast<double>(waiting.size());
  out.lazy.lost = out.lazy.stops * params.hot;
  if (const double applied = count - out.lazy.pending; applied > 0) out.lazy.wait /= applied;
  return out;
}

Result<UpdateCosts> expected_updates(double updates_a_day, double urgent_a_day, double mtbf,
                                     const UpdateParams& params) {
  CULPRIT_CHECK(check(params));
  if (!in_range(updates_a_day) || !in_range(urgent_a_day) || !(mtbf > 0 && mtbf <= kLongest))
    return usage_error("updates a day are 0 or more, and the time between failures is positive");
  const double all = updates_a_day + urgent_a_day;
  UpdateCosts out{at_once(all, params.requeue), at_once(all, params.hot), {}};
  const double rate = 1 / mtbf + urgent_a_day / kDay, u = updates_a_day / kDay;
  const double x = rate * params.window;
  const double mean = -std::expm1(-x) / rate;  // E[T]
  out.lazy.stops = urgent_a_day;
  out.lazy.longest_wait = updates_a_day > 0 ? params.window : 0;
  if (updates_a_day > 0) {
    const double square = 2 * (-std::expm1(-x) - x * std::exp(-x)) / (rate * rate);  // E[T^2]
    out.lazy.stops += kDay * std::exp(-x) / (1 / u + mean);
    out.lazy.wait = (mean + u * square / 2) / (1 + u * mean) * updates_a_day / all;
  }
  out.lazy.lost = out.lazy.stops * params.hot;
  return out;
}

}  // namespace culprit::plan
