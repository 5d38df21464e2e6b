#include "analyze/outliers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "analyze/crowd.hpp"
#include "analyze/outlier_bins.hpp"
#include "analyze/outlier_common.hpp"
#include "analyze/vector_math.hpp"

namespace culprit::analyze {

namespace {

using rules::MetricSide;

constexpr std::size_t kBlock = 32;             // bins filled at a time: their values of 1000 entities stay in the cache
constexpr std::size_t kLeastBins = 5;          // of T; fewer samples say nothing about "during all of T"
constexpr std::size_t kBinsOfWindow = 20;
constexpr std::size_t kPublishedLeast = 6;     // below, no z exceeds sqrt(n - 1) <= 2
constexpr double kUnit = 256, kUnitsMost = 8 * kUnit;   // a score beyond 8 says no more about T than one of 8
constexpr double kMostly = 0.65;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What was measured of a crowd in one bin.
struct Instant { std::int64_t bin; Crowd crowd; };

// Entities first .. last of the sorted ones; those of roles that have too few are scored against all.
struct Group {
  std::string name;
  std::size_t first = 0, last = 0;
  bool judged = true;                          // false: only measured, for those that fall back to it
  CrowdMeter meter, means;
  std::vector<Instant> instants;
};

struct Interval {
  std::size_t entity = 0, group = 0;
  MetricSide side = MetricSide::high;
  enum Kind { instant, period, zero } kind = instant;   // what spoke: bin after bin; the mean over T; the metric's own threshold
  std::int64_t first = 0, last = 0;            // bins
  double score = 0;                            // of a period: the highest
};

// One bin's values of entities that stand side by side, into what is kept of each. Plain loops: each becomes vector
// instructions.
CULPRIT_VECTOR_CLONES void mark_values(std::size_t n, const double* __restrict row, double center, double per, double above, double below, std::uint32_t counts, std::int32_t* __restrict now, std::int16_t* __restrict ring,
                                       std::int32_t* __restrict sum, std::uint32_t* __restrict up, std::uint32_t* __restrict down, std::uint32_t* __restrict present, std::uint32_t* __restrict high, std::uint32_t* __restrict low) {
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
  for (std::size_t e = 0; e < n; ++e) missing += row[e] == row[e] ? std::int64_t{0} : std::int64_t{1};
  return missing;
}

class Search {
 public:
  Search(std::span<const OutlierSeries> series, const OutlierMetric& metric, const OutlierParams& params) : metric_(metric), params_(params) {
    for (const OutlierSeries& s : series) series_.push_back(&s);
    // By role, then name: roles are ranges, and the order they came in does not matter.
    std::stable_sort(series_.begin(), series_.end(), [](const OutlierSeries* a, const OutlierSeries* b) { return a->group != b->group ? a->group < b->group : a->entity < b->entity; });
  }

  OutlierResult run() {
    if (!measure()) return std::move(result_);
    make_groups();
    walk();
    report_intervals();
    report_common();
    report_missing();
    sort_all();
    return std::move(result_);
  }

 private:
  std::string role(std::size_t e) const { return series_[e]->group; }

  void lack(std::string code, std::string text, std::vector<std::string> entities = {}) {
    std::sort(entities.begin(), entities.end());
    result_.not_enough.push_back({std::move(code), std::move(text), std::move(entities)});
  }

  // Extent and usual distance of the samples: how long bins must be.
  bool measure() {
    result_.entities = series_.size();
    bool any = false;
    std::vector<double> distances;
    for (const OutlierSeries* s : series_) {
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
      if (!any || first < result_.start) result_.start = first;
      if (!any || last > result_.end) result_.end = last;
      any = true;
      result_.samples += finite;
      if (finite > 1) distances.push_back(static_cast<double>(last - first) / static_cast<double>(finite - 1));
    }
    if (!any) { lack("no_samples", "there is no value"); return false; }
    const Nanoseconds window = std::clamp<Nanoseconds>(params_.window, 1000, Nanoseconds{1} << 55);
    bin_ = std::clamp<Nanoseconds>(params_.bin > 0 ? params_.bin : window / static_cast<Nanoseconds>(kBinsOfWindow), std::max<Nanoseconds>(1, window / 32 + 1), window);
    carry_ = std::clamp(params_.carry, 0, 8);
    if (!distances.empty())
      if (const double usual = median_of(distances); usual > static_cast<double>(bin_) * (carry_ + 1)) bin_ = usual < static_cast<double>(window) ? static_cast<Nanoseconds>(usual) + 1 : window;
    result_.bin = bin_;
    bins_ = static_cast<std::size_t>(std::clamp<Nanoseconds>(window / bin_, 1, 32));
    if (bins_ < kLeastBins) {
      lack("few_samples", fmt::format("samples are {} apart: too few within {}", human_duration(bin_), human_duration(window)));
      return zero_possible();
    }
    if (static_cast<double>(result_.end - result_.start) < params_.share * static_cast<double>(window) - static_cast<double>(bin_)) {
      lack("short", fmt::format("the samples span {}, less than the {} for which something must last", human_duration(result_.end - result_.start), human_duration(window)));
      return zero_possible();
    }
    lasting_ = true;
    return true;
  }

  // A threshold that one sample may pass needs neither crowd nor time.
  bool zero_possible() const { return metric_.zero_above && metric_.zero_once; }

  void make_groups() {
    const std::size_t n = series_.size();
    group_of_.assign(n, 0);
    std::vector<std::string> small;
    std::vector<std::size_t> fallen;
    const std::size_t least = std::max<std::size_t>(2, params_.least);
    std::size_t roles = 0;
    for (std::size_t first = 0, last = 0; first < n; first = last) {
      while (last < n && series_[last]->group == series_[first]->group) ++last;
      ++roles;
      if (last - first >= least || last - first == n) {
        for (std::size_t e = first; e < last; ++e) group_of_[e] = groups_.size();
        groups_.push_back({series_[first]->group, first, last, true, {}, {}, {}});
      } else {
        for (std::size_t e = first; e < last; ++e) fallen.push_back(e);
        small.push_back(series_[first]->group);
      }
    }
    if (!fallen.empty()) {
      for (const std::size_t e : fallen) group_of_[e] = groups_.size();
      groups_.push_back({"", 0, n, false, {}, {}, {}});
      if (n >= least) {
        std::string names;
        for (std::size_t i = 0; i < small.size() && i < 5; ++i) names += (i ? ", " : "") + (small[i].empty() ? std::string("without a role") : small[i]);
        if (small.size() > 5) names += fmt::format(" and {} more", small.size() - 5);
        std::vector<std::string> entities;
        for (const std::size_t e : fallen) entities.push_back(series_[e]->entity);
        lack("small_group", fmt::format("fewer than {} of role {}: compared with all", least, names), std::move(entities));
      }
    }
    if (n < least) lack("few_entities", fmt::format("{}: {} needed to tell who is unlike the others", n == 1 ? std::string("there is only one") : fmt::format("there are only {}", n), least));
    else if (params_.rule == OutlierRule::published)
      for (const Group& g : groups_)
        if (g.last - g.first < kPublishedLeast) lack("cannot_fire", fmt::format("of {}{} none can exceed mean + {:g} sd, whatever its value; the published rule needs {}", g.last - g.first, g.name.empty() ? "" : " in " + g.name, params_.published_sd, kPublishedLeast));
  }

  // --- one pass over the bins ---

  void walk() {
    const std::size_t n = series_.size();
    std::vector<BinWalker> walkers;
    walkers.reserve(n);
    for (const OutlierSeries* s : series_) walkers.emplace_back(*s, bin_, carry_, metric_.average);
    present_.assign(n, 0);
    high_ = low_ = zero_ = seen_ = present_;
    judged_.assign(n, 0);
    up_ = down_ = present_;
    sum_.assign(n, 0);
    now_.assign(n, 0);
    ring_.assign(n * bins_, 0);
    for (auto* open : {&open_high_, &open_low_, &open_zero_, &open_up_, &open_down_}) open->assign(n, -1);
    window_ = bins_ >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << bins_) - 1;
    std::vector<double> block(kBlock * n);
    std::int64_t done = 0;
    bool begun = false;
    for (;;) {
      std::int64_t next = kNoBin;
      for (const BinWalker& w : walkers) next = std::min(next, w.next());
      if (next == kNoBin) break;
      // A hole longer than values are carried is not walked through.
      const std::int64_t first = begun && next <= done + carry_ ? done : next;
      if (begun) skip(first - done);
      begun = true;
      for (std::size_t e = 0; e < n; ++e) walkers[e].fill(first, kBlock, &block[e], n);
      for (std::size_t i = 0; i < kBlock; ++i) instant(first + static_cast<std::int64_t>(i), &block[i * n]);
      const int need = static_cast<int>(std::ceil(params_.present * static_cast<double>(bins_)));
      for (std::size_t e = 0; e < n; ++e) judged_[e] |= std::popcount(present_[e] & window_) >= need;
      done = first + static_cast<std::int64_t>(kBlock);
    }
  }

  void skip(std::int64_t bins) {
    if (bins <= 0) return;
    for (auto* mask : {&present_, &high_, &low_, &zero_, &seen_, &up_, &down_})
      for (std::uint32_t& m : *mask) m = bins >= 32 ? 0 : m << bins;
    for (std::int64_t i = 0; i < std::min(bins, static_cast<std::int64_t>(bins_)); ++i) {
      for (std::size_t e = 0; e < series_.size(); ++e) sum_[e] -= std::exchange(ring_[ring_at_ * series_.size() + e], std::int16_t{0});
      ring_at_ = (ring_at_ + 1) % bins_;
    }
  }

  void instant(std::int64_t bin, const double* row) {
    const std::size_t n = series_.size();
    for (std::size_t g = 0; g < groups_.size(); ++g) score(bin, row, g);
    ring_at_ = (ring_at_ + 1) % bins_;
    // Windows that share three quarters say nearly the same.
    if (lasting_ && params_.rule == OutlierRule::robust && ring_at_ % std::max<std::size_t>(1, bins_ / 4) == 0)
      for (std::size_t g = 0; g < groups_.size(); ++g) period(bin, g);
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
    Group& group = groups_[g];
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
      if (published) reach = crowd.size >= kPublishedLeast ? params_.published_sd * crowd.scale : kInfinity;
      else reach = std::max(threshold(crowd.size) * crowd.scale, effect(crowd.center));
      above = crowd.center + reach;
      below = crowd.center - reach;
      center = crowd.center;
      // A crowd without spread is held to have the least that the smallest effect allows.
      if (!published && reach > 0 && std::isfinite(reach)) per = kUnit * threshold(crowd.size) / reach;
      // What a healthy machine may show is no outlier, however quiet the others are.
      if (metric_.zero_above && !published) above = std::max(above, *metric_.zero_above);
      if (metric_.bad == MetricSide::low || metric_.bad == MetricSide::none) above = kInfinity;
      if (metric_.bad == MetricSide::high || metric_.bad == MetricSide::none) below = -kInfinity;
    }
    // Roles are ranges; only those that fell back stand here and there.
    if (group.judged) mark(row, group.first, group.last, enough, center, per, above, below);
    else
      for (std::size_t e = group.first; e < group.last; ++e)
        if (group_of_[e] == g) mark(row, e, e + 1, enough, center, per, above, below);
  }

  void mark(const double* row, std::size_t first, std::size_t last, bool enough, double center, double per, double above, double below) {
    mark_values(last - first, row + first, center, per, above, below, enough, &now_[first], &ring_[ring_at_ * series_.size() + first], &sum_[first], &up_[first], &down_[first], &present_[first], &high_[first], &low_[first]);
  }

  // Noise may hide now and then who is worse all the time: the mean score over T against those of the others. It must still
  // lie on that side of the crowd in the share of the bins, and stand out in most of them, or a burst would pass for a state.
  void period(std::int64_t bin, std::size_t g) {
    Group& group = groups_[g];
    if (group.instants.empty() || group.instants.back().bin != bin) return;
    means_.clear();
    const int need = static_cast<int>(std::ceil(params_.present * static_cast<double>(bins_)));
    for (std::size_t e = group.first; e < group.last; ++e)
      if (const int seen = std::popcount(present_[e] & window_); seen >= need && (group.judged || group_of_[e] == g)) means_.push_back(sum_[e] / (kUnit * seen));
    if (means_.size() < std::max<std::size_t>(2, params_.least)) return;
    const Crowd crowd = group.means.robust(means_);
    const double limit = threshold(crowd.size), reach = limit * std::max(crowd.scale, 1 / kUnit);
    double scale = 0, center = 0;
    const std::size_t count = std::min(bins_, group.instants.size());
    for (std::size_t i = group.instants.size() - count; i < group.instants.size(); ++i) {
      const Crowd& c = group.instants[i].crowd;
      scale += std::max(c.scale, effect(c.center) / threshold(c.size)) / static_cast<double>(count);
      center += c.center / static_cast<double>(count);
    }
    for (std::size_t e = group.first; e < group.last; ++e) {
      const int seen = std::popcount(present_[e] & window_);
      if (seen < need || (!group.judged && group_of_[e] != g)) continue;
      const double mean = sum_[e] / (kUnit * seen), score = (mean - crowd.center) / std::max(crowd.scale, 1 / kUnit);
      if (std::fabs(mean - crowd.center) <= reach || std::fabs(mean * scale) < effect(center)) continue;
      const bool high = mean > crowd.center;
      if (metric_.bad == MetricSide::none || (high && metric_.bad == MetricSide::low) || (!high && metric_.bad == MetricSide::high)) continue;
      if (high && metric_.zero_above && center + mean * scale <= *metric_.zero_above) continue;
      const std::uint32_t mask = high ? up_[e] : down_[e];
      if (std::popcount((high ? high_[e] : low_[e]) & window_) >= kMostly * seen && lasts(mask, present_[e])) extend(bin, e, mask, high ? open_up_ : open_down_, high ? MetricSide::high : MetricSide::low, Interval::period, std::fabs(score));
    }
  }

  // Thresholds by crowd size; the same few come again and again.
  double threshold(std::size_t size) {
    if (size >= thresholds_.size()) thresholds_.resize(size + 1, 0);
    if (thresholds_[size] == 0) thresholds_[size] = outlier_threshold(size, params_.metrics, params_.threshold, params_.false_alarm);
    return thresholds_[size];
  }
  double effect(double center) const { return std::max(metric_.floor_absolute, metric_.floor_relative * std::fabs(center)); }

  void evaluate(std::int64_t bin, std::size_t e) {
    if (lasting_ && lasts(high_[e], present_[e])) extend(bin, e, high_[e], open_high_, MetricSide::high, Interval::instant);
    if (lasting_ && lasts(low_[e], present_[e])) extend(bin, e, low_[e], open_low_, MetricSide::low, Interval::instant);
    if (zero_[e] != 0 && metric_.zero_above) {
      if (metric_.zero_once ? (zero_[e] & 1) != 0 : lasting_ && lasts(zero_[e], seen_[e])) extend(bin, e, metric_.zero_once ? 1 : zero_[e], open_zero_, MetricSide::high, Interval::zero);
    }
  }

  // In the share of the bins of T that have a value, of which there are enough, and from one end of T to the other.
  bool lasts(std::uint32_t mask, std::uint32_t present) const {
    mask &= window_;
    if (mask == 0) return false;
    const int seen = std::popcount(present & window_), hits = std::popcount(mask), span = 32 - std::countl_zero(mask);
    const double bins = static_cast<double>(bins_);
    return seen >= params_.present * bins && hits >= params_.share * seen && span >= std::floor(params_.share * bins);
  }

  void extend(std::int64_t bin, std::size_t e, std::uint32_t mask, std::vector<std::ptrdiff_t>& open, MetricSide side, Interval::Kind kind, double score = 0) {
    mask &= window_;
    const std::int64_t first = bin - (31 - std::countl_zero(mask)), last = bin - std::countr_zero(mask);
    if (open[e] >= 0) {
      Interval& before = intervals_[static_cast<std::size_t>(open[e])];
      if (first <= before.last + static_cast<std::int64_t>(bins_)) {
        before.last = std::max(before.last, last);
        before.score = std::max(before.score, score);
        return;
      }
    }
    open[e] = static_cast<std::ptrdiff_t>(intervals_.size());
    intervals_.push_back({e, group_of_[e], side, kind, first, last, score});
  }

  // --- what was found ---

  void report_intervals() {
    // What the crowd says is told once, not again by the threshold of the metric.
    std::stable_sort(intervals_.begin(), intervals_.end(), [](const Interval& a, const Interval& b) { return a.entity < b.entity; });
    std::vector<Interval> kept;
    for (auto first = intervals_.begin(), last = first; first != intervals_.end(); first = last) {
      while (last != intervals_.end() && last->entity == first->entity) ++last;
      // The surest words first: bin after bin, the mean of T, the threshold.
      for (auto i = first; i != last; ++i)
        if (std::none_of(first, last, [&](const Interval& o) { return o.kind < i->kind && o.side == i->side && o.first <= i->last && i->first <= o.last; })) kept.push_back(*i);
    }
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (const MetricSide side : {MetricSide::high, MetricSide::low})
        for (const bool zero : {false, true}) {
          std::vector<Interval> mine;
          for (const Interval& i : kept)
            if (i.group == g && i.side == side && (i.kind == Interval::zero) == zero) mine.push_back(i);
          report_side(g, mine);
        }
  }

  void report_side(std::size_t g, const std::vector<Interval>& intervals) {
    if (intervals.empty()) return;
    const Group& group = groups_[g];
    const std::size_t size = group.last - group.first;
    // The published rule has no such limit; nor has a threshold that one sample passes.
    const bool once = intervals[0].kind == Interval::zero && metric_.zero_once;
    const double most = params_.rule == OutlierRule::published || once || size < 2 ? static_cast<double>(size) : std::max(1.0, params_.most * static_cast<double>(size));
    std::vector<std::pair<std::int64_t, int>> steps;
    for (const Interval& i : intervals) {
      steps.emplace_back(i.first, 1);
      steps.emplace_back(i.last + 1, -1);
    }
    std::sort(steps.begin(), steps.end());
    std::vector<std::pair<std::int64_t, std::int64_t>> crowded;
    std::int64_t level = 0;
    for (const auto& [at, step] : steps) {
      const bool before = static_cast<double>(level) > most;
      level += step;
      const bool now = static_cast<double>(level) > most;
      if (now && !before) crowded.emplace_back(at, at);
      if (before && !now) crowded.back().second = at - 1;
    }
    std::vector<Interval> split;
    for (const Interval& i : intervals) {
      std::int64_t shared = 0;
      auto range = std::lower_bound(crowded.begin(), crowded.end(), i.first, [](const auto& r, std::int64_t bin) { return r.second < bin; });
      for (; range != crowded.end() && range->first <= i.last; ++range) shared += std::min(range->second, i.last) - std::max(range->first, i.first) + 1;
      if (2 * shared > i.last - i.first + 1) split.push_back(i);
      else result_.outliers.push_back(outlier(i));
    }
    if (split.empty()) return;
    CommonChange change;
    change.kind = "split";
    change.group = group.name;
    change.size = size;
    std::vector<double> levels, crowds;
    std::vector<std::size_t> who;
    std::int64_t first = split[0].first, last = split[0].last;
    for (const Interval& i : split) {
      const Outlier one = outlier(i);
      levels.push_back(one.value);
      crowds.push_back(one.crowd);
      who.push_back(i.entity);
      first = std::min(first, i.first);
      last = std::max(last, i.last);
    }
    std::sort(who.begin(), who.end());
    who.erase(std::unique(who.begin(), who.end()), who.end());
    change.entities = who.size();
    change.from = median_of(crowds);
    change.to = median_of(levels);
    change.start = first * bin_;
    change.end = (last + 1) * bin_;
    result_.common.push_back(change);
  }

  Outlier outlier(const Interval& i) const {
    Outlier out;
    const Group& group = groups_[i.group];
    out.entity = series_[i.entity]->entity;
    out.group = role(i.entity);
    out.fallback = !group.judged && !out.group.empty();
    out.side = i.side;
    out.start = i.first * bin_;
    out.end = (i.last + 1) * bin_;
    const bool zero = i.kind == Interval::zero;
    out.method = zero ? "threshold" : i.kind == Interval::period ? "robust-mean" : params_.rule == OutlierRule::published ? "published" : "robust";
    BinWalker walker(*series_[i.entity], bin_, carry_, metric_.average);
    std::vector<double> values, centers, scores, limits;
    auto instant = std::lower_bound(group.instants.begin(), group.instants.end(), i.first, [](const Instant& a, std::int64_t bin) { return a.bin < bin; });
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
      const double limit = params_.rule == OutlierRule::published ? params_.published_sd : outlier_threshold(crowd.size, params_.metrics, params_.threshold, params_.false_alarm);
      // A crowd without spread is held to have the least that the smallest effect allows.
      const double scale = params_.rule == OutlierRule::published ? crowd.scale : std::max(crowd.scale, effect(crowd.center) / limit);
      limits.push_back(limit);
      scores.push_back(scale > 0 ? std::min(std::fabs(value - crowd.center) / scale, 1e6) : 1e6);
    }
    const auto of = [](std::vector<double>& v) { return v.empty() ? 0 : median_of(v); };
    out.value = of(values);
    out.crowd = of(centers);
    out.score = zero ? 0 : i.kind == Interval::period ? i.score : of(scores);
    out.threshold = zero ? *metric_.zero_above : of(limits);
    return out;
  }

  void report_common() {
    if (!lasting_ || metric_.bad == MetricSide::none) return;
    for (Group& group : groups_) {
      if (!group.judged || group.instants.size() < 4) continue;
      std::vector<double> middle;
      for (const Instant& i : group.instants) middle.push_back(i.crowd.center);
      const auto changes = level_changes(middle, std::max<std::size_t>(kLeastBins, bins_ / 2), std::max(metric_.floor_absolute, metric_.zero_above.value_or(0)), metric_.floor_relative);
      for (std::size_t c = 0; c < changes.size(); ++c) {
        CommonChange out;
        out.kind = "shift";
        out.group = group.name;
        out.size = group.last - group.first;
        out.start = (group.instants[changes[c].before].bin + 1) * bin_;
        out.end = group.instants[changes[c].after].bin * bin_;
        if (out.end < out.start) std::swap(out.start, out.end);
        out.from = changes[c].from;
        out.to = changes[c].to;
        const std::int64_t from = c > 0 ? group.instants[changes[c - 1].after].bin : group.instants.front().bin;
        const std::int64_t to = c + 1 < changes.size() ? group.instants[changes[c + 1].before].bin : group.instants.back().bin;
        out.entities = moved(group, out, from, group.instants[changes[c].before].bin, group.instants[changes[c].after].bin, to);
        // What only some did is their affair.
        if (4 * out.entities >= 3 * out.size) result_.common.push_back(std::move(out));
      }
    }
  }

  // How many went the same way by at least half of it. Bins of the old level and of the new one, both ends within.
  std::size_t moved(const Group& group, const CommonChange& change, std::int64_t old_first, std::int64_t old_last, std::int64_t new_first, std::int64_t new_last) const {
    std::size_t count = 0;
    std::vector<double> before, after;
    for (std::size_t e = group.first; e < group.last; ++e) {
      before.clear();
      after.clear();
      const OutlierSeries& s = *series_[e];
      for (std::size_t i = 0; i < std::min(s.times.size(), s.values.size()); ++i) {
        const Nanoseconds t = s.times[i];
        if (!std::isfinite(s.values[i]) || t <= -kFarthest || t >= kFarthest) continue;
        const std::int64_t bin = bin_of(t, bin_);
        if (bin >= old_first && bin <= old_last) before.push_back(s.values[i]);
        else if (bin >= new_first && bin <= new_last) after.push_back(s.values[i]);
      }
      if (before.empty() || after.empty()) continue;
      count += (median_of(after) - median_of(before)) / (change.to - change.from) >= 0.5;
    }
    return count;
  }

  void report_missing() {
    std::vector<std::string> unseen;
    for (std::size_t e = 0; e < series_.size(); ++e) {
      const Group& group = groups_[group_of_[e]];
      const bool possible = params_.rule != OutlierRule::published || group.last - group.first >= kPublishedLeast;
      result_.judged += judged_[e] && lasting_ && possible;
      if (!judged_[e]) unseen.push_back(series_[e]->entity);
    }
    if (lasting_ && !unseen.empty() && series_.size() >= std::max<std::size_t>(2, params_.least))
      lack("few_samples", fmt::format("{} of {} never {} enough values beside enough others within {}", unseen.size(), series_.size(), unseen.size() == 1 ? "has" : "have", human_duration(params_.window)), std::move(unseen));
  }

  void sort_all() {
    std::sort(result_.outliers.begin(), result_.outliers.end(), [](const Outlier& a, const Outlier& b) {
      if (a.entity != b.entity) return a.entity < b.entity;
      if (a.start != b.start) return a.start < b.start;
      return a.side != b.side ? a.side < b.side : a.value < b.value;
    });
    std::sort(result_.common.begin(), result_.common.end(), [](const CommonChange& a, const CommonChange& b) {
      if (a.start != b.start) return a.start < b.start;
      return a.group != b.group ? a.group < b.group : a.to < b.to;
    });
  }

  const OutlierMetric& metric_;
  const OutlierParams& params_;
  std::vector<const OutlierSeries*> series_;
  OutlierResult result_;
  Nanoseconds bin_ = 0;
  int carry_ = 0;
  std::size_t bins_ = 0;                       // of T
  bool lasting_ = false;                       // the samples allow to say that something lasted for T
  std::uint32_t window_ = 0;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_;
  std::vector<std::uint32_t> present_, high_, low_;   // the last 32 bins of each entity, newest lowest
  std::vector<std::uint32_t> zero_, seen_;             // the same without a crowd
  std::vector<std::uint32_t> up_, down_;               // on which side of the crowd's middle
  std::vector<std::int16_t> ring_;                     // scores of the last T in 1/kUnit, bin by bin: whole numbers, so that sums stay exact
  std::vector<std::int32_t> sum_, now_;                // of them; of this bin
  std::size_t ring_at_ = 0;
  std::vector<std::uint8_t> judged_;
  std::vector<std::ptrdiff_t> open_high_, open_low_, open_zero_, open_up_, open_down_;
  std::vector<Interval> intervals_;
  std::vector<double> gathered_, thresholds_, means_;
};

}  // namespace

OutlierResult find_outliers(std::span<const OutlierSeries> series, const OutlierMetric& metric, const OutlierParams& params) {
  return Search(series, metric, params).run();
}

}  // namespace culprit::analyze
