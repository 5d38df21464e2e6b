// What a flight recorder's dump tells of its rank, as rows.
#pragma once

#include "ingest/collectives/recorder_entries.hpp"
#include "ingest/collectives/recorder_groups.hpp"
#include "ingest/collectives/recorder_values.hpp"

namespace culprit::ingest {

// Completes and puts the row of the dump, and one for each group, frontier, history, and operation
// that is unfinished or among the last. dump: with version, library and rank.
void put_recorder_rows(const RecorderPart& part, RecorderValues& values, RecorderGroups& groups,
                       const RecorderEntries& entries, RecorderRow dump);

}  // namespace culprit::ingest
