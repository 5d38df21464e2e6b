#include "analyze/metrics/outlier_common.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analyze/metrics/crowd.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

// A change must be this many standard errors: the highest of thousands of splits of pure noise
// reaches 4 to 5.
constexpr double kSure = 8;

struct Split {
  std::size_t at = 0;
  double gain = 0;
};

// prefix[i]: sum of the first i points.
Split best_split(const std::vector<double>& prefix, std::size_t first, std::size_t last,
                 std::size_t shortest) {
  Split best;
  for (std::size_t s = first + shortest; s + shortest <= last; ++s) {
    const double nl = static_cast<double>(s - first), nr = static_cast<double>(last - s);
    const double gain =
        std::fabs((prefix[s] - prefix[first]) / nl - (prefix[last] - prefix[s]) / nr) *
        std::sqrt(nl * nr / (nl + nr));
    if (gain > best.gain) best = {s, gain};
  }
  return best;
}

double median_between(std::span<const double> middle, std::size_t first, std::size_t last) {
  std::vector<double> values(middle.begin() + static_cast<std::ptrdiff_t>(first),
                             middle.begin() + static_cast<std::ptrdiff_t>(last));
  return median_in_place(values);
}

}  // namespace

std::vector<LevelChange> level_changes(std::span<const double> middle, std::size_t shortest,
                                       double floor_absolute, double floor_relative,
                                       std::size_t most) {
  const std::size_t n = middle.size();
  shortest = std::max<std::size_t>(2, shortest);
  if (n < 2 * shortest) return {};
  std::vector<double> steps, magnitudes(middle.begin(), middle.end());
  for (std::size_t i = 1; i < n; ++i) steps.push_back(std::fabs(middle[i] - middle[i - 1]));
  for (double& m : magnitudes) m = std::fabs(m);
  const double size = median_in_place(magnitudes);
  // Median of |differences| of white noise is 0.6745 x sqrt(2) x sd.
  const double noise = median_in_place(steps) / (0.6745 * std::sqrt(2.0));
  const double least = std::max({kSure * noise, 1e-12 * size, std::numeric_limits<double>::min()});
  std::vector<double> prefix(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) prefix[i + 1] = prefix[i] + (middle[i] - middle[0]);
  if (!std::isfinite(prefix[n]) || !std::isfinite(noise)) return {};

  std::vector<std::size_t> cuts{0, n};
  std::vector<std::pair<std::size_t, std::size_t>> open{{0, n}};
  while (!open.empty() && cuts.size() < most + 2) {
    const auto [first, last] = open.back();
    open.pop_back();
    if (last - first < 2 * shortest) continue;
    const Split split = best_split(prefix, first, last, shortest);
    if (split.at == 0 || !(split.gain > least)) continue;
    cuts.push_back(split.at);
    open.emplace_back(first, split.at);
    open.emplace_back(split.at, last);
  }
  sort_rows(cuts);
  // The weakest boundary goes first until all that remain exceed the floors.
  for (;;) {
    std::size_t weakest = 0;
    double ratio = 1;
    for (std::size_t i = 1; i + 1 < cuts.size(); ++i) {
      const double a = median_between(middle, cuts[i - 1], cuts[i]),
                   b = median_between(middle, cuts[i], cuts[i + 1]);
      const double need =
          std::max({floor_absolute, floor_relative * std::min(std::fabs(a), std::fabs(b)),
                    std::numeric_limits<double>::min()});
      if (const double r = std::fabs(b - a) / need; r < ratio) {
        ratio = r;
        weakest = i;
      }
    }
    if (weakest == 0) break;
    cuts.erase(cuts.begin() + static_cast<std::ptrdiff_t>(weakest));
  }
  std::vector<LevelChange> out;
  for (std::size_t i = 1; i + 1 < cuts.size(); ++i) {
    LevelChange change{cuts[i] - 1, cuts[i], median_between(middle, cuts[i - 1], cuts[i]),
                       median_between(middle, cuts[i], cuts[i + 1])};
    if (!out.empty() && (out.back().to > out.back().from) == (change.to > change.from)) {
      out.back().after = change.after;
      out.back().to = change.to;
    } else {
      out.push_back(change);
    }
  }
  return out;
}

}  // namespace culprit::analyze
