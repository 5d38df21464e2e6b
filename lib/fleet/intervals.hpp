// What a small count says of a rate or a share.
#pragma once

#include <cstdint>

namespace culprit::fleet {

struct Interval {
  double low = 0, high = 0;
};

// The gamma distribution of shape > 0 and rate 1: P(X <= x), and the x at which it is p. Accurate
// to 1e-10.
double gamma_cumulative(double shape, double x);
double gamma_quantile(double shape, double p);

// The exact interval of a Poisson mean that was counted once (Garwood 1936): 0 counted gives
// [0, 3.69] at 95 %.
Interval poisson_interval(std::int64_t count, double level = 0.95);

// P(X >= count) of a Poisson variable; 1 for count <= 0.
double poisson_tail(std::int64_t count, double mean);

// A share k of n (Wilson 1927); [0, 1] when n is 0.
Interval wilson(std::int64_t k, std::int64_t n, double level = 0.95);

// P(X >= k) of Binomial(n, p).
double binomial_tail(std::int64_t k, std::int64_t n, double p);

// P(X >= k) of a count whose rate is Gamma(shape, rate) and that is watched for `exposure`:
// negative binomial.
double predictive_tail(std::int64_t k, double shape, double rate, double exposure);

}  // namespace culprit::fleet
