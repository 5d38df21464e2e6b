// What the labels of a Prometheus series name: a host, a GPU, a NIC, a rank; and which of them only
// describe.
#pragma once

#include <string>
#include <vector>

#include "model/series.hpp"

namespace culprit::ingest {

struct MetricLabel {
  std::string name, value;
  auto operator<=>(const MetricLabel&) const = default;
};

// Sets host, gpu, nic, rank, local_rank and labels of `key`, whose name is set. Labels that say the
// same of every sample of an entity (model, driver version, who uses the GPU) are left out: they
// would make series of one GPU look different from the same series of its peers. one_host: the
// samples are of one exporter, so that a GPU's index names it; else, and with no label that names a
// host, its UUID does.
void name_series(std::vector<MetricLabel>& labels, bool one_host, SeriesRow& key);

}  // namespace culprit::ingest
