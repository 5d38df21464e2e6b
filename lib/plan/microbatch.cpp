#include "plan/microbatch.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "model/sort.hpp"

namespace culprit::plan {

namespace {

constexpr std::int64_t kMostUnits =
    1'000'000'000'000;  // products with times stay exact enough to compare

// The time at which the groups, working in fractions of a unit but never on less than one, have
// done `units` together: the root of sum max(1, T / t_i) = units. Groups slower than T take part
// with their one unit.
double fractional_time(std::span<const double> t, std::int64_t units) {
  std::vector<double> fast(t.begin(), t.end());
  double rate = 0;
  for (const double one : fast) rate += 1 / one;
  auto left = static_cast<double>(units);
  double time = left / rate;
  // Each pass settles the groups slower than T and lowers T. Few passes do, and sorting settles any
  // number of them.
  for (int pass = 0; pass < 6; ++pass) {
    const auto slow =
        std::partition(fast.begin(), fast.end(), [&](double one) { return one <= time; });
    if (slow == fast.end()) return time;
    left -= static_cast<double>(fast.end() - slow);
    fast.erase(slow, fast.end());
    rate = 0;
    for (const double one : fast) rate += 1 / one;
    if (fast.empty() || left <= 0) return 0;
    time = left / rate;
  }
  sort_rows(fast);
  // Sums from the front, where subtracting the slow from the whole would lose the digits of the
  // rest.
  std::vector<double> sum(fast.size() + 1, 0.0);
  for (std::size_t i = 0; i < fast.size(); ++i) sum[i + 1] = sum[i] + 1 / fast[i];
  for (std::size_t count = fast.size(); count > 0; --count, left -= 1) {
    time = left / sum[count];
    if (fast[count - 1] <= time) return time;
  }
  return 0;
}

struct Next {
  double done;  // when the group would be done with one unit more
  std::uint32_t group;
  bool operator<(const Next& other) const {
    return done != other.done ? done < other.done : group < other.group;
  }
};

// Restores the heap (least on top) after its top grew.
void sift(std::vector<Next>& heap) {
  const Next moved = heap[0];
  std::size_t at = 0;
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= heap.size()) break;
    if (child + 1 < heap.size() && heap[child + 1] < heap[child]) ++child;
    if (!(heap[child] < moved)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = moved;
}

double slowest(std::span<const double> t, const std::vector<std::int64_t>& counts) {
  double most = 0;
  for (std::size_t i = 0; i < t.size(); ++i)
    most = std::max(most, static_cast<double>(counts[i]) * t[i]);
  return most;
}

}  // namespace

Result<MicrobatchPlan> plan_microbatches(std::span<const double> t, std::int64_t micro_batches,
                                         std::int64_t unit) {
  if (t.empty() || t.size() > 10'000'000)
    return usage_error("micro-batches need the time of one for each of 1 to 10000000 groups");
  // Within these bounds neither sums nor inverses leave the range of a double.
  for (const double one : t)
    if (!(one >= 1e-9 && one <= 1e12))
      return usage_error(
          fmt::format("the time of a micro-batch is between 1e-9 and 1e12, not {}", one));
  const auto groups = static_cast<std::int64_t>(t.size());
  if (unit < 1)
    return usage_error(
        fmt::format("micro-batches come in multiples of one or more, not of {}", unit));
  if (micro_batches % unit != 0)
    return usage_error(fmt::format("{} micro-batches are no multiple of {}", micro_batches, unit))
        .hint("1F1B pipelines need a multiple of their stages");
  const std::int64_t units = micro_batches / unit;
  if (units < groups)
    return usage_error(fmt::format(
        "{} micro-batches in portions of {} are too few for {} groups: each needs one portion",
        micro_batches, unit, groups));
  if (micro_batches > kMostUnits)
    return usage_error(fmt::format("a step has {} micro-batches at most", kMostUnits));

  MicrobatchPlan out;
  out.even.resize(t.size());
  for (std::int64_t i = 0; i < groups; ++i)
    out.even[static_cast<std::size_t>(i)] = (units / groups + (i < units % groups ? 1 : 0)) * unit;

  // The greedy gives units in the order of when they are done. All that are done by the fractional
  // time come first in that order and are never too many, so it may start behind them. Starting a
  // little earlier, for rounding, costs time only.
  const double fractional = fractional_time(t, units);
  out.counts.resize(t.size());
  std::vector<Next> heap(t.size());
  std::int64_t left = -1;
  double forced = 0;
  for (double margin = 1e-11; left < 0; margin = std::min(1.0, margin * 1e3)) {
    const double start = fractional * (1 - margin);
    left = units;
    for (std::size_t i = 0; i < t.size(); ++i) {
      const std::int64_t count = std::max<std::int64_t>(1, static_cast<std::int64_t>(start / t[i]));
      out.counts[i] = count;
      left -= count;
      forced = std::max(forced, t[i]);
      heap[i] = {static_cast<double>(count + 1) * t[i], static_cast<std::uint32_t>(i)};
    }
  }
  std::make_heap(heap.begin(), heap.end(), [](const Next& a, const Next& b) { return b < a; });
  for (; left > 0; --left) {
    Next& top = heap[0];
    const std::int64_t count = ++out.counts[top.group];
    top.done = static_cast<double>(count + 1) * t[top.group];
    sift(heap);
  }
  for (std::int64_t& count : out.counts) count *= unit;
  out.even_ms = slowest(t, out.even);
  out.best_ms = slowest(t, out.counts);
  out.bound_ms = std::min(out.best_ms, std::max(fractional, forced) * static_cast<double>(unit));
  return out;
}

}  // namespace culprit::plan
