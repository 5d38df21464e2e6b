#include "analyze/metrics/crowd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace culprit::analyze {

namespace {

constexpr std::size_t kSmall =
    64;  // below, looking around the last median costs more than it saves
constexpr double kMadToSd = 1.4826, kMeanToSd = 1.2533;
constexpr std::size_t kReweigh =
    16;  // below, what lies within 3 deviations of so few says less than the MAD itself
constexpr double kCut = 3, kCutSd = 0.98658;  // a normal crowd cut at 3 sd has this sd

// Order statistics (n - 1) / 2 and n / 2 of the first n values, averaged, where `below` smaller
// values are left out of a crowd of `total`.
double middle_of(double* values, std::size_t n, std::size_t total, std::size_t below) {
  const std::size_t high = total / 2 - below;
  std::nth_element(values, values + high, values + n);
  if (total % 2 == 1) return values[high];
  return std::midpoint(*std::max_element(values, values + high), values[high]);
}

}  // namespace

double median_in_place(std::vector<double>& values) {
  return values.empty() ? std::numeric_limits<double>::quiet_NaN()
                        : middle_of(values.data(), values.size(), values.size(), 0);
}

double CrowdMeter::middle(std::span<const double> values, double guess, double width) {
  const std::size_t n = values.size();
  scratch_.resize(n);
  if (n >= kSmall && width > 0) {
    const double low = guess - width, high = guess + width;
    std::size_t below = 0, inside = 0;
    for (const double v : values) {
      scratch_[inside] = v;
      inside += static_cast<std::size_t>((v >= low) & (v <= high));
      below += static_cast<std::size_t>(v < low);
    }
    if (below < n / 2 && n / 2 < below + inside && (n % 2 == 1 || below <= n / 2 - 1))
      return middle_of(scratch_.data(), inside, n, below);
  }
  std::copy(values.begin(), values.end(), scratch_.begin());
  return middle_of(scratch_.data(), n, n, 0);
}

// Several sums side by side: one sum waits for itself.
void CrowdMeter::reweigh(std::span<const double> values, Crowd& crowd) {
  constexpr std::size_t kLanes = 8;
  const double cut = kCut * crowd.scale;
  double sum[kLanes] = {}, square[kLanes] = {}, count[kLanes] = {};
  const auto add = [&](std::size_t lane, double v) {
    const double d = v - crowd.center, in = std::fabs(d) <= cut ? d : 0;
    sum[lane] += in;
    square[lane] += in * in;
    count[lane] += std::fabs(d) <= cut ? 1 : 0;
  };
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, values[i + lane]);
  for (; i < values.size(); ++i) add(i % kLanes, values[i]);
  for (std::size_t lane = 1; lane < kLanes; ++lane) {
    sum[0] += sum[lane];
    square[0] += square[lane];
    count[0] += count[lane];
  }
  const double mean = sum[0] / count[0], variance = square[0] / count[0] - mean * mean;
  if (!(variance > 0) || !std::isfinite(variance)) return;
  crowd.center += mean;
  crowd.scale = std::sqrt(variance * count[0] / (count[0] - 1)) / kCutSd;
}

Crowd CrowdMeter::robust(std::span<const double> values) {
  if (values.empty()) return {};
  const std::size_t n = values.size();
  Crowd out{.center = middle(values, last_center_, 0.3 * last_mad_), .size = n};
  deviations_.resize(n);
  for (std::size_t i = 0; i < n; ++i) deviations_[i] = std::fabs(values[i] - out.center);
  const double mad = middle(deviations_, last_mad_, 0.2 * last_mad_);
  last_center_ = out.center;
  last_mad_ = std::isfinite(mad) ? mad : 0;
  out.scale = kMadToSd * mad;
  if (mad == 0) {
    const std::size_t near = std::max<std::size_t>(1, n * 2 / 3);
    std::nth_element(deviations_.begin(),
                     deviations_.begin() + static_cast<std::ptrdiff_t>(near - 1),
                     deviations_.end());
    double sum = 0;
    for (std::size_t i = 0; i < near; ++i) sum += deviations_[i] / static_cast<double>(near);
    out.scale = kMeanToSd * sum;
  } else if (n >= kReweigh) {
    reweigh(values, out);
  }
  return out;
}

Crowd CrowdMeter::published(std::span<const double> values) {
  if (values.empty()) return {};
  const double n = static_cast<double>(values.size());
  double mean = 0, square = 0;
  for (const double v : values) mean += v / n;
  for (const double v : values) square += (v - mean) / n * (v - mean);
  return {mean, std::sqrt(square), values.size()};
}

double outlier_threshold(std::size_t entities, std::size_t metrics, double base,
                         double false_alarm) {
  const double n = static_cast<double>(std::max<std::size_t>(1, entities)),
               tests = n * static_cast<double>(std::max<std::size_t>(1, metrics));
  const double grown =
      std::sqrt(2 * std::log(std::max(1.0, tests / std::clamp(false_alarm, 1e-9, 1.0))));
  return std::max(base, grown) * (1 + std::pow(5 / n, 1.5));
}

}  // namespace culprit::analyze
