#include "analyze/metrics/outlier_search.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analyze/metrics/counter_rate.hpp"
#include "analyze/metrics/metric_kind.hpp"
#include "analyze/metrics/relations.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

using rules::MetricSide;

std::string number(double value) {
  const double size = std::fabs(value);
  if (size == 0) return "0";
  if (size >= 1e6 || size < 1e-3) return fmt::format("{:.3g}", value);
  return size >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string with_unit(double value, const std::string& unit) {
  if (unit.empty() || unit == "1") return number(value);
  if (unit.size() >= 3 && unit.substr(unit.size() - 3) == "B/s" && std::fabs(value) >= 1e6) {
    const bool giga = std::fabs(value) >= 1e9;
    return fmt::format("{} {}", number(value / (giga ? 1e9 : 1e6)), giga ? "GB/s" : "MB/s");
  }
  return fmt::format("{}{}{}", number(value), unit == "%" || unit[0] == '/' ? "" : " ", unit);
}

// What the search of one metric needs, rates and units done.
struct Prepared {
  std::string name, unit;
  const MetricSeries* source = nullptr;
  const rules::Metric* known = nullptr;
  OutlierMetric sense;
  std::vector<std::span<const Nanoseconds>> times;
  std::vector<std::span<const double>> values;
  std::deque<CounterRate> rates;  // what the spans look at when it is not the source
  std::deque<std::vector<double>> scaled;
};

Prepared prepare(const MetricSeries& metric, const rules::Catalogue& catalogue,
                 std::vector<Text>& notes) {
  Prepared out{.name = metric.name, .source = &metric};
  std::string printed_unit;
  (void)rules::normal_metric_name(metric.name, &printed_unit);
  out.unit = metric.unit.empty() ? printed_unit : metric.unit;
  const auto match = match_by_samples(metric, catalogue);
  const bool counter = match && match->kind == rules::MetricKind::counter;
  const double scale = match ? match->scale : 1;
  if (match) {
    const rules::Metric& m = *match->metric;
    out.known = &m;
    out.name = m.name;
    out.unit = m.unit;
    out.sense = {m.bad,        m.floor_absolute, m.floor_relative,
                 m.zero_above, m.zero_once,      counter || m.zero_above.has_value()};
  }
  std::size_t resets = 0;
  std::vector<std::string> full;
  for (const auto& entity : metric.entities) {
    if (counter) {
      CounterRate rate = counter_rate(entity.times, entity.values, match->metric->ceiling);
      resets += rate.resets;
      if (rate.saturated > 0) full.push_back(entity.name);
      for (double& v : rate.rates) v *= scale;
      const CounterRate& kept = out.rates.emplace_back(std::move(rate));
      out.times.push_back(kept.times);
      out.values.push_back(kept.rates);
    } else {
      out.times.push_back(entity.times);
      out.values.push_back(entity.values);
      if (scale != 1) {
        std::vector<double>& own = out.scaled.emplace_back(entity.values);
        for (double& v : own) v *= scale;
        out.values.back() = own;
      }
    }
  }
  if (resets > 0) notes.push_back(say(Phrase::counter_restarts, metric.name, resets));
  if (!full.empty()) {
    sort_rows(full);
    notes.push_back(full.size() > 1
                        ? say(Phrase::counter_full_more, metric.name, match->metric->ceiling,
                              full[0], full.size() - 1)
                        : say(Phrase::counter_full, metric.name, match->metric->ceiling, full[0]));
  }
  return out;
}

// Worst first: a person reads the top.
void rank(std::vector<MetricOutlier>& outliers) {
  std::map<std::string, std::pair<std::size_t, double>> weight;
  std::map<std::string, std::set<std::string>> metrics;
  for (const MetricOutlier& o : outliers) {
    metrics[o.outlier.entity].insert(o.metric);
    auto& w = weight[o.outlier.entity];
    w.first = metrics[o.outlier.entity].size();
    w.second = std::max(w.second, o.outlier.threshold > 0 && o.outlier.score > 0
                                      ? o.outlier.score / o.outlier.threshold
                                      : 1);
  }
  sort_rows(outliers, [&](const MetricOutlier& a, const MetricOutlier& b) {
    if (a.outlier.entity != b.outlier.entity) {
      const auto& wa = weight[a.outlier.entity];
      const auto& wb = weight[b.outlier.entity];
      return wa != wb ? wa > wb : a.outlier.entity < b.outlier.entity;
    }
    if (a.outlier.score != b.outlier.score) return a.outlier.score > b.outlier.score;
    if (a.metric != b.metric) return a.metric < b.metric;
    return a.printed != b.printed ? a.printed < b.printed : a.outlier.start < b.outlier.start;
  });
}

// What was added to the search for broken relations, as added.
struct RelatedMetric {
  std::string name, printed, unit;
  const rules::Metric* known = nullptr;
};

// Broken relations, of those who do not stand out anyway at that time.
void add_relations(const RelationSearch& search, const std::vector<RelatedMetric>& metrics,
                   const std::map<std::string, Host>& hosts, OutlierReport& out) {
  std::map<std::string, std::vector<std::pair<Nanoseconds, Nanoseconds>>> told;
  for (const MetricOutlier& o : out.outliers)
    told[o.outlier.entity].emplace_back(o.outlier.start, o.outlier.end);
  for (const RelationOutlier& r : search.run()) {
    const auto& known = told[r.entity];
    if (std::ranges::any_of(known, [&](const auto& stretch) {
          return stretch.first < r.end && r.start < stretch.second;
        }))
      continue;
    const RelatedMetric& metric = metrics[r.metric];
    MetricOutlier o;
    o.outlier.entity = r.entity;
    o.outlier.group = r.group;
    o.outlier.side = r.side;
    o.outlier.start = r.start;
    o.outlier.end = r.end;
    o.outlier.value = r.value;
    o.outlier.crowd = r.expected;
    o.outlier.score = r.score;
    o.outlier.threshold = r.threshold;
    o.outlier.method = "relation";
    o.outlier.size = r.size;
    o.metric = metric.name;
    o.printed = metric.printed;
    o.unit = metric.unit;
    o.known = metric.known;
    if (const auto it = hosts.find(r.entity); it != hosts.end()) o.host = it->second;
    for (const std::size_t other : r.others) o.against.push_back(metrics[other].name);
    out.outliers.push_back(std::move(o));
  }
}

// Bounded: a number that differs is a sign, not a fault. Without a crowd of its role, or by one
// quiet rule alone, less so.
double confidence_of(const MetricOutlier& o) {
  double out = o.outlier.method == "robust"        ? confidence::kOutlierRobust
               : o.outlier.method == "threshold"   ? confidence::kOutlierThreshold
               : o.outlier.method == "robust-mean" ? confidence::kOutlierMean
               : o.outlier.method == "relation"    ? confidence::kOutlierRelation
                                                   : confidence::kOutlierFew;
  if (o.outlier.fallback) out -= 0.2;
  if (o.known == nullptr) out -= 0.15;
  return out;
}

Text title_of(const MetricOutlier& o) {
  const bool high = o.outlier.side == MetricSide::high;
  const std::size_t others = o.outlier.size > 0 ? o.outlier.size - 1 : 0;
  if (o.against.empty())
    return say(high ? Phrase::higher_than_others : Phrase::lower_than_others, o.metric, others);
  return say(high ? Phrase::higher_than_its_metrics : Phrase::lower_than_its_metrics, o.metric,
             fmt::format("{}", fmt::join(o.against, ", ")), others);
}

}  // namespace

OutlierReport search_outliers(const std::vector<MetricSeries>& metrics,
                              const rules::Catalogue& catalogue, OutlierParams params) {
  OutlierReport out{.method = params.rule == OutlierRule::published ? "published" : "robust",
                    .window = params.window};
  std::vector<const MetricSeries*> order;
  for (const MetricSeries& m : metrics) order.push_back(&m);
  sort_by(order, [](const MetricSeries* a) { return std::tie(a->name, a->unit); });
  std::vector<const MetricSeries*> searched;
  for (const MetricSeries* m : order) {
    const auto match = catalogue.find(m->name, m->unit);
    if (match && match->metric->bad == MetricSide::none && !match->metric->zero_above) {
      out.notes.push_back(say(Phrase::metric_not_compared, m->name, match->metric->meaning));
      continue;
    }
    if (!match) out.unknown.push_back(m->name);
    searched.push_back(m);
    out.searched.push_back(m->name);
  }
  params.metrics = std::max<std::size_t>(1, searched.size());
  std::set<std::string> entities;
  bool any = false;
  RelationSearch relations(params);
  std::vector<RelatedMetric> related;
  std::map<std::string, Host> hosts;
  for (const MetricSeries* m : searched) {
    const Prepared metric = prepare(*m, catalogue, out.notes);
    std::vector<OutlierSeries> series;
    std::map<std::string, Host> host;
    for (std::size_t e = 0; e < m->entities.size(); ++e) {
      series.push_back(
          {m->entities[e].name, m->entities[e].role, metric.times[e], metric.values[e]});
      host[m->entities[e].name] = m->entities[e].host;
      entities.insert(m->entities[e].name);
    }
    const OutlierResult result = find_outliers(series, metric.sense, params);
    for (const Outlier& o : result.outliers)
      out.outliers.push_back(
          {o, metric.name, m->name, metric.unit, host[o.entity], metric.known, {}, {}, result.end});
    for (const CommonChange& c : result.common)
      out.common.push_back({c, metric.name, metric.unit, metric.known});
    for (const NotEnough& r : result.not_enough) out.not_enough.push_back({r, m->name});
    // What should be zero has no relation to anything.
    if (params.rule == OutlierRule::robust && !metric.sense.zero_above) {
      relations.add(series, metric.sense, metric.known != nullptr);
      related.push_back({metric.name, m->name, metric.unit, metric.known});
      hosts.insert(host.begin(), host.end());
    }
    // Once something was judged, the extent of what could not be says nothing.
    if (out.judged == 0 && result.judged > 0) any = false;
    out.judged = std::max(out.judged, result.judged);
    out.samples += result.samples;
    out.bin = std::max(out.bin, result.bin);
    if (result.samples == 0 || (out.judged > 0 && result.judged == 0)) continue;
    out.start = any ? std::min(out.start, result.start) : result.start;
    out.end = any ? std::max(out.end, result.end) : result.end;
    any = true;
  }
  out.entities = entities.size();
  if (searched.empty()) out.not_enough.push_back({{"no_samples", say(Phrase::no_metric), {}}, ""});
  add_relations(relations, related, hosts, out);
  rank(out.outliers);
  sort_by(out.common, [](const MetricCommon& a) { return std::tie(a.change.start, a.metric); });
  return out;
}

Text outlier_words(const MetricOutlier& o) {
  const std::string value = with_unit(o.outlier.value, o.unit);
  if (o.outlier.method == "threshold")
    return say(Phrase::healthy_up_to, o.metric, value, with_unit(o.outlier.threshold, o.unit));
  if (!o.against.empty())
    return say(Phrase::expected_by_metrics, o.metric, value, with_unit(o.outlier.crowd, o.unit),
               fmt::format("{}", fmt::join(o.against, ", ")), o.outlier.score);
  return say(Phrase::others_deviations, o.metric, value, with_unit(o.outlier.crowd, o.unit),
             o.outlier.score >= 1000 ? "over 999" : fmt::format("{:.1f}", o.outlier.score));
}

Text advice_for(const MetricOutlier& o) {
  std::string advice = o.known == nullptr ? std::string() : o.known->advice;
  constexpr std::string_view kPlace = "{host}";
  if (const std::size_t at = advice.find(kPlace); at != std::string::npos)
    advice.replace(at, kPlace.size(), o.host.empty() ? o.outlier.entity : std::string(o.host));
  return advice.empty() ? Text() : Text(std::move(advice));
}

Text outlier_answer(const OutlierReport& report) {
  if (!report.outliers.empty()) {
    std::set<std::string> others;
    for (const MetricOutlier& o : report.outliers) others.insert(o.outlier.entity);
    const MetricOutlier& first = report.outliers[0];
    return say(Phrase::stands_out, first.outlier.entity, others.size(), outlier_words(first));
  }
  if (report.judged == 0)
    return say(Phrase::not_enough_metrics, report.not_enough.empty()
                                               ? say(Phrase::nothing_compared)
                                               : report.not_enough[0].reason.text);
  // A change of step time matters more than one of anything else that moves with it; otherwise the
  // first.
  for (const char* kind : {"shift", "split"})
    for (const MetricCommon& c : report.common) {
      if (c.change.kind != kind) continue;
      const std::string from = with_unit(c.change.from, c.unit),
                        to = with_unit(c.change.to, c.unit);
      if (c.change.kind != "shift")
        return say(Phrase::some_differ_together, c.change.entities, c.change.size,
                   iso_utc(c.change.start), c.metric, to, from);
      return c.change.entities == c.change.size
                 ? say(Phrase::all_shifted, iso_utc(c.change.start), c.metric, from, to)
                 : say(Phrase::some_shifted, c.change.entities, c.change.size,
                       iso_utc(c.change.start), c.metric, from, to);
    }
  return say(Phrase::nobody_among, report.judged);
}

std::vector<Finding> outlier_findings(const OutlierReport& report) {
  std::vector<Finding> out;
  std::map<std::pair<std::string, std::string>, std::vector<const MetricOutlier*>> by;
  for (const MetricOutlier& o : report.outliers) by[{o.metric, o.outlier.entity}].push_back(&o);
  for (const auto& [key, all] : by) {
    const MetricOutlier& o = **std::ranges::max_element(
        all, {}, [](const MetricOutlier* a) { return a->outlier.score; });
    Finding f{
        .id = fmt::format("outliers/{}/{}", key.first, key.second),
        .analysis = Analysis::outliers,
        .event_class = o.known != nullptr ? o.known->points_to + "/" + o.metric : "metric/unknown"};
    const std::string& entity = o.outlier.entity;
    if (entity.rfind("rank ", 0) == 0)
      f.subject = {SubjectKind::rank, entity.substr(5)};
    else if (contains(entity, '/'))
      f.subject = {contains(entity, "/gpu") ? SubjectKind::gpu : SubjectKind::nic, entity};
    else
      f.subject = {SubjectKind::host, entity};
    f.symptom = o.known != nullptr ? o.known->symptom : Symptom::none;
    f.severity = Severity::warning;
    f.role = Role::confirmation;
    f.confidence = confidence_of(o);
    f.why = say(Phrase::for_duration, outlier_words(o),
                human_duration(o.outlier.end - o.outlier.start));
    if (o.outlier.fallback) f.why += say(Phrase::role_too_small);
    f.title = title_of(o);
    if (o.known != nullptr) {
      std::string advice = o.known->advice;
      if (const std::size_t at = advice.find("{host}"); at != std::string::npos)
        advice.replace(at, 6, o.host.empty() ? entity : o.host);
      f.advice = Text(std::move(advice));
    }
    f.start = all[0]->outlier.start;
    f.end = all[0]->outlier.end;
    for (const MetricOutlier* one : all) {
      f.start = std::min(*f.start, one->outlier.start);
      f.end = std::max(*f.end, one->outlier.end);
    }
    f.uncertainty = report.bin;
    f.count = all.size();
    f.figures = {{"crowd", number(o.outlier.crowd)},
                 {"method", o.outlier.method},
                 {"score", number(o.outlier.score)},
                 {"threshold", number(o.outlier.threshold)},
                 {"unit", o.unit},
                 {"value", number(o.outlier.value)}};
    f.evidence = o.evidence;
    if (!o.host.empty()) {
      f.host = o.host;
      f.hosts = {o.host};
    }
    out.push_back(std::move(f));
  }
  if (out.empty()) {
    out.push_back(Finding{
        .id = "outliers",
        .analysis = Analysis::outliers,
        .outcome = report.judged > 0 ? Outcome::ruled_out : Outcome::not_enough_evidence,
        .subject = {SubjectKind::job, ""},
        .why = outlier_answer(report),
        .title =
            say(report.judged > 0 ? Phrase::no_machine_stands_out : Phrase::metrics_to_compare)});
  }
  sort_by(out, &Finding::id);
  return out;
}

}  // namespace culprit::analyze
