#include "analyze/pace/slow_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "model/median.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kLeastOthers = 3;
constexpr double kSameLaunches = 0.02;  // a step at the border of a trace may miss some
constexpr double kLeastKnown = 0.5, kLeastSlower = 1.1;
// A slow device slows all that it computes, more or less: kernels whose time depends on their data
// (experts, sequences of different lengths) are slower alone.
constexpr double kOfTheFactor = 0.4, kLeastOfTime = 0.05;
constexpr std::string_view kTimeName = "kernel_time", kLaunchesName = "kernel_launches";

struct Compared {
  std::string kernel;
  double ms = 0, others_ms = 0;
  double factor = 0, next = 0;  // of the suspect, and of the slowest of the others
};

std::optional<Compared> compare(const KernelTime& mine, std::span<const KernelTime* const> others) {
  if (others.size() < kLeastOthers || !(mine.launches > 0)) return std::nullopt;
  std::vector<double> each, ms;
  for (const KernelTime* one : others) {
    if (std::abs(one->launches - mine.launches) > kSameLaunches * mine.launches)
      return std::nullopt;
    each.push_back(one->ms / one->launches);
    ms.push_back(one->ms);
  }
  const double usual = median_of(each);
  if (!(usual > 0)) return std::nullopt;
  return Compared{mine.kernel, mine.ms, median_of(std::move(ms)), mine.ms / mine.launches / usual,
                  std::ranges::max(each) / usual};
}

// The value that half of the weight lies at or above.
double middle(std::vector<std::pair<double, double>> valued) {
  sort_rows(valued, [](const auto& a, const auto& b) { return a.first > b.first; });
  double all = 0, sum = 0;
  for (const auto& [value, weight] : valued) all += weight;
  for (const auto& [value, weight] : valued)
    if ((sum += weight) * 2 >= all) return value;
  return 0;
}

}  // namespace

std::vector<KernelTime> kernel_times(const Facts& facts,
                                     const std::function<SeriesPoints(SeriesId)>& load) {
  std::map<std::pair<Rank, std::string>, KernelTime> found;
  for (const SeriesRow& row : facts.series) {
    const bool time = row.name == kTimeName;
    const MemberRow* m = facts.member(row.member);
    if ((!time && row.name != kLaunchesName) || m == nullptr || m->duplicate_of != 0 ||
        facts.foreign(*m))
      continue;
    const std::optional<Rank> rank = row.rank ? row.rank : m->rank;
    const SeriesPoints points = rank ? load(row.id) : SeriesPoints();
    if (points.values.empty()) continue;
    KernelTime& one = found[{*rank, row.labels}];
    one.rank = *rank;
    one.kernel = row.labels.substr(row.labels.find('=') + 1);
    (time ? one.ms : one.launches) = points.values.front();
  }
  std::vector<KernelTime> out;
  for (auto& [key, one] : found)
    if (one.launches > 0 && std::isfinite(one.ms)) out.push_back(std::move(one));
  return out;
}

std::optional<SlowKernels> slow_kernels(std::span<const KernelTime> times, Rank suspect) {
  std::map<std::string_view, std::vector<const KernelTime*>> others;
  for (const KernelTime& one : times)
    if (one.rank != suspect) others[one.kernel].push_back(&one);
  std::vector<std::pair<double, double>> factors, next;
  double known = 0, compared = 0;
  std::optional<Compared> longest;
  for (const KernelTime& one : times) {
    if (one.rank != suspect) continue;
    known += one.ms;
    const std::optional<Compared> held = compare(one, others[one.kernel]);
    if (!held) continue;
    compared += one.ms;
    factors.emplace_back(held->factor, one.ms);
    next.emplace_back(held->next, one.ms);
    if (!longest || held->ms > longest->ms) longest = held;
  }
  if (!longest || compared < kLeastKnown * known) return std::nullopt;
  const double factor = middle(factors);
  const auto lags = [&](const auto& one) {
    return one.second >= kLeastOfTime * known && one.first - 1 < kOfTheFactor * (factor - 1);
  };
  if (factors.size() < 2 || std::ranges::any_of(factors, lags)) return std::nullopt;
  if (factor < kLeastSlower || middle(std::move(next)) - 1 > (factor - 1) / 2) return std::nullopt;
  return SlowKernels{factor, longest->kernel, longest->ms, longest->others_ms};
}

}  // namespace culprit::analyze
