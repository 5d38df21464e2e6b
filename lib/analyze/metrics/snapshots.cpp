// Who stands out in one reading of each machine.
#include "analyze/metrics/snapshots.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "analyze/metrics/crowd.hpp"
#include "analyze/metrics/incident_metrics.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr double kHighestScore = 1000;

// Deviations on the bad side; 0: it does not stand out.
double score_of(double value, const Crowd& crowd, const rules::Metric& metric,
                const SnapshotParams& params) {
  if (metric.zero_above) return value > *metric.zero_above ? kHighestScore : 0;
  const double beyond = value - crowd.center;
  const double effect =
      std::max({metric.floor_absolute,
                std::max(metric.floor_relative, params.least_effect) * std::abs(crowd.center)});
  const bool bad = (beyond > 0 && metric.bad != rules::MetricSide::low) ||
                   (beyond < 0 && metric.bad != rules::MetricSide::high);
  const bool idle = !metric.at_rest && value < params.idle * crowd.center;
  if (!bad || std::abs(beyond) < effect || idle) return 0;
  return crowd.scale > 0 ? std::min(kHighestScore, std::abs(beyond) / crowd.scale) : kHighestScore;
}

// Ports of one machine have rates of their own, that for its management among them: each is one of
// a crowd with those of its name on other machines.
std::map<std::string, MetricSeries> by_device(const MetricSeries& series) {
  std::map<std::string, MetricSeries> out;
  for (const MetricSeries::Entity& e : series.entities) {
    const std::string device = e.name.substr(std::min(e.name.size(), e.name.find('/')));
    MetricSeries& crowd = out[device];
    crowd.name = series.name;
    crowd.unit = series.unit;
    crowd.entities.push_back(e);
  }
  return out;
}

void search(const MetricSeries& series, const rules::MetricMatch& match,
            const SnapshotParams& params, std::vector<MetricOutlier>& out) {
  const rules::Metric& metric = *match.metric;
  std::vector<double> values;
  for (const MetricSeries::Entity& e : series.entities)
    if (!e.values.empty() && std::isfinite(e.values.back()))
      values.push_back(e.values.back() * match.scale);
  if (values.size() < params.least) return;
  const Crowd crowd = CrowdMeter().robust(values);
  const double threshold = outlier_threshold(values.size(), 1, params.threshold, 0.05);
  std::vector<MetricOutlier> found;
  for (const MetricSeries::Entity& e : series.entities) {
    if (e.values.empty() || !std::isfinite(e.values.back())) continue;
    const double value = e.values.back() * match.scale;
    const double score = score_of(value, crowd, metric, params);
    if (score < threshold) continue;
    MetricOutlier one{{}, metric.name, series.name, metric.unit, e.host, &metric};
    one.outlier.entity = e.name;
    one.outlier.side = value > crowd.center ? rules::MetricSide::high : rules::MetricSide::low;
    one.outlier.start = one.outlier.end = e.times.empty() ? kNoValue : e.times.back();
    one.outlier.value = value;
    one.outlier.crowd = crowd.center;
    one.outlier.score = score;
    one.outlier.threshold = threshold;
    one.outlier.method = "reading";
    one.outlier.size = values.size();
    found.push_back(std::move(one));
  }
  if (static_cast<double>(found.size()) <= params.most * static_cast<double>(values.size()))
    std::move(found.begin(), found.end(), std::back_inserter(out));
}

}  // namespace

std::vector<MetricOutlier> snapshot_outliers(const std::vector<MetricSeries>& readings,
                                             const rules::Catalogue& catalogue,
                                             const SnapshotParams& params) {
  std::vector<MetricOutlier> out;
  for (const MetricSeries& series : readings)
    if (const auto match = catalogue.find(series.name, series.unit);
        match && match->metric->by_reading() && match->kind == rules::MetricKind::gauge) {
      if (!match->metric->at_rest || match->metric->entity != "nic")
        search(series, *match, params, out);
      else
        for (const auto& [device, crowd] : by_device(series)) search(crowd, *match, params, out);
    }
  sort_by(out, [](const MetricOutlier& a) { return std::tie(a.metric, a.outlier.entity); });
  return out;
}

std::vector<Finding> held_devices(const OutlierReport& report,
                                  const std::vector<MetricSeries>& readings,
                                  const rules::Catalogue& catalogue) {
  constexpr std::size_t kLeastDevices = 2, kOthers = 2;  // so many times as many
  constexpr double kAtWork = 50;                         // percent
  std::set<std::string> at_work;
  for (const MetricSeries& series : readings)
    if (const auto match = catalogue.find(series.name, series.unit);
        match && match->metric->name == kUtilization)
      for (const MetricSeries::Entity& e : series.entities)
        if (!e.values.empty() && e.values.back() * match->scale >= kAtWork) at_work.insert(e.name);
  std::vector<const MetricOutlier*> held;
  for (const MetricOutlier& o : report.readings)
    if (o.known->entity == "gpu" && !o.known->zero_above && !o.known->limit &&
        (held.empty() || o.metric == held.front()->metric))
      held.push_back(&o);
  const auto elsewhere = [&](const MetricOutlier* o) {
    return o->host.empty() || o->host != held.front()->host;
  };
  const auto idle = [&](const MetricOutlier* o) { return at_work.count(o->outlier.entity) == 0; };
  if (held.size() < kLeastDevices || std::ranges::any_of(held, elsewhere) ||
      std::ranges::any_of(held, idle) || held.front()->outlier.size < (kOthers + 1) * held.size())
    return {};
  const MetricOutlier& one = *held.front();
  const std::size_t others = one.outlier.size - held.size();
  Finding f;
  f.id = "drift/held/" + one.metric;
  f.analysis = Analysis::drift;
  f.subject = {SubjectKind::host, one.host};
  f.event_class = "config_drift";
  f.role = Role::confirmation;
  f.severity = Severity::warning;
  f.symptom = one.known->symptom;
  f.host = one.host;
  f.hosts = {one.host};
  f.count = held.size();
  f.title = say(Phrase::setting_unlike_others, one.metric);
  f.why = say(Phrase::devices_held_down, held.size(), one.host, one.printed, one.outlier.value,
              one.unit, others, one.outlier.crowd);
  f.confidence = confidence::kSettingMajority;
  f.advice = advice_for(one);
  f.facts = SettingFacts{.explains = "speed",
                         .slows = true,
                         .device = true,
                         .label = one.metric,
                         .value = fmt::format("{:.0f} {}, the others {:.0f}", one.outlier.value,
                                              one.unit, one.outlier.crowd),
                         .far_below = true,
                         .set_by_command = !one.known->by_hardware()};
  for (const MetricOutlier* o : held)
    if (f.evidence.size() < 3)
      f.evidence.insert(f.evidence.end(), o->evidence.begin(), o->evidence.end());
  return {std::move(f)};
}

std::vector<Evidence> reading_evidence(const Facts& facts,
                                       const std::function<SeriesPoints(SeriesId)>& load,
                                       const MetricOutlier& outlier) {
  const SeriesRow* last = nullptr;
  SeriesPoints of_last;
  rules::FoundMetrics known(rules::Catalogue::built_in());
  for (const SeriesRow& s : facts.series) {
    if (!bit_shown(s, outlier.printed, known) || entity_name(s) != outlier.outlier.entity ||
        !facts.counts(facts.member(s.member)))
      continue;
    SeriesPoints points = load(s.id);
    if (points.size() == 0 || points.lines.empty()) continue;
    const auto offset = facts.clock_offset(s.member, s.clock);
    const bool then = offset && !points.times.empty() && points.times.back() != kNoValue &&
                      points.times.back() + *offset == outlier.outlier.start;
    if (last != nullptr && !then) continue;
    last = &s;
    of_last = std::move(points);
    if (then) break;
  }
  if (last == nullptr) return {};
  Evidence e = facts.evidence(place_of_sample(*last, of_last, of_last.size() - 1),
                              fmt::format("{}", of_last.values.back()));
  e.reading = fmt::format("{} of {}", last->name, outlier.outlier.entity);
  return {std::move(e)};
}

}  // namespace culprit::analyze
