// Covering parallel groups, and the wait-for relation.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analyze/hang/stacks.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

int preference(std::string_view dimension) {
  constexpr std::string_view kOrder[] = {"pp", "tp", "cp", "ep", "dp"};
  for (std::size_t i = 0; i < std::size(kOrder); ++i)
    if (kOrder[i] == dimension) return static_cast<int>(i);
  return 9;
}

// A rank whose host is not known stands for a machine of its own.
std::string machine_of(Rank rank, const Topology& topology) {
  const auto at = topology.host_of.find(rank);
  return at == topology.host_of.end() || at->second.empty()
             ? "rank " + std::to_string(number_of(rank))
             : std::string(at->second);
}

bool has(const std::vector<Rank>& sorted, Rank rank) {
  return std::ranges::binary_search(sorted, rank);
}

// Machines as numbers, as they come: sets of numbers are cheap.
class MachineNumbers {
 public:
  explicit MachineNumbers(const Topology& topology) : topology_(topology) {}

  // Ascending, each once.
  std::vector<int> of(const std::vector<Rank>& ranks) {
    std::vector<int> out;
    for (const Rank r : ranks) out.push_back(of_rank(r));
    sort_unique(out);
    return out;
  }

 private:
  int of_rank(Rank r) {
    const auto [at, fresh] = by_rank_.try_emplace(r, 0);
    if (fresh)
      at->second = by_name_.try_emplace(machine_of(r, topology_), static_cast<int>(by_name_.size()))
                       .first->second;
    return at->second;
  }

  const Topology& topology_;
  std::map<std::string, int> by_name_;
  std::unordered_map<Rank, int> by_rank_;
};

std::vector<Host> known_hosts(const std::vector<Rank>& ranks, const Topology& topology) {
  std::set<Host> named;
  for (const Rank r : ranks)
    if (const auto at = topology.host_of.find(r);
        at != topology.host_of.end() && !at->second.empty())
      named.insert(at->second);
  return {named.begin(), named.end()};
}

// Groups of one dimension that lie on the same machines are one group of machines (the paper's
// "PP group" is the pipelines of all tensor ranks of those machines).
struct CoverUnit {
  std::string dimension;
  std::vector<const ParallelGroup*> groups;
  std::vector<int> machines;
  std::vector<Rank> outliers;  // in it
};

// The units with an outlier: fewest machines first, then fewest groups.
std::vector<CoverUnit> units_with(const std::vector<Rank>& outliers, const Topology& topology,
                                  MachineNumbers& numbers) {
  std::map<std::pair<std::string, std::vector<int>>, CoverUnit> by_machines;
  for (const ParallelGroup& g : topology.groups) {
    if (g.dimension == "world" || g.ranks.size() < 2) continue;
    std::vector<Rank> hit;
    std::set_intersection(g.ranks.begin(), g.ranks.end(), outliers.begin(), outliers.end(),
                          std::back_inserter(hit));
    if (hit.empty()) continue;
    std::vector<int> on = numbers.of(g.ranks);
    CoverUnit& unit = by_machines[{g.dimension, on}];
    unit.dimension = g.dimension;
    unit.groups.push_back(&g);
    unit.machines = std::move(on);
    unit.outliers.insert(unit.outliers.end(), hit.begin(), hit.end());
  }
  std::vector<CoverUnit> units;
  for (auto& [key, unit] : by_machines) {
    sort_unique(unit.outliers);
    units.push_back(std::move(unit));
  }
  // The numbers of machines depend on the order of asking, so the id decides last.
  sort_by(units, [](const CoverUnit& u) {
    return std::tuple(u.machines.size(), u.groups.size(), preference(u.dimension),
                      u.groups.front()->ranks, std::string_view(u.groups.front()->id));
  });
  return units;
}

// Several units that add no machine to those of the outliers (`own`), the one with most of what is
// left first. Empty: they do not cover all, or say no more than the machines do.
std::vector<const CoverUnit*> units_within(const std::vector<CoverUnit>& units,
                                           const std::vector<Rank>& outliers,
                                           const std::vector<int>& own) {
  std::set<Rank> left(outliers.begin(), outliers.end());
  std::vector<const CoverUnit*> chosen;
  while (!left.empty() && chosen.size() < own.size()) {
    const CoverUnit* best = nullptr;
    std::size_t most = 0;
    for (const CoverUnit& unit : units) {
      if (!std::includes(own.begin(), own.end(), unit.machines.begin(), unit.machines.end()))
        continue;
      const auto gain = static_cast<std::size_t>(
          std::ranges::count_if(unit.outliers, [&](Rank r) { return left.contains(r); }));
      if (gain > most ||
          (gain == most && gain > 0 && preference(unit.dimension) < preference(best->dimension))) {
        best = &unit;
        most = gain;
      }
    }
    if (best == nullptr) break;
    chosen.push_back(best);
    for (const Rank r : best->outliers) left.erase(r);
  }
  if (!left.empty() || chosen.size() >= own.size()) chosen.clear();
  return chosen;
}

StackCover cover_of(const std::vector<const CoverUnit*>& chosen, const Topology& topology) {
  StackCover cover;
  std::set<Rank> ranks;
  for (const CoverUnit* u : chosen)
    for (const ParallelGroup* g : u->groups) {
      cover.groups.push_back(g->id);
      ranks.insert(g->ranks.begin(), g->ranks.end());
    }
  cover.dimension = chosen.front()->dimension;
  for (const CoverUnit* u : chosen)
    if (u->dimension != cover.dimension) cover.dimension.clear();
  cover.ranks.assign(ranks.begin(), ranks.end());
  cover.hosts = known_hosts(cover.ranks, topology);
  cover.shared = true;
  return cover;
}

}  // namespace

StackCover smallest_cover(const std::vector<Rank>& outliers, const Topology& topology,
                          std::size_t machines) {
  StackCover alone;  // the outliers themselves: no group has them in common
  alone.ranks = outliers;
  alone.hosts = known_hosts(outliers, topology);
  if (outliers.empty()) return alone;
  MachineNumbers numbers(topology);
  const std::vector<int> own = numbers.of(outliers);
  // Exceptions on most machines of a large job are not what a group is to blame for.
  if (own.size() > 8 && 2 * own.size() > machines) return alone;

  const std::vector<CoverUnit> units = units_with(outliers, topology, numbers);
  for (const CoverUnit& unit : units) {
    if (unit.outliers.size() < outliers.size()) continue;
    // A group that spreads over the job covers everything and says nothing.
    if (unit.machines.size() > 2 * own.size() || (machines > 1 && unit.machines.size() >= machines))
      continue;
    return cover_of({&unit}, topology);
  }
  const auto chosen = units_within(units, outliers, own);
  return chosen.empty() ? alone : cover_of(chosen, topology);
}

namespace {

// A graph of ranks and of operations between them: an operation waits for the members that are not
// in it. With nodes for operations its size is the sum of the groups', not of their squares.
class Waiting {
 public:
  Waiting(const std::vector<RankStage>& stages, const Topology& topology,
          const std::vector<Rank>& unheard, std::vector<StackWait>& waits)
      : stages_(stages), topology_(topology), silent_(unheard), waits_(waits) {
    for (std::size_t i = 0; i < stages.size(); ++i) index_.emplace(stages[i].rank, i);
    for (std::size_t g = 0; g < topology.groups.size(); ++g)
      for (const Rank r : topology.groups[g].ranks) groups_of_[r].push_back(g);
    for (const RankStage& s : stages)
      if (s.stage.doing == Doing::collective && s.stage.dimension.empty())
        for (const std::size_t g : groups_of(s.rank)) ++together_[{g, s.stack, s.stage.operation}];
    edges_.resize(stages.size());
  }

  void build() {
    std::vector<Rank> elsewhere;
    for (const RankStage& s : stages_)
      if (!s.stage.waits()) elsewhere.push_back(s.rank);
    std::map<std::string, std::size_t> operations;  // "tp/2 all_reduce" -> node
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      const RankStage& s = stages_[i];
      if (!s.stage.waits()) continue;
      if (s.stage.p2p() && neighbours(i)) continue;
      const ParallelGroup* group = s.stage.doing == Doing::collective ? group_of(s) : nullptr;
      if (group != nullptr) {
        join(i, operations, group->id, std::string(s.stage.operation),
             [&] { return missing(s, *group); });
      } else if (s.stage.doing == Doing::communicator) {
        join(i, operations, "", std::string(s.stage.operation), [&] {
          std::vector<Rank> out;
          for (const RankStage& other : stages_)
            if (!other.stage.same_operation(s.stage)) out.push_back(other.rank);
          return out;
        });
      } else {
        // Which group it is, no frame tells: it can be anybody who is in no collective; not those
        // who wait as well. Where all that have a stack wait, it can only be somebody who has none.
        join(i, operations, "",
             s.stage.doing == Doing::gpu ? "gpu" : std::string(s.stage.operation),
             [&] { return elsewhere.empty() ? silent_ : elsewhere; });
      }
    }
  }

  // Components that wait for nobody. Those of one normal stack are one sink: a thousand ranks in
  // the same open() are one cause, and so are the tensor groups of one machine.
  std::vector<StackSink> sinks(const std::vector<Rank>& outliers) {
    components();
    const std::size_t count = members_.size();
    std::vector<bool> waits(count, false);
    for (std::size_t v = 0; v < edges_.size(); ++v)
      for (const std::size_t w : edges_[v])
        if (component_[v] != component_[w]) waits[component_[v]] = true;
    // Ranks in operations that all have joined: the operation is the end of the chain, and they are
    // in it.
    std::vector<std::vector<std::size_t>> joined(count);
    for (std::size_t v = 0; v < stages_.size(); ++v)
      for (const std::size_t w : edges_[v])
        if (w >= stages_.size() && !waits[component_[w]]) joined[component_[w]].push_back(v);

    struct Candidate {
      StackSink sink;
      std::vector<std::size_t> components;
    };
    std::map<std::pair<bool, std::uint32_t>, Candidate> found;  // elsewhere, stack
    Candidate unheard;
    unheard.sink.unheard = true;
    for (std::size_t c = 0; c < count; ++c) {
      if (waits[c]) continue;
      std::vector<std::size_t> inside;
      for (const std::size_t v : members_[c]) {
        if (v < stages_.size())
          inside.push_back(v);
        else if (const auto at = unheard_.find(v); at != unheard_.end()) {
          unheard.sink.ranks.push_back(at->second);
          unheard.components.push_back(c);
        }
      }
      if (inside.empty()) inside = joined[c];
      if (inside.empty()) continue;
      const RankStage& first = stages_[*std::ranges::min_element(inside)];
      // Healthy ranks in a complete operation: nothing waits there but what is about to go on.
      const bool exceptional = std::ranges::any_of(
          inside, [&](std::size_t v) { return has(outliers, stages_[v].rank); });
      if (first.stage.waits() && !exceptional) continue;
      Candidate& candidate = found[{!first.stage.waits(), first.stack}];
      if (candidate.components.empty()) candidate.sink.stage = first.stage;
      candidate.sink.elsewhere = !first.stage.waits();
      candidate.components.push_back(c);
      for (const std::size_t v : inside) candidate.sink.ranks.push_back(stages_[v].rank);
    }
    std::vector<Candidate*> all;
    for (auto& [key, candidate] : found) all.push_back(&candidate);
    if (!unheard.components.empty()) all.push_back(&unheard);
    std::vector<StackSink> out;
    for (Candidate* candidate : all) {
      StackSink& sink = candidate->sink;
      sort_unique(sink.ranks);
      // So many different ends are no hang; how many wait for each is then not worth a walk over
      // the graph.
      sink.waiting = all.size() > 256 ? 1 : reaching(candidate->components, sink.ranks);
      // Somebody at work for whom nobody waits is no cause.
      if (sink.waiting == 0 && sink.elsewhere) continue;
      out.push_back(std::move(sink));
    }
    sort_by(out, &StackSink::ranks);
    return out;
  }

 private:
  // The pipeline's neighbours of a rank in send or recv. False when the pipeline is not known.
  bool neighbours(std::size_t i) {
    const RankStage& s = stages_[i];
    bool any = false;
    for (const std::size_t g : groups_of(s.rank)) {
      const ParallelGroup& group = topology_.groups[g];
      if (group.dimension != "pp") continue;
      const auto at = std::ranges::lower_bound(group.ranks, s.rank) - group.ranks.begin();
      const auto size = static_cast<std::ptrdiff_t>(group.ranks.size());
      StackWait wait{group.id, std::string(s.stage.operation), {s.rank}, {}};
      for (const int step : {-1, +1}) {
        if (s.stage.toward != 0 && step != s.stage.toward) continue;
        std::ptrdiff_t next = at + step;
        // Interleaved schedules go round; without a known direction the ends have one neighbour.
        if (next < 0 || next >= size) {
          if (s.stage.toward == 0) continue;
          next = (next + size) % size;
        }
        const Rank peer = group.ranks[static_cast<std::size_t>(next)];
        if (peer == s.rank) continue;
        wait.to.push_back(peer);
        const std::size_t node = node_of(peer);  // may move edges_
        edges_[i].push_back(node);
      }
      if (!wait.to.empty()) {
        waits_.push_back(std::move(wait));
        any = true;
      }
    }
    return any;
  }

  // The group a rank's collective runs on: of the dimension that its callers name; else the
  // smallest whose members are all in it (nobody is waited for there: it is the most innocent
  // reading), else the one with most in it.
  const ParallelGroup* group_of(const RankStage& s) const {
    const ParallelGroup* best = nullptr;
    double best_share = 0;
    bool complete = false;
    for (const std::size_t g : groups_of(s.rank)) {
      const ParallelGroup& group = topology_.groups[g];
      if (group.ranks.size() < 2) continue;
      if (!s.stage.dimension.empty()) {
        if (group.dimension == s.stage.dimension &&
            (best == nullptr || group.ranks.size() < best->ranks.size()))
          best = &group;
        continue;
      }
      const auto with = together_.find({g, s.stack, s.stage.operation});
      const std::size_t in = with == together_.end() ? 0 : with->second;
      const double share = static_cast<double>(in) / static_cast<double>(group.ranks.size());
      const bool whole = in == group.ranks.size();
      if (best == nullptr || (whole && !complete) ||
          (whole == complete &&
           (whole ? group.ranks.size() < best->ranks.size() : share > best_share))) {
        best = &group;
        best_share = share;
        complete = whole;
      }
    }
    // One alone in its operation, and no name to go by: which group it is nobody can say.
    if (s.stage.dimension.empty() && best != nullptr && !complete &&
        best_share * static_cast<double>(best->ranks.size()) < 1.5)
      return nullptr;
    return best;
  }

  std::vector<Rank> missing(const RankStage& s, const ParallelGroup& group) const {
    std::vector<Rank> out;
    for (const Rank r : group.ranks) {
      const auto at = index_.find(r);
      if (at == index_.end() || !stages_[at->second].stage.same_operation(s.stage))
        out.push_back(r);
    }
    return out;
  }

  void join(std::size_t i, std::map<std::string, std::size_t>& operations, const std::string& group,
            const std::string& operation, auto missing) {
    const auto [entry, fresh] = operations.try_emplace(group + " " + operation, edges_.size());
    if (fresh) {
      edges_.emplace_back();
      const std::size_t node = entry->second;
      wait_of_[node] = waits_.size();
      waits_.push_back({group, operation, {}, missing()});
      for (const Rank r : std::vector<Rank>(waits_.back().to)) {
        const std::size_t to = node_of(r);
        edges_[node].push_back(to);
      }
    }
    edges_[i].push_back(entry->second);
    waits_[wait_of_.at(entry->second)].from.push_back(stages_[i].rank);
  }

  std::size_t node_of(Rank rank) {
    const auto at = index_.find(rank);
    if (at != index_.end()) return at->second;
    const auto [entry, fresh] = unheard_nodes_.try_emplace(rank, edges_.size());
    if (fresh) {
      edges_.emplace_back();
      unheard_.emplace(entry->second, rank);
    }
    return entry->second;
  }

  const std::vector<std::size_t>& groups_of(Rank rank) const {
    static const std::vector<std::size_t> kNone;
    const auto at = groups_of_.find(rank);
    return at == groups_of_.end() ? kNone : at->second;
  }

  // Strongly connected components after Tarjan, without recursion.
  void components() {
    const std::size_t n = edges_.size();
    constexpr std::size_t kNew = SIZE_MAX;
    std::vector<std::size_t> number(n, kNew), low(n, 0), stack;
    std::vector<bool> on(n, false);
    component_.assign(n, 0);
    struct Call {
      std::size_t node, next;
    };
    std::vector<Call> calls;
    std::size_t counter = 0;
    for (std::size_t root = 0; root < n; ++root) {
      if (number[root] != kNew) continue;
      calls.push_back({root, 0});
      while (!calls.empty()) {
        const std::size_t v = calls.back().node;
        if (calls.back().next == 0) {
          number[v] = low[v] = counter++;
          stack.push_back(v);
          on[v] = true;
        }
        bool descended = false;
        while (calls.back().next < edges_[v].size()) {
          const std::size_t w = edges_[v][calls.back().next++];
          if (number[w] == kNew) {
            calls.push_back({w, 0});
            descended = true;
            break;
          }
          if (on[w]) low[v] = std::min(low[v], number[w]);
        }
        if (descended) continue;
        if (low[v] == number[v]) {
          members_.emplace_back();
          std::size_t w = 0;
          do {
            w = stack.back();
            stack.pop_back();
            on[w] = false;
            component_[w] = members_.size() - 1;
            members_.back().push_back(w);
          } while (w != v);
        }
        calls.pop_back();
        if (!calls.empty()) low[calls.back().node] = std::min(low[calls.back().node], low[v]);
      }
    }
  }

  // Ranks, other than `own`, from which one of the components can be reached.
  std::size_t reaching(const std::vector<std::size_t>& targets, const std::vector<Rank>& own) {
    if (backward_.empty()) {
      backward_.resize(edges_.size());
      for (std::size_t v = 0; v < edges_.size(); ++v)
        for (const std::size_t w : edges_[v]) backward_[w].push_back(v);
    }
    std::vector<bool> seen(edges_.size(), false);
    std::vector<std::size_t> work;
    for (const std::size_t c : targets)
      work.insert(work.end(), members_[c].begin(), members_[c].end());
    for (const std::size_t v : work) seen[v] = true;
    std::size_t count = 0;
    while (!work.empty()) {
      const std::size_t v = work.back();
      work.pop_back();
      if (v < stages_.size() && !has(own, stages_[v].rank)) ++count;
      for (const std::size_t u : backward_[v])
        if (!seen[u]) {
          seen[u] = true;
          work.push_back(u);
        }
    }
    return count;
  }

  const std::vector<RankStage>& stages_;
  const Topology& topology_;
  const std::vector<Rank>& silent_;  // of the job, without a stack
  std::vector<StackWait>& waits_;
  std::unordered_map<Rank, std::size_t> index_;
  std::unordered_map<Rank, std::vector<std::size_t>> groups_of_;
  std::map<std::tuple<std::size_t, std::uint32_t, std::string_view>, std::size_t>
      together_;  // group, stack, operation -> ranks
  std::vector<std::vector<std::size_t>> edges_, backward_, members_;
  std::vector<std::size_t> component_;
  std::map<std::size_t, std::size_t> wait_of_;
  std::map<Rank, std::size_t> unheard_nodes_;
  std::map<std::size_t, Rank> unheard_;
};

}  // namespace

void wait_for(const std::vector<RankStage>& stages, const std::vector<Rank>& outliers,
              const Topology& topology, const std::vector<Rank>& unheard,
              std::vector<StackWait>& waits, std::vector<StackSink>& sinks) {
  waits.clear();
  Waiting graph(stages, topology, unheard, waits);
  graph.build();
  sinks = graph.sinks(outliers);
  // Somebody in no collective at all is the surer cause; then whoever most wait for.
  sort_rows(sinks, [](const StackSink& a, const StackSink& b) {
    const int ka = a.elsewhere ? 0 : a.unheard ? 2 : 1, kb = b.elsewhere ? 0 : b.unheard ? 2 : 1;
    return ka != kb ? ka < kb : a.waiting > b.waiting;
  });
  std::erase_if(waits, [](const StackWait& w) { return w.to.empty(); });
  sort_by(waits, [](const StackWait& a) { return std::tie(a.from, a.group, a.operation); });
}

}  // namespace culprit::analyze
