#include "calls.hpp"

#include <algorithm>
#include <tuple>

#include "analyze/hang/standstill.hpp"
#include "model/sort.hpp"

namespace culprit::diagnose {

std::vector<analyze::SlowRank> slow_ranks_of(const store::Database& db,
                                             const analyze::Facts& facts) {
  std::vector<analyze::SlowRank> out;
  for (std::size_t i = 0; i < facts.groups.size(); ++i) {
    const GroupRow& g = facts.groups[i];
    if (std::max<std::size_t>(g.ranks.size(),
                              static_cast<std::size_t>(std::max<std::int64_t>(0, g.size))) < 3)
      continue;
    auto histories = db.histories(group_at(i));
    std::erase_if(histories,
                  [&](const HistoryRow& h) { return !facts.counts(facts.member(h.member)); });
    for (HistoryRow& h : histories)
      if (!h.rank) h.rank = facts.member(h.member)->rank;
    sort_by(histories,
            [&](const HistoryRow& a) { return std::tuple(a.rank, facts.order(a.member)); });
    for (const auto& slow : analyze::slow_ranks(group_at(i), histories)) out.push_back(slow);
  }
  sort_by(out, [&](const auto& a) { return std::tie(a.rank, facts.groups[index_of(a.group)]); });
  return out;
}

analyze::CollectiveReport collectives_of(const analyze::Facts& facts,
                                         const analyze::Topology& topology,
                                         const std::vector<analyze::Signal>& signals) {
  analyze::CollectiveReport out = analyze::wait_for(facts, topology);
  if (out.moving || out.timed_out > 0 || analyze::hang_reported(signals).known) return out;
  out.moving_why = analyze::went_on(facts);
  if ((out.moving = !out.moving_why.empty())) out.leaves.clear(), out.chain.clear();
  return out;
}

}  // namespace culprit::diagnose
