#include "analyze/metrics/stall_hints.hpp"

#include <algorithm>
#include <cmath>

#include "model/sort.hpp"

namespace culprit::analyze {

std::vector<Stall> stall_hints(std::span<const MetricPoint> series, const StallParams& params) {
  std::vector<MetricPoint> points;
  for (const MetricPoint& p : series)
    if (std::isfinite(p.value) && p.time > -INT64_MAX / 4 && p.time < INT64_MAX / 4)
      points.push_back(p);
  sort_by(points, &MetricPoint::time);
  std::vector<double> above;
  std::vector<Nanoseconds> distances;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].value > params.zero) above.push_back(points[i].value);
    if (i > 0 && points[i].time > points[i - 1].time)
      distances.push_back(points[i].time - points[i - 1].time);
  }
  if (above.empty() || distances.empty()) return {};
  const auto middle = [](auto& v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  };
  const double usual = middle(above), low = std::max(params.zero, params.low * usual);
  const double widest = params.gap * static_cast<double>(middle(distances));
  std::vector<Stall> out;
  for (std::size_t i = 0; i < points.size();) {
    if (points[i].value > low) {
      ++i;
      continue;
    }
    std::size_t j = i;
    double highest = points[i].value;
    while (j + 1 < points.size() && points[j + 1].value <= low &&
           static_cast<double>(points[j + 1].time - points[j].time) <= widest)
      highest = std::max(highest, points[++j].value);
    if (points[j].time - points[i].time >= params.lasts)
      out.push_back({points[i].time, points[j].time, highest <= params.zero, j + 1 == points.size(),
                     highest, usual});
    i = j + 1;
  }
  return out;
}

}  // namespace culprit::analyze
