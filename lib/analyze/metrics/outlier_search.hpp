// The outlier search over many metrics at once: what the catalogue knows of each is applied, each
// is searched, and the answers are put together. A table, a database and a test all come through
// here.
#pragma once

#include <string>
#include <vector>

#include "analyze/metrics/outliers.hpp"
#include "model/finding.hpp"
#include "model/metric.hpp"
#include "model/text.hpp"
#include "rules/metrics.hpp"

namespace culprit::analyze {

struct MetricOutlier {
  Outlier outlier;
  std::string metric;  // the catalogue's name, or as printed
  std::string printed;
  std::string unit;
  Host host;
  const rules::Metric* known = nullptr;
  std::vector<Evidence> evidence = {};  // where it is told; a table has none
  // Within the crowd's band, and not what these metrics of the same entity say (relations.hpp):
  // `crowd` is what they say.
  std::vector<std::string> against = {};
  Nanoseconds covered = 0;  // the last sample that anybody has of this metric; 0: not known
};

struct MetricCommon {
  CommonChange change;
  std::string metric, unit;
  const rules::Metric* known = nullptr;
};

struct MetricNotEnough {
  NotEnough reason;
  std::string metric;  // "" = all
};

struct OutlierReport {
  std::string method;                   // asked for: robust, published
  std::vector<MetricOutlier> outliers;  // by entity, those that stand out most first; then by score
  std::vector<MetricCommon> common;     // by start, metric
  std::vector<MetricNotEnough> not_enough;
  // Who stands out in a single reading (snapshots.hpp): only of a job that is known to be slow.
  std::vector<MetricOutlier> readings;
  std::vector<Text> notes;                     // resets, full counters, metrics left out
  std::vector<std::string> searched, unknown;  // metrics; those the catalogue does not have
  std::size_t entities = 0, judged = 0, samples = 0;
  Nanoseconds window = 0, bin = 0, start = 0, end = 0;
};

// params.metrics is set to the number of metrics searched. Metrics with the same meaning under
// several names are searched name by name. The catalogue must outlive the report.
OutlierReport search_outliers(const std::vector<MetricSeries>& metrics,
                              const rules::Catalogue& catalogue, OutlierParams params = {});

// "gpu_temperature 88 C, others 64 C (7.1 sd)".
Text outlier_words(const MetricOutlier& outlier);
// What the catalogue says to do, with the host's name in it; empty where it says nothing.
Text advice_for(const MetricOutlier& outlier);
// One answer in a sentence: who stands out; nobody; not enough.
Text outlier_answer(const OutlierReport& report);

// One finding an entity and metric that stands out; ruled_out when everybody was judged and nobody
// does, not_enough_evidence when nobody could be. Ids: outliers/METRIC/ENTITY.
std::vector<Finding> outlier_findings(const OutlierReport& report);

}  // namespace culprit::analyze
