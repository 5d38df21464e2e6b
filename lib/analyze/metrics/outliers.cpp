#include "analyze/metrics/outliers.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "analyze/metrics/crowd.hpp"
#include "analyze/metrics/outlier_bins.hpp"
#include "analyze/metrics/outlier_common.hpp"
#include "analyze/metrics/outlier_scan.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

using rules::MetricSide;

// What a scan found, as a reader needs it.
class Told {
 public:
  Told(OutlierScan scan, const OutlierMetric& metric, const OutlierParams& params)
      : metric_(metric), params_(params), scan_(std::move(scan)) {}

  OutlierResult run() {
    result_.entities = scan_.series.size();
    result_.samples = scan_.samples;
    result_.bin = scan_.bin;
    result_.start = scan_.start;
    result_.end = scan_.end;
    result_.not_enough = std::move(scan_.not_enough);
    if (!scan_.walked) return std::move(result_);
    report_intervals();
    report_common();
    report_missing();
    sort_all();
    return std::move(result_);
  }

 private:
  std::string role(std::size_t e) const { return scan_.series[e]->group; }

  void lack(std::string code, Text text, std::vector<std::string> entities = {}) {
    sort_rows(entities);
    result_.not_enough.push_back({std::move(code), std::move(text), std::move(entities)});
  }

  void report_intervals() {
    // What the crowd says is told once, not again by the threshold of the metric.
    sort_by(scan_.intervals, &OutlierInterval::entity);
    std::vector<OutlierInterval> kept;
    for (auto first = scan_.intervals.begin(), last = first; first != scan_.intervals.end();
         first = last) {
      while (last != scan_.intervals.end() && last->entity == first->entity) ++last;
      // The surest words first: bin after bin, the mean of T, the threshold.
      for (auto i = first; i != last; ++i)
        if (std::none_of(first, last, [&](const OutlierInterval& o) {
              return o.kind < i->kind && o.side == i->side && o.first <= i->last &&
                     i->first <= o.last;
            }))
          kept.push_back(*i);
    }
    for (std::size_t g = 0; g < scan_.groups.size(); ++g)
      for (const MetricSide side : {MetricSide::high, MetricSide::low})
        for (const bool zero : {false, true}) {
          std::vector<OutlierInterval> mine;
          for (const OutlierInterval& i : kept)
            if (i.group == g && i.side == side && (i.kind == OutlierInterval::zero) == zero)
              mine.push_back(i);
          report_side(g, mine);
        }
  }

  void report_side(std::size_t g, const std::vector<OutlierInterval>& intervals) {
    if (intervals.empty()) return;
    const CrowdGroup& group = scan_.groups[g];
    const std::size_t size = group.last - group.first;
    // The published rule has no such limit; nor has a threshold that one sample passes.
    const bool once = intervals[0].kind == OutlierInterval::zero && metric_.zero_once;
    const double most = params_.rule == OutlierRule::published || once || size < 2
                            ? static_cast<double>(size)
                            : std::max(1.0, params_.most * static_cast<double>(size));
    std::vector<std::pair<std::int64_t, int>> steps;
    for (const OutlierInterval& i : intervals) {
      steps.emplace_back(i.first, 1);
      steps.emplace_back(i.last + 1, -1);
    }
    sort_rows(steps);
    std::vector<std::pair<std::int64_t, std::int64_t>> crowded;
    std::int64_t level = 0;
    for (const auto& [at, step] : steps) {
      const bool before = static_cast<double>(level) > most;
      level += step;
      const bool now = static_cast<double>(level) > most;
      if (now && !before) crowded.emplace_back(at, at);
      if (before && !now) crowded.back().second = at - 1;
    }
    std::vector<OutlierInterval> split;
    for (const OutlierInterval& i : intervals) {
      std::int64_t shared = 0;
      auto range =
          std::ranges::lower_bound(crowded, i.first, {}, [](const auto& r) { return r.second; });
      for (; range != crowded.end() && range->first <= i.last; ++range)
        shared += std::min(range->second, i.last) - std::max(range->first, i.first) + 1;
      if (2 * shared > i.last - i.first + 1)
        split.push_back(i);
      else
        result_.outliers.push_back(outlier(i));
    }
    if (split.empty()) return;
    CommonChange change{.kind = "split", .group = group.name, .size = size};
    std::vector<double> levels, crowds;
    std::vector<std::size_t> who;
    std::int64_t first = split[0].first, last = split[0].last;
    for (const OutlierInterval& i : split) {
      const Outlier one = outlier(i);
      levels.push_back(one.value);
      crowds.push_back(one.crowd);
      who.push_back(i.entity);
      first = std::min(first, i.first);
      last = std::max(last, i.last);
    }
    sort_unique(who);
    change.entities = who.size();
    change.from = median_in_place(crowds);
    change.to = median_in_place(levels);
    change.start = first * scan_.bin;
    change.end = (last + 1) * scan_.bin;
    result_.common.push_back(change);
  }

  Outlier outlier(const OutlierInterval& i) const {
    Outlier out;
    const CrowdGroup& group = scan_.groups[i.group];
    out.entity = scan_.series[i.entity]->entity;
    out.group = role(i.entity);
    out.fallback = !group.judged && !out.group.empty();
    out.side = i.side;
    out.start = i.first * scan_.bin;
    out.end = (i.last + 1) * scan_.bin;
    const bool zero = i.kind == OutlierInterval::zero;
    out.method = zero                                     ? "threshold"
                 : i.kind == OutlierInterval::period      ? "robust-mean"
                 : params_.rule == OutlierRule::published ? "published"
                                                          : "robust";
    BinWalker walker(*scan_.series[i.entity], scan_.bin, scan_.carry, metric_.average);
    std::vector<double> values, centers, scores, limits;
    auto instant = std::ranges::lower_bound(group.instants, i.first, {}, &CrowdInstant::bin);
    double value = 0;
    for (std::int64_t bin = i.first; bin <= i.last; ++bin) {
      walker.fill(bin, 1, &value, 1);
      if (value != value) continue;
      if (!zero || value > *metric_.zero_above) values.push_back(value);
      while (instant != group.instants.end() && instant->bin < bin) ++instant;
      if (instant == group.instants.end() || instant->bin != bin) continue;
      const Crowd& crowd = instant->crowd;
      out.size = std::max(out.size, crowd.size);
      centers.push_back(crowd.center);
      const double limit = params_.rule == OutlierRule::published
                               ? params_.published_sd
                               : outlier_threshold(crowd.size, params_.metrics, params_.threshold,
                                                   params_.false_alarm);
      // A crowd without spread is held to have the least that the smallest effect allows.
      const double scale = params_.rule == OutlierRule::published
                               ? crowd.scale
                               : std::max(crowd.scale, least_effect(metric_, crowd.center) / limit);
      limits.push_back(limit);
      scores.push_back(scale > 0 ? std::min(std::fabs(value - crowd.center) / scale, 1e6) : 1e6);
    }
    const auto of = [](std::vector<double>& v) { return v.empty() ? 0 : median_in_place(v); };
    out.value = of(values);
    out.crowd = of(centers);
    out.score = zero ? 0 : i.kind == OutlierInterval::period ? i.score : of(scores);
    out.threshold = zero ? *metric_.zero_above : of(limits);
    return out;
  }

  void report_common() {
    if (!scan_.lasting || metric_.bad == MetricSide::none) return;
    for (CrowdGroup& group : scan_.groups) {
      if (!group.judged || group.instants.size() < 4) continue;
      std::vector<double> middle;
      for (const CrowdInstant& i : group.instants) middle.push_back(i.crowd.center);
      const auto changes = level_changes(
          middle, std::max<std::size_t>(kLeastBins, scan_.bins / 2),
          std::max(metric_.floor_absolute, metric_.zero_above.value_or(0)), metric_.floor_relative);
      for (std::size_t c = 0; c < changes.size(); ++c) {
        CommonChange out{.kind = "shift",
                         .group = group.name,
                         .start = (group.instants[changes[c].before].bin + 1) * scan_.bin,
                         .end = group.instants[changes[c].after].bin * scan_.bin,
                         .size = group.last - group.first};
        if (out.end < out.start) std::swap(out.start, out.end);
        out.from = changes[c].from;
        out.to = changes[c].to;
        const std::int64_t from =
            c > 0 ? group.instants[changes[c - 1].after].bin : group.instants.front().bin;
        const std::int64_t to = c + 1 < changes.size() ? group.instants[changes[c + 1].before].bin
                                                       : group.instants.back().bin;
        out.entities = moved(group, out, from, group.instants[changes[c].before].bin,
                             group.instants[changes[c].after].bin, to);
        // What only some did is their affair.
        if (4 * out.entities >= 3 * out.size) result_.common.push_back(std::move(out));
      }
    }
  }

  // How many went the same way by at least half of it. Bins of the old level and of the new one,
  // both ends within.
  std::size_t moved(const CrowdGroup& group, const CommonChange& change, std::int64_t old_first,
                    std::int64_t old_last, std::int64_t new_first, std::int64_t new_last) const {
    std::size_t count = 0;
    std::vector<double> before, after;
    for (std::size_t e = group.first; e < group.last; ++e) {
      before.clear();
      after.clear();
      const OutlierSeries& s = *scan_.series[e];
      for (std::size_t i = 0; i < std::min(s.times.size(), s.values.size()); ++i) {
        const Nanoseconds t = s.times[i];
        if (!std::isfinite(s.values[i]) || t <= -kFarthest || t >= kFarthest) continue;
        const std::int64_t bin = bin_of(t, scan_.bin);
        if (bin >= old_first && bin <= old_last)
          before.push_back(s.values[i]);
        else if (bin >= new_first && bin <= new_last)
          after.push_back(s.values[i]);
      }
      if (before.empty() || after.empty()) continue;
      count +=
          (median_in_place(after) - median_in_place(before)) / (change.to - change.from) >= 0.5;
    }
    return count;
  }

  void report_missing() {
    std::vector<std::string> unseen;
    for (std::size_t e = 0; e < scan_.series.size(); ++e) {
      const CrowdGroup& group = scan_.groups[scan_.group_of[e]];
      const bool possible =
          params_.rule != OutlierRule::published || group.last - group.first >= kPublishedLeast;
      result_.judged += scan_.judged[e] && scan_.lasting && possible;
      if (!scan_.judged[e]) unseen.push_back(scan_.series[e]->entity);
    }
    if (scan_.lasting && !unseen.empty() &&
        scan_.series.size() >= std::max<std::size_t>(2, params_.least))
      lack("few_samples",
           say(Phrase::never_enough_values, unseen.size(), scan_.series.size(),
               human_duration(params_.window)),
           std::move(unseen));
  }

  void sort_all() {
    sort_by(result_.outliers,
            [](const Outlier& o) { return std::tie(o.entity, o.start, o.side, o.value); });
    sort_by(result_.common, [](const CommonChange& c) { return std::tie(c.start, c.group, c.to); });
  }

  const OutlierMetric& metric_;
  const OutlierParams& params_;
  OutlierScan scan_;
  OutlierResult result_;
};

}  // namespace

OutlierResult find_outliers(std::span<const OutlierSeries> series, const OutlierMetric& metric,
                            const OutlierParams& params) {
  return Told(scan_outliers(series, metric, params), metric, params).run();
}

}  // namespace culprit::analyze
