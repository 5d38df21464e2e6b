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

// What the marginal likelihood of a regime takes from its number of samples alone.
struct OfSamples {
  std::vector<double> constants, inverses;  // by number of samples
};

OfSamples of_samples(std::size_t most, const NormalPrior& prior) {
  const double log_beta0 = std::log(prior.beta);
  OfSamples out;
  out.constants.resize(most + 1);
  out.inverses.resize(most + 1);
  for (std::size_t n = 0; n <= most; ++n) {
    const double m = static_cast<double>(n);
    out.inverses[n] = 1 / (prior.kappa + m);
    out.constants[n] = std::lgamma(prior.alpha + m / 2) - std::lgamma(prior.alpha) +
                       prior.alpha * log_beta0 + 0.5 * std::log(prior.kappa / (prior.kappa + m)) -
                       m / 2 * std::log(2 * std::numbers::pi);
  }
  return out;
}

// Where the regime that holds the present sample may have begun.
class Starts {
 public:
  explicit Starts(std::size_t dimensions) : live_(dimensions), now_(dimensions, Sums{0, 0, 0}) {}

  // base: score of the past, hazard, and survival so far taken off.
  void begin(std::size_t t, double base) {
    start_.push_back(static_cast<std::uint32_t>(t));
    base_.push_back(base);
    for (std::size_t d = 0; d < live_.size(); ++d) {
      live_[d].one.push_back(now_[d].one);
      live_[d].two.push_back(now_[d].two);
      live_[d].counted.push_back(now_[d].count);
    }
  }

  // Takes sample `t` of every dimension, then sums up how well each start explains all since.
  void observe(Dimensions series, std::size_t t, const NormalPrior& prior, const OfSamples& known) {
    const std::size_t n = start_.size();
    total_.resize(n);
    for (std::size_t d = 0; d < live_.size(); ++d) {
      if (t < series[d].size() && std::isfinite(series[d][t])) {
        const double x = std::clamp(series[d][t] - prior.mean, -1e100, 1e100);
        now_[d].one += x;
        now_[d].two += x * x;
        ++now_[d].count;
      }
      marginals(n, now_[d].one, now_[d].two, now_[d].count, prior.alpha, prior.beta,
                known.constants.data(), known.inverses.data(), live_[d].one.data(),
                live_[d].two.data(), live_[d].counted.data(), d == 0 ? base_.data() : total_.data(),
                total_.data());
    }
    best_ = largest_of(n, total_.data());
  }

  double best() const { return best_; }
  // Of the best; among equals the longest regime.
  std::uint32_t best_start() const {
    std::size_t which = 0;
    while (which + 1 < start_.size() && total_[which] != best_) ++which;
    return start_[which];
  }

  // Drops the starts that are so far behind the best. Dropping moves everything, so a sixteenth of
  // the starts must be worth it.
  void prune(double behind) {
    const std::size_t n = start_.size();
    if (how_many_below(n, best_ - behind, total_.data()) * 16 <= n) return;
    std::size_t to = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (total_[i] + behind < best_) continue;
      if (to != i) {
        start_[to] = start_[i];
        base_[to] = base_[i];
        for (Live& l : live_)
          l.one[to] = l.one[i], l.two[to] = l.two[i], l.counted[to] = l.counted[i];
      }
      ++to;
    }
    start_.resize(to), base_.resize(to);
    for (Live& l : live_) l.one.resize(to), l.two.resize(to), l.counted.resize(to);
  }

 private:
  std::vector<std::uint32_t> start_;  // ascending
  std::vector<double> base_, total_;  // by start
  std::vector<Live> live_;            // by dimension
  std::vector<Sums> now_;             // by dimension
  double best_ = 0;
};

}  // namespace

std::vector<std::size_t> most_probable_segmentation(Dimensions series,
                                                    const SegmentationParams& params) {
  const std::size_t size = series.size() == 0 ? 0 : series[0].size();
  if (size == 0) return {};
  const double lambda = std::max(params.lambda, 1.0 + 1e-9);
  const double log_hazard = -std::log(lambda);
  const double log_survival = std::log1p(-1.0 / lambda);
  const double behind = std::log(lambda) + params.slack;
  const OfSamples known = of_samples(size, params.prior);

  Starts starts(series.size());
  std::vector<double> score(size + 1, 0);
  std::vector<std::uint32_t> from(size + 1, 0);
  for (std::size_t t = 0; t < size; ++t) {
    const bool present = std::any_of(series.begin(), series.end(), [&](const auto& dimension) {
      return t < dimension.size() && std::isfinite(dimension[t]);
    });
    if (t == 0 || present)  // a regime may begin with this sample
      starts.begin(t, score[t] + log_hazard - static_cast<double>(t + 1) * log_survival);
    starts.observe(series, t, params.prior, known);
    score[t + 1] = starts.best() + static_cast<double>(t + 1) * log_survival;
    from[t + 1] = starts.best_start();
    // Looking costs, too: a start that stays for some samples more is only work.
    if (params.prune && t % kLook == 0) starts.prune(behind);
  }

  std::vector<std::size_t> out;
  for (std::size_t t = size; from[t] > 0; t = from[t]) out.push_back(from[t]);
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace culprit::analyze
