#include "analyze/metrics/metric_panels.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "analyze/metrics/counter_rate.hpp"
#include "analyze/metrics/metric_kind.hpp"
#include "model/series.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kPanelBins = 60;
constexpr std::size_t kMostPeers = 4096;

// The mean of each bin.
std::vector<double> binned(const std::vector<Nanoseconds>& times, const std::vector<double>& values,
                           const MetricPanel& panel) {
  std::vector<double> sum(kPanelBins, 0);
  std::vector<std::size_t> n(kPanelBins, 0);
  const double width =
      static_cast<double>(panel.end - panel.begin) / static_cast<double>(kPanelBins);
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] < panel.begin || times[i] > panel.end || !std::isfinite(values[i])) continue;
    const auto bin =
        std::min(kPanelBins - 1,
                 static_cast<std::size_t>(static_cast<double>(times[i] - panel.begin) / width));
    sum[bin] += values[i];
    ++n[bin];
  }
  for (std::size_t b = 0; b < kPanelBins; ++b)
    sum[b] = n[b] == 0 ? kNoFigure : sum[b] / static_cast<double>(n[b]);
  return sum;
}

std::vector<double> of_entity(const MetricSeries::Entity& entity,
                              const std::optional<rules::MetricMatch>& match,
                              const MetricPanel& panel) {
  std::vector<double> out;
  if (match && match->kind == rules::MetricKind::counter) {
    const CounterRate rate = counter_rate(entity.times, entity.values, match->metric->ceiling);
    out = binned(rate.times, rate.rates, panel);
  } else {
    out = binned(entity.times, entity.values, panel);
  }
  if (match && match->scale != 1)
    for (double& v : out) v *= match->scale;
  return out;
}

double at_share(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return kNoFigure;
  return sorted[static_cast<std::size_t>(
      std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

}  // namespace

std::vector<MetricPanel> metric_panels(const OutlierReport& report,
                                       const std::vector<MetricSeries>& metrics,
                                       const rules::Catalogue& catalogue, std::size_t most) {
  std::vector<MetricPanel> out;
  std::set<std::pair<std::string, std::string>> drawn;
  for (const MetricOutlier& o : report.outliers) {
    if (out.size() >= most) break;
    const auto series = std::ranges::find(metrics, o.printed, &MetricSeries::name);
    if (series == metrics.end() || !drawn.emplace(o.metric, o.outlier.entity).second) continue;
    MetricPanel panel{.metric = o.metric,
                      .unit = o.unit,
                      .entity = o.outlier.entity,
                      .crowd_name = o.outlier.fallback ? "" : o.outlier.group,
                      .out_begin = o.outlier.start,
                      .out_end = o.outlier.end};
    // As much before and after as it lasted, as far as there are samples.
    const Nanoseconds around = std::max<Nanoseconds>(o.outlier.end - o.outlier.start, 60 * kSecond);
    panel.begin = std::max(report.start, o.outlier.start - 2 * around);
    panel.end = std::min(std::max(report.end, o.outlier.end), o.outlier.end + 2 * around);
    if (panel.end <= panel.begin) continue;
    const auto match = match_by_samples(*series, catalogue);
    std::vector<std::vector<double>> crowd(kPanelBins);
    for (const MetricSeries::Entity& entity : series->entities) {
      if (entity.name == panel.entity) {
        panel.value = of_entity(entity, match, panel);
        continue;
      }
      if ((!panel.crowd_name.empty() && entity.role != panel.crowd_name) ||
          panel.crowd >= kMostPeers)
        continue;
      ++panel.crowd;
      const auto values = of_entity(entity, match, panel);
      for (std::size_t b = 0; b < kPanelBins; ++b)
        if (std::isfinite(values[b])) crowd[b].push_back(values[b]);
    }
    if (panel.value.empty() || panel.crowd == 0) continue;
    for (std::vector<double>& bin : crowd) {
      sort_rows(bin);
      panel.low.push_back(at_share(bin, 0.1));
      panel.middle.push_back(at_share(bin, 0.5));
      panel.high.push_back(at_share(bin, 0.9));
    }
    out.push_back(std::move(panel));
  }
  return out;
}

}  // namespace culprit::analyze
