// A run as `compare` looks at it: facts of a database, its pace and metrics, and the lines of the
// bundle it was read from.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "analyze/compare/compare_runs.hpp"
#include "analyze/metrics/incident_metrics.hpp"
#include "analyze/pace/job_steps.hpp"
#include "analyze/compare/templates.hpp"
#include "bundle/bundle.hpp"
#include "resolve.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

struct LoadedRun {
  store::Database db;
  Resolved resolved;
  analyze::JobSteps steps;
  analyze::IncidentMetrics metrics;
  std::vector<MetricSeries>
      unknown;  // metrics that the catalogue does not have: nobody knows which side is bad
  std::vector<std::string>
      sources;  // what the database was read from, where that can still be read
  std::set<std::string> text_kinds;  // of the files whose lines count

  analyze::ComparedRun view() const {
    return {&resolved.facts, &steps, &metrics, &unknown, text_kinds};
  }
};

// Errors: a damaged database.
Result<LoadedRun> load_run(store::Database db);

// What a database was read from; empty where something of it cannot be read any more.
std::vector<std::string> readable_sources(const store::Database& db);
// Of the files whose lines count.
std::set<std::string> text_kinds_of(const analyze::Facts& facts);

Result<> mine_lines(const analyze::Facts& facts, const std::vector<std::string>& sources,
                    std::size_t index, const bundle::Limits& limits, analyze::TemplateMiner& miner);
// The lines of all logs of the run, read again from its sources. Errors: a bundle that cannot be
// opened.
Result<> mine_lines(const LoadedRun& run, std::size_t index, const bundle::Limits& limits,
                    analyze::TemplateMiner& miner);
// What the database keeps of lines that no rule knows: exceptions.
void mine_exceptions(const LoadedRun& run, std::size_t index, analyze::TemplateMiner& miner);

}  // namespace culprit::diagnose
