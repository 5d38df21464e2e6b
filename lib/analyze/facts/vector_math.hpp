// log and exp of positive normal doubles as plain arithmetic, so that the compiler makes vectors of
// a loop around them (the library's functions are calls, 4 times slower here). No branch, no table.
// The operations are the same on every machine and vector width, and the files that use this are
// compiled without contraction to FMA: the same bytes everywhere.
#pragma once

#include <bit>
#include <cstdint>

// More versions of a function, for AVX-512 and AVX2, one picked at run time. Sanitizers and clang
// get the plain one.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CULPRIT_VECTOR_CLONES                                 \
  __attribute__((target_clones("avx512f", "avx2", "default"), \
                 optimize("no-math-errno", "no-trapping-math", "fp-contract=off")))
// For a maximum, which is one instruction only where neither NaN nor -0 is asked about.
#define CULPRIT_VECTOR_CLONES_FINITE                                               \
  __attribute__((target_clones("avx512f", "avx2", "default"),                      \
                 optimize("no-math-errno", "no-trapping-math", "finite-math-only", \
                          "no-signed-zeros", "associative-math")))
#else
#define CULPRIT_VECTOR_CLONES
#define CULPRIT_VECTOR_CLONES_FINITE
#endif

namespace culprit::analyze {

// x: normal, > 0. Relative error below 3e-16, absolute below 3e-16 beside 1.
[[gnu::always_inline]] inline double fast_log(double x) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  // 0x3fe6a09e... is sqrt(1/2): the mantissa comes out in [sqrt(1/2), sqrt(2)).
  const std::uint64_t shifted = bits - 0x3fe6a09e667f3bcdULL + (1023ULL << 52);
  // The exponent as a double without a conversion of integers, which SSE2 and AVX2 lack.
  const double exponent = std::bit_cast<double>((shifted >> 52) | 0x4330000000000000ULL) -
                          (4503599627370496.0 + 1023.0);
  const double m = std::bit_cast<double>((shifted & 0x000fffffffffffffULL) + 0x3fe6a09e667f3bcdULL);
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  // The seven coefficients of fdlibm's e_log.c (Sun Microsystems 1993), error below 2^-58; even and
  // odd powers side by side.
  const double w = z * z;
  const double odd = z * (6.666666666666735130e-01 +
                          w * (2.857142874366239149e-01 +
                               w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double even = w * (3.999999999940941908e-01 +
                           w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  // ln 2 in two parts: the first has 21 zero bits at its end, so that its product with an exponent
  // is exact.
  return exponent * 6.93147180369123816490e-01 +
         (2.0 * s + (s * (odd + even) + exponent * 1.90821492927058770002e-10));
}

// x <= 0; below -700 it is e^-700, which is 0 beside 1. Relative error below 4e-16.
[[gnu::always_inline]] inline double fast_exp(double x) {
  const double bounded = x < -700.0 ? -700.0 : x;
  const double shifted =
      bounded * 1.44269504088896338700 + 6755399441055744.0;  // 1.5 * 2^52: rounds to an integer
  const double k = shifted - 6755399441055744.0;
  const double r = (bounded - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
  const double w = r * r;
  const double even =
      1.0 +
      w * (1.0 / 2 +
           w * (1.0 / 24 +
                w * (1.0 / 720 + w * (1.0 / 40320 + w * (1.0 / 3628800 + w * (1.0 / 479001600))))));
  const double odd =
      1.0 + w * (1.0 / 6 +
                 w * (1.0 / 120 + w * (1.0 / 5040 + w * (1.0 / 362880 + w * (1.0 / 39916800)))));
  const double p = even + r * odd;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) +
                               (std::bit_cast<std::uint64_t>(shifted) << 52));
}

}  // namespace culprit::analyze
