#include "plan/backup.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "model/sort.hpp"

namespace culprit::plan {

namespace {

constexpr std::int64_t kMostRanks = 1 << 24;
constexpr std::size_t kMostMatched =
    1024;  // ranks up to which the exact search runs; it is cubic at the worst

// Strides and sizes of a shape, so that coordinates cost one division.
struct Grid {
  explicit Grid(const Shape& shape) : host(shape.host) {
    std::int64_t stride = 1;
    for (const Dimension& d : shape.dimensions) {
      if (d.size > 1) {
        size.push_back(d.size);
        strides.push_back(stride);
      }
      stride *= d.size;
    }
    ranks = stride;
  }
  std::int64_t at(std::int64_t rank, std::size_t d) const { return rank / strides[d] % size[d]; }
  // Ranks that differ in one coordinate only share the group of that dimension.
  bool apart(std::int64_t a, std::int64_t b) const {
    int differ = 0;
    for (std::size_t d = 0; d < size.size() && differ < 2; ++d) differ += at(a, d) != at(b, d);
    return differ >= 2;
  }
  bool other_host(std::int64_t a, std::int64_t b) const {
    return host.empty() || host[static_cast<std::size_t>(a)] != host[static_cast<std::size_t>(b)];
  }
  bool good(std::int64_t a, std::int64_t b) const { return other_host(a, b) && apart(a, b); }

  std::vector<std::int64_t> size, strides;
  const std::vector<std::int32_t>& host;
  std::int64_t ranks = 1;
};

// Every coordinate moves and comes back: two ranks exchange their copies where the size is even.
std::int64_t next_of(std::int64_t c, std::int64_t size) {
  return size % 2 == 0 ? c ^ 1 : (c + 1) % size;
}
std::int64_t far_of(std::int64_t c, std::int64_t size) {
  return (c + std::max<std::int64_t>(1, size / 2)) % size;
}

// A step in two dimensions: half-way around the outer one, to machines far away, and to the
// neighbour in the inner one. With TP=2, PP=4, DP=2 this exchanges ranks 8, 9 with 2, 3 (figure 9),
// whether pp or dp runs faster.
std::vector<std::int32_t> stepped(const Grid& grid, std::size_t inner, std::size_t outer) {
  std::vector<std::int32_t> keeper(static_cast<std::size_t>(grid.ranks));
  for (std::int64_t r = 0; r < grid.ranks; ++r) {
    const std::int64_t a = grid.at(r, inner), b = grid.at(r, outer);
    keeper[static_cast<std::size_t>(r)] =
        static_cast<std::int32_t>(r + (next_of(a, grid.size[inner]) - a) * grid.strides[inner] +
                                  (far_of(b, grid.size[outer]) - b) * grid.strides[outer]);
  }
  return keeper;
}

std::vector<Rank> on_own_host(const Grid& grid, const std::vector<std::int32_t>& keeper) {
  std::vector<Rank> out;
  for (std::int64_t r = 0; r < grid.ranks; ++r)
    if (!grid.other_host(r, keeper[static_cast<std::size_t>(r)])) out.push_back(Rank(r));
  return out;
}

// Two ranks change keepers where this leaves both well placed. Most jobs have such a partner for
// everybody.
void exchange(const Grid& grid, std::vector<std::int32_t>& keeper, const std::vector<Rank>& bad,
              std::size_t budget) {
  for (const Rank rank : bad) {
    const std::int64_t r = number_of(rank);
    std::int32_t& mine = keeper[static_cast<std::size_t>(r)];
    if (grid.other_host(r, mine)) continue;
    for (std::int64_t step = 1; step < grid.ranks && budget > 0; ++step, --budget) {
      const std::int64_t s = (r + step) % grid.ranks;
      std::int32_t& theirs = keeper[static_cast<std::size_t>(s)];
      if (!grid.good(r, theirs) || !grid.apart(s, mine) ||
          (!grid.other_host(s, mine) && grid.other_host(s, theirs)))
        continue;
      std::swap(mine, theirs);
      break;
    }
  }
}

// Augmenting paths (Kuhn) over the ranks that suit as keepers: all can be placed well if this
// places all. Else what is left over keeps the copies of what is left over, when groups allow it.
class Matching {
 public:
  Matching(const Grid& grid, std::vector<std::int32_t>& keeper)
      : grid_(grid), keeper_(keeper), rank_of_(keeper.size(), -1), seen_(keeper.size(), 0) {
    for (std::size_t r = 0; r < keeper.size(); ++r)
      if (grid.other_host(static_cast<std::int64_t>(r), keeper[r]))
        rank_of_[static_cast<std::size_t>(keeper[r])] = static_cast<std::int32_t>(r);
  }

  // True when every rank got one; the keepers are as they were otherwise.
  bool run(const std::vector<Rank>& bad) {
    const std::vector<std::int32_t> before = keeper_;
    for (const Rank r : bad) {
      ++round_;
      if (!augment(static_cast<std::int32_t>(r))) {
        keeper_ = before;
        return false;
      }
    }
    return true;
  }

 private:
  // A stack of our own: a path may be as long as the job has ranks.
  bool augment(std::int32_t root) {
    struct Step {
      std::int32_t rank;
      std::int32_t next;
    };
    std::vector<Step> path{{root, 0}};
    const auto all = static_cast<std::int32_t>(keeper_.size());
    while (!path.empty()) {
      Step& top = path.back();
      bool deeper = false;
      for (; top.next < all; ++top.next) {
        const auto t = static_cast<std::size_t>(top.next);
        if (seen_[t] == round_ || !grid_.good(top.rank, top.next)) continue;
        seen_[t] = round_;
        if (rank_of_[t] < 0) {
          for (const Step& step : path) {
            rank_of_[static_cast<std::size_t>(step.next)] = step.rank;
            keeper_[static_cast<std::size_t>(step.rank)] = step.next;
          }
          return true;
        }
        const std::int32_t displaced = rank_of_[t];
        path.push_back({displaced, 0});
        deeper = true;
        break;
      }
      if (deeper) continue;
      path.pop_back();
      if (!path.empty()) ++path.back().next;
    }
    return false;
  }

  const Grid& grid_;
  std::vector<std::int32_t>& keeper_;
  std::vector<std::int32_t> rank_of_;  // of a keeper: whose copy it keeps
  std::vector<std::uint32_t> seen_;
  std::uint32_t round_ = 0;
};

std::vector<std::int32_t> next_machine(const Grid& grid) {
  // Ranks in the order of their hosts, each host as often as it comes; a step as long as the
  // largest host leaves it.
  std::vector<std::int32_t> order(static_cast<std::size_t>(grid.ranks));
  std::iota(order.begin(), order.end(), 0);
  std::int64_t largest = 1;
  if (!grid.host.empty()) {
    sort_by(order, [&](std::int32_t a) { return grid.host[static_cast<std::size_t>(a)]; });
    std::int64_t run = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      run = i > 0 && grid.host[static_cast<std::size_t>(order[i])] ==
                         grid.host[static_cast<std::size_t>(order[i - 1])]
                ? run + 1
                : 1;
      largest = std::max(largest, run);
    }
  }
  if (largest >= grid.ranks) largest = 1;
  std::vector<std::int32_t> keeper(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    keeper[static_cast<std::size_t>(order[i])] =
        order[(i + static_cast<std::size_t>(largest)) % order.size()];
  return keeper;
}

}  // namespace

std::int64_t Shape::ranks() const {
  std::int64_t all = 1;
  for (const Dimension& d : dimensions) all *= d.size;
  return all;
}

std::int64_t Shape::coordinate(Rank rank, std::size_t dimension) const {
  std::int64_t left = number_of(rank);
  for (std::size_t d = 0; d < dimension; ++d) left /= dimensions[d].size;
  return left % dimensions[dimension].size;
}

Result<Shape> make_shape(const std::string& order, const std::vector<Dimension>& sizes,
                         std::int64_t ranks_per_host) {
  Shape out;
  std::int64_t ranks = 1;
  for (const Dimension& d : sizes) {
    if (d.size < 1 || d.size > kMostRanks || (ranks *= d.size) > kMostRanks)
      return usage_error(fmt::format("a job has 1 to {} ranks; {} = {} is out of that range",
                                     kMostRanks, d.name, d.size));
  }
  if (ranks_per_host < 1 || ranks_per_host > kMostRanks)
    return usage_error(fmt::format("a host has 1 to {} ranks, not {}", kMostRanks, ranks_per_host));
  std::size_t at = 0;
  while (at <= order.size()) {
    const std::size_t end = std::min(order.find('-', at), order.size());
    const std::string word = order.substr(at, end - at);
    const auto it = std::ranges::find(sizes, word, &Dimension::name);
    if (it == sizes.end())
      return usage_error(
                 fmt::format("the order '{}' names '{}', which is not a dimension of the job",
                             order, word))
          .hint("an order is written as tp-dp-pp, fastest first");
    if (std::ranges::any_of(out.dimensions, [&](const Dimension& d) { return d.name == word; }))
      return usage_error(fmt::format("the order '{}' names '{}' twice", order, word));
    out.dimensions.push_back(*it);
    at = end + 1;
  }
  for (const Dimension& d : sizes)
    if (d.size > 1 && std::ranges::none_of(out.dimensions, [&](const Dimension& known) {
          return known.name == d.name;
        }))
      return usage_error(
          fmt::format("the order '{}' lacks '{}', which has size {}", order, d.name, d.size));
  if (ranks_per_host > 1) {
    out.host.resize(static_cast<std::size_t>(ranks));
    for (std::int64_t r = 0; r < ranks; ++r)
      out.host[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(r / ranks_per_host);
  }
  return out;
}

Result<BackupPlan> plan_backup(const Shape& shape) {
  std::int64_t ranks = 1;
  for (const Dimension& d : shape.dimensions)
    if (d.size < 1 || d.size > kMostRanks || (ranks *= d.size) > kMostRanks)
      return usage_error(fmt::format("a job has 1 to {} ranks", kMostRanks));
  if (!shape.host.empty() && shape.host.size() != static_cast<std::size_t>(ranks))
    return usage_error(fmt::format("{} hosts are told for {} ranks", shape.host.size(), ranks));
  const Grid grid(shape);
  BackupPlan out;
  if (grid.ranks == 1) {
    out.why = "a job of one rank has nobody else to keep its copy";
    return out;
  }
  if (grid.size.size() < 2) {
    out.placement = Placement::neighbours;
    out.keeper = next_machine(grid);
    out.same_host = on_own_host(grid, out.keeper);
    out.why =
        "all ranks are in one parallel group, so no rank is outside of it: copies go to the next "
        "machine, and evicting the whole group loses them";
    if (!out.same_host.empty())
      out.why += fmt::format(
          "; {} of {} stay on their own machine, since one machine has more than half of the ranks",
          out.same_host.size(), grid.ranks);
    return out;
  }
  out.placement = Placement::cross_group;
  // The outermost dimensions span machines, so those come first.
  for (std::size_t outer = grid.size.size(); outer-- > 1;)
    for (std::size_t inner = outer; inner-- > 0;) {
      auto keeper = stepped(grid, inner, outer);
      auto bad = on_own_host(grid, keeper);
      if (out.keeper.empty() || bad.size() < out.same_host.size()) {
        out.keeper = std::move(keeper);
        out.same_host = std::move(bad);
      }
      if (out.same_host.empty()) {
        out.why = "a step in two dimensions, so that no group is shared";
        return out;
      }
    }
  exchange(grid, out.keeper, out.same_host, 64 * static_cast<std::size_t>(grid.ranks) + 4096);
  out.same_host = on_own_host(grid, out.keeper);
  if (!out.same_host.empty() && out.keeper.size() <= kMostMatched) {
    Matching matching(grid, out.keeper);
    if (matching.run(out.same_host)) out.same_host.clear();
  }
  if (out.same_host.empty())
    out.why = "a step in two dimensions, with exchanges where it stayed on one machine";
  else if (out.keeper.size() <= kMostMatched)
    out.why = fmt::format(
        "no group is shared, but {} of {} copies stay on their own machine: no placement has all "
        "of them elsewhere",
        out.same_host.size(), grid.ranks);
  else
    out.why = fmt::format(
        "no group is shared, but {} of {} copies stay on their own machine: exchanges of two found "
        "no better",
        out.same_host.size(), grid.ranks);
  return out;
}

Survival after_eviction(const Shape& shape, const BackupPlan& plan, std::span<const Rank> evicted) {
  Survival out;
  const auto ranks = static_cast<std::size_t>(shape.ranks());
  std::vector<char> gone(ranks, 0);
  for (const Rank r : evicted) gone[index_of(r)] = 1;
  if (!shape.host.empty()) {
    std::vector<std::int32_t> hosts;
    for (std::size_t r = 0; r < ranks; ++r)
      if (gone[r]) hosts.push_back(shape.host[r]);
    sort_rows(hosts);
    for (std::size_t r = 0; r < ranks; ++r)
      if (!gone[r] && std::ranges::binary_search(hosts, shape.host[r])) gone[r] = 1;
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!gone[r]) continue;
    const Rank rank{static_cast<std::int64_t>(r)};
    out.evicted.push_back(rank);
    const bool kept = !plan.keeper.empty() && !gone[static_cast<std::size_t>(plan.keeper[r])];
    (kept ? out.from_copy : out.lost).push_back(rank);
  }
  return out;
}

std::vector<GroupRisk> group_risks(const Shape& shape, const BackupPlan& plan) {
  std::vector<GroupRisk> out;
  const std::int64_t ranks = shape.ranks();
  // Hosts as 0, 1, 2..., and the ranks of each.
  std::vector<std::int32_t> host(static_cast<std::size_t>(ranks));
  if (shape.host.empty()) {
    std::iota(host.begin(), host.end(), 0);
  } else {
    std::vector<std::int32_t> names = shape.host;
    sort_unique(names);
    for (std::size_t r = 0; r < host.size(); ++r)
      host[r] =
          static_cast<std::int32_t>(std::ranges::lower_bound(names, shape.host[r]) - names.begin());
  }
  std::vector<std::vector<std::int32_t>> ranks_of(
      host.empty() ? 0 : static_cast<std::size_t>(*std::ranges::max_element(host)) + 1);
  for (std::size_t r = 0; r < host.size(); ++r)
    ranks_of[static_cast<std::size_t>(host[r])].push_back(static_cast<std::int32_t>(r));

  std::int64_t stride = 1;
  for (const Dimension& d : shape.dimensions) {
    if (d.size > 1) {
      GroupRisk risk{d.name, ranks / d.size, 0};
      std::vector<std::int64_t> taken(ranks_of.size(), -1);  // the group that took this host last
      std::vector<std::int32_t> hosts;
      for (std::int64_t g = 0; g < risk.groups; ++g) {
        const std::int64_t first = g / stride * stride * d.size + g % stride;
        hosts.clear();
        for (std::int64_t i = 0; i < d.size; ++i) {
          const std::int32_t h = host[static_cast<std::size_t>(first + i * stride)];
          if (taken[static_cast<std::size_t>(h)] != g) {
            taken[static_cast<std::size_t>(h)] = g;
            hosts.push_back(h);
          }
        }
        const bool loses =
            plan.keeper.empty() || std::ranges::any_of(hosts, [&](std::int32_t h) {
              return std::ranges::any_of(
                  ranks_of[static_cast<std::size_t>(h)], [&](std::int32_t r) {
                    return taken[static_cast<std::size_t>(host[static_cast<std::size_t>(
                               plan.keeper[static_cast<std::size_t>(r)])])] == g;
                  });
            });
        risk.losing += loses ? 1 : 0;
      }
      out.push_back(std::move(risk));
    }
    stride *= d.size;
  }
  return out;
}

}  // namespace culprit::plan
