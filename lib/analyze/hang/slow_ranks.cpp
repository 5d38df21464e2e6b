#include "analyze/hang/slow_ranks.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "model/sort.hpp"

namespace culprit::analyze {

std::vector<SlowRank> slow_ranks(GroupId group, std::span<const HistoryRow> histories,
                                 const SlowParams& params) {
  // Only operations that every rank of the group has, with a duration: sums over different
  // operations do not compare.
  struct Sum {
    double inside = 0, late = 0;
    std::size_t n = 0;
  };
  std::map<std::int64_t, std::vector<std::pair<Rank, const HistoryEntry*>>> by_sequence;
  std::map<Rank, Sum> sums;
  std::set<Rank> ranks;
  for (const HistoryRow& h : histories) {
    if (!h.rank || h.group != group || !ranks.insert(*h.rank).second) continue;
    for (const HistoryEntry& e : h.entries)
      if (e.state == 2 && e.p2p == 0 &&
          (e.duration_ms >= 0 || (e.completed_ns > e.created_ns && e.created_ns > 0)))
        by_sequence[e.sequence].emplace_back(*h.rank, &e);
  }
  std::vector<SlowRank> out;
  if (ranks.size() < 3) return out;
  std::size_t common = 0;
  for (const auto& [sequence, entries] : by_sequence) {
    if (entries.size() != ranks.size()) continue;
    if (std::ranges::adjacent_find(entries, [](const auto& a, const auto& b) {
          return a.first == b.first;
        }) != entries.end())
      continue;  // one twice, another not at all
    if (std::ranges::any_of(entries, [&entries = entries](const auto& e) {
          return e.second->signature != entries[0].second->signature;
        }))
      continue;
    ++common;
    std::vector<Nanoseconds> created;
    for (const auto& [rank, e] : entries) created.push_back(e->created_ns);
    std::nth_element(created.begin(),
                     created.begin() + static_cast<std::ptrdiff_t>(created.size() / 2),
                     created.end());
    const Nanoseconds median = created[created.size() / 2];
    for (const auto& [rank, e] : entries) {
      Sum& s = sums[rank];
      s.inside += e->duration_ms >= 0 ? static_cast<double>(e->duration_ms)
                                      : static_cast<double>(e->completed_ns - e->created_ns) / 1e6;
      s.late += static_cast<double>(e->created_ns - median) / 1e6;
      ++s.n;
    }
  }
  if (common < params.at_least) return out;
  double total = 0;
  for (const auto& [rank, s] : sums) total += s.inside;
  for (const auto& [rank, s] : sums) {
    const double others = (total - s.inside) / static_cast<double>(ranks.size() - 1);
    if (s.inside >= params.least_share * others) continue;
    out.push_back({group, rank, s.inside / static_cast<double>(s.n),
                   others / static_cast<double>(s.n), s.late / static_cast<double>(s.n), s.n});
  }
  sort_by(out, [](const SlowRank& a) { return std::tuple(a.inside_ms / a.others_ms, a.rank); });
  return out;
}

}  // namespace culprit::analyze
