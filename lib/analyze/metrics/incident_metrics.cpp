// Puts the series of all members together by what they measure.
#include "analyze/metrics/incident_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "analyze/facts/path_facts.hpp"
#include "analyze/metrics/counter_rate.hpp"
#include "model/contains.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

struct Samples {
  std::vector<Nanoseconds> times;
  std::vector<double> values;
};

void sort_by_time(Samples& s) {
  if (s.times.empty()) return;  // a reading without one
  if (!std::ranges::is_sorted(s.times)) {
    std::vector<std::size_t> order(s.times.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    sort_by(order, [&](std::size_t a) { return s.times[a]; });
    Samples sorted;
    for (const std::size_t i : order)
      sorted.times.push_back(s.times[i]), sorted.values.push_back(s.values[i]);
    s = std::move(sorted);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < s.times.size(); ++i) {
    if (kept > 0 && s.times[kept - 1] == s.times[i]) continue;
    s.times[kept] = s.times[i];
    s.values[kept++] = s.values[i];
  }
  s.times.resize(kept);
  s.values.resize(kept);
}

// Seconds that each CPU of a host spent in one mode -> share of all of them, in percent.
Samples mean_share(const std::vector<const Samples*>& cpus) {
  std::map<Nanoseconds, std::pair<double, std::size_t>> sums;
  for (const Samples* one : cpus) {
    const CounterRate rate = counter_rate(one->times, one->values);
    for (std::size_t i = 0; i < rate.times.size(); ++i) {
      auto& [sum, n] = sums[rate.times[i]];
      sum += rate.rates[i];
      ++n;
    }
  }
  Samples out;
  for (const auto& [time, sum] : sums)
    out.times.push_back(time),
        out.values.push_back(100 * sum.first / static_cast<double>(sum.second));
  return out;
}

// What is known of one entity of a metric.
struct GatheredEntity {
  Host host;
  std::map<std::string, Samples> by_labels;
};

// A search for what lasts needs more of either.
constexpr std::size_t kFewReadings = 4;
constexpr Nanoseconds kShortLook = 10 * kMinute;
// Or who looked so seldom that what began a while ago shows in a sample or two.
constexpr Nanoseconds kSeldom = 3 * kMinute;

// The bits of NVML's mask of clock event reasons that lower clocks (nvml.h,
// nvmlClocksEventReason*), by the names that nvidia-smi gives them as columns of their own.
constexpr std::pair<std::uint64_t, std::string_view> kReasons[] = {
    {0x04, "sw_power_cap"},
    {0x08, "hw_slowdown"},
    {0x20, "sw_thermal_slowdown"},
    {0x40, "hw_thermal_slowdown"},
    {0x80, "hw_power_brake_slowdown"}};

// "clocks_event_reasons.active" + "hw_slowdown"
std::string reason_name(std::string_view mask, std::string_view reason) {
  return fmt::format("{}.{}", mask, reason);
}

// The bit of `mask` that `metric` is; 0: it is another metric.
std::uint64_t reason_of(std::string_view metric, std::string_view mask) {
  for (const auto& [bit, reason] : kReasons)
    if (metric.size() == mask.size() + 1 + reason.size() && metric.starts_with(mask) &&
        metric[mask.size()] == '.' && metric.ends_with(reason))
      return bit;
  return 0;
}

// 1 or 0; what is no mask stays as it is.
double is_set(double mask, std::uint64_t bit) {
  return mask >= 0 && mask < 0x1p63
             ? static_cast<double>((static_cast<std::uint64_t>(mask) & bit) != 0)
             : mask;
}

// Series in the order of their members' names, so that the order of reading does not matter.
std::vector<const SeriesRow*> series_by_member(const Facts& facts) {
  std::vector<const SeriesRow*> rows;
  for (const SeriesRow& s : facts.series) rows.push_back(&s);
  sort_by(rows, [&](const SeriesRow* a) { return facts.order(a->member); });
  return rows;
}

// The metric that a series is of, and its unit. Seconds of processors count as shares of time.
std::pair<std::string, std::string> metric_of(const SeriesRow& s, rules::FoundMetrics& known) {
  if (s.name == "node_cpu_seconds_total")
    for (const char* mode : {"iowait", "steal"})
      if (contains(s.labels, fmt::format("mode={}", mode))) return {mode, "%"};
  const std::string_view device = s.gpu ? "gpu" : s.nic ? "nic" : "";
  return {rules::name_on_device(known, device, s.name, s.unit).value_or(s.name), s.unit};
}

// Labels change with what runs on a device: of its last readings the newest count.
void keep_newest(GatheredEntity& entity) {
  constexpr Nanoseconds kOneScrape = kMinute;
  Nanoseconds newest = kNoValue;
  for (const auto& [labels, samples] : entity.by_labels)
    if (!samples.times.empty()) newest = std::max(newest, samples.times.back());
  if (newest == kNoValue) return;
  std::erase_if(entity.by_labels, [&](const auto& one) {
    return one.second.times.empty() || one.second.times.back() + kOneScrape < newest;
  });
}

MetricSeries series_of_entities(const std::string& name, const std::string& unit,
                                std::map<std::string, GatheredEntity>& entities) {
  MetricSeries metric{.name = name, .unit = unit};
  const bool shares = name == "steal" || name == "iowait";
  for (auto& [id, entity] : entities) {
    for (auto& [labels, samples] : entity.by_labels) sort_by_time(samples);
    if (shares && contains(entity.by_labels.begin()->first, "mode=")) {
      std::vector<const Samples*> cpus;
      for (const auto& [labels, samples] : entity.by_labels) cpus.push_back(&samples);
      Samples share = mean_share(cpus);
      metric.entities.push_back(
          {id, "", entity.host, std::move(share.times), std::move(share.values)});
      continue;
    }
    for (auto& [labels, samples] : entity.by_labels)
      metric.entities.push_back(
          {labels.empty() || entity.by_labels.size() == 1 ? id : fmt::format("{} {}", id, labels),
           "", entity.host, std::move(samples.times), std::move(samples.values)});
  }
  return metric;
}

// As columns of samples hold it: 0 where nothing is known.
std::uint64_t natural(std::int64_t value) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, value));
}

// Whether the last reading stands for itself: there are few, of a short time or far apart.
bool short_look(const SeriesPoints& points, bool timed) {
  if (points.size() <= kFewReadings) return true;
  if (!timed || points.times.front() == kNoValue) return false;
  const Nanoseconds length = points.times.back() - points.times.front();
  return length < kShortLook || length >= kSeldom * static_cast<Nanoseconds>(points.size() - 1);
}

}  // namespace

std::string entity_name(const SeriesRow& s) {
  const std::string host = name_of(s.host);
  if (s.gpu)
    return fmt::format("{}{}{}{}", host, host.empty() ? "" : "/",
                       s.gpu->starts_with("gpu") ? "" : "gpu", *s.gpu);
  if (s.nic) return fmt::format("{}{}{}", host, host.empty() ? "" : "/", *s.nic);
  if (s.rank) return fmt::format("rank {}", *s.rank);
  return host;
}

Place place_of_sample(const SeriesRow& series, const SeriesPoints& points, std::size_t at) {
  const auto of = [&](const std::vector<std::int64_t>& column) {
    return column.empty() ? 0 : natural(column[at]);
  };
  return {series.member, of(points.lines), of(points.offsets), 0};
}

Evidence evidence_of_sample(const Facts& facts, const SeriesRow& series, std::int64_t line,
                            std::int64_t offset, double printed, Nanoseconds time) {
  Evidence out = facts.evidence({series.member, natural(line), natural(offset), 0},
                                fmt::format("{}", printed));
  out.reading = fmt::format("{} of {}", series.name, entity_name(series));
  if (time != kNoValue) out.reading += fmt::format(" at {}", iso_utc(time));
  return out;
}

void add_placed(const SeriesRow& series, const SeriesPoints& points, Nanoseconds offset,
                std::vector<PlacedSample>& out) {
  for (std::size_t i = 0; i < points.times.size(); ++i)
    if (points.times[i] != kNoValue && !std::isnan(points.values[i]))
      out.push_back({points.times[i] + offset, points.values[i], &series,
                     points.lines.empty() ? 0 : points.lines[i],
                     points.offsets.empty() ? 0 : points.offsets[i], points.values[i]});
}

void sort_placed(const Facts& facts, std::vector<PlacedSample>& samples) {
  std::ranges::stable_sort(samples, [&](const PlacedSample& a, const PlacedSample& b) {
    return std::tuple(a.time, facts.order(a.series->member), a.line) <
           std::tuple(b.time, facts.order(b.series->member), b.line);
  });
}

std::optional<std::uint64_t> bit_shown(const SeriesRow& s, const std::string& metric,
                                       rules::FoundMetrics& known) {
  const auto [name, unit] = metric_of(s, known);
  if (name == metric) return 0;
  const auto& match = known.find(name, unit);
  const std::uint64_t reason = match ? reason_of(metric, match->metric->name) : 0;
  return reason == 0 ? std::nullopt : std::optional(reason);
}

std::vector<Evidence> sample_evidence(const Facts& facts,
                                      const std::function<SeriesPoints(SeriesId)>& load,
                                      const std::string& metric, const std::string& entity,
                                      Nanoseconds start, Nanoseconds end, double value) {
  std::vector<Evidence> out;
  struct Found {
    Nanoseconds time;
    double value;
    const SeriesRow* series;
    std::int64_t line, offset;
    double printed;
  };
  std::optional<Found> first, nearest;
  rules::FoundMetrics known(rules::Catalogue::built_in());
  for (const SeriesRow* row : series_by_member(facts)) {
    const SeriesRow& s = *row;
    const std::string whose = entity_name(s);
    if (whose.empty() || !entity.starts_with(whose) ||
        (entity != whose && entity != fmt::format("{} {}", whose, s.labels)))
      continue;
    const auto reason = bit_shown(s, metric, known);
    if (!reason) continue;
    const MemberRow* m = facts.member(s.member);
    const auto offset = facts.clock_offset(s.member, s.clock);
    if (!facts.counts(m) || !offset) continue;
    const SeriesPoints points = load(s.id);
    if (points.times.empty()) continue;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (points.times[i] == kNoValue) continue;
      const Nanoseconds time = points.times[i] + *offset;
      if (time < start || time > end) continue;
      const double shown = *reason == 0 ? points.values[i] : is_set(points.values[i], *reason);
      const bool earlier = !first || time < first->time,
                 nearer = !nearest || (std::isnan(value) ? time > nearest->time
                                                         : std::abs(shown - value) <
                                                               std::abs(nearest->value - value));
      if (!earlier && !nearer) continue;
      const Found found{time,
                        shown,
                        &s,
                        points.lines.empty() ? 0 : points.lines[i],
                        points.offsets.empty() ? 0 : points.offsets[i],
                        points.values[i]};
      if (earlier) first = found;
      if (nearer) nearest = found;
    }
  }
  const auto cite = [&](const Found& f) {
    out.push_back(evidence_of_sample(facts, *f.series, f.line, f.offset, f.printed, f.time));
  };
  if (nearest) cite(*nearest);
  if (first && first->time != nearest->time) cite(*first);
  return out;
}

IncidentMetrics incident_metrics(const Facts& facts, const rules::Catalogue& catalogue,
                                 const std::function<SeriesPoints(SeriesId)>& load) {
  IncidentMetrics out;
  using Gathered = std::map<std::pair<std::string, std::string>,
                            std::map<std::string, GatheredEntity>>;  // name, unit -> entity
  Gathered metrics, readings;
  rules::FoundMetrics found(catalogue);
  for (const SeriesRow* row : series_by_member(facts)) {
    const SeriesRow& s = *row;
    const MemberRow* m = facts.member(s.member);
    if (!facts.counts(m) || of_earlier_run(m->path)) continue;
    const auto metric = metric_of(s, found);
    const auto& match = found.find(metric.first, metric.second);
    if (!match) {
      ++out.unknown;
      continue;
    }
    const std::string entity = entity_name(s);
    if (entity.empty()) {
      ++out.nameless;
      continue;
    }
    const auto offset = facts.clock_offset(s.member, s.clock);
    const SeriesPoints points = load(s.id);
    const bool timed = offset && !points.times.empty();
    const auto samples_in = [&](Gathered& all, const std::string& name,
                                const std::string& unit) -> Samples& {
      GatheredEntity& to = all[{name, unit}][entity];
      if (s.host) to.host = *s.host;
      return to.by_labels[s.labels];
    };
    const auto add = [&](const std::string& name, const std::string& unit, auto value) {
      Samples& samples = samples_in(metrics, name, unit);
      for (std::size_t i = 0; i < points.size(); ++i)
        if (points.times[i] != kNoValue)
          samples.times.push_back(points.times[i] + *offset),
              samples.values.push_back(value(points.values[i]));
    };
    const auto add_last = [&](const std::string& name, const std::string& unit, auto value) {
      Samples& samples = samples_in(readings, name, unit);
      const bool dated = timed && points.times.back() != kNoValue;
      const Nanoseconds time = dated ? points.times.back() + *offset : 0;
      if (!samples.times.empty() && (!dated || time < samples.times.back())) return;
      samples.times.assign(dated ? 1 : 0, time);
      samples.values.assign(1, value(points.values.back()));
    };
    const bool mask = match->metric->name == "gpu_throttle_reasons" &&
                      std::ranges::all_of(points.values, [](double v) {
                        return std::isnan(v) || v == std::floor(v);  // a mean of masks is none
                      });
    // The metric, and of a mask each of its reasons.
    const auto each_of_it = [&](const auto& put) {
      put(metric.first, metric.second, [](double v) { return v; });
      if (mask)
        for (const auto& [bit, reason] : kReasons)
          put(reason_name(match->metric->name, reason), std::string(),
              [bit = bit](double v) { return is_set(v, bit); });
    };
    if (points.size() > 0 && short_look(points, timed) &&
        (match->metric->by_reading() || mask || match->metric->name == kUtilization))
      each_of_it(add_last);
    if (timed)
      each_of_it(add);
    else
      ++out.timeless;
  }
  for (auto& [metric, entities] : readings)
    for (auto& [id, entity] : entities) keep_newest(entity);
  for (auto& [metric, entities] : readings)
    out.readings.push_back(series_of_entities(metric.first, metric.second, entities));
  for (auto& [metric, entities] : metrics)
    out.metrics.push_back(series_of_entities(metric.first, metric.second, entities));
  return out;
}

}  // namespace culprit::analyze
