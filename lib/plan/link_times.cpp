#include "plan/link_times.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

#include "model/median.hpp"
#include "model/sort.hpp"

namespace culprit::plan {

namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double kTukey = 4.685;  // 95 % as efficient as least squares where nothing is off
constexpr double kLeastSpread =
    0.005;                      // clocks and message sizes: nobody measures closer than this
constexpr double kPrior = 0.1;  // weight of "like all others": a transfer more, of so little weight
constexpr int kRounds = 8;
constexpr std::size_t kSides = 3;  // transfers each way that let both be told apart

struct Pair {
  std::size_t from = 0, to = 0;  // unknowns: hosts, or senders and then receivers
  double y = 0;                  // log of the time, less the common part
};

// What each unknown adds, by all pairs it is in.
class Solve {
 public:
  Solve(std::vector<Pair> pairs, std::size_t unknowns)
      : pairs_(std::move(pairs)), of_(unknowns), effect_(VectorXd::Zero(index(unknowns))) {
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      of_[pairs_[p].from].push_back(p);
      of_[pairs_[p].to].push_back(p);
    }
    // Of the pairs themselves, not of what the fit leaves: with few pairs a host it leaves nothing.
    std::vector<double> sizes;
    for (const Pair& p : pairs_) sizes.push_back(std::fabs(p.y));
    spread_ = std::max(kLeastSpread, 1.4826 * median_of(std::move(sizes)));
  }

  void run() {
    start();
    for (int round = 0; round < kRounds; ++round) refine();
  }

  double residual(std::size_t p) const {
    return pairs_[p].y - effect(pairs_[p].from) - effect(pairs_[p].to);
  }
  double effect(std::size_t unknown) const { return effect_[index(unknown)]; }
  double spread() const { return spread_; }
  std::size_t unknowns() const { return of_.size(); }
  const std::vector<std::size_t>& pairs_of(std::size_t unknown) const { return of_[unknown]; }
  // In deviations of an estimate from so many transfers.
  double score(std::size_t unknown, double effect) const {
    const double count = static_cast<double>(std::max<std::size_t>(1, of_[unknown].size()));
    return effect / (spread_ / std::sqrt(count));
  }
  // A pair as this one of its ends sees it, when the other is taken off.
  double seen_by(std::size_t unknown, std::size_t p) const { return residual(p) + effect(unknown); }

 private:
  static Index index(std::size_t i) { return static_cast<Index>(i); }

  // By medians, the largest first: what one slow host explains of its partners is not theirs.
  void start() {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t u = 0; u < of_.size(); ++u) order.emplace_back(-seen(u), u);
    sort_rows(order);
    for (const auto& [value, u] : order) effect_[index(u)] = seen(u);
  }
  double seen(std::size_t unknown) const {
    std::vector<double> values;
    for (const std::size_t p : of_[unknown]) values.push_back(seen_by(unknown, p));
    return std::max(0.0, low_median_of(std::move(values)));
  }

  void refine() {
    std::vector<Eigen::Triplet<double>> entries;
    VectorXd right = VectorXd::Zero(effect_.size());
    for (std::size_t u = 0; u < of_.size(); ++u) entries.emplace_back(index(u), index(u), kPrior);
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const double far = residual(p) / (kTukey * spread_);
      if (std::fabs(far) >= 1) continue;
      const double w = (1 - far * far) * (1 - far * far);
      const Index a = index(pairs_[p].from), b = index(pairs_[p].to);
      entries.emplace_back(a, a, w);
      entries.emplace_back(b, b, w);
      entries.emplace_back(a, b, w);
      entries.emplace_back(b, a, w);
      right[a] += w * pairs_[p].y;
      right[b] += w * pairs_[p].y;
    }
    Eigen::SparseMatrix<double> matrix(effect_.size(), effect_.size());
    matrix.setFromTriplets(entries.begin(), entries.end());
    Eigen::ConjugateGradient<Eigen::SparseMatrix<double>, Eigen::Lower | Eigen::Upper> solver;
    solver.setTolerance(1e-9);
    solver.compute(matrix);
    const VectorXd next = solver.solveWithGuess(right, effect_);
    if (next.allFinite()) effect_ = next;
  }

  std::vector<Pair> pairs_;
  std::vector<std::vector<std::size_t>> of_;
  VectorXd effect_;
  double spread_ = kLeastSpread;
};

// Who is slow with its partners. The fit proposes, the most certain first; each is then measured by
// what those before it leave of its transfers. Where a very slow host's transfers have lost their
// weight, the fit gives a part of them to a partner, and that one has nothing left here.
struct Blame {
  struct One {
    std::size_t unknown;
    double effect;
    std::size_t slow;  // of its transfers
  };
  std::vector<One> hosts;
  std::vector<double> effect;  // by unknown; 0: not blamed

  Blame(const Solve& solve, const std::vector<Pair>& pairs, const LinkTimeParams& params)
      : effect(solve.unknowns(), 0) {
    const double least = std::log(params.factor);
    const auto enough = [&](std::size_t u, double value) {
      return value >= least && solve.score(u, value) >= params.threshold;
    };
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t u = 0; u < effect.size(); ++u)
      if (solve.pairs_of(u).size() >= params.of_a_host && enough(u, solve.effect(u)))
        order.emplace_back(-solve.score(u, solve.effect(u)), u);
    sort_rows(order);
    for (const auto& [rank, u] : order) {
      std::vector<double> seen;
      for (const std::size_t p : solve.pairs_of(u)) seen.push_back(left_of(pairs[p]));
      const double value = low_median_of(seen);
      if (!enough(u, value)) continue;
      const auto slow = static_cast<std::size_t>(
          std::ranges::count_if(seen, [&](double one) { return one >= value / 2; }));
      // Of few, all must be; of many, most.
      if (3 * slow < 2 * seen.size() || (seen.size() < 4 && slow < seen.size())) continue;
      effect[u] = value;
      hosts.push_back({u, value, slow});
    }
  }
  double left_of(const Pair& pair) const { return pair.y - effect[pair.from] - effect[pair.to]; }
};

bool each_way(std::span<const LinkTime> links, std::size_t hosts) {
  std::vector<std::size_t> out(hosts), in(hosts);
  for (const LinkTime& l : links) ++out[l.from], ++in[l.to];
  for (std::size_t h = 0; h < hosts; ++h)
    if (out[h] + in[h] > 0 && (out[h] < kSides || in[h] < kSides)) return false;
  return true;
}

// Links that stay far off lose their weight, and all links of a host that is very slow do. A host
// of two partners or more, with whom it is slow each time, is slow itself: one cause instead of
// several. Of several such hosts the one comes first whose partners are well with others.
class WholeHosts {
 public:
  WholeHosts(std::span<const LinkTime> links, std::vector<double>& over, std::size_t hosts,
             double slow)
      : links_(links), over_(over), slow_(slow), of_(hosts) {
    for (std::size_t p = 0; p < links.size(); ++p) {
      of_[links[p].from].push_back(p);
      of_[links[p].to].push_back(p);
    }
  }

  // The next of them, by its links; what it explains is taken from their excess. Empty: none.
  std::optional<std::pair<std::size_t, double>> next() {
    std::optional<std::size_t> best;
    std::pair<std::size_t, std::size_t> weight{0, 0};
    for (std::size_t h = 0; h < of_.size(); ++h) {
      const std::set<std::size_t> with = partners(h);
      if (with.size() < 2 || !all_slow(h)) continue;
      std::size_t well = 0;
      for (const std::size_t other : with) well += all_slow(other) ? 0 : 1;
      const std::pair here(well, of_[h].size());
      if (!best || here > weight) best = h, weight = here;
    }
    if (!best) return std::nullopt;
    std::vector<double> excess;
    for (const std::size_t p : of_[*best]) excess.push_back(over_[p]);
    const double effect = median_of(std::move(excess));
    for (const std::size_t p : of_[*best]) over_[p] -= effect;
    return std::pair(*best, effect);
  }
  std::size_t links_of(std::size_t host) const { return of_[host].size(); }

 private:
  bool all_slow(std::size_t host) const {
    return !of_[host].empty() &&
           std::ranges::all_of(of_[host], [&](std::size_t p) { return over_[p] >= slow_; });
  }
  std::set<std::size_t> partners(std::size_t host) const {
    std::set<std::size_t> out;
    for (const std::size_t p : of_[host])
      out.insert(links_[p].from == host ? links_[p].to : links_[p].from);
    return out;
  }

  std::span<const LinkTime> links_;
  std::vector<double>& over_;
  double slow_;
  std::vector<std::vector<std::size_t>> of_;
};

}  // namespace

LinkTimes attribute_link_times(std::span<const LinkTime> times, std::size_t hosts,
                               const LinkTimeParams& params) {
  LinkTimes out;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> measured;
  for (const LinkTime& t : times) {
    if (!(t.time > 0) || !std::isfinite(t.time) || t.from >= hosts || t.to >= hosts ||
        t.from == t.to)
      ++out.unusable;
    else
      measured[{t.from, t.to}].push_back(std::log(t.time));
  }
  std::vector<LinkTime> links;
  std::vector<double> all;
  for (const auto& [pair, values] : measured) {
    links.push_back({pair.first, pair.second, median_of(values)});
    all.push_back(links.back().time);
  }
  out.enough = links.size() >= params.least;
  if (!out.enough) return out;
  const double common = median_of(all);
  out.middle = std::exp(common);
  const bool two = each_way(links, hosts);
  std::vector<Pair> pairs;
  for (const LinkTime& l : links)
    pairs.push_back({l.from, two ? hosts + l.to : l.to, l.time - common});
  Solve solve(pairs, two ? 2 * hosts : hosts);
  solve.run();
  out.spread = solve.spread();
  const double least = std::log(params.factor);
  Blame blame(solve, pairs, params);
  for (const auto& [u, effect, slow] : blame.hosts) {
    const std::size_t links_of = solve.pairs_of(u).size();
    out.hosts.push_back({u % hosts,
                         !two        ? SlowEnd::Side::both
                         : u < hosts ? SlowEnd::Side::sends
                                     : SlowEnd::Side::receives,
                         std::exp(effect), solve.score(u, effect), slow, links_of});
  }
  std::vector<double> over;
  for (const Pair& pair : pairs) over.push_back(blame.left_of(pair));
  WholeHosts whole(links, over, hosts, std::max(least, params.threshold * out.spread));
  while (const auto one = whole.next()) {
    const std::size_t count = whole.links_of(one->first);
    out.hosts.push_back({one->first, SlowEnd::Side::both, std::exp(one->second),
                         one->second / (out.spread / std::sqrt(static_cast<double>(count))), count,
                         count});
  }
  for (std::size_t p = 0; p < links.size(); ++p) {
    const double expected = pairs[p].y - over[p], score = over[p] / out.spread;
    if (over[p] < least || score < params.threshold) continue;
    out.links.push_back(
        {links[p].from, links[p].to, std::exp(links[p].time), std::exp(common + expected), score});
    for (const std::size_t end : {pairs[p].from, pairs[p].to})
      if (solve.pairs_of(end).size() < params.of_a_host) out.once.push_back(end % hosts);
  }
  const auto worse = [](const auto& a, const auto& b) { return a.score > b.score; };
  sort_rows(out.hosts, worse);
  sort_rows(out.links, worse);
  sort_unique(out.once);
  return out;
}

}  // namespace culprit::plan
