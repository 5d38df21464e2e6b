// Places in dumps and call logs as a claim cites them: what stands there is binary, or one line of
// a hundred kilobytes, so what was read there is told beside it.
#pragma once

#include <string>

#include "analyze/facts/facts.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

// A place, and what a reader found there.
struct Citation {
  Place place;  // member 0: nothing to cite
  std::string reading = {};
};

// An operation of a rank: "rank 3: all_reduce 41 of default_pg, started, at pretrain.py:120".
Citation cited(const Facts& facts, const CollectiveSample& sample);
// A dump: "dump of rank 5: 120 operations, 3 not completed".
Citation cited(const Facts& facts, const RecorderRow& dump);
// Counters: "rank 5 on tp: all_reduce 41 enqueued, 40 completed".
Citation cited(const Facts& facts, const FrontierRow& counters);

// The line of the program that launched it; "" when its stack names library code only, or there is
// none.
std::string launched_at(const Facts& facts, const CollectiveSample& sample);

Evidence evidence_of(const Facts& facts, const Citation& citation);

}  // namespace culprit::analyze
