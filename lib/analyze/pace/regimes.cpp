#include "analyze/pace/regimes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analyze/pace/segmentation.hpp"
#include "model/series.hpp"

namespace culprit::analyze {

namespace {

constexpr double kNormal = 1.4826;  // MAD of a normal distribution -> sd
constexpr std::size_t kWindow = 15;

std::vector<double> running_median(std::span<const double> y) {
  const std::size_t n = y.size();
  std::vector<double> out(n), window;
  std::size_t from = 0;
  std::size_t to = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t want_from = i > kWindow / 2 ? i - kWindow / 2 : 0;
    const std::size_t want_to = std::min(n, i + kWindow / 2 + 1);
    for (; to < want_to; ++to) window.insert(std::ranges::upper_bound(window, y[to]), y[to]);
    for (; from < want_from; ++from) window.erase(std::ranges::lower_bound(window, y[from]));
    out[i] = window[window.size() / 2];
  }
  return out;
}

double level_of(std::span<const double> y, std::size_t start, std::size_t end) {
  return median_of(std::vector<double>(y.begin() + static_cast<std::ptrdiff_t>(start),
                                       y.begin() + static_cast<std::ptrdiff_t>(end)));
}

void join(std::vector<Segment>& segments, std::size_t left, std::span<const double> y) {
  segments[left].end = segments[left + 1].end;
  segments[left].level = level_of(y, segments[left].start, segments[left].end);
  segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(left) + 1);
}

// The shortest first, into the neighbour nearest in level.
void join_short(std::vector<Segment>& segments, std::size_t least, std::span<const double> y) {
  while (segments.size() > 1) {
    const auto it =
        std::ranges::min_element(segments, {}, [](const Segment& a) { return a.end - a.start; });
    if (it->end - it->start >= least) break;
    const auto i = static_cast<std::size_t>(it - segments.begin());
    const double to_left = i > 0 ? std::abs(segments[i - 1].level - it->level)
                                 : std::numeric_limits<double>::infinity();
    const double to_right = i + 1 < segments.size() ? std::abs(segments[i + 1].level - it->level)
                                                    : std::numeric_limits<double>::infinity();
    join(segments, to_left <= to_right ? i - 1 : i, y);
  }
}

void join_weak(std::vector<Segment>& segments, double required, std::span<const double> y) {
  while (segments.size() > 1) {
    std::size_t weakest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i + 1 < segments.size(); ++i)
      if (const double step = std::abs(segments[i + 1].level - segments[i].level); step < least) {
        least = step;
        weakest = i;
      }
    if (least > required) break;
    join(segments, weakest, y);
  }
}

// The boundary that fits two levels best, in absolute deviations: merging moves boundaries by what
// was merged.
void settle(std::vector<Segment>& segments, std::size_t reach, std::span<const double> y) {
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    Segment& a = segments[i];
    Segment& b = segments[i + 1];
    const std::size_t from = std::max(a.start + 1, a.end > reach ? a.end - reach : 0);
    const std::size_t to = std::min(b.end - 1, a.end + reach);
    if (from >= to) continue;
    double cost = 0;
    double best = 0;
    std::size_t at = from;
    for (std::size_t t = from; t < to;
         ++t) {  // the boundary moves from t to t + 1: y[t] goes from b to a
      cost += std::abs(y[t] - a.level) - std::abs(y[t] - b.level);
      if (cost < best) {
        best = cost;
        at = t + 1;
      }
    }
    a.end = b.start = at;
  }
  for (Segment& s : segments) s.level = level_of(y, s.start, s.end);
}

// How far the level of a stretch lies from where it should: blocks within a segment, and segments
// that go up, or down, by less than a fault does and come back to where they were. What goes on in
// one direction, a ladder or a drift, is no wander.
double wander_of(const std::vector<Segment>& segments, std::size_t block, double least,
                 std::span<const double> y) {
  std::vector<double> scatter;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Segment& s = segments[i];
    double excursion = 0;
    if (i > 0 && i + 1 < segments.size()) {
      const double left = s.level - segments[i - 1].level;
      const double right = s.level - segments[i + 1].level;
      if (left * right > 0 && std::abs(left - right) < least / 2 &&
          std::max(std::abs(left), std::abs(right)) < least)
        excursion = std::min(std::abs(left), std::abs(right));
    }
    for (std::size_t at = s.start; at + block <= s.end; at += block)
      scatter.push_back(std::max(excursion / 2, std::abs(level_of(y, at, at + block) - s.level)));
  }
  return scatter.size() >= 4 ? kNormal * median_of(scatter) : 0;
}

}  // namespace

Levels find_levels(std::span<const double> y, const FailSlowParams& params) {
  Levels out;
  const std::size_t n = y.size();
  const auto smooth = running_median(y);
  std::vector<double> steps;
  std::vector<double> distances;
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) steps.push_back(std::abs(y[i] - y[i - 1]));
    distances.push_back(std::abs(y[i] - smooth[i]));
  }
  const double near = std::max(kNormal * median_of(distances), params.noise_floor);
  out.noise = std::max(near, kNormal * median_of(steps) / std::sqrt(2.0));

  const double middle = median_of(std::vector<double>(y.begin(), y.end()));
  std::vector<double> u(n);
  for (std::size_t i = 0; i < n; ++i)
    u[i] =
        std::abs(y[i] - smooth[i]) > params.spike * near ? kNoFigure : (y[i] - middle) / out.noise;
  const std::span<const double> series(u);
  out.raw = most_probable_segmentation({&series, 1}, {params.lambda, params.prior, 8, true});

  std::vector<Segment> segments;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= out.raw.size(); ++i) {
    const std::size_t end = i < out.raw.size() ? out.raw[i] : n;
    segments.push_back({start, end, level_of(y, start, end)});
    start = end;
  }
  join_short(segments, params.min_regime, y);
  settle(segments, params.min_regime / 2, y);
  out.fine = segments;

  const double least = std::log1p(params.min_change);
  out.wander = wander_of(segments, params.min_regime, least, y);
  out.required = std::max(least, params.wander_factor * out.wander);
  join_weak(segments, out.required, y);
  settle(segments, params.min_regime / 2, y);
  out.regimes = std::move(segments);
  return out;
}

}  // namespace culprit::analyze
