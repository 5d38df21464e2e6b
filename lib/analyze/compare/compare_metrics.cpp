// Metrics of two runs: shifts of all machines, and machines that left their peers in the bad run
// only.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "analyze/compare/compare_runs.hpp"
#include "analyze/metrics/counter_rate.hpp"
#include "analyze/metrics/metric_kind.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr double kMad = 1.4826;         // of normal values, the MAD in standard deviations
constexpr std::size_t kLeastPeers = 4;  // machines, to say that one left the others
constexpr double kFewMachines =
    0.25;  // share of the machines up to which one speaks of machines that stand out

struct Entity {
  std::string host;  // its own name where no machine is told
  double middle = 0, spread = 0;
};
struct Measured {
  const rules::Metric* metric = nullptr;
  std::map<std::string, Entity> entities;
};

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  const auto at = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), at, v.end());
  return *at;
}

double spread(std::vector<double> v, double middle) {
  for (double& x : v) x = std::abs(x - middle);
  return kMad * median(std::move(v));
}

// A name that nobody knows: either side may be bad, and less than a fifth is no news.
const rules::Metric& unknown_metric() {
  static const rules::Metric kUnknown = [] {
    rules::Metric m;
    m.floor_relative = 0.2;
    return m;
  }();
  return kUnknown;
}

// By the catalogue's name: another exporter spells it otherwise.
std::map<std::string, Measured> measured(const ComparedRun& run,
                                         const rules::Catalogue& catalogue) {
  std::map<std::string, Measured> out;
  if (run.unknown != nullptr)
    for (const MetricSeries& series : *run.unknown) {
      Measured& one = out[series.name];
      one.metric = &unknown_metric();
      for (const auto& entity : series.entities) {
        if (entity.values.empty()) continue;
        const double middle = median(entity.values);
        one.entities.emplace(entity.name, Entity{entity.host.empty() ? entity.name : entity.host,
                                                 middle, spread(entity.values, middle)});
      }
    }
  for (const MetricSeries& series : run.metrics->metrics) {
    const auto match = match_by_samples(series, catalogue);
    if (!match) continue;
    Measured& one = out[match->metric->name];
    one.metric = match->metric;
    for (const auto& entity : series.entities) {
      std::vector<double> values;
      if (match->kind == rules::MetricKind::counter)
        values = counter_rate(entity.times, entity.values, match->metric->ceiling).rates;
      else
        values = entity.values;
      std::erase_if(values, [](double v) { return !std::isfinite(v); });
      if (values.empty()) continue;
      for (double& v : values) v *= match->scale;
      const double middle = median(values);
      one.entities.emplace(entity.name, Entity{entity.host.empty() ? entity.name : entity.host,
                                               middle, spread(std::move(values), middle)});
    }
  }
  return out;
}

std::vector<double> middles(const Measured& m) {
  std::vector<double> out;
  for (const auto& [name, e] : m.entities) out.push_back(e.middle);
  return out;
}

double typical_noise(const Measured& m) {
  std::vector<double> out;
  for (const auto& [name, e] : m.entities) out.push_back(e.spread);
  return median(std::move(out));
}

std::string figure(double v) { return fmt::format("{:.4g}", v); }

struct OddSeries {
  std::string metric, host, entity, unit;
  double value = 0, others = 0, z = 0;
  bool bad_side = false;
};

bool on_bad_side(const rules::Metric& m, double difference) {
  return m.bad == rules::MetricSide::both || (m.bad == rules::MetricSide::high && difference > 0) ||
         (m.bad == rules::MetricSide::low && difference < 0);
}

double weight_of(const rules::Metric& metric, double difference) {
  if (&metric == &unknown_metric()) return 0.9;
  return metric.bad == rules::MetricSide::none ? 0.5 : on_bad_side(metric, difference) ? 1 : 0.85;
}

// Grows from `from` at the threshold to nearly `to` far beyond it.
double graded(double from, double to, double beyond, double scale) {
  return from + (to - from) * (1 - std::exp(-std::max(0.0, beyond) / scale));
}

// The same, a number a machine.
Measured by_machine(const Measured& m) {
  std::map<std::string, std::vector<double>> hosts;
  for (const auto& [name, e] : m.entities) hosts[e.host].push_back(e.middle);
  Measured out{m.metric, {}};
  for (auto& [host, values] : hosts)
    out.entities.emplace(host, Entity{host, median(std::move(values)), 0});
  return out;
}

std::vector<OddSeries> left_peers(const Measured& now, const Measured* before,
                                  const CompareParams& params) {
  std::vector<OddSeries> out;
  if (now.entities.size() < kLeastPeers) return out;
  const rules::Metric& metric = *now.metric;
  const auto values = middles(now);
  const double middle = median(values);
  const double floor = std::max(metric.floor_absolute, metric.floor_relative * std::abs(middle));
  const double noise =
      std::max({spread(values, middle), typical_noise(now), floor / params.outlier_spreads, 1e-12});
  for (const auto& [entity, e] : now.entities) {
    const double difference = e.middle - middle;
    const double z = std::abs(difference) / noise;
    if (std::abs(difference) <= floor || z < params.outlier_spreads) continue;
    if (before != nullptr) {
      // It was like that when all was well.
      const auto same = before->entities.find(entity);
      if (same != before->entities.end() &&
          std::abs(e.middle - same->second.middle) < std::max(floor, 3 * noise))
        continue;
    }
    out.push_back(
        {"", e.host, entity, metric.unit, e.middle, middle, z, on_bad_side(metric, difference)});
  }
  if (static_cast<double>(out.size()) >
      std::max(1.0, kFewMachines * static_cast<double>(now.entities.size())))
    out.clear();
  return out;
}

// What all entities of a metric say: their middle, and how far apart they are.
struct EntityMiddle {
  double middle = 0, floor = 0;  // floor: differences below it mean nothing
  double noise = 0;
};

EntityMiddle middle_of_all(const Measured& now) {
  const auto values = middles(now);
  EntityMiddle out;
  out.middle = median(values);
  out.floor =
      std::max(now.metric->floor_absolute, now.metric->floor_relative * std::abs(out.middle));
  out.noise = std::max(spread(values, out.middle), typical_noise(now));
  return out;
}

struct MovedMetric {
  double shift = 0;  // in its own unit
  Change change;
};

// A metric whose middle moved between the runs.
std::optional<MovedMetric> moved_metric(const std::string& name, const Measured& past,
                                        const Measured& now, const CompareParams& params) {
  const rules::Metric& metric = *now.metric;
  const EntityMiddle was = middle_of_all(past), is = middle_of_all(now);
  const double floor = std::max(is.floor, was.floor);
  const double both = std::max({is.noise, was.noise, floor / params.shift_spreads, 1e-12});
  const double shift = is.middle - was.middle;
  const double z = std::abs(shift) / both;
  if (!(std::abs(shift) > floor && z >= params.shift_spreads)) return std::nullopt;
  Change one{.kind = ChangeKind::metric,
             .what = name,
             .good = figure(was.middle) + " " + metric.unit,
             .bad = figure(is.middle) + " " + metric.unit,
             .effect = shift / both};
  one.title = say(Phrase::metric_instead, name, figure(is.middle), figure(was.middle), metric.unit,
                  one.effect);
  one.score = graded(0.6, 0.93, z - params.shift_spreads, 6) * weight_of(metric, shift);
  return MovedMetric{shift, std::move(one)};
}

// Entities that left their peers, and machines that left the others. Four warm GPUs of one machine
// are each within the spread of all GPUs, and their machine is not among machines.
std::vector<OddSeries> left_peers_or_machines(const Measured& now, const Measured* past,
                                              const CompareParams& params) {
  auto left = left_peers(now, past, params);
  const Measured hosts = by_machine(now),
                 past_hosts = past == nullptr ? Measured{} : by_machine(*past);
  if (hosts.entities.size() < now.entities.size())
    for (OddSeries& outlier : left_peers(hosts, past == nullptr ? nullptr : &past_hosts, params))
      if (std::ranges::none_of(left, [&](const OddSeries& o) { return o.host == outlier.host; }))
        left.push_back(std::move(outlier));
  return left;
}

// The parts of a step are one story: the largest is told, and the others by name.
Change join_parts(std::vector<MovedMetric> parts) {
  sort_rows(parts,
            [](const auto& a, const auto& b) { return std::abs(a.shift) > std::abs(b.shift); });
  Change one = std::move(parts.front().change);
  std::vector<std::string> others;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    others.push_back(parts[i].change.what);
    one.score = std::max(one.score, parts[i].change.score);
  }
  if (!others.empty()) one.title += say(Phrase::also_named, named_some(others));
  return one;
}

// A machine by the metric in which it is furthest from its peers.
Change odd_machine(const std::string& host, std::vector<OddSeries> outliers,
                   const CompareParams& params) {
  sort_by(outliers, [](const OddSeries& a) { return std::tuple(!a.bad_side, -a.z); });
  const OddSeries& first = outliers.front();
  Change one{
      .kind = ChangeKind::machine,
      .what = host,
      .title = say(Phrase::left_its_peers, first.entity, first.metric, figure(first.value),
                   first.unit, figure(first.others)),
      .good = fmt::format("{} {} {} (the others)", first.metric, figure(first.others), first.unit),
      .bad = fmt::format("{} {} {}", first.metric, figure(first.value), first.unit),
      .effect = first.z,
      .hosts = {Host(host)}};
  if (outliers.size() > 1) one.title += say(Phrase::more_metrics, outliers.size() - 1);
  one.score =
      graded(0.62, 0.94,
             first.z - params.outlier_spreads + 2.0 * static_cast<double>(outliers.size() - 1), 8) *
      (first.bad_side ? 1 : 0.85);
  return one;
}

}  // namespace

std::vector<Change> changed_metrics(const ComparedRun& good, const ComparedRun& bad,
                                    const rules::Catalogue& catalogue,
                                    const CompareParams& params) {
  const auto was = measured(good, catalogue), is = measured(bad, catalogue);
  std::vector<Change> out;
  std::map<std::string, std::vector<OddSeries>> by_host;
  std::vector<MovedMetric> parts;
  for (const auto& [metric_name, now] : is) {
    if (now.entities.empty()) continue;
    const auto before = was.find(metric_name);
    const Measured* past = before == was.end() ? nullptr : &before->second;
    if (past != nullptr && !past->entities.empty())
      if (auto moved = moved_metric(metric_name, *past, now, params)) {
        if (now.metric->entity == "rank" && now.metric->unit == "ms")
          parts.push_back(std::move(*moved));
        else
          out.push_back(std::move(moved->change));
      }
    for (OddSeries& outlier : left_peers_or_machines(now, past, params)) {
      outlier.metric = metric_name;
      by_host[outlier.host].push_back(std::move(outlier));
    }
  }
  if (!parts.empty()) out.push_back(join_parts(std::move(parts)));
  for (auto& [host, outliers] : by_host)
    out.push_back(odd_machine(host, std::move(outliers), params));
  return out;
}

}  // namespace culprit::analyze
