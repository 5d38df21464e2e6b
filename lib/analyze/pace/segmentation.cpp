#include "analyze/pace/segmentation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "analyze/facts/vector_math.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kLook = 8;  // samples from one look at what can be dropped to the next

struct Sums {
  double one, two;
  std::int32_t count;
};  // of the samples before a start

// Live starts of one dimension.
struct Live {
  std::vector<double> one, two;
  std::vector<std::int32_t> counted;
};

// total = past + log marginal of the samples from each start to here. constants and inverses: by
// number of samples.
CULPRIT_VECTOR_CLONES void marginals(std::size_t n, double one_now, double two_now,
                                     std::int32_t count_now, double alpha0, double beta0,
                                     const double* __restrict constants,
                                     const double* __restrict inverses,
                                     const double* __restrict one, const double* __restrict two,
                                     const std::int32_t* __restrict counted, const double* past,
                                     double* total) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t samples = count_now - counted[i];
    const double sum = one_now - one[i];
    const double squares = two_now - two[i];
    // inverse = 1 / (k0 + n). SSE + k0 n mean^2 / (k0 + n) = squares - sum^2 / (k0 + n): what is 0
    // samples comes out as 0, too. mu0 was taken off.
    const double spread = squares - sum * sum * inverses[samples];
    const double beta = beta0 + 0.5 * (spread > 0 ? spread : 0);
    total[i] = past[i] + constants[samples] -
               (alpha0 + 0.5 * static_cast<double>(samples)) * fast_log(beta);
  }
}

CULPRIT_VECTOR_CLONES_FINITE double largest_of(std::size_t n,
                                               const double* __restrict v) {  // n > 0
  double out = v[0];
  for (std::size_t i = 1; i < n; ++i) out = v[i] > out ? v[i] : out;
  return out;
}

CULPRIT_VECTOR_CLONES std::size_t how_many_below(std::size_t n, double limit,
                                                 const double* __restrict v) {
  double count = 0;
  double lane[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (std::size_t k = 0; k < 4; ++k) lane[k] += v[i + k] < limit ? 1.0 : 0.0;
  for (; i < n; ++i) count += v[i] < limit ? 1.0 : 0.0;
  return static_cast<std::size_t>(count + (lane[0] + lane[1]) + (lane[2] + lane[3]));
}

}  // namespace

std::vector<std::size_t> most_probable_segmentation(Dimensions series,
                                                    const SegmentationParams& params) {
  const std::size_t dimensions = series.size();
  const std::size_t size = dimensions == 0 ? 0 : series[0].size();
  if (size == 0) return {};
  const double lambda = std::max(params.lambda, 1.0 + 1e-9);
  const double log_hazard = -std::log(lambda);
  const double log_survival = std::log1p(-1.0 / lambda);
  const NormalPrior& prior = params.prior;
  const double log_beta0 = std::log(prior.beta);
  const double behind = std::log(lambda) + params.slack;

  std::vector<double> constants(size + 1), inverses(size + 1);  // of a regime of n samples
  for (std::size_t n = 0; n <= size; ++n) {
    const double m = static_cast<double>(n);
    inverses[n] = 1 / (prior.kappa + m);
    constants[n] = std::lgamma(prior.alpha + m / 2) - std::lgamma(prior.alpha) +
                   prior.alpha * log_beta0 + 0.5 * std::log(prior.kappa / (prior.kappa + m)) -
                   m / 2 * std::log(2 * std::numbers::pi);
  }

  std::vector<std::uint32_t> start;  // live starts, ascending
  std::vector<double> base,
      total;  // base: score of the past, hazard, and survival so far taken off
  std::vector<Live> live(dimensions);
  std::vector<Sums> now(dimensions, Sums{0, 0, 0});
  std::vector<double> score(size + 1, 0);
  std::vector<std::uint32_t> from(size + 1, 0);

  for (std::size_t t = 0; t < size; ++t) {
    const bool present = std::any_of(series.begin(), series.end(), [&](const auto& dimension) {
      return t < dimension.size() && std::isfinite(dimension[t]);
    });
    if (t == 0 || present) {  // a regime may begin with this sample
      start.push_back(static_cast<std::uint32_t>(t));
      base.push_back(score[t] + log_hazard - static_cast<double>(t + 1) * log_survival);
      for (std::size_t d = 0; d < dimensions; ++d) {
        live[d].one.push_back(now[d].one);
        live[d].two.push_back(now[d].two);
        live[d].counted.push_back(now[d].count);
      }
    }
    const std::size_t n = start.size();
    total.resize(n);
    for (std::size_t d = 0; d < dimensions; ++d) {
      if (t < series[d].size() && std::isfinite(series[d][t])) {
        const double x = std::clamp(series[d][t] - prior.mean, -1e100, 1e100);
        now[d].one += x;
        now[d].two += x * x;
        ++now[d].count;
      }
      marginals(n, now[d].one, now[d].two, now[d].count, prior.alpha, prior.beta, constants.data(),
                inverses.data(), live[d].one.data(), live[d].two.data(), live[d].counted.data(),
                d == 0 ? base.data() : total.data(), total.data());
    }
    const double best = largest_of(n, total.data());
    std::size_t which = 0;
    while (which + 1 < n && total[which] != best) ++which;  // among equals the longest regime
    score[t + 1] = best + static_cast<double>(t + 1) * log_survival;
    from[t + 1] = start[which];

    // Dropping moves everything, so a sixteenth of the starts must be worth it. Looking costs, too:
    // a start that stays for some samples more is only work.
    if (!params.prune || t % kLook != 0 || how_many_below(n, best - behind, total.data()) * 16 <= n)
      continue;
    std::size_t to = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (total[i] + behind < best) continue;
      if (to != i) {
        start[to] = start[i];
        base[to] = base[i];
        for (Live& l : live)
          l.one[to] = l.one[i], l.two[to] = l.two[i], l.counted[to] = l.counted[i];
      }
      ++to;
    }
    start.resize(to), base.resize(to);
    for (Live& l : live) l.one.resize(to), l.two.resize(to), l.counted.resize(to);
  }

  std::vector<std::size_t> out;
  for (std::size_t t = size; from[t] > 0; t = from[t]) out.push_back(from[t]);
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace culprit::analyze
