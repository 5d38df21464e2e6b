#include "analyze/pace/unequal_load.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "model/median.hpp"

namespace culprit::analyze {

namespace {

using ByRank = std::map<Rank, std::vector<double>>;

// Each rank's value less the middle one, iteration by iteration; NaN where too few tell.
ByRank from_the_middle(const ByRank& values, std::size_t iterations, std::size_t least) {
  ByRank out;
  for (const auto& [rank, of_rank] : values) out[rank].assign(iterations, kNoFigure);
  for (std::size_t i = 0; i < iterations; ++i) {
    std::vector<double> all;
    for (const auto& [rank, of_rank] : values)
      if (std::isfinite(of_rank[i])) all.push_back(of_rank[i]);
    if (all.size() < least) continue;
    const double middle = median_of(std::move(all));
    for (const auto& [rank, of_rank] : values) out[rank][i] = of_rank[i] - middle;
  }
  return out;
}

double correlation(const ByRank& a, const ByRank& b) {
  double ab = 0, aa = 0, bb = 0;
  for (const auto& [rank, of_rank] : a) {
    const auto other = b.find(rank);
    if (other == b.end()) continue;
    for (std::size_t i = 0; i < of_rank.size(); ++i) {
      if (!std::isfinite(of_rank[i]) || !std::isfinite(other->second[i])) continue;
      ab += of_rank[i] * other->second[i];
      aa += of_rank[i] * of_rank[i];
      bb += other->second[i] * other->second[i];
    }
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

// The load that the work follows best.
void follow(const ByRank& work, std::span<const PartSeries> loads, std::size_t iterations,
            std::size_t least, UnequalLoad& out) {
  std::map<std::string, ByRank> by_name;
  for (const PartSeries& load : loads)
    if (load.ms.size() == iterations) by_name[load.name][load.rank] = load.ms;
  for (const auto& [name, values] : by_name)
    if (const double r = correlation(work, from_the_middle(values, iterations, least));
        r > out.correlation)
      out.correlation = r, out.load = name;
}

}  // namespace

std::optional<UnequalLoad> unequal_load(const SlowPartsInput& input,
                                        std::span<const PartSeries> loads,
                                        const UnequalLoadParams& params) {
  const OwnParts own = own_parts(input);
  if (own.sums.size() < params.ranks) return std::nullopt;
  const std::size_t n = input.iterations.size();
  const ByRank work = from_the_middle(own.sums, n, params.ranks);
  std::vector<double> excess, steps;
  std::map<Rank, std::size_t> firsts;
  for (std::size_t i = 0; i < n; ++i) {
    if (input.iterations[i] < input.first || input.iterations[i] > input.last) continue;
    std::optional<Rank> first;
    double most = 0;
    for (const auto& [rank, of_rank] : work)
      if (of_rank[i] > most) most = of_rank[i], first = rank;
    if (!first) continue;
    ++firsts[*first];
    excess.push_back(most);
    if (i < input.iteration_ms.size() && std::isfinite(input.iteration_ms[i]))
      steps.push_back(input.iteration_ms[i]);
  }
  if (excess.size() * own.sums.size() < params.readings || steps.empty()) return std::nullopt;
  UnequalLoad out;
  std::size_t most = 0;
  for (const auto& [rank, times] : firsts) most = std::max(most, times);
  out.leads = static_cast<double>(most) / static_cast<double>(excess.size());
  const std::size_t told = excess.size();
  out.excess_ms = median_of(std::move(excess));
  out.iteration_ms = median_of(std::move(steps));
  out.part = own.largest;
  follow(work, loads, n, params.ranks, out);
  if (out.correlation < params.follows) out.load.clear(), out.correlation = 0;
  std::vector<double> usual;
  for (const auto& [rank, of_rank] : own.sums) {
    const Halves h = halves(of_rank, input);
    if (h.within > 0) usual.push_back(h.inside);
  }
  const bool much = params.effect_of_work > 0 &&
                    out.excess_ms >= params.effect_of_work * median_of(std::move(usual));
  const bool follows =
      !out.load.empty() && (much || out.excess_ms >= params.effect * out.iteration_ms);
  const bool wanders = told >= params.many && out.leads <= params.wanders &&
                       out.excess_ms >= params.clear_effect * out.iteration_ms;
  return follows || wanders ? std::optional(out) : std::nullopt;
}

}  // namespace culprit::analyze
