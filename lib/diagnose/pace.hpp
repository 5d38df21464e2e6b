// How fast the job went, and who held it up: what the analyses of slowness need, out of a database.
#pragma once

#include <vector>

#include "analyze/pace/checkpoints.hpp"
#include "analyze/pace/efficiency.hpp"
#include "analyze/facts/facts.hpp"
#include "analyze/pace/fail_slow.hpp"
#include "analyze/metrics/group_compare.hpp"
#include "analyze/metrics/incident_metrics.hpp"
#include "analyze/pace/job_steps.hpp"
#include "analyze/metrics/outlier_search.hpp"
#include "analyze/pace/slow.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

struct Pace {
  analyze::JobSteps steps;
  std::vector<std::uint32_t> jobs;  // of each step; empty: all of one job
  std::vector<analyze::JobCheckpoint> checkpoints;
  std::vector<CheckpointRow> loads;  // the rows of those that were read
  analyze::FailSlow report;
  std::vector<analyze::OwnWork>
      parts;  // of each interval; empty when no rank reports the parts of its steps
  std::vector<std::int64_t>
      iterations;  // sorted, and what each rank says of each of them; empty without intervals
  std::vector<analyze::PartSeries> series;
};

Pace pace_of(const store::Database& db, const analyze::Facts& facts,
             const analyze::FailSlowParams& params = {});

// Aegis's ten minutes, or less when the job was slow for a shorter time: a metric that left the
// crowd for as long as that could not be seen otherwise.
analyze::OutlierParams fitting(const Pace& pace);

// Samples of machines, put together for comparison.
analyze::IncidentMetrics metrics_of(const store::Database& db, const analyze::Facts& facts);

// Metrics of machines against each other; `searched` is empty when the bundle holds none that can
// be compared.
analyze::OutlierReport outliers_of(const store::Database& db, const analyze::Facts& facts,
                                   const analyze::IncidentMetrics& metrics,
                                   const analyze::OutlierParams& params = {});

// Hints that the machines stood still at the end.
std::vector<Finding> stalls_of(const store::Database& db, const analyze::Facts& facts,
                               const analyze::IncidentMetrics& metrics);

// Whether checkpoints take longer to save than they did, or a good part of the time.
std::vector<Finding> slow_saves_of(const store::Database& db, const analyze::Facts& facts,
                                   const Pace& pace);

// Whether programs fill the memory of the machines.
std::vector<Finding> growth_of(const store::Database& db, const analyze::Facts& facts);

// The usual times of process groups that have their like.
std::vector<analyze::GroupTime> group_times_of(const store::Database& db,
                                               const analyze::Facts& facts);
// Process groups that move the same bytes more slowly than their like.
std::vector<Finding> slow_groups_of(const store::Database& db, const analyze::Facts& facts);

// Steps, attempts and the job's frame as the efficiency analysis takes them.
analyze::JobTimes job_times(const analyze::Facts& facts, const analyze::JobSteps& steps);

}  // namespace culprit::diagnose
