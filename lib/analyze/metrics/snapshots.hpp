// One reading of each machine: nvidia-smi run once, a scrape of an exporter, a table of a few rows.
//
// A search for what lasts (outliers.hpp) has nothing to work on there. Yet some metrics prove by a
// single reading that a device is slow while it is so: a clock far below its peers', or a reason
// for which it is held down (`slows` in rules/tables/metrics.json). They make
// nobody a suspect by themselves: only a job that is known to be slow asks for them.
#pragma once

#include <functional>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/metrics/outlier_search.hpp"
#include "model/finding.hpp"
#include "model/metric.hpp"

namespace culprit::analyze {

struct SnapshotParams {
  double least_effect = 0.35;  // of the crowd's value; clocks of other models differ by less
  double idle = 0.25;          // of the crowd's value: lower ones are idle, or could not be read
  double threshold = 3.5;      // robust deviations (Iglewicz & Hoaglin 1993)
  double most = 0.34;          // more of a crowd than a third are a second crowd
  std::size_t least = 4;       // entities of a crowd
};

// Who stands out in `readings` (one value an entity, the last), by metric and entity; method
// "reading"; start and end are the time of the reading, kNoValue where it has none.
std::vector<MetricOutlier> snapshot_outliers(const std::vector<MetricSeries>& readings,
                                             const rules::Catalogue& catalogue,
                                             const SnapshotParams& params = {});

// That one machine alone has several devices whose rate is far below that of all others', a
// setting that no step need tell of: a run that was slow from its first step has none that was
// faster. Nothing where several machines have, or where one of them is not known to be at work.
std::vector<Finding> held_devices(const OutlierReport& report,
                                  const std::vector<MetricSeries>& readings,
                                  const rules::Catalogue& catalogue);

// The line of an entity's last reading; nothing where it has none.
std::vector<Evidence> reading_evidence(const Facts& facts,
                                       const std::function<SeriesPoints(SeriesId)>& load,
                                       const MetricOutlier& outlier);

}  // namespace culprit::analyze
