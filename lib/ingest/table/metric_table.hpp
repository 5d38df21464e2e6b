// A bare table of metrics: whose value was what, when. Three forms, told from the columns:
//   long     time, host, metric, value; also gpu, nic, rank, role
//   by row   time, host (or rank), and a column a metric: what nvidia-smi --format=csv and step
//   logs print wide     time, and a column a host; the metric is named by the caller
// Times: seconds, ms, us or ns since 1970 (by their size), or written dates; without a zone they
// are taken for UTC.
#pragma once

#include <string>
#include <vector>

#include "ingest/table/bare_table.hpp"
#include "model/metric.hpp"

namespace culprit::ingest {

struct MetricTableOptions {
  std::string metric;  // of a wide table; "" = "value"
  std::string unit;
  bool (*known_metric)(const std::string& name) =
      nullptr;  // does a column name mean a metric, not a host
};

struct MetricTable {
  std::string form;                    // long, rows, wide
  std::vector<MetricSeries> metrics;   // by name; entities by name; samples in the order of rows
  std::size_t rows = 0, left_out = 0;  // left out: without a time, an owner or a value
  std::vector<std::string> notes;      // what was assumed of times
};

// Errors: no column of times, none that says whose the values are, no values.
Result<MetricTable> read_metric_table(const BareTable& table, const std::string& path,
                                      const MetricTableOptions& options = {});

}  // namespace culprit::ingest
