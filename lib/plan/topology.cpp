#include "plan/topology.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "model/sort.hpp"

namespace culprit::plan {

namespace {

struct Axis {
  std::int64_t size = 1, stride = 1;
};

Axis axis_of(const Shape& shape, std::string_view name) {
  Axis out;
  std::int64_t stride = 1;
  for (const Dimension& d : shape.dimensions) {
    if (d.name == name) return {d.size, stride};
    stride *= d.size;
  }
  return out;
}

std::int64_t coordinate(const Axis& axis, std::int64_t rank) {
  return rank / axis.stride % axis.size;
}

// Who stands where, and what follows from it.
class Arrangement {
 public:
  Arrangement(const Shape& shape, std::span<const SlowRank> slow, const TopologyParams& params)
      : tp_(axis_of(shape, "tp")),
        pp_(axis_of(shape, "pp")),
        dp_(axis_of(shape, "dp")),
        cp_(axis_of(shape, "cp")),
        host_(shape.host),
        params_(params),
        place_(static_cast<std::size_t>(shape.ranks())),
        at_(place_.size()) {
    std::iota(place_.begin(), place_.end(), 0);
    std::iota(at_.begin(), at_.end(), 0);
    for (const SlowRank& s : slow) {
      double& factor = slow_[number_of(s.rank)];
      factor = std::max(factor, s.slowdown);
    }
  }

  std::int64_t ranks() const { return static_cast<std::int64_t>(place_.size()); }
  std::int64_t stages() const { return pp_.size; }
  std::int64_t groups_of_stage() const { return ranks() / tp_.size / pp_.size; }
  std::int64_t ranks_of_stage() const { return ranks() / pp_.size; }
  std::int64_t place(std::int64_t rank) const { return place_[static_cast<std::size_t>(rank)]; }
  std::int64_t stage(std::int64_t place) const { return coordinate(pp_, place); }
  std::int64_t group(std::int64_t place) const {
    return place - coordinate(tp_, place) * tp_.stride;
  }  // its first place
  // Places of equal coordinates but the stage belong to one pipeline.
  std::int64_t pipeline(std::int64_t place) const {
    return group(place) - stage(place) * pp_.stride;
  }
  std::int32_t host(std::int64_t rank) const {
    return host_.empty() ? static_cast<std::int32_t>(rank) : host_[static_cast<std::size_t>(rank)];
  }
  std::int64_t slow_ranks() const { return static_cast<std::int64_t>(slow_.size()); }

  void exchange(std::int64_t place_a, std::int64_t place_b) {
    std::int64_t& a = at_[static_cast<std::size_t>(place_a)];
    std::int64_t& b = at_[static_cast<std::size_t>(place_b)];
    std::swap(a, b);
    place_[static_cast<std::size_t>(a)] = place_a;
    place_[static_cast<std::size_t>(b)] = place_b;
  }
  void exchange_groups(std::int64_t a, std::int64_t b) {
    for (std::int64_t t = 0; t < tp_.size; ++t) exchange(a + t * tp_.stride, b + t * tp_.stride);
  }

  // First places of the tensor-parallel groups with slow ranks, and how slow each is.
  std::map<std::int64_t, double> slow_groups() const {
    std::map<std::int64_t, double> out;
    for (const auto& [rank, factor] : slow_) {
      double& one = out[group(place(rank))];
      one = std::max(one, factor);
    }
    return out;
  }
  std::vector<std::int64_t> slow_stages() const {
    std::set<std::int64_t> out;
    for (const auto& [rank, factor] : slow_) out.insert(stage(place(rank)));
    return {out.begin(), out.end()};
  }

  // Of a pipeline whose stages are slowed down like this, against one that is not.
  double step(const std::map<std::int64_t, double>& factors) const {
    double sum = 0, most = 0, healthy = 0, healthy_most = 0;
    for (std::int64_t s = 0; s < pp_.size; ++s) {
      const double load = pp_.size > 1 && (s == 0 || s == pp_.size - 1) ? params_.end_load : 1;
      const auto it = factors.find(s);
      const double time = load * (it == factors.end() ? 1.0 : it->second);
      sum += time, most = std::max(most, time);
      healthy += load, healthy_most = std::max(healthy_most, load);
    }
    const auto waves = static_cast<double>(params_.micro_batches - 1);
    return (sum + waves * most) / (healthy + waves * healthy_most);
  }
  double stage_step() const {
    std::map<std::int64_t, double> factors;
    for (const auto& [first, factor] : slow_groups()) {
      double& one = factors[stage(first)];
      one = std::max(one, factor);
    }
    return step(factors);
  }
  double replica_step() const {
    std::map<std::int64_t, std::map<std::int64_t, double>> pipelines;
    for (const auto& [first, factor] : slow_groups())
      pipelines[pipeline(first)][stage(first)] = factor;
    double most = 1;
    for (const auto& [first, factors] : pipelines) most = std::max(most, step(factors));
    return most;
  }

  // What ranks of host a send to ranks of host b and back. `members`: the ranks of host a.
  LinkTraffic traffic(const std::vector<std::int64_t>& members, std::int32_t b) const {
    LinkTraffic out;
    const auto count = [&](const Axis& axis, bool ring, std::int64_t from, double mb, double& sum) {
      if (axis.size < 2) return;
      const std::int64_t c = coordinate(axis, from);
      for (const int step : {-1, 1}) {
        std::int64_t to = c + step;
        if (ring) {
          if (axis.size == 2 && step < 0) continue;  // one neighbour, not two
          to = (to + axis.size) % axis.size;
        }
        if (to < 0 || to >= axis.size) continue;
        if (host(at_[static_cast<std::size_t>(from + (to - c) * axis.stride)]) == b) sum += mb;
      }
    };
    for (const std::int64_t rank : members) {
      count(dp_, true, place(rank), params_.dp_mb, out.dp_mb);
      count(cp_, true, place(rank), params_.dp_mb, out.dp_mb);
      count(pp_, false, place(rank), params_.pp_mb, out.pp_mb);
    }
    return out;
  }

 private:
  Axis tp_, pp_, dp_, cp_;
  std::span<const std::int32_t> host_;
  TopologyParams params_;
  std::vector<std::int64_t> place_, at_;  // by rank: its place; by place: the rank there
  std::map<std::int64_t, double> slow_;
};

std::int64_t at_the_ends(const std::vector<std::int64_t>& stages, std::int64_t all) {
  return std::ranges::count_if(stages, [&](std::int64_t s) { return s == 0 || s == all - 1; });
}

// The slowest together, once the slow groups are in the fewest stages: the sum of each stage's
// slowest is then least.
Arrangement sorted_by_slowness(Arrangement now) {
  const auto slow = now.slow_groups();
  std::vector<std::pair<double, std::int64_t>> order;  // slowest first
  std::map<std::int64_t, double> worst;                // of each stage
  for (const auto& [first, factor] : slow) {
    order.emplace_back(-factor, first);
    double& one = worst[now.stage(first)];
    one = std::max(one, factor);
  }
  sort_rows(order);
  std::vector<std::int64_t> stages;
  for (const auto& [stage, factor] : worst) stages.push_back(stage);
  const auto end = [&](std::int64_t s) { return s == 0 || s == now.stages() - 1; };
  sort_by(stages, [&](std::int64_t a) { return std::pair(end(a), -worst.at(a)); });
  const auto room = static_cast<std::size_t>(now.groups_of_stage());
  std::map<std::int64_t, std::int64_t> wanted;  // stage of each slow group
  for (std::size_t i = 0; i < order.size(); ++i)
    wanted[order[i].second] = stages[std::min(i / room, stages.size() - 1)];

  // Who stands on each place of those stages; groups by the place they had, -1 for a healthy one.
  std::map<std::int64_t, std::int64_t> at;
  std::map<std::int64_t, std::vector<std::int64_t>> places;
  for (std::int64_t p = 0; p < now.ranks(); ++p)
    if (now.group(p) == p && worst.contains(now.stage(p))) {
      at[p] = slow.contains(p) ? p : -1;
      places[now.stage(p)].push_back(p);
    }
  for (const std::int64_t stage : stages)
    for (auto& [place, group] : at) {
      if (group < 0 || now.stage(place) == stage || wanted.at(group) != stage) continue;
      for (const std::int64_t other : places.at(stage)) {
        if (at.at(other) >= 0 && wanted.at(at.at(other)) == stage) continue;
        now.exchange_groups(place, other);
        std::swap(group, at.at(other));
        break;
      }
    }
  return now;
}

// Slow groups change places with healthy ones of the chosen stages.
Arrangement consolidated(Arrangement now, std::int64_t needed) {
  const auto slow = now.slow_groups();
  std::vector<std::int64_t> count(static_cast<std::size_t>(now.stages()), 0);
  for (const auto& [first, factor] : slow) ++count[static_cast<std::size_t>(now.stage(first))];
  std::vector<std::int64_t> order(count.size());
  std::iota(order.begin(), order.end(), 0);
  const auto end = [&](std::int64_t s) { return s == 0 || s == now.stages() - 1; };
  // Interior first; of those where most are already, fewest have to move.
  sort_by(order,
          [&](std::int64_t a) { return std::pair(end(a), -count[static_cast<std::size_t>(a)]); });
  order.resize(static_cast<std::size_t>(needed));
  const std::set<std::int64_t> chosen(order.begin(), order.end());

  std::vector<std::int64_t> free;  // healthy groups in the chosen stages, in the order of places
  std::set<std::int64_t> taken;
  for (std::int64_t p = 0; p < now.ranks(); ++p)
    if (now.group(p) == p && chosen.contains(now.stage(p)) && !slow.contains(p)) free.push_back(p);
  std::multimap<std::int64_t, std::int64_t> by_pipeline;
  for (const std::int64_t p : free) by_pipeline.emplace(now.pipeline(p), p);
  std::size_t next = 0;
  for (const auto& [first, factor] : slow) {
    if (chosen.contains(now.stage(first))) continue;
    std::int64_t partner = -1;
    // Within its own pipeline when that has room: its data stays with the same replica.
    for (auto [it, last] = by_pipeline.equal_range(now.pipeline(first)); it != last && partner < 0;
         ++it)
      if (!taken.contains(it->second)) partner = it->second;
    while (partner < 0 && next < free.size()) {
      if (!taken.contains(free[next])) partner = free[next];
      ++next;
    }
    if (partner < 0) break;
    taken.insert(partner);
    now.exchange_groups(first, partner);
  }
  return now;
}

struct Hosts {
  std::vector<std::int32_t> names;                 // sorted
  std::vector<std::vector<std::int64_t>> members;  // sorted ranks
};

Hosts hosts_of(const Arrangement& now) {
  Hosts out;
  for (std::int64_t r = 0; r < now.ranks(); ++r) out.names.push_back(now.host(r));
  sort_unique(out.names);
  out.members.resize(out.names.size());
  for (std::int64_t r = 0; r < now.ranks(); ++r)
    out.members[static_cast<std::size_t>(std::ranges::lower_bound(out.names, now.host(r)) -
                                         out.names.begin())]
        .push_back(r);
  return out;
}

void exchange_hosts(Arrangement& now, const std::vector<std::int64_t>& x,
                    const std::vector<std::int64_t>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) now.exchange(now.place(x[i]), now.place(y[i]));
}

// The exchange of one end of the link with another host that leaves it the least of the rings; then
// the nearest host, as that is most likely below the same switch. Nothing slow may spread by it.
bool relieve(Arrangement& now, const Hosts& hosts, std::size_t a, std::size_t b) {
  const LinkTraffic before = now.traffic(hosts.members[a], hosts.names[b]);
  const double step = now.stage_step();
  std::optional<std::tuple<double, std::size_t, double, std::size_t, std::size_t>> best;
  for (const std::size_t x : {a, b})
    for (std::size_t y = 0; y < hosts.names.size(); ++y) {
      if (y == a || y == b || hosts.members[y].size() != hosts.members[x].size()) continue;
      exchange_hosts(now, hosts.members[x], hosts.members[y]);
      const LinkTraffic after = now.traffic(hosts.members[a], hosts.names[b]);
      if (after.dp_mb < before.dp_mb) {
        const std::tuple key(after.dp_mb, x > y ? x - y : y - x, after.pp_mb, x, y);
        // The step is the dear part: only for those that would win.
        if ((!best || key < *best) && now.stage_step() <= step + 1e-12) best = key;
      }
      exchange_hosts(now, hosts.members[x], hosts.members[y]);
    }
  if (!best) return false;
  exchange_hosts(now, hosts.members[std::get<3>(*best)], hosts.members[std::get<4>(*best)]);
  return true;
}

Result<> check(const Shape& shape, std::span<const SlowRank> slow, const TopologyParams& p) {
  const std::int64_t ranks = shape.ranks();
  if (ranks < 1 || ranks > (1 << 24))
    return usage_error(fmt::format("a job has 1 to {} ranks", 1 << 24));
  if (!shape.host.empty() && static_cast<std::int64_t>(shape.host.size()) != ranks)
    return usage_error(fmt::format("{} hosts are told for {} ranks", shape.host.size(), ranks));
  for (const SlowRank& s : slow) {
    if (!is_rank_of(ranks, s.rank))
      return usage_error(
          fmt::format("rank {} is slow, but the job has ranks 0 to {}", s.rank, ranks - 1));
    if (!(s.slowdown >= 1 && s.slowdown <= 1e6))
      return usage_error(
          fmt::format("rank {} is slower by a factor from 1 to 1e6, not {}", s.rank, s.slowdown));
  }
  if (p.micro_batches < 1 || p.micro_batches > 1'000'000'000)
    return usage_error(
        fmt::format("a step has 1 to 1000000000 micro-batches, not {}", p.micro_batches));
  if (!(p.end_load >= 0.01 && p.end_load <= 100))
    return usage_error(
        fmt::format("the load of the end stages is a factor from 0.01 to 100, not {}", p.end_load));
  if (!(p.dp_mb >= 0 && p.dp_mb <= 1e12) || !(p.pp_mb >= 0 && p.pp_mb <= 1e12))
    return usage_error("traffic of a step is 0 to 1e12 MB");
  return {};
}

}  // namespace

Result<TopologyPlan> plan_topology(const Shape& shape, std::span<const SlowRank> slow_given,
                                   const std::optional<CongestedLink>& link,
                                   const TopologyParams& params) {
  CULPRIT_CHECK(check(shape, slow_given, params));
  std::vector<SlowRank> slow;
  for (const SlowRank& s : slow_given)
    if (s.slowdown > 1) slow.push_back(s);
  Arrangement now(shape, slow, params);
  if (!slow.empty() && now.stages() < 2)
    return usage_error("slow ranks go into few pipeline stages, but the job has one only")
        .hint("`culprit plan microbatch` gives slow replicas less to do");
  TopologyPlan out{.stages_before = now.slow_stages(),
                   .stage_before = now.stage_step(),
                   .replica_before = now.replica_step()};

  if (!slow.empty()) {
    const auto groups = static_cast<std::int64_t>(now.slow_groups().size());
    out.least_stages = (now.slow_ranks() + now.ranks_of_stage() - 1) / now.ranks_of_stage();
    out.needed_stages = (groups + now.groups_of_stage() - 1) / now.groups_of_stage();
    Arrangement then = consolidated(now, out.needed_stages);
    // Only where it pays: it moves groups that are in a chosen stage already.
    if (Arrangement sorted = sorted_by_slowness(then);
        sorted.stage_step() < then.stage_step() - 1e-12)
      then = std::move(sorted);
    const auto stages = then.slow_stages();
    if (then.stage_step() < out.stage_before - 1e-12) {
      now = std::move(then);
      out.why = fmt::format("{} tensor-parallel group{} with slow ranks fit into {} stage{} of {}",
                            groups, groups == 1 ? "" : "s", out.needed_stages,
                            out.needed_stages == 1 ? "" : "s", now.stages());
    } else if (at_the_ends(out.stages_before, now.stages()) > at_the_ends(stages, now.stages())) {
      out.why =
          "they are in the fewest stages already; away from the ends they would cost less only if "
          "the end stages have more to do (--end-load)";
    } else {
      out.why = "they are in the fewest stages already";
    }
  }
  if (link) {
    const Hosts hosts = hosts_of(now);
    const auto find = [&](std::int32_t name) {
      return static_cast<std::size_t>(std::ranges::lower_bound(hosts.names, name) -
                                      hosts.names.begin());
    };
    const std::size_t a = find(link->a), b = find(link->b);
    if (a >= hosts.names.size() || hosts.names[a] != link->a || b >= hosts.names.size() ||
        hosts.names[b] != link->b || a == b)
      return usage_error("a congested link is between two different hosts of the job");
    out.link_before = now.traffic(hosts.members[a], hosts.names[b]);
    const bool moved = out.link_before->dp_mb > 0 && relieve(now, hosts, a, b);
    out.link_after = now.traffic(hosts.members[a], hosts.names[b]);
    out.why += out.why.empty() ? "" : "; ";
    if (moved)
      out.why += "an end of the link changes places with another host";
    else if (out.link_before->dp_mb > 0)
      out.why += "no exchange of one host takes traffic of data parallelism off the link";
    else
      out.why += "the link carries no traffic of data parallelism";
  }
  if (slow.empty() && !link) out.why = "there is nothing slow and no congested link";
  out.stages_after = now.slow_stages();
  out.stage_after = now.stage_step();
  out.replica_after = now.replica_step();
  for (std::int64_t r = 0; r < now.ranks(); ++r)
    if (now.place(r) != r) out.moves.push_back({Rank(r), Rank(now.place(r))});
  return out;
}

}  // namespace culprit::plan
