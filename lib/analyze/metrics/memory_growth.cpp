#include "analyze/metrics/memory_growth.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "analyze/facts/path_facts.hpp"
#include "analyze/metrics/crowd.hpp"
#include "analyze/metrics/incident_metrics.hpp"
#include "model/confidence.hpp"
#include "model/median.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

namespace {

// The samples behind the last fall by which a run that ended gave its memory back.
std::span<const PlacedSample> last_run(std::span<const PlacedSample> samples, bool falling,
                                       double restart) {
  std::size_t begin = 0;
  double low = 0, high = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double value = falling ? -samples[i].value : samples[i].value;
    if (i > begin && high - value > restart * (high - low) && high > low &&
        value < high - restart * std::abs(high) / 4)
      begin = i;
    if (i == begin) low = high = value;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return samples.subspan(begin);
}

struct Filling {
  std::vector<std::span<const PlacedSample>> machines;
  std::size_t measured = 0;
};

using Machines = std::map<std::string, std::vector<PlacedSample>>;

// Near to filling a machine, and not within the minutes of a start.
bool large_enough(std::span<const PlacedSample> run, const rules::MetricMatch& match,
                  const MemoryGrowthParams& params) {
  const double last = run.back().value * match.scale;
  const double rise = std::abs(last - run.front().value * match.scale);
  const auto gib = rules::unit_factor(match.metric->unit, "GiB");
  const auto share = rules::unit_factor(match.metric->unit, "ratio");
  return run.back().time - run.front().time >= params.least_span &&
         (gib ? rise * *gib >= params.least_rise : share && last * *share >= params.least_share);
}

Filling filling(const Machines& machines, const rules::MetricMatch& match,
                const MemoryGrowthParams& params) {
  const bool falling = match.metric->exhausts == rules::MetricTrend::falling;
  Filling out;
  for (const auto& [name, samples] : machines) {
    if (samples.size() < params.least_samples) continue;
    ++out.measured;
    const auto run = last_run(samples, falling, params.restart);
    std::vector<double> values;
    for (const PlacedSample& s : run)
      values.push_back(falling ? 1 / std::max(s.value, 1e-9) : s.value);
    if (keeps_rising(values, params) && large_enough(run, match, params))
      out.machines.push_back(run);
  }
  return out;
}

Finding finding_of(const Facts& facts, const rules::MetricMatch& match, const Filling& found) {
  const auto& shown = *std::max_element(found.machines.begin(), found.machines.end(),
                                        [](const auto& a, const auto& b) {
                                          return std::abs(a.back().value - a.front().value) <
                                                 std::abs(b.back().value - b.front().value);
                                        });
  Finding f;
  f.analysis = Analysis::growth;
  f.event_class = "growth/memory";
  f.id = f.event_class;
  f.subject = {SubjectKind::job, "job"};
  f.scope = Scope::job_wide;
  f.symptom = Symptom::cpu_oom;
  f.role = Role::advice;
  f.outcome = Outcome::fired;
  f.confidence = confidence::kMemoryGrows;
  const bool dated = shown.front().series->clock != Clock::local_no_date;
  if (dated) f.start = shown.front().time, f.end = shown.back().time;
  f.count = found.machines.size();
  std::set<Host> hosts;
  for (const auto& run : found.machines)
    if (run.front().series->host) hosts.insert(*run.front().series->host);
  f.hosts.assign(hosts.begin(), hosts.end());
  const auto amount = [&](const PlacedSample& s) {
    const double value = s.value * match.scale;
    if (const auto gib = rules::unit_factor(match.metric->unit, "GiB"); gib && value * *gib >= 10)
      return fmt::format("{:.4g} GiB", value * *gib);
    return fmt::format("{:.4g} {}", value, match.metric->unit);
  };
  f.title = say(Phrase::memory_fills_up, amount(shown.front()), amount(shown.back()),
                human_duration(shown.back().time - shown.front().time), found.machines.size(),
                found.measured);
  f.why = say(Phrase::leak_looks_like_this);
  for (const PlacedSample& s : {shown.front(), shown.back()})
    f.evidence.push_back(
        evidence_of_sample(facts, *s.series, s.line, s.offset, s.value, dated ? s.time : kNoValue));
  return f;
}

}  // namespace

bool keeps_rising(std::span<const double> values, const MemoryGrowthParams& params) {
  if (values.size() < params.least_samples) return false;
  std::array<double, 4> middle{};
  for (std::size_t q = 0; q < 4; ++q) {
    std::vector<double> quarter(
        values.begin() + static_cast<std::ptrdiff_t>(values.size() * q / 4),
        values.begin() + static_cast<std::ptrdiff_t>(values.size() * (q + 1) / 4));
    middle[q] = median_in_place(quarter);
  }
  const double rise = middle[3] - middle[0];
  return std::is_sorted(middle.begin(), middle.end()) && middle[0] > 0 &&
         middle[3] >= params.least_factor * middle[0] &&
         middle[3] - middle[2] >= params.least_late * rise;
}

std::vector<Finding> memory_growth(const Facts& facts, const rules::Catalogue& catalogue,
                                   const std::function<SeriesPoints(SeriesId)>& load,
                                   const MemoryGrowthParams& params) {
  struct Measured {
    rules::MetricMatch match;
    Machines machines;
  };
  std::map<std::string, Measured> metrics;
  rules::FoundMetrics known(catalogue);
  for (const SeriesRow& s : facts.series) {
    const MemberRow* m = facts.member(s.member);
    if (!facts.counts(m) || of_earlier_run(m->path) || s.gpu) continue;
    const auto& match = known.find(s.name, s.unit);
    if (!match || match->metric->exhausts == rules::MetricTrend::none) continue;
    const auto offset = facts.clock_offset(s.member, s.clock);
    // The times of a day that nothing names still stand in their order.
    if (!offset && s.clock != Clock::local_no_date) continue;
    Measured& metric = metrics.try_emplace(s.name, Measured{*match, {}}).first->second;
    std::vector<PlacedSample>& samples = metric.machines[entity_name(s)];
    add_placed(s, load(s.id), offset.value_or(0), samples);
  }
  std::vector<Finding> out;
  double best = params.most;
  for (auto& [name, metric] : metrics) {
    for (auto& [machine, samples] : metric.machines) sort_placed(facts, samples);
    const Filling found = filling(metric.machines, metric.match, params);
    const double share = static_cast<double>(found.machines.size()) /
                         static_cast<double>(std::max<std::size_t>(1, found.measured));
    if (found.measured < params.least_machines || share <= best) continue;
    best = share;
    out.assign(1, finding_of(facts, metric.match, found));
  }
  return out;
}

}  // namespace culprit::analyze
