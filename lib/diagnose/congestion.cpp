#include "congestion.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "analyze/hang/collectives.hpp"
#include "analyze/hang/work_requests.hpp"
#include "model/phrases.hpp"
#include "pace.hpp"

namespace culprit::diagnose {

namespace {

std::vector<Host> ends_of(const std::vector<Rank>& ranks, const analyze::Topology& topology) {
  const bool known =
      std::ranges::all_of(ranks, [&](Rank r) { return topology.host_of.contains(r); });
  return known ? topology.hosts_of(ranks) : std::vector<Host>();
}

// The machine that is an end of all pairs, when these are several.
std::optional<Host> common_end(const std::set<std::vector<Host>>& pairs) {
  if (pairs.size() < 2) return std::nullopt;
  for (const Host& end : *pairs.begin())
    if (std::ranges::all_of(
            pairs, [&](const auto& pair) { return std::ranges::binary_search(pair, end); }))
      return end;
  return std::nullopt;
}

}  // namespace

Congestion congestion_of(const store::Database& db, const Resolved& incident) {
  const auto& [facts, topology] = incident;
  Congestion out;
  for (const analyze::SlowRequests& s :
       analyze::slow_requests(facts, analyze::Communicators(facts))) {
    const bool told = s.peer != kNoRank;
    out.seen.push_back({fmt::format("rank {}", s.rank),
                        told ? ends_of({s.rank, s.peer}, topology) : std::vector<Host>(),
                        say(Phrase::requests_take, analyze::group_name(facts, s.group), s.factor(),
                            s.ms_per_mb, told ? topology.where(s.peer) : std::string())});
  }
  for (const Finding& f : slow_groups_of(db, facts))
    out.seen.push_back({f.subject.id, ends_of(f.ranks, topology), f.title});

  std::set<std::vector<Host>> pairs;
  for (const SlowTransfers& s : out.seen)
    if (s.hosts.size() == 2 && pairs.insert(s.hosts).second && !out.link) out.link = s;
  out.machine = common_end(pairs);
  if (out.machine) out.link.reset();
  return out;
}

}  // namespace culprit::diagnose
