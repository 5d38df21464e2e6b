// The one device that computed wrongly in several runs, in each as another rank: what belongs to a
// rank, its data above all, is left behind when ranks change places.
#pragma once

#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

// At most one finding of analysis "divergence", class "same_device_in_each_run", subject the GPU,
// `count` runs. A run is a log, or the logs of a folder that says where ranks stood. In each run
// one rank alone had wrong numbers of its own, or parameters unlike its replicas'. That ranks stand
// in the order of a host file is a guess; that other ranks of other orders all come to one device
// confirms it. Sure where three different ranks did, or two in large jobs that are not at an end of
// the order, where ranks keep their place by chance; else a candidate.
std::vector<Finding> same_device_in_each_run(const Facts& facts);

}  // namespace culprit::analyze
