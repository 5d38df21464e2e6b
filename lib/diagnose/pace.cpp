// Puts together what analyses of speed need, out of a database.
#include "pace.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "analyze/facts/path_facts.hpp"
#include "analyze/facts/topology.hpp"
#include "analyze/metrics/incident_metrics.hpp"
#include "analyze/metrics/memory_growth.hpp"
#include "analyze/metrics/metric_stalls.hpp"
#include "analyze/metrics/snapshots.hpp"
#include "analyze/pace/slow_groups.hpp"
#include "analyze/pace/slow_saves.hpp"
#include "analyze/pace/step_jobs.hpp"
#include "ingest/engine/name_moment.hpp"
#include "model/median.hpp"
#include "own_work.hpp"
#include "rules/metrics.hpp"
#include "rules/step_parts.hpp"
#include "step_series.hpp"
#include "step_tables.hpp"

namespace culprit::diagnose {

Pace pace_of(const store::Database& db, const analyze::Facts& facts,
             const analyze::FailSlowParams& params) {
  Pace out;
  std::vector<StepTable> tables;
  const std::vector<MemberId> logs = analyze::step_logs(facts);
  for (const MemberId member : logs) tables.push_back(db.steps(member));
  out.steps = analyze::job_steps(facts, tables);
  tables.clear();
  const auto silent = [&] {
    return std::ranges::all_of(out.steps.ms, [](double v) { return std::isnan(v); });
  };
  if (silent())
    if (analyze::JobSteps counted = steps_from_calls(db, facts); counted.size() > 0)
      out.steps = std::move(counted);
  if (silent()) take_times(steps_from_tables(db, facts, CountedBy::step), out.steps);
  analyze::JobCheckpoints checkpoints(facts, out.steps);
  db.each_checkpoint([&](const CheckpointRow& row) {
    checkpoints.take(row);
    if (row.event == CheckpointEvent::loading || row.event == CheckpointEvent::loaded)
      out.loads.push_back(row);
  });
  out.checkpoints = checkpoints.found();
  out.jobs = analyze::step_jobs(facts, out.steps, [&](SeriesId id) { return db.points(id); });
  out.report = analyze::find_fail_slow(out.steps, out.jobs, out.steps.size(), params);
  const bool numbered =
      std::ranges::none_of(out.steps.iteration, [](std::int64_t n) { return n == kNoValue; });
  if (numbered) own_work_of(db, facts, logs, out);
  if (std::ranges::all_of(out.steps.time, [](std::int64_t t) { return t == kNoValue; }))
    own_work_of_moments(db, facts, params, out);
  if (out.report.intervals.empty()) own_work_of_other_steps(db, facts, params, out);
  return out;
}

analyze::OutlierParams fitting(const Pace& pace) {
  constexpr Nanoseconds kShortest = 60 * kSecond;  // fewer than a handful of scrapes prove nothing
  analyze::OutlierParams params;
  for (const analyze::SlowInterval& interval : pace.report.intervals) {
    const Nanoseconds first = interval.start == 0 ? kNoValue : pace.steps.time[interval.start - 1],
                      last = pace.steps.time[interval.end - 1];
    if (first == kNoValue || last == kNoValue || last <= first) continue;
    params.window = std::min(params.window, std::max(kShortest, (last - first) * 2 / 3));
    params.longest = std::min(params.longest, last - first);
  }
  return params;
}

analyze::IncidentMetrics metrics_of(const store::Database& db, const analyze::Facts& facts) {
  return analyze::incident_metrics(facts, rules::Catalogue::built_in(),
                                   [&](SeriesId id) { return db.points(id); });
}

analyze::OutlierReport outliers_of(const store::Database& db, const analyze::Facts& facts,
                                   const analyze::IncidentMetrics& metrics,
                                   const analyze::OutlierParams& params) {
  constexpr std::size_t kCited = 64;  // outliers: each reads its series again
  analyze::OutlierReport out;
  if (!metrics.metrics.empty())
    out = analyze::search_outliers(metrics.metrics, rules::Catalogue::built_in(), params);
  for (std::size_t i = 0; i < out.outliers.size() && i < kCited; ++i) {
    analyze::MetricOutlier& o = out.outliers[i];
    const bool counter =
        o.known != nullptr &&
        o.known->kind == rules::MetricKind::counter;  // its height is not what stood out
    o.evidence = analyze::sample_evidence(
        facts, [&](SeriesId id) { return db.points(id); }, o.printed, o.outlier.entity,
        o.outlier.start, o.outlier.end, counter ? kNoFigure : o.outlier.value);
  }
  out.readings = analyze::snapshot_outliers(metrics.readings, rules::Catalogue::built_in());
  for (std::size_t i = 0; i < out.readings.size() && i < kCited; ++i)
    out.readings[i].evidence = analyze::reading_evidence(
        facts, [&](SeriesId id) { return db.points(id); }, out.readings[i]);
  const auto named = std::ranges::count_if(
      facts.series, [](const SeriesRow& s) { return s.labels == ingest::kTimeOfName; });
  if (named > 0)
    out.notes.push_back(
        fmt::format("{} series take their time from the name of their file: nothing else says when "
                    "they were read",
                    named));
  if (metrics.unknown > 0)
    out.notes.push_back(
        fmt::format("{} series left out: the catalogue does not know which side of them is bad",
                    metrics.unknown));
  if (metrics.nameless > 0)
    out.notes.push_back(
        fmt::format("{} series left out: nothing says whose they are", metrics.nameless));
  if (metrics.timeless > 0)
    out.notes.push_back(
        fmt::format("{} series left out: no time that can be compared with those of other machines",
                    metrics.timeless));
  return out;
}

std::vector<Finding> stalls_of(const store::Database& db, const analyze::Facts& facts,
                               const analyze::IncidentMetrics& metrics) {
  return analyze::stall_findings(facts, metrics, rules::Catalogue::built_in(),
                                 [&](SeriesId id) { return db.points(id); });
}
std::vector<Finding> slow_saves_of(const store::Database& db, const analyze::Facts& facts,
                                   const Pace& pace) {
  std::vector<analyze::SaveTimes> told;
  for (const SeriesRow* s : comparable(facts)) {
    const MemberRow* m = facts.member(s->member);
    if (m == nullptr || m->duplicate_of != 0 || facts.foreign(*m) || !(in_ms(*s) > 0) ||
        rules::part_name(s->name).part != rules::StepPart::checkpoint)
      continue;
    told.push_back({s->member, db.points(s->id), in_ms(*s)});
  }
  std::vector<double> steps;
  for (const double ms : pace.steps.ms)
    if (ms > 0) steps.push_back(ms);
  std::vector<Finding> out =
      analyze::slow_saves(facts, told, steps.empty() ? 0 : median_of(std::move(steps)));
  if (out.empty())
    if (const auto between = analyze::between_steps(pace.steps, pace.checkpoints))
      out = analyze::pauses_between(facts, pace.steps, *between);
  return out;
}

std::vector<Finding> growth_of(const store::Database& db, const analyze::Facts& facts) {
  return analyze::memory_growth(facts, rules::Catalogue::built_in(),
                                [&](SeriesId id) { return db.points(id); });
}

std::vector<analyze::GroupTime> group_times_of(const store::Database& db,
                                               const analyze::Facts& facts) {
  // Groups without their like need not be read: that of all ranks has the longest histories.
  std::map<std::pair<std::string, std::int64_t>, std::size_t> like;
  const auto kind = [](const GroupRow& g) {
    return std::pair(analyze::dimension_of(g.description),
                     std::max<std::int64_t>(g.size, static_cast<std::int64_t>(g.ranks.size())));
  };
  for (const GroupRow& g : facts.groups) ++like[kind(g)];
  std::vector<analyze::GroupTime> times;
  for (std::size_t i = 0; i < facts.groups.size(); ++i) {
    const auto id = group_at(i);
    if (like[kind(facts.groups[i])] < analyze::SlowGroupParams{}.least_groups) continue;
    auto histories = db.histories(id);
    std::erase_if(histories, [&](const HistoryRow& h) {
      const MemberRow* m = facts.member(h.member);
      return m == nullptr || m->duplicate_of != 0 || facts.foreign(*m);
    });
    for (analyze::GroupTime& g : analyze::group_times(facts, id, histories))
      times.push_back(std::move(g));
  }
  return times;
}

std::vector<Finding> slow_groups_of(const store::Database& db, const analyze::Facts& facts) {
  return analyze::slow_group_findings(facts, group_times_of(db, facts));
}

analyze::JobTimes job_times(const analyze::Facts& facts, const analyze::JobSteps& steps) {
  analyze::JobTimes out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const MemberRow* m = facts.member(steps.place[i].member);
    if (steps.iteration[i] == kNoValue || (m != nullptr && analyze::of_earlier_run(m->path)))
      continue;
    analyze::StepRecord step{.attempt = static_cast<std::int64_t>(steps.attempt[i]),
                             .iteration = steps.iteration[i]};
    if (steps.time[i] != kNoValue) step.end = steps.time[i];
    if (!std::isnan(steps.ms[i])) step.ms = steps.ms[i];
    out.steps.push_back(step);
  }
  out.start = facts.job_start;
  out.end = facts.job_end;
  if (facts.world_size > 0) out.gpus = static_cast<double>(facts.world_size);
  return out;
}
}  // namespace culprit::diagnose
