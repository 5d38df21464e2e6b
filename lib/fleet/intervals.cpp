#include "fleet/intervals.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::fleet {

namespace {

constexpr int kMostTerms = 100'000;
constexpr double kNegligible = 1e-15;

// std::lgamma writes a global variable; this one is its reentrant form.
double log_gamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

// The two expansions of the incomplete gamma function (Abramowitz & Stegun 6.5.29 and 6.5.31).
double series(double shape, double x) {
  double term = 1 / shape, sum = term;
  for (int n = 1; n < kMostTerms; ++n) {
    term *= x / (shape + n);
    sum += term;
    if (term < sum * kNegligible) break;
  }
  return sum * std::exp(shape * std::log(x) - x - log_gamma(shape));
}

double fraction(double shape, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - shape, c = 1 / kTiny, d = 1 / b, h = d;
  for (int n = 1; n < kMostTerms; ++n) {
    const double a = -n * (n - shape);
    b += 2;
    d = a * d + b;
    if (std::abs(d) < kTiny) d = kTiny;
    c = b + a / c;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1 / d;
    const double factor = c * d;
    h *= factor;
    if (std::abs(factor - 1) < kNegligible) break;
  }
  return h * std::exp(shape * std::log(x) - x - log_gamma(shape));
}

// The normal quantile, by bisection.
double normal_quantile(double p) {
  double low = -40, high = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double gamma_cumulative(double shape, double x) {
  if (!(x > 0)) return 0;
  if (!(shape > 0)) return 1;
  return std::clamp(x < shape + 1 ? series(shape, x) : 1 - fraction(shape, x), 0.0, 1.0);
}

double gamma_quantile(double shape, double p) {
  if (!(shape > 0) || !(p > 0)) return 0;
  double low = 0, high = shape + 10;
  while (gamma_cumulative(shape, high) < p && high < 1e15) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
    const double middle = (low + high) / 2;
    (gamma_cumulative(shape, middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

Interval poisson_interval(std::int64_t count, double level) {
  const double k = static_cast<double>(std::max<std::int64_t>(count, 0)), tail = (1 - level) / 2;
  return {k > 0 ? gamma_quantile(k, tail) : 0, gamma_quantile(k + 1, 1 - tail)};
}

double poisson_tail(std::int64_t count, double mean) {
  if (count <= 0) return 1;
  return mean > 0 ? gamma_cumulative(static_cast<double>(count), mean) : 0;
}

Interval wilson(std::int64_t k, std::int64_t n, double level) {
  if (n <= 0) return {0, 1};
  const double z = normal_quantile(1 - (1 - level) / 2), m = static_cast<double>(n);
  const double p = static_cast<double>(k) / m, z2 = z * z;
  const double middle = (p + z2 / (2 * m)) / (1 + z2 / m);
  const double half = z / (1 + z2 / m) * std::sqrt(p * (1 - p) / m + z2 / (4 * m * m));
  return {k <= 0 ? 0 : std::max(0.0, middle - half), k >= n ? 1 : std::min(1.0, middle + half)};
}

double binomial_tail(std::int64_t k, std::int64_t n, double p) {
  if (k <= 0) return 1;
  if (k > n || p <= 0) return 0;
  if (p >= 1) return 1;
  const double m = static_cast<double>(n);
  double sum = 0;
  for (std::int64_t i = k; i <= n; ++i) {
    const double j = static_cast<double>(i);
    const double term = std::exp(log_gamma(m + 1) - log_gamma(j + 1) - log_gamma(m - j + 1) +
                                 j * std::log(p) + (m - j) * std::log1p(-p));
    sum += term;
    if (term < sum * kNegligible && j > m * p) break;
  }
  return std::min(1.0, sum);
}

double predictive_tail(std::int64_t k, double shape, double rate, double exposure) {
  if (k <= 0) return 1;
  if (!(shape > 0) || !(rate > 0) || !(exposure > 0)) return 0;
  // Summed upwards from k: 1 minus the sum below it would lose what is small.
  const double p = exposure / (rate + exposure);
  double x = static_cast<double>(k);
  double term = std::exp(log_gamma(shape + x) - log_gamma(shape) - log_gamma(x + 1) +
                         shape * std::log1p(-p) + x * std::log(p));
  double sum = 0;
  for (int i = 0; i < kMostTerms; ++i) {
    sum += term;
    term *= (shape + x) / (x + 1) * p;
    x += 1;
    if (term < sum * kNegligible) break;
  }
  return std::min(1.0, sum);
}

}  // namespace culprit::fleet
