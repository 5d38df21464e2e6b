#include "analyze/metrics/outlier_scan.hpp"

#include <bit>
#include <utility>

#include <fmt/format.h>

#include "analyze/metrics/outlier_bins.hpp"
#include "analyze/facts/vector_math.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

namespace {

using rules::MetricSide;

constexpr std::size_t kBlock =
    32;  // bins filled at a time: their values of 1000 entities stay in the cache
constexpr std::size_t kBinsOfWindow = 20;
constexpr double kUnit = 256,
                 kUnitsMost = 8 * kUnit;  // a score beyond 8 says no more about T than one of 8
constexpr double kMostlyOut = 0.65;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One bin's values of entities that stand side by side, into what is kept of each. Plain loops:
// each becomes vector instructions.
CULPRIT_VECTOR_CLONES void mark_values(std::size_t n, const double* __restrict row, double center,
                                       double per, double above, double below, std::uint32_t counts,
                                       std::int32_t* __restrict now, std::int16_t* __restrict ring,
                                       std::int32_t* __restrict sum, std::uint32_t* __restrict up,
                                       std::uint32_t* __restrict down,
                                       std::uint32_t* __restrict present,
                                       std::uint32_t* __restrict high,
                                       std::uint32_t* __restrict low) {
  for (std::size_t e = 0; e < n; ++e) {
    const double units = std::max(-kUnitsMost, std::min(kUnitsMost, (row[e] - center) * per));
    now[e] = static_cast<std::int32_t>(row[e] == row[e] ? units : 0);
  }
  for (std::size_t e = 0; e < n; ++e) {
    sum[e] += now[e] - ring[e];
    ring[e] = static_cast<std::int16_t>(now[e]);
    up[e] = up[e] << 1 | static_cast<std::uint32_t>(now[e] > 0);
    down[e] = down[e] << 1 | static_cast<std::uint32_t>(now[e] < 0);
  }
  for (std::size_t e = 0; e < n; ++e) {
    present[e] = present[e] << 1 | (static_cast<std::uint32_t>(row[e] == row[e]) & counts);
    high[e] = high[e] << 1 | static_cast<std::uint32_t>(row[e] > above);
    low[e] = low[e] << 1 | static_cast<std::uint32_t>(row[e] < below);
  }
}

CULPRIT_VECTOR_CLONES std::int64_t missing_values(std::size_t n, const double* __restrict row) {
  std::int64_t missing = 0;
  for (std::size_t e = 0; e < n; ++e)
    missing += row[e] == row[e] ? std::int64_t{0} : std::int64_t{1};
  return missing;
}

class Scan {
 public:
  Scan(std::span<const OutlierSeries> series, const OutlierMetric& metric,
       const OutlierParams& params)
      : metric_(metric), params_(params) {
    for (const OutlierSeries& s : series) out_.series.push_back(&s);
    // By role, then name: roles are ranges, and the order they came in does not matter.
    std::ranges::stable_sort(out_.series, [](const OutlierSeries* a, const OutlierSeries* b) {
      return a->group != b->group ? a->group < b->group : a->entity < b->entity;
    });
  }

  OutlierScan run() {
    if (!measure()) return std::move(out_);
    out_.walked = true;
    make_groups();
    walk();
    return std::move(out_);
  }

 private:
  void lack(std::string code, Text text, std::vector<std::string> entities = {}) {
    std::ranges::sort(entities);
    out_.not_enough.push_back({std::move(code), std::move(text), std::move(entities)});
  }

  // Extent and usual distance of the samples: how long bins must be.
  bool measure() {
    bool any = false;
    std::vector<double> distances;
    for (const OutlierSeries* s : out_.series) {
      std::size_t finite = 0;
      Nanoseconds first = kFarthest, last = -kFarthest;
      const std::size_t n = std::min(s->times.size(), s->values.size());
      for (std::size_t i = 0; i < n; ++i) {
        const Nanoseconds t = s->times[i];
        if (!std::isfinite(s->values[i]) || t <= -kFarthest || t >= kFarthest) continue;
        ++finite;
        first = std::min(first, t);
        last = std::max(last, t);
      }
      if (finite == 0) continue;
      if (!any || first < out_.start) out_.start = first;
      if (!any || last > out_.end) out_.end = last;
      any = true;
      out_.samples += finite;
      if (finite > 1)
        distances.push_back(static_cast<double>(last - first) / static_cast<double>(finite - 1));
    }
    if (!any) {
      lack("no_samples", say(Phrase::no_value));
      return false;
    }
    Nanoseconds window = std::clamp<Nanoseconds>(params_.window, 1000, Nanoseconds{1} << 55);
    out_.bin = std::clamp<Nanoseconds>(
        params_.bin > 0 ? params_.bin : window / static_cast<Nanoseconds>(kBinsOfWindow),
        std::max<Nanoseconds>(1, window / 32 + 1), window);
    out_.carry = std::clamp(params_.carry, 0, 8);
    const double usual = distances.empty() ? 0 : median_in_place(distances);
    const auto apart = static_cast<Nanoseconds>(std::min(usual, 9e18));
    const auto too_far = [&] { return usual > static_cast<double>(out_.bin) * (out_.carry + 1); };
    if (too_far())
      out_.bin = usual < static_cast<double>(std::max(window, params_.longest))
                     ? static_cast<Nanoseconds>(usual) + 1
                     : window;
    if (const auto enough = static_cast<Nanoseconds>(kLeastBins) * out_.bin;
        window < enough && enough <= params_.longest)
      window = enough;
    out_.bins = static_cast<std::size_t>(std::clamp<Nanoseconds>(window / out_.bin, 1, 32));
    if (out_.bins < kLeastBins || too_far()) {
      lack("few_samples", say(Phrase::samples_apart, human_duration(std::max(out_.bin, apart)),
                              human_duration(window)));
      return zero_possible();
    }
    if (static_cast<double>(out_.end - out_.start) <
        params_.share * static_cast<double>(window) - static_cast<double>(out_.bin)) {
      lack("short", say(Phrase::samples_span, human_duration(out_.end - out_.start),
                        human_duration(window)));
      return zero_possible();
    }
    out_.lasting = true;
    return true;
  }

  // A threshold that one sample may pass needs neither crowd nor time.
  bool zero_possible() const { return metric_.zero_above && metric_.zero_once; }

  void make_groups() {
    const std::size_t n = out_.series.size();
    out_.group_of.assign(n, 0);
    std::vector<std::string> small;
    std::vector<std::size_t> fallen;
    const std::size_t least = std::max<std::size_t>(2, params_.least);
    for (std::size_t first = 0, last = 0; first < n; first = last) {
      while (last < n && out_.series[last]->group == out_.series[first]->group) ++last;
      if (last - first >= least || last - first == n) {
        for (std::size_t e = first; e < last; ++e) out_.group_of[e] = out_.groups.size();
        out_.groups.push_back({out_.series[first]->group, first, last, true, {}, {}, {}});
      } else {
        for (std::size_t e = first; e < last; ++e) fallen.push_back(e);
        small.push_back(out_.series[first]->group);
      }
    }
    if (!fallen.empty()) {
      for (const std::size_t e : fallen) out_.group_of[e] = out_.groups.size();
      out_.groups.push_back({"", 0, n, false, {}, {}, {}});
      if (n >= least) {
        std::string names;
        for (std::size_t i = 0; i < small.size() && i < 5; ++i)
          names += (i ? ", " : "") + (small[i].empty() ? std::string("without a role") : small[i]);
        if (small.size() > 5) names += fmt::format(" and {} more", small.size() - 5);
        std::vector<std::string> entities;
        for (const std::size_t e : fallen) entities.push_back(out_.series[e]->entity);
        lack("small_group", say(Phrase::role_compared_with_all, least, names), std::move(entities));
      }
    }
    if (n < least)
      lack("few_entities", say(Phrase::too_few_entities, n, least));
    else if (params_.rule == OutlierRule::published)
      for (const CrowdGroup& g : out_.groups)
        if (g.last - g.first < kPublishedLeast)
          lack("cannot_fire", say(Phrase::none_can_exceed, g.last - g.first, g.name,
                                  params_.published_sd, kPublishedLeast));
  }

  // --- one pass over the bins ---

  void walk() {
    const std::size_t n = out_.series.size();
    std::vector<BinWalker> walkers;
    walkers.reserve(n);
    for (const OutlierSeries* s : out_.series)
      walkers.emplace_back(*s, out_.bin, out_.carry, metric_.average);
    present_.assign(n, 0);
    high_ = low_ = zero_ = seen_ = present_;
    out_.judged.assign(n, 0);
    up_ = down_ = present_;
    sum_.assign(n, 0);
    now_.assign(n, 0);
    ring_.assign(n * out_.bins, 0);
    for (auto* open : {&open_high_, &open_low_, &open_zero_, &open_up_, &open_down_})
      open->assign(n, -1);
    window_ = out_.bins >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << out_.bins) - 1;
    std::vector<double> block(kBlock * n);
    std::int64_t done = 0;
    bool begun = false;
    for (;;) {
      std::int64_t next = kNoBin;
      for (const BinWalker& w : walkers) next = std::min(next, w.next());
      if (next == kNoBin) break;
      // A hole longer than values are carried is not walked through.
      const std::int64_t first = begun && next <= done + out_.carry ? done : next;
      if (begun) skip(first - done);
      begun = true;
      for (std::size_t e = 0; e < n; ++e) walkers[e].fill(first, kBlock, &block[e], n);
      for (std::size_t i = 0; i < kBlock; ++i)
        instant(first + static_cast<std::int64_t>(i), &block[i * n]);
      const int need =
          static_cast<int>(std::ceil(params_.present * static_cast<double>(out_.bins)));
      for (std::size_t e = 0; e < n; ++e)
        out_.judged[e] |= std::popcount(present_[e] & window_) >= need;
      done = first + static_cast<std::int64_t>(kBlock);
    }
  }

  void skip(std::int64_t bins) {
    if (bins <= 0) return;
    for (auto* mask : {&present_, &high_, &low_, &zero_, &seen_, &up_, &down_})
      for (std::uint32_t& m : *mask) m = bins >= 32 ? 0 : m << bins;
    for (std::int64_t i = 0; i < std::min(bins, static_cast<std::int64_t>(out_.bins)); ++i) {
      for (std::size_t e = 0; e < out_.series.size(); ++e)
        sum_[e] -= std::exchange(ring_[ring_at_ * out_.series.size() + e], std::int16_t{0});
      ring_at_ = (ring_at_ + 1) % out_.bins;
    }
  }

  void instant(std::int64_t bin, const double* row) {
    const std::size_t n = out_.series.size();
    for (std::size_t g = 0; g < out_.groups.size(); ++g) score(bin, row, g);
    ring_at_ = (ring_at_ + 1) % out_.bins;
    // Windows that share three quarters say nearly the same.
    if (out_.lasting && params_.rule == OutlierRule::robust &&
        ring_at_ % std::max<std::size_t>(1, out_.bins / 4) == 0)
      for (std::size_t g = 0; g < out_.groups.size(); ++g) period(bin, g);
    if (metric_.zero_above) {
      const double above = *metric_.zero_above;
      for (std::size_t e = 0; e < n; ++e) {
        zero_[e] = zero_[e] << 1 | static_cast<std::uint32_t>(row[e] > above);
        seen_[e] = seen_[e] << 1 | static_cast<std::uint32_t>(row[e] == row[e]);
      }
    }
    for (std::size_t e = 0; e < n; ++e)
      if ((high_[e] | low_[e] | zero_[e]) != 0) evaluate(bin, e);
  }

  void score(std::int64_t bin, const double* row, std::size_t g) {
    CrowdGroup& group = out_.groups[g];
    const std::int64_t missing = missing_values(group.last - group.first, row + group.first);
    const std::size_t present = group.last - group.first - static_cast<std::size_t>(missing);
    double above = kInfinity, below = -kInfinity, center = 0, per = 0;
    const bool enough = present >= std::max<std::size_t>(2, params_.least);
    if (enough) {
      std::span<const double> values(row + group.first, group.last - group.first);
      if (present < values.size()) {
        gathered_.clear();
        for (const double v : values)
          if (v == v) gathered_.push_back(v);
        values = gathered_;
      }
      const bool published = params_.rule == OutlierRule::published;
      const Crowd crowd = published ? CrowdMeter::published(values) : group.meter.robust(values);
      group.instants.push_back({bin, crowd});
      double reach = 0;
      if (published)
        reach = crowd.size >= kPublishedLeast ? params_.published_sd * crowd.scale : kInfinity;
      else
        reach = std::max(threshold(crowd.size) * crowd.scale, effect(crowd.center));
      above = crowd.center + reach;
      below = crowd.center - reach;
      center = crowd.center;
      // A crowd without spread is held to have the least that the smallest effect allows.
      if (!published && reach > 0 && std::isfinite(reach))
        per = kUnit * threshold(crowd.size) / reach;
      // What a healthy machine may show is no outlier, however quiet the others are.
      if (metric_.zero_above && !published) above = std::max(above, *metric_.zero_above);
      if (metric_.bad == MetricSide::low || metric_.bad == MetricSide::none) above = kInfinity;
      if (metric_.bad == MetricSide::high || metric_.bad == MetricSide::none) below = -kInfinity;
    }
    // Roles are ranges; only those that fell back stand here and there.
    if (group.judged)
      mark(row, group.first, group.last, enough, center, per, above, below);
    else
      for (std::size_t e = group.first; e < group.last; ++e)
        if (out_.group_of[e] == g) mark(row, e, e + 1, enough, center, per, above, below);
  }

  void mark(const double* row, std::size_t first, std::size_t last, bool enough, double center,
            double per, double above, double below) {
    mark_values(last - first, row + first, center, per, above, below, enough, &now_[first],
                &ring_[ring_at_ * out_.series.size() + first], &sum_[first], &up_[first],
                &down_[first], &present_[first], &high_[first], &low_[first]);
  }

  // Noise may hide now and then who is worse all the time: the mean score over T against those of
  // the others. It must still lie on that side of the crowd in the share of the bins, and stand out
  // in most of them, or a burst would pass for a state.
  void period(std::int64_t bin, std::size_t g) {
    CrowdGroup& group = out_.groups[g];
    if (group.instants.empty() || group.instants.back().bin != bin) return;
    means_.clear();
    const int need = static_cast<int>(std::ceil(params_.present * static_cast<double>(out_.bins)));
    for (std::size_t e = group.first; e < group.last; ++e)
      if (const int seen = std::popcount(present_[e] & window_);
          seen >= need && (group.judged || out_.group_of[e] == g))
        means_.push_back(sum_[e] / (kUnit * seen));
    if (means_.size() < std::max<std::size_t>(2, params_.least)) return;
    const Crowd crowd = group.means.robust(means_);
    const double limit = threshold(crowd.size), reach = limit * std::max(crowd.scale, 1 / kUnit);
    double scale = 0, center = 0;
    const std::size_t count = std::min(out_.bins, group.instants.size());
    for (std::size_t i = group.instants.size() - count; i < group.instants.size(); ++i) {
      const Crowd& c = group.instants[i].crowd;
      scale += std::max(c.scale, effect(c.center) / threshold(c.size)) / static_cast<double>(count);
      center += c.center / static_cast<double>(count);
    }
    for (std::size_t e = group.first; e < group.last; ++e) {
      const int seen = std::popcount(present_[e] & window_);
      if (seen < need || (!group.judged && out_.group_of[e] != g)) continue;
      const double mean = sum_[e] / (kUnit * seen),
                   score = (mean - crowd.center) / std::max(crowd.scale, 1 / kUnit);
      if (std::fabs(mean - crowd.center) <= reach || std::fabs(mean * scale) < effect(center))
        continue;
      const bool high = mean > crowd.center;
      if (metric_.bad == MetricSide::none || (high && metric_.bad == MetricSide::low) ||
          (!high && metric_.bad == MetricSide::high))
        continue;
      if (high && metric_.zero_above && center + mean * scale <= *metric_.zero_above) continue;
      const std::uint32_t mask = high ? up_[e] : down_[e];
      if (std::popcount((high ? high_[e] : low_[e]) & window_) >= kMostlyOut * seen &&
          lasts(mask, present_[e]))
        extend(bin, e, mask, high ? open_up_ : open_down_,
               high ? MetricSide::high : MetricSide::low, OutlierInterval::period,
               std::fabs(score));
    }
  }

  // Thresholds by crowd size; the same few come again and again.
  double threshold(std::size_t size) {
    if (size >= thresholds_.size()) thresholds_.resize(size + 1, 0);
    if (thresholds_[size] == 0)
      thresholds_[size] =
          outlier_threshold(size, params_.metrics, params_.threshold, params_.false_alarm);
    return thresholds_[size];
  }
  double effect(double center) const { return least_effect(metric_, center); }

  void evaluate(std::int64_t bin, std::size_t e) {
    if (out_.lasting && lasts(high_[e], present_[e]))
      extend(bin, e, high_[e], open_high_, MetricSide::high, OutlierInterval::instant);
    if (out_.lasting && lasts(low_[e], present_[e]))
      extend(bin, e, low_[e], open_low_, MetricSide::low, OutlierInterval::instant);
    if (zero_[e] != 0 && metric_.zero_above) {
      if (metric_.zero_once ? (zero_[e] & 1) != 0 : out_.lasting && lasts(zero_[e], seen_[e]))
        extend(bin, e, metric_.zero_once ? 1 : zero_[e], open_zero_, MetricSide::high,
               OutlierInterval::zero);
    }
  }

  // In the share of the bins of T that have a value, of which there are enough, and from one end of
  // T to the other.
  bool lasts(std::uint32_t mask, std::uint32_t present) const {
    mask &= window_;
    if (mask == 0) return false;
    const int seen = std::popcount(present & window_), hits = std::popcount(mask),
              span = 32 - std::countl_zero(mask);
    const double bins = static_cast<double>(out_.bins);
    return seen >= params_.present * bins && hits >= params_.share * seen &&
           span >= std::floor(params_.share * bins);
  }

  void extend(std::int64_t bin, std::size_t e, std::uint32_t mask,
              std::vector<std::ptrdiff_t>& open, MetricSide side, OutlierInterval::Kind kind,
              double score = 0) {
    mask &= window_;
    const std::int64_t first = bin - (31 - std::countl_zero(mask)),
                       last = bin - std::countr_zero(mask);
    if (open[e] >= 0) {
      OutlierInterval& before = out_.intervals[static_cast<std::size_t>(open[e])];
      if (first <= before.last + static_cast<std::int64_t>(out_.bins)) {
        before.last = std::max(before.last, last);
        before.score = std::max(before.score, score);
        return;
      }
    }
    open[e] = static_cast<std::ptrdiff_t>(out_.intervals.size());
    out_.intervals.push_back({e, out_.group_of[e], side, kind, first, last, score});
  }

  const OutlierMetric& metric_;
  const OutlierParams& params_;
  OutlierScan out_;
  std::uint32_t window_ = 0;
  std::vector<std::uint32_t> present_, high_,
      low_;                                 // the last 32 bins of each entity, newest lowest
  std::vector<std::uint32_t> zero_, seen_;  // the same without a crowd
  std::vector<std::uint32_t> up_, down_;    // on which side of the crowd's middle
  std::vector<std::int16_t>
      ring_;  // scores of the last T in 1/kUnit, bin by bin: whole numbers, so that sums stay exact
  std::vector<std::int32_t> sum_, now_;  // of them; of this bin
  std::size_t ring_at_ = 0;
  std::vector<std::ptrdiff_t> open_high_, open_low_, open_zero_, open_up_, open_down_;
  std::vector<double> gathered_, thresholds_, means_;
};

}  // namespace

OutlierScan scan_outliers(std::span<const OutlierSeries> series, const OutlierMetric& metric,
                          const OutlierParams& params) {
  return Scan(series, metric, params).run();
}

}  // namespace culprit::analyze
