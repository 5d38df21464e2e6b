#include "analyze/pace/pauses.hpp"

#include <algorithm>

#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kPairs = 40;  // partners of an excess that are tried: its next ones
constexpr std::size_t kTried = 60;  // phases of a period
constexpr int kMost = 4;

// Members of the grid phase + k * period among `free`, and how many places it has between its first
// and last member.
std::vector<std::size_t> on_grid(std::span<const Excess> at, const std::vector<std::size_t>& free,
                                 std::size_t from, std::size_t period, std::size_t tolerance) {
  std::vector<std::size_t> out;
  // The grid follows its members, so that an error of the period does not add up.
  std::size_t anchor = at[from].start;
  for (const std::size_t i : free) {
    if (at[i].start < at[from].start) continue;
    const std::size_t distance = at[i].start - anchor;
    const std::size_t rest = distance % period;
    if (i != from && distance < period - tolerance) continue;
    if (rest > tolerance && period - rest > tolerance) continue;
    anchor = at[i].start;
    out.push_back(i);
  }
  return out;
}

}  // namespace

std::vector<Recurrence> find_recurrences(std::span<const Excess> at, std::size_t size,
                                         std::size_t least) {
  std::vector<Recurrence> out;
  std::vector<std::size_t> free(at.size());
  for (std::size_t i = 0; i < at.size(); ++i) free[i] = i;
  least = std::max<std::size_t>(least, 3);
  for (int round = 0; round < kMost && free.size() >= least; ++round) {
    Recurrence best;
    // Periods by how often they are a distance; the common ones are tried from several phases.
    std::vector<std::size_t> distances;
    for (std::size_t i = 0; i < free.size() && distances.size() < 200'000; ++i)
      for (std::size_t j = i + 1; j < free.size() && j <= i + kPairs; ++j) {
        const std::size_t d = at[free[j]].start - at[free[i]].start;
        if (d >= 4 && d <= size / 2) distances.push_back(d);
      }
    sort_rows(distances);
    std::vector<std::pair<std::size_t, std::size_t>> common;  // count, period
    for (std::size_t i = 0; i < distances.size();) {
      std::size_t j = i;
      while (j < distances.size() && distances[j] == distances[i]) ++j;
      common.emplace_back(j - i, distances[i]);
      i = j;
    }
    sort_rows(common, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    if (common.size() > 12) common.resize(12);
    // Exact grids first: what stands a little off one is a stranger unless it makes the grid much
    // fuller.
    for (const bool exact : {true, false})
      for (const auto& [count, period] : common) {
        std::size_t tried = 0;
        for (std::size_t f = 0; f < free.size() && tried < kTried; ++f) {
          if (f > 30 && f * 2 > free.size()) break;
          ++tried;
          const std::size_t length = at[free[f]].length;
          const std::size_t loose = std::min(
              length > 15 ? std::max<std::size_t>(3, period / 100) : std::size_t{1}, period / 4);
          const std::size_t tolerance = exact ? 0 : loose;
          auto members = on_grid(at, free, free[f], period, tolerance);
          if (members.size() < least ||
              members.size() <= best.members.size() + (exact ? 0 : best.members.size() / 4))
            continue;
          const std::size_t span = at[members.back()].start - at[members.front()].start;
          const std::size_t places = (span + period / 2) / period + 1;
          if (members.size() * 4 < places * 3) continue;
          // A few fall on some grid by chance: then they must be most of all, and reach over most
          // of the time.
          if (members.size() < 5 && (span * 2 < size || members.size() * 2 < free.size())) continue;
          const double density = static_cast<double>(free.size()) *
                                 static_cast<double>(2 * tolerance + 1) /
                                 static_cast<double>(std::max<std::size_t>(size, 1));
          if (density * static_cast<double>(places) * 2 > static_cast<double>(members.size()))
            continue;
          best = {period, std::move(members)};
        }
      }
    if (best.members.empty()) break;
    std::vector<std::size_t> rest;
    std::set_difference(free.begin(), free.end(), best.members.begin(), best.members.end(),
                        std::back_inserter(rest));
    free = std::move(rest);
    out.push_back(std::move(best));
  }
  return out;
}

}  // namespace culprit::analyze
