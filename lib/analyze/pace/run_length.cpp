#include "analyze/pace/run_length.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "analyze/facts/vector_math.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kLanes = 4;  // sums are over lanes, so that vectors of 2 and of 4 add alike

// One sample into all runs of a dimension: log_p gets the log predictive density. c, shrink,
// spread: by samples learned.
CULPRIT_VECTOR_CLONES void update(std::size_t n, double x, double alpha0,
                                  const double* __restrict c, const double* __restrict shrink,
                                  const double* __restrict spread, std::int32_t* __restrict learned,
                                  double* __restrict mean, double* __restrict beta,
                                  double* __restrict log_beta, double* __restrict log_p) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t k = learned[i];
    const double alpha = alpha0 + 0.5 * static_cast<double>(k);
    const double d = x - mean[i];
    const double next = beta[i] + spread[k] * d * d;
    const double log_next = fast_log(next);
    log_p[i] += c[k] + alpha * log_beta[i] - (alpha + 0.5) * log_next;
    mean[i] += d * shrink[k];
    learned[i] = k + 1;
    beta[i] = next;
    log_beta[i] = log_next;
  }
}

CULPRIT_VECTOR_CLONES_FINITE double largest(std::size_t n, const double* __restrict v) {  // n > 0
  double out = v[0];
  for (std::size_t i = 1; i < n; ++i) out = v[i] > out ? v[i] : out;
  return out;
}

// weight = e^(log_p - top); the sum.
CULPRIT_VECTOR_CLONES double weigh(std::size_t n, double top, const double* __restrict log_p,
                                   double* __restrict weight) {
  double lane[kLanes] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t k = 0; k < kLanes; ++k) {
      weight[i + k] = fast_exp(log_p[i + k] - top);
      lane[k] += weight[i + k];
    }
  for (; i < n; ++i) lane[0] += weight[i] = fast_exp(log_p[i] - top);
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

CULPRIT_VECTOR_CLONES std::size_t below(std::size_t n, double limit, const double* __restrict v) {
  double count = 0;
  double lane[kLanes] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t k = 0; k < kLanes; ++k) lane[k] += v[i + k] < limit ? 1.0 : 0.0;
  for (; i < n; ++i) count += v[i] < limit ? 1.0 : 0.0;
  return static_cast<std::size_t>(count + (lane[0] + lane[1]) + (lane[2] + lane[3]));
}

}  // namespace

RunLengths::RunLengths(const RunLengthParams& params, std::size_t dimensions) : params_(params) {
  params_.lambda = std::max(params.lambda, 1.0 + 1e-9);
  params_.most = std::max<std::size_t>(params.most, 8);
  log_hazard_ = -std::log(params_.lambda);
  log_survival_ = std::log1p(-1.0 / params_.lambda);
  log_beta0_ = std::log(params_.prior.beta);
  dimensions_.resize(dimensions);
  start_.push_back(0);
  log_p_.push_back(0);
  for (Dimension& d : dimensions_) {
    d.mean.push_back(params_.prior.mean);
    d.beta.push_back(params_.prior.beta);
    d.log_beta.push_back(log_beta0_);
    d.learned.push_back(0);
  }
}

// Constants of runs that have learned up to so many samples.
void RunLengths::provide(std::size_t learned) {
  while (constants_.c.size() <= learned) {
    const auto n = static_cast<double>(constants_.c.size());
    const double kappa = params_.prior.kappa + n;
    const double alpha = params_.prior.alpha + n / 2;
    const double c = std::lgamma(alpha + 0.5) - std::lgamma(alpha) -
                     0.5 * std::log(std::numbers::pi) - 0.5 * std::log(2 * (kappa + 1) / kappa);
    constants_.c.push_back(c);
    constants_.shrink.push_back(1 / (kappa + 1));
    constants_.spread.push_back(kappa / (2 * (kappa + 1)));
  }
}

void RunLengths::learn(Dimension& dimension, double x) {
  provide(static_cast<std::size_t>(dimension.learned.front()));  // the oldest run
  update(start_.size(), x, params_.prior.alpha, constants_.c.data(), constants_.shrink.data(),
         constants_.spread.data(), dimension.learned.data(), dimension.mean.data(),
         dimension.beta.data(), dimension.log_beta.data(), log_p_.data());
}

double RunLengths::step(std::span<const double> sample) {
  assert(sample.size() == dimensions_.size());
  const std::size_t n = start_.size();
  weight_.resize(n);
  bool any = false;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    if (!std::isfinite(sample[d])) continue;
    // A square must not overflow; nothing that far out says how far.
    learn(dimensions_[d], std::clamp(sample[d], -1e100, 1e100));
    any = true;
  }
  const double top = largest(n, log_p_.data());
  const double sum = weigh(n, top, log_p_.data(), weight_.data());
  const double log_sum = top + std::log(sum);
  const double evidence = any ? log_sum : 0;
  for (std::size_t i = 0; i < n; ++i) log_p_[i] += log_survival_ - log_sum;
  ++time_;
  prune(sum);
  decide();
  open();
  return evidence;
}

// Dropping moves everything, so a sixteenth of the runs must be worth it.
void RunLengths::prune(double sum) {
  const std::size_t n = start_.size();
  const double least = params_.least * sum;
  if (n < params_.most && below(n, least, weight_.data()) * 16 <= n) return;
  double limit = least;
  if (n >= params_.most) {
    const std::size_t stay = params_.most - params_.most / 8;
    ranked_.assign(weight_.begin(), weight_.end());
    std::nth_element(ranked_.begin(), ranked_.begin() + static_cast<std::ptrdiff_t>(stay - 1),
                     ranked_.end(), std::greater<>());
    limit = std::max(limit, ranked_[stay - 1]);
  }
  double tail = params_.tail * sum;
  bool oldest = true;
  double held = 0;
  kept_.clear();
  for (std::size_t i = 0; i < n; ++i) {
    if (oldest && weight_[i] < tail) {
      tail -= weight_[i];
      continue;
    }
    oldest = false;
    if (weight_[i] < limit) continue;
    held += weight_[i];
    kept_.push_back(static_cast<std::uint32_t>(i));
  }
  keep(kept_);
  // What was dropped is given to those that stay.
  const double lost = std::log(held / sum);
  for (double& p : log_p_) p -= lost;
}

void RunLengths::keep(std::span<const std::uint32_t> kept) {
  const auto squeeze = [&](auto& values) {
    std::size_t to = 0;
    for (const std::uint32_t from : kept) values[to++] = values[from];
    values.resize(to);
  };
  squeeze(start_);
  squeeze(log_p_);
  squeeze(weight_);
  for (Dimension& d : dimensions_)
    squeeze(d.mean), squeeze(d.beta), squeeze(d.log_beta), squeeze(d.learned);
}

void RunLengths::decide() {
  change_.reset();
  const std::size_t n = start_.size();
  const double top = largest(n, weight_.data());
  std::size_t best = n;
  while (best-- > 0)
    if (weight_[best] == top) break;  // among equals the shortest run
  best_start_ = start_[best];
  best_mass_ = 0;
  for (std::size_t i = best; i < n && start_[i] <= best_start_ + params_.window; ++i)
    best_mass_ += std::exp(log_p_[i] - log_survival_);
  for (std::size_t i = best; i-- > 0 && start_[i] + params_.window >= best_start_;)
    best_mass_ += std::exp(log_p_[i] - log_survival_);
  if (best_start_ > reported_ && best_mass_ >= params_.threshold) {
    reported_ = best_start_;
    change_ = best_start_;
  }
}

void RunLengths::open() {
  start_.push_back(time_);
  log_p_.push_back(log_hazard_);
  for (Dimension& d : dimensions_) {
    d.mean.push_back(params_.prior.mean);
    d.beta.push_back(params_.prior.beta);
    d.log_beta.push_back(log_beta0_);
    d.learned.push_back(0);
  }
}

double RunLengths::probability(std::size_t run_length) const {
  if (run_length > time_) return 0;
  const auto it = std::ranges::lower_bound(start_, time_ - run_length);
  return it == start_.end() || *it != time_ - run_length
             ? 0
             : std::exp(log_p_[static_cast<std::size_t>(it - start_.begin())]);
}

std::vector<std::size_t> online_change_points(Dimensions series, const RunLengthParams& params) {
  std::vector<std::size_t> out;
  if (series.empty()) return out;
  RunLengths runs(params, series.size());
  std::vector<double> sample(series.size());
  for (std::size_t t = 0; t < series[0].size(); ++t) {
    for (std::size_t d = 0; d < series.size(); ++d)
      sample[d] = t < series[d].size() ? series[d][t] : std::numeric_limits<double>::quiet_NaN();
    runs.step(sample);
    if (runs.change()) out.push_back(*runs.change());
  }
  return out;
}

std::vector<double> standardised(std::span<const double> series) {
  double scale = 0;  // against overflow of sums
  for (const double x : series)
    if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
  double sum = 0;
  double n = 0;
  for (const double x : series)
    if (std::isfinite(x)) sum += x / scale, ++n;
  const double mean = n > 0 && scale > 0 ? sum / n : 0;
  double squares = 0;
  for (const double x : series)
    if (std::isfinite(x) && scale > 0) squares += (x / scale - mean) * (x / scale - mean);
  const double sd = n > 1 ? std::sqrt(squares / (n - 1)) : 0;
  std::vector<double> out;
  out.reserve(series.size());
  for (const double x : series)
    out.push_back(!std::isfinite(x) ? std::numeric_limits<double>::quiet_NaN()
                  : sd > 1e-14      ? (x / scale - mean) / sd
                                    : 0);
  return out;
}

}  // namespace culprit::analyze
