// Ranks of trainers that a listing of processes shows without them, by the order of their numbers.
#include "analyze/facts/sibling_ranks.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace culprit::analyze {

namespace {

using RanksOfHost = std::map<Host, std::vector<const RankRow*>>;  // in the order of the ranks

RanksOfHost ranks_of_hosts(const Facts& facts) {
  RanksOfHost out;
  for (const RankRow& r : facts.ranks)
    if (r.host) out[*r.host].push_back(&r);
  return out;
}

// Dumps tell no parent: numbers without a gap were given out one after the other.
void rank_dumps(Facts& facts, const RanksOfHost& of_host) {
  std::map<Host, std::map<std::int64_t, std::vector<StackSample*>>> families;
  for (StackSample& s : facts.samples) {
    const MemberRow* m = facts.member(s.row.place.member);
    const std::optional<Host> host = s.row.host     ? s.row.host
                                     : m != nullptr ? m->host
                                                    : std::nullopt;
    if (s.role == "trainer" && s.row.pid && host)
      families[short_host(*host)][*s.row.pid].push_back(&s);
  }
  for (auto& [host, dumps] : families) {
    const auto ranks = of_host.find(host);
    const auto n = static_cast<std::int64_t>(dumps.size());
    if (n < 2 || ranks == of_host.end() || ranks->second.size() != dumps.size()) continue;
    bool in_order = dumps.rbegin()->first - dumps.begin()->first == n - 1;
    std::size_t i = 0;
    for (const auto& [pid, samples] : dumps) {
      const RankRow& row = *ranks->second[i++];
      in_order = in_order && (!row.pid || *row.pid == pid) &&
                 std::ranges::all_of(samples, [&](const StackSample* s) {
                   return !s->row.rank || *s->row.rank == row.rank;
                 });
    }
    if (!in_order) continue;
    i = 0;
    for (auto& [pid, samples] : dumps) {
      for (StackSample* s : samples) s->row.rank = ranks->second[i]->rank;
      ++i;
    }
  }
}

}  // namespace

void rank_dumped_siblings(Facts& facts) { rank_dumps(facts, ranks_of_hosts(facts)); }

void rank_siblings(Facts& facts) {
  const RanksOfHost of_host = ranks_of_hosts(facts);
  // machine, parent -> number of the process -> its rows
  std::map<std::pair<Host, std::int64_t>, std::map<std::int64_t, std::vector<ProcessRow*>>>
      families;
  for (ProcessRow& p : facts.processes) {
    const MemberRow* m = facts.member(p.place.member);
    const std::optional<Host> host = p.host ? p.host : m != nullptr ? m->host : std::nullopt;
    if (p.role == "trainer" && p.parent && host)
      families[{short_host(*host), *p.parent}][p.pid].push_back(&p);
  }
  for (auto& [key, siblings] : families) {
    const auto ranks = of_host.find(key.first);
    if (ranks == of_host.end() || ranks->second.size() != siblings.size()) continue;
    std::size_t i = 0, known = 0;
    bool in_order = true;
    for (const auto& [pid, rows] : siblings) {
      const RankRow& row = *ranks->second[i++];
      const std::optional<Rank>& told = rows.front()->rank;
      in_order = in_order && (!told || *told == row.rank) && (!row.pid || *row.pid == pid);
      known += told || row.pid == pid;
    }
    if (!in_order || known == 0) continue;
    i = 0;
    for (auto& [pid, rows] : siblings) {
      for (ProcessRow* row : rows) row->rank = ranks->second[i]->rank;
      ++i;
    }
  }
}

}  // namespace culprit::analyze
