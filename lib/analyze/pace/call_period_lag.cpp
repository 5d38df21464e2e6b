#include "analyze/pace/call_period_lag.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>

#include "analyze/pace/splitmix.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

using Complex = std::complex<double>;

// In place, radix 2. The twiddles are computed once: a recurrence loses digits over a million
// points.
void transform(std::vector<Complex>& x, const std::vector<Complex>& twiddles) {
  const std::size_t n = x.size();
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    std::size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  std::vector<Complex> near(n / 2);  // the twiddles of one stage side by side
  for (std::size_t length = 2; length <= n; length <<= 1) {
    const std::size_t stride = n / length, half = length / 2;
    for (std::size_t k = 0; k < half; ++k) near[k] = twiddles[k * stride];
    for (std::size_t i = 0; i < n; i += length)
      for (std::size_t k = 0; k < half; ++k) {
        const Complex w = near[k], b = x[i + k + half];
        const Complex v(b.real() * w.real() - b.imag() * w.imag(),
                        b.real() * w.imag() + b.imag() * w.real());
        x[i + k + half] = x[i + k] - v;
        x[i + k] += v;
      }
  }
}

// About the share of matching calls at each lag up to half of the log.
std::vector<double> screened(std::span<const std::uint32_t> symbols) {
  const std::size_t n = symbols.size(), size = std::bit_ceil(2 * n);
  std::vector<Complex> twiddles(size / 2);
  for (std::size_t k = 0; k < twiddles.size(); ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
    twiddles[k] = {std::cos(angle), std::sin(angle)};
  }
  std::vector<double> power(size, 0);
  constexpr int kRounds = 2;
  std::vector<Complex> x(size);
  for (int round = 0; round < kRounds; ++round) {
    std::ranges::fill(x, Complex{});
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t h = mix(symbols[i] * 31ULL + static_cast<std::uint64_t>(round));
      x[i] = {h & 1 ? 1.0 : -1.0, h & 2 ? 1.0 : -1.0};
    }
    transform(x, twiddles);
    for (std::size_t i = 0; i < size; ++i) power[i] += std::norm(x[i]);
  }
  for (std::size_t i = 0; i < size; ++i) x[i] = power[i];
  transform(x, twiddles);
  std::vector<double> out(n / 2 + 1, 0);
  for (std::size_t k = 1; k < out.size(); ++k)
    out[k] = x[k].real() / static_cast<double>(size) / static_cast<double>(n - k) / (2.0 * kRounds);
  return out;
}

Nanoseconds lower_median(std::vector<Nanoseconds>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Nanoseconds difference(const Call& from, const Call& to) {
  return static_cast<Nanoseconds>(static_cast<std::uint64_t>(to.time) -
                                  static_cast<std::uint64_t>(from.time));
}

// From one start to the same kind of call about a period later; a lost record moves the phase by
// one or two.
std::vector<std::size_t> walk(std::span<const std::uint32_t> symbols, std::size_t period) {
  std::vector<std::size_t> starts{0};
  const std::size_t slack = std::max<std::size_t>(period >= 10 ? 2 : 0, period / 20);
  for (std::size_t at = 0; at + period < symbols.size();) {
    std::size_t next = at + period;
    for (std::size_t off = 0; off <= slack; ++off) {
      if (next + off < symbols.size() && symbols[next + off] == symbols[at]) {
        next += off;
        break;
      }
      if (off < period && symbols[next - off] == symbols[at]) {
        next -= off;
        break;
      }
    }
    starts.push_back(next);
    at = next;
  }
  return starts;
}

}  // namespace

LagPeriod published_acf(std::span<const Call> calls, const CallPeriodParams& params) {
  LagPeriod out;
  const std::size_t n = calls.size();
  double mean = 0, variance = 0;
  for (const Call& c : calls) mean += static_cast<double>(c.operation);
  mean /= static_cast<double>(n);
  for (const Call& c : calls)
    variance +=
        (static_cast<double>(c.operation) - mean) * (static_cast<double>(c.operation) - mean);
  if (variance <= 0) {
    out.why = say(Phrase::one_operation_only);
    return out;
  }
  for (std::size_t k = 1; k <= params.acf_most_lag && k < n; ++k) {
    double sum = 0;
    for (std::size_t t = 0; t + k < n; ++t)
      sum += (static_cast<double>(calls[t].operation) - mean) *
             (static_cast<double>(calls[t + k].operation) - mean);
    if (sum / variance < params.acf_threshold) continue;
    out.period = k;
    out.confidence = std::min(1.0, sum / variance);
    for (std::size_t t = 0; t < n; t += k) out.starts.push_back(t);
    std::vector<Nanoseconds> times;
    for (std::size_t t = 0; t + k < n; ++t) times.push_back(difference(calls[t], calls[t + k]));
    if (!times.empty()) out.median = lower_median(times);
    out.why = say(Phrase::autocorrelation_at, sum / variance, k);
    return out;
  }
  out.why = say(Phrase::no_lag_with, params.acf_most_lag, params.acf_threshold);
  return out;
}

LagPeriod match_rate(std::span<const Call> calls, std::span<const std::uint32_t> symbols,
                     const CallPeriodParams& params) {
  LagPeriod out;
  const std::size_t n = symbols.size();
  const std::vector<double> about = screened(symbols);
  const std::size_t most = std::min(about.size() - 1, n / params.least_iterations);
  // Peaks only: between two equal micro-batches every lag matches a little.
  std::vector<std::size_t> peaks;
  for (std::size_t k = 1; k <= most; ++k)
    if ((k == 1 || about[k] >= about[k - 1]) && (k == most || about[k] >= about[k + 1]))
      peaks.push_back(k);
  if (peaks.empty()) {
    out.why = say(Phrase::log_too_short);
    return out;
  }
  double best = 0;
  for (const std::size_t k : peaks) best = std::max(best, about[k]);
  constexpr std::size_t kExact = 16;
  std::vector<std::pair<std::size_t, double>> exact;
  for (const std::size_t k : peaks) {
    if (about[k] < best - 0.05) continue;
    std::size_t equal = 0;
    for (std::size_t t = 0; t + k < n; ++t) equal += symbols[t] == symbols[t + k];
    exact.emplace_back(k, static_cast<double>(equal) / static_cast<double>(n - k));
    if (exact.size() == kExact) break;
  }
  // Where one kind of call prevails, any distance matches: only what chance does not explain
  // counts.
  std::vector<std::uint32_t> sorted(symbols.begin(), symbols.end());
  sort_rows(sorted);
  double chance = 0;
  for (std::size_t i = 0; i < n;) {
    std::size_t j = i;
    while (j < n && sorted[j] == sorted[i]) ++j;
    chance += static_cast<double>(j - i) * static_cast<double>(j - i);
    i = j;
  }
  chance /= static_cast<double>(n) * static_cast<double>(n);
  const auto beyond_chance = [chance](double rate) {
    return chance < 1 ? (rate - chance) / (1 - chance) : 0.0;
  };
  double top = 0;
  for (const auto& [k, rate] : exact) top = std::max(top, rate);
  if (beyond_chance(top) < params.match) {
    out.why = say(Phrase::repeats_like_chance, top * 100, chance * 100);
    return out;
  }
  for (const auto& [k, rate] : exact) {
    if (beyond_chance(rate) < beyond_chance(top) - 0.1) continue;
    out.period = k;
    out.confidence = 0.5 * beyond_chance(rate);
    std::vector<Nanoseconds> times;
    for (std::size_t t = 0; t + k < n; ++t)
      if (symbols[t] == symbols[t + k]) times.push_back(difference(calls[t], calls[t + k]));
    out.median = lower_median(times);
    out.starts = walk(symbols, k);
    out.why = say(Phrase::calls_repeat_later, rate * 100, k);
    break;
  }
  return out;
}

}  // namespace culprit::analyze
