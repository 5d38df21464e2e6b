#include "pace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/incident_metrics.hpp"

namespace culprit::cli {

namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

bool ends_with(std::string_view text, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view e) { return text.ends_with(e); });
}

// Milliseconds in one of the series' units; 0 when it does not measure time.
double in_ms(const SeriesRow& s) {
  if (s.unit == "ms" || ends_with(s.name, {"_ms", "(ms)", "_msec"})) return 1;
  if (s.unit == "s" || ends_with(s.name, {"_s", "_sec", "_secs", "_seconds", "(s)"})) return 1e3;
  if (s.unit == "us" || ends_with(s.name, {"_us", "_usec"})) return 1e-3;
  return 0;
}

std::vector<analyze::PartSeries> parts_of(const store::Database& db, const analyze::Facts& facts, const std::vector<std::int64_t>& iterations) {
  std::unordered_map<std::int64_t, std::size_t> index;
  for (std::size_t i = 0; i < iterations.size(); ++i) index.emplace(iterations[i], i);
  std::map<std::pair<std::int64_t, std::string>, analyze::PartSeries> found;
  std::vector<const SeriesRow*> rows;
  for (const SeriesRow& s : facts.series) rows.push_back(&s);
  std::stable_sort(rows.begin(), rows.end(), [&](const SeriesRow* a, const SeriesRow* b) { return facts.order(a->member) < facts.order(b->member); });
  for (const SeriesRow* s : rows) {
    const MemberRow* m = facts.member(s->member);
    if (m == nullptr || m->duplicate_of != 0 || facts.foreign(*m) || !s->rank || in_ms(*s) == 0 || analyze::part_kind(s->name) == analyze::PartKind::mixed) continue;
    const SeriesPoints points = db.points(s->id);
    if (points.steps.empty()) continue;
    analyze::PartSeries& part = found[{*s->rank, s->name}];
    if (part.ms.empty()) {
      part.rank = *s->rank;
      part.name = s->name;
      part.ms.assign(iterations.size(), kMissing);
    }
    for (std::size_t i = 0; i < points.size(); ++i)
      if (const auto at = index.find(points.steps[i]); at != index.end()) part.ms[at->second] = points.values[i] * in_ms(*s);
  }
  std::vector<analyze::PartSeries> out;
  for (auto& [key, part] : found) out.push_back(std::move(part));
  return out;
}

// The lines in which a rank tells of its first and last step of the interval.
void tell_places(const store::Database& db, const analyze::Facts& facts, std::int64_t rank, const std::string& part, std::int64_t first, std::int64_t last, std::vector<Evidence>& out) {
  for (const SeriesRow& s : facts.series) {
    const MemberRow* m = facts.member(s.member);
    if (s.rank != rank || s.name != part || m == nullptr || m->duplicate_of != 0) continue;
    const SeriesPoints points = db.points(s.id);
    for (std::size_t i = 0; i < points.steps.size(); ++i)
      if ((points.steps[i] == first || points.steps[i] == last) && !points.lines.empty() && points.lines[i] > 0)
        out.push_back(facts.evidence({s.member, static_cast<std::uint64_t>(points.lines[i]), static_cast<std::uint64_t>(points.offsets[i]), 0}, fmt::format("\"{}\"", part)));
  }
}

}  // namespace

Pace pace_of(const store::Database& db, const analyze::Facts& facts, const analyze::FailSlowParams& params) {
  Pace out;
  std::vector<StepTable> tables;
  for (const MemberId member : analyze::step_logs(facts)) tables.push_back(db.steps(member));
  out.steps = analyze::job_steps(facts, tables);
  tables.clear();
  std::vector<double> numbers, clock;
  for (std::size_t i = 0; i < out.steps.size(); ++i) {
    numbers.push_back(out.steps.iteration[i] == kNoValue ? kMissing : static_cast<double>(out.steps.iteration[i]));
    clock.push_back(out.steps.time[i] == kNoValue ? kMissing : static_cast<double>(out.steps.time[i]) / 1e6);
  }
  const bool numbered = std::none_of(numbers.begin(), numbers.end(), [](double v) { return std::isnan(v); });
  const bool timed = std::none_of(clock.begin(), clock.end(), [](double v) { return std::isnan(v); });
  out.report = analyze::find_fail_slow({out.steps.ms, numbered ? std::span<const double>(numbers) : std::span<const double>{}, timed ? std::span<const double>(clock) : std::span<const double>{}}, params);
  if (out.report.intervals.empty() || !numbered) return out;
  // A step that was done twice is judged as it was done the last time.
  std::vector<std::int64_t> iterations = out.steps.iteration;
  std::sort(iterations.begin(), iterations.end());
  iterations.erase(std::unique(iterations.begin(), iterations.end()), iterations.end());
  const auto parts = parts_of(db, facts, iterations);
  if (parts.empty()) return out;
  std::vector<double> whole(iterations.size(), kMissing);
  for (std::size_t i = 0; i < out.steps.size(); ++i) whole[static_cast<std::size_t>(std::lower_bound(iterations.begin(), iterations.end(), out.steps.iteration[i]) - iterations.begin())] = out.steps.ms[i];
  for (const analyze::SlowInterval& interval : out.report.intervals) {
    const std::int64_t first = out.steps.iteration[interval.start], last = out.steps.iteration[interval.end - 1];
    analyze::OwnWork own{analyze::slow_rank_parts({iterations, parts, whole, first, last}), {}};
    for (const std::int64_t rank : own.parts.ranks)
      if (own.evidence.size() < 4) tell_places(db, facts, rank, own.parts.part, first, last, own.evidence);
    out.parts.push_back(std::move(own));
  }
  return out;
}

analyze::OutlierParams fitting(const Pace& pace) {
  constexpr Nanoseconds kShortest = 60 * kSecond;   // fewer than a handful of scrapes prove nothing
  analyze::OutlierParams params;
  for (const analyze::SlowInterval& interval : pace.report.intervals) {
    const Nanoseconds first = interval.start == 0 ? kNoValue : pace.steps.time[interval.start - 1], last = pace.steps.time[interval.end - 1];
    if (first == kNoValue || last == kNoValue || last <= first) continue;
    params.window = std::min(params.window, std::max(kShortest, (last - first) * 2 / 3));
  }
  return params;
}

analyze::OutlierReport outliers_of(const store::Database& db, const analyze::Facts& facts, const analyze::OutlierParams& params) {
  const auto& catalogue = rules::Catalogue::built_in();
  const auto metrics = analyze::incident_metrics(facts, catalogue, [&](SeriesId id) { return db.points(id); });
  analyze::OutlierReport out;
  if (!metrics.metrics.empty()) out = analyze::search_outliers(metrics.metrics, catalogue, params);
  if (metrics.unknown > 0) out.notes.push_back(fmt::format("{} series left out: the catalogue does not know which side of them is bad", metrics.unknown));
  if (metrics.nameless > 0) out.notes.push_back(fmt::format("{} series left out: nothing says whose they are", metrics.nameless));
  if (metrics.timeless > 0) out.notes.push_back(fmt::format("{} series left out: no time that can be compared with those of other machines", metrics.timeless));
  return out;
}

analyze::JobTimes job_times(const analyze::Facts& facts, const analyze::JobSteps& steps) {
  analyze::JobTimes out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps.iteration[i] == kNoValue) continue;
    analyze::StepRecord step;
    step.attempt = static_cast<std::int64_t>(steps.attempt[i]);
    step.iteration = steps.iteration[i];
    if (steps.time[i] != kNoValue) step.end = steps.time[i];
    if (!std::isnan(steps.ms[i])) step.ms = steps.ms[i];
    out.steps.push_back(step);
  }
  out.start = facts.job_start;
  out.end = facts.job_end;
  if (facts.world_size > 0) out.gpus = static_cast<double>(facts.world_size);
  return out;
}

}  // namespace culprit::cli
