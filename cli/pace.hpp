// How fast the job went, and who held it up: what the analyses of slowness need, out of a database.
#pragma once

#include <vector>

#include "analyze/efficiency.hpp"
#include "analyze/facts.hpp"
#include "analyze/fail_slow.hpp"
#include "analyze/job_steps.hpp"
#include "analyze/outlier_search.hpp"
#include "analyze/slow.hpp"
#include "store/database.hpp"

namespace culprit::cli {

struct Pace {
  analyze::JobSteps steps;
  analyze::FailSlow report;
  std::vector<analyze::OwnWork> parts;       // of each interval; empty when no rank reports the parts of its steps
};

Pace pace_of(const store::Database& db, const analyze::Facts& facts, const analyze::FailSlowParams& params = {});

// Aegis's ten minutes, or less when the job was slow for a shorter time: a metric that left the crowd for as long as that
// could not be seen otherwise.
analyze::OutlierParams fitting(const Pace& pace);

// Metrics of machines against each other; `searched` is empty when the bundle holds none that can be compared.
analyze::OutlierReport outliers_of(const store::Database& db, const analyze::Facts& facts, const analyze::OutlierParams& params = {});

// Steps, attempts and the job's frame as the efficiency analysis takes them.
analyze::JobTimes job_times(const analyze::Facts& facts, const analyze::JobSteps& steps);

}  // namespace culprit::cli
