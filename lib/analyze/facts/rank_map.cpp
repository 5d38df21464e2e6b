#include "analyze/facts/rank_map.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "model/number.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

bool about_waiting(const Finding& f) {
  return f.analysis == Analysis::hang || f.analysis == Analysis::stacks ||
         f.analysis == Analysis::collectives;
}

RankState state_of(const Finding& f, bool ground) {
  if (f.analysis == Analysis::slow || f.event_class == "slow_rank")
    return ground ? RankState::slow : RankState::quiet;
  if (f.analysis == Analysis::silence) return RankState::silent;
  if (about_waiting(f))
    return ground && f.subject.kind != SubjectKind::group ? RankState::stopped : RankState::quiet;
  if (ground && f.role == Role::root) return RankState::failed;
  if (f.severity == Severity::info || f.severity == Severity::warning) return RankState::quiet;
  if (f.role == Role::root) return RankState::error;
  if (f.role == Role::cascade) return RankState::waiting;
  return f.role == Role::advice ? RankState::quiet : RankState::ended;
}

void mark(std::vector<RankState>& states, Rank rank, RankState state) {
  if (!is_rank_of(static_cast<std::int64_t>(states.size()), rank)) return;
  RankState& old = states[index_of(rank)];
  old = std::min(old, state);
}

void place_on_hosts(const Facts& facts, const Topology& topology, std::int64_t total,
                    RankMap& out) {
  std::map<Rank, Host> host_of = topology.host_of;
  for (const RankRow& r : facts.ranks)
    if (r.host) host_of.emplace(r.rank, *r.host);
  std::map<std::string, std::vector<Rank>> by_host;
  for (const auto& [rank, host] : host_of)
    if (is_rank_of(total, rank)) by_host[host].push_back(rank);
  out.hosts.assign(by_host.begin(), by_host.end());
  sort_by(out.hosts, [](const auto& a) { return std::tie(a.second, a.first); });
}

}  // namespace

RankMap rank_map(const Facts& facts, const Topology& topology, std::span<const Finding> findings,
                 const Verdict& verdict, std::int64_t most) {
  std::int64_t total = std::max<std::int64_t>(0, facts.world_size);
  for (const RankRow& r : facts.ranks)
    if (is_rank_of(most, r.rank)) total = std::max(total, number_of(r.rank) + 1);
  RankMap out;
  if (total == 0 || total > most) return out;
  out.total = total;
  if (topology.layout) {
    out.tp = topology.layout->tp;
    out.pp = topology.layout->pp;
    out.dp = topology.layout->dp;
  }
  place_on_hosts(facts, topology, total, out);
  std::vector<RankState> states(static_cast<std::size_t>(total), RankState::unseen);
  for (const RankRow& r : facts.ranks) mark(states, r.rank, RankState::quiet);
  std::set<std::string> grounds;
  for (const Target& t : verdict.targets) grounds.insert(t.because.begin(), t.because.end());
  for (const Finding& f : findings) {
    if (!f.fired()) continue;
    const RankState state = state_of(f, grounds.count(f.id) != 0);
    for (const Rank r : f.ranks) mark(states, r, state);
    if (f.subject.kind == SubjectKind::rank)
      if (const auto r = whole_number<std::int64_t>(f.subject.id)) mark(states, Rank(*r), state);
  }
  out.ranks.resize(kRankStates);
  for (std::size_t r = 0; r < states.size(); ++r)
    out.ranks[static_cast<std::size_t>(states[r])].push_back(Rank(static_cast<std::int64_t>(r)));
  return out;
}

}  // namespace culprit::analyze
