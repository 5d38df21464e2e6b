#include "plan/standby.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "model/sort.hpp"

namespace culprit::plan {

namespace {

constexpr double kNegligible = 1e-30;
constexpr std::int64_t kMostMachines = 1'000'000'000;
constexpr std::int64_t kMostChoices = 12;

Result<> check(const StandbyParams& p) {
  const auto share = [](double v) { return v >= 0 && v <= 1; };
  const auto seconds = [](double v) { return v >= 0 && v <= 1e9; };
  if (p.machines < 1 || p.machines > kMostMachines)
    return usage_error(
        fmt::format("a job has 1 to {} machines, not {}", kMostMachines, p.machines));
  if (!share(p.failure_rate))
    return usage_error(fmt::format("a failure rate is a probability, not {}", p.failure_rate));
  if (!(p.percentile > 0 && p.percentile < 1))
    return usage_error(fmt::format("a percentile lies between 0 and 1, not at {}", p.percentile));
  if (!share(p.catastrophe))
    return usage_error(
        fmt::format("the share of catastrophes is a probability, not {}", p.catastrophe));
  if (!seconds(p.wake_s) || !seconds(p.reschedule_s) || !seconds(p.requeue_s))
    return usage_error("times of a restart are seconds from 0 to 1e9");
  if (p.catastrophe_machines < 1) return usage_error("a catastrophe takes one machine at least");
  return {};
}

}  // namespace

Binomial binomial(std::int64_t n, double p) {
  Binomial out;
  if (n <= 0 || p <= 0) {
    out.mass = {1.0};
    return out;
  }
  if (p >= 1) {
    out.first = n;
    out.mass = {1.0};
    return out;
  }
  const double odds = p / (1 - p);
  const auto mode =
      std::min(n, static_cast<std::int64_t>(std::floor(static_cast<double>(n + 1) * p)));
  std::vector<double> below, above{1.0};
  for (std::int64_t k = mode; k > 0; --k) {
    const double next = (below.empty() ? 1.0 : below.back()) * static_cast<double>(k) /
                        static_cast<double>(n - k + 1) / odds;
    if (next < kNegligible) break;
    below.push_back(next);
  }
  for (std::int64_t k = mode; k < n; ++k) {
    const double next =
        above.back() * static_cast<double>(n - k) / static_cast<double>(k + 1) * odds;
    if (next < kNegligible) break;
    above.push_back(next);
  }
  out.first = mode - static_cast<std::int64_t>(below.size());
  out.mass.assign(below.rbegin(), below.rend());
  out.mass.insert(out.mass.end(), above.begin(), above.end());
  // The smallest first, so that a million of them are not lost beside the largest.
  std::vector<double> ordered = out.mass;
  sort_rows(ordered);
  const double total = std::accumulate(ordered.begin(), ordered.end(), 0.0);
  for (double& m : out.mass) m /= total;
  return out;
}

double Binomial::cumulative(std::int64_t k) const {
  if (k < first) return 0;
  const auto count =
      std::min<std::uint64_t>(mass.size(), static_cast<std::uint64_t>(k - first) + 1);
  return std::min(
      1.0, std::accumulate(mass.begin(), mass.begin() + static_cast<std::ptrdiff_t>(count), 0.0));
}

std::int64_t Binomial::quantile(double probability) const {
  double sum = 0;
  for (std::size_t i = 0; i < mass.size(); ++i) {
    sum += mass[i];
    if (sum >= probability) return first + static_cast<std::int64_t>(i);
  }
  return first + static_cast<std::int64_t>(mass.size()) - 1;
}

Result<StandbyPlan> plan_standby(const StandbyParams& p) {
  CULPRIT_CHECK(check(p));
  const Binomial failures = binomial(p.machines, p.failure_rate);
  StandbyPlan out{.standbys = failures.quantile(p.percentile),
                  .expected_failures = static_cast<double>(p.machines) * p.failure_rate,
                  .requeue_s = p.requeue_s,
                  .reschedule_s = p.reschedule_s,
                  .oracle_s = p.wake_s};

  // Evictions of 1 to P99 machines, weighted among themselves; then the catastrophe (§8.2.1).
  const std::int64_t most = std::max<std::int64_t>(1, out.standbys);
  const double none = failures.cumulative(0), all = failures.cumulative(most) - none;
  const std::int64_t taken = std::min(p.catastrophe_machines, p.machines);
  const auto restart = [&](std::int64_t standbys, std::int64_t evicted) {
    return evicted <= standbys ? p.wake_s : p.reschedule_s;
  };
  const auto choice = [&](std::int64_t standbys) {
    // With nothing that ever fails the mean is over one eviction.
    const std::int64_t covered = std::min(standbys, most);
    const double woken = all > 0 ? (covered < 1 ? 0 : (failures.cumulative(covered) - none) / all)
                                 : (standbys >= 1 ? 1.0 : 0.0);
    const double usual = woken * p.wake_s + (1 - woken) * p.reschedule_s;
    return StandbyChoice{standbys, failures.cumulative(standbys),
                         (1 - p.catastrophe) * usual + p.catastrophe * restart(standbys, taken)};
  };
  const std::int64_t last = std::min(out.standbys + 1, p.machines);
  for (std::int64_t s = 0; s <= last; ++s) {
    if (last > kMostChoices && s > 0 && s < last - 4) continue;
    out.choices.push_back(choice(s));
  }
  return out;
}

}  // namespace culprit::plan
