#include "analyze/hang/work_requests.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analyze/hang/citation.hpp"
#include "model/phrases.hpp"
#include "model/ranges.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

// Counters compare within one communicator, and for one operation where they are kept so.
using OperationKey = std::pair<GroupId, std::string>;
using Counters = std::map<OperationKey, std::vector<const FrontierRow*>>;

Counters counters_of(const Facts& facts, const Communicators& communicators) {
  Counters out;
  for (const FrontierRow& f : facts.frontiers) {
    if (f.source != CollectiveSource::work_requests || !f.rank ||
        !facts.counts(facts.member(f.place.member)))
      continue;
    out[{communicators.canonical(f.group), f.operation}].push_back(&f);
  }
  return out;
}

bool open(const FrontierRow& f) {
  return f.requests >= 0 && f.completions >= 0 && f.requests != f.completions;
}

bool all_equal(const std::vector<const FrontierRow*>& rows) {
  return std::ranges::all_of(
      rows, [&](const FrontierRow* f) { return f->enqueued == rows.front()->enqueued; });
}

// Sends of a pipeline do not compare between ranks, nor sums over communicators that differ.
bool compare(const Facts& facts, GroupId id, const std::vector<const FrontierRow*>& rows) {
  const GroupRow* group = facts.group(id);
  if (group != nullptr && group->description == kSumOfCommunicators && !all_equal(rows))
    return false;
  return !rows.front()->p2p && (group == nullptr || !rows.front()->operation.empty() ||
                                dimension_of(group->name) != "pp");
}

// Ranks that have launched what a peer has not: they wait for it, which also explains requests of
// theirs that are not over.
std::set<Rank> ahead_of_a_peer(const Facts& facts, const Counters& counters) {
  std::set<Rank> out;
  for (const auto& [key, rows] : counters) {
    if (!compare(facts, key.first, rows) || all_equal(rows)) continue;
    const auto low =
        std::ranges::min_element(rows, {}, [](const FrontierRow* a) { return a->enqueued; });
    for (const FrontierRow* f : rows)
      if (f->enqueued > (*low)->enqueued) out.insert(*f->rank);
  }
  return out;
}

std::set<Rank> ranks_of(const std::vector<const FrontierRow*>& rows) {
  std::set<Rank> out;
  for (const FrontierRow* f : rows) out.insert(*f->rank);
  return out;
}

struct Narrowed {
  std::vector<const FrontierRow*> open;
  std::size_t members = 0;
};

// The counters of the communicator on which the leaf was seen: by its name, or by its members.
Narrowed counters_of(const Leaf& leaf, const Counters& counters,
                     const Communicators& communicators) {
  const GroupId group = communicators.canonical(leaf.group);
  for (const bool by_name : {true, false})
    for (const auto& [key, rows] : counters) {
      const bool same_operation =
          key.second.empty() || leaf.operation.empty() || key.second == leaf.operation;
      const std::set<Rank> ranks = ranks_of(rows);
      const bool same_members =
          std::equal(ranks.begin(), ranks.end(), leaf.ranks.begin(), leaf.ranks.end());
      if (!same_operation || !(by_name ? key.first == group : same_members)) continue;
      Narrowed out;
      out.members = ranks.size();
      for (const FrontierRow* f : rows)
        if (open(*f)) out.open.push_back(f);
      if (!out.open.empty()) return out;
    }
  return {};
}

Text operation_named(const Leaf& leaf) {
  return leaf.operation.empty() ? Text("operation " + std::to_string(leaf.sequence))
                                : Text(leaf.operation + " " + std::to_string(leaf.sequence));
}

// One leaf a pair of ranks.
std::vector<Leaf> leaves_of_pairs(const Leaf& leaf, const Narrowed& found, const Facts& facts,
                                  const Topology& topology) {
  std::map<std::pair<Rank, Rank>, Leaf> pairs;
  std::map<std::pair<Rank, Rank>, std::int64_t> requests;
  for (const FrontierRow* f : found.open) {
    const std::pair ends(*f->rank, f->peer);
    requests[ends] += std::abs(f->requests - f->completions);
    Leaf& one = pairs.try_emplace(ends, leaf).first->second;
    one.ranks = {std::min(*f->rank, f->peer), std::max(*f->rank, f->peer)};
    one.requests = true;
    one.places = {cited(facts, *f)};
    one.why = say(Phrase::requests_not_over_between, found.members, group_name(facts, leaf.group),
                  operation_named(leaf), requests[ends], topology.where(*f->rank),
                  topology.where(f->peer));
  }
  std::vector<Leaf> out;
  for (auto& [ends, one] : pairs) out.push_back(std::move(one));
  return out;
}

}  // namespace

WaitRows rows_of_requests(CollectiveSource, const Facts& facts,
                          const Communicators& communicators) {
  WaitRows out;
  for (const MemberRow& m : facts.members)
    if (m.attempt && m.lines > 0 && facts.counts(&m))
      out.last_attempt = std::max(out.last_attempt, *m.attempt);
  const Counters counters = counters_of(facts, communicators);
  const std::set<Rank> ahead = ahead_of_a_peer(facts, counters);
  for (const auto& [key, rows] : counters) {
    if (!compare(facts, key.first, rows)) continue;
    const bool equal = all_equal(rows);
    const bool waits =
        std::ranges::any_of(rows, [&](const FrontierRow* f) { return ahead.count(*f->rank) != 0; });
    const bool unfinished =
        !waits && std::ranges::any_of(rows, [](const FrontierRow* f) { return open(*f); });
    for (const FrontierRow* f : rows) {
      FrontierRow& row = out.made.emplace_back(*f);
      row.group = key.first;
      if (equal && !waits) row.completed = row.enqueued - (unfinished ? 1 : 0);
    }
  }
  for (const FrontierRow& row : out.made) out.frontiers.push_back(&row);
  return out;
}

void narrow_to_requests(CollectiveReport& report, const Facts& facts, const Topology& topology,
                        const Communicators& communicators) {
  const Counters counters = counters_of(facts, communicators);
  if (counters.empty()) return;
  std::vector<Leaf> leaves;
  for (Leaf& leaf : report.leaves) {
    const Narrowed found =
        leaf.kind == StopKind::network ? counters_of(leaf, counters, communicators) : Narrowed{};
    const bool pairs =
        !found.open.empty() &&
        std::ranges::all_of(found.open, [](const FrontierRow* f) { return f->peer != kNoRank; });
    const std::set<Rank> ends = ranks_of(found.open);
    if (pairs) {
      for (Leaf& one : leaves_of_pairs(leaf, found, facts, topology))
        leaves.push_back(std::move(one));
      continue;
    }
    if (!ends.empty() && ends.size() < found.members) {
      leaf.ranks.assign(ends.begin(), ends.end());
      leaf.requests = true;
      leaf.why = say(Phrase::requests_not_over, found.members, group_name(facts, leaf.group),
                     operation_named(leaf),
                     (leaf.ranks.size() == 1 ? "rank " : "ranks ") + to_ranges(leaf.ranks));
      leaf.places.clear();
      for (const FrontierRow* f : found.open) leaf.places.push_back(cited(facts, *f));
    }
    leaves.push_back(std::move(leaf));
  }
  report.leaves = std::move(leaves);
}

std::vector<SlowRequests> slow_requests(const Facts& facts, const Communicators& communicators,
                                        const RequestParams& params) {
  constexpr double kMegabyte = 1e6;
  std::vector<SlowRequests> out;
  for (const auto& [key, rows] : counters_of(facts, communicators)) {
    std::vector<SlowRequests> told;
    for (const FrontierRow* f : rows)
      if (f->recent_bytes > 0 && f->recent_ms > 0)
        told.push_back({key.first, *f->rank, f->peer,
                        f->recent_ms / (static_cast<double>(f->recent_bytes) / kMegabyte), 0, f});
    sort_by(told, [](const SlowRequests& a) { return std::tie(a.ms_per_mb, a.rank, a.peer); });
    if (told.size() < params.ranks) continue;
    // Those that are slow stand at the end.
    std::size_t kept = told.size();
    double mean = 0;
    for (bool fewer = true; fewer && kept > 0;) {
      mean = 0;
      for (std::size_t i = 0; i < kept; ++i) mean += told[i].ms_per_mb;
      mean /= static_cast<double>(kept);
      const std::size_t before = kept;
      while (kept > 0 && told[kept - 1].ms_per_mb > params.slow * mean) --kept;
      fewer = kept < before;
    }
    // More than half is no group of which some are slow.
    if (2 * kept < told.size()) continue;
    for (std::size_t i = kept; i < told.size(); ++i) {
      told[i].others_ms_per_mb = mean;
      out.push_back(told[i]);
    }
  }
  sort_by(out, [](const SlowRequests& a) { return std::tuple(-a.factor(), a.rank, a.peer); });
  return out;
}

}  // namespace culprit::analyze
