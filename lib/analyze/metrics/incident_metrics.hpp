// The metrics of the whole incident, ready to be compared across machines: series of all members
// put together by what they measure, one line of times and values for each machine, GPU, NIC or
// rank.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/metric.hpp"
#include "rules/metrics.hpp"

namespace culprit::analyze {

// The catalogue's name of the share of time in which a GPU works: what is idle is clocked low.
inline constexpr std::string_view kUtilization = "gpu_utilization";

struct IncidentMetrics {
  std::vector<MetricSeries>
      metrics;  // by name; entities by name; samples by time, a moment told twice once
  // The last values of series of metrics by which one reading proves that a device is slow, of
  // files that have no more than a few; entities without a time where nothing tells it.
  std::vector<MetricSeries> readings;
  std::size_t unknown =
      0;  // series whose name the catalogue does not have: nobody knows which side is bad
  std::size_t nameless = 0;  // of which nobody knows whose they are
  std::size_t timeless = 0;  // whose times are missing or on a clock that nothing ties to UTC
};

// load: all samples of a series, in the order of its member. Copies of members and files of other
// jobs are left out. Of node_exporter's CPU seconds the shares of stolen and waiting time are made,
// a number a host.
IncidentMetrics incident_metrics(const Facts& facts, const rules::Catalogue& catalogue,
                                 const std::function<SeriesPoints(SeriesId)>& load);

// The lines that tell the first sample within start .. end and the one nearest to `value` (NaN, as
// for counters: the last); excerpts are the values as numbers. metric, entity: as in
// IncidentMetrics. Empty when no sample stands there.
std::vector<Evidence> sample_evidence(const Facts& facts,
                                      const std::function<SeriesPoints(SeriesId)>& load,
                                      const std::string& metric, const std::string& entity,
                                      Nanoseconds start, Nanoseconds end, double value);

// Whether a series shows a metric that incident_metrics() has by that name: 0 for its values as
// they are, else the bit of its masks.
std::optional<std::uint64_t> bit_shown(const SeriesRow& series, const std::string& metric,
                                       rules::FoundMetrics& known);

// Where the sample at this place of its series stands, as far as that was stored.
Place place_of_sample(const SeriesRow& series, const SeriesPoints& points, std::size_t at);

// Where one sample stands. line, offset: as stored with it; printed: its number there; time: UTC.
Evidence evidence_of_sample(const Facts& facts, const SeriesRow& series, std::int64_t line,
                            std::int64_t offset, double printed, Nanoseconds time);

// A sample, and where it stands.
struct PlacedSample {
  Nanoseconds time;  // UTC, or since midnight where no day is known
  double value;
  const SeriesRow* series;
  std::int64_t line, offset;
  double printed;  // the value there; a rate is made of several
};
// Adds the samples of a series that have a time and a value; offset: of its clock to UTC.
void add_placed(const SeriesRow& series, const SeriesPoints& points, Nanoseconds offset,
                std::vector<PlacedSample>& out);
// By time; of one moment in the order of files and lines.
void sort_placed(const Facts& facts, std::vector<PlacedSample>& samples);

// "node-07/gpu3", "rank 12"; "" when nothing says whose it is.
std::string entity_name(const SeriesRow& series);

}  // namespace culprit::analyze
