// The operations that a flight recorder kept, in order of launch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ingest/collectives/recorder_groups.hpp"
#include "ingest/collectives/recorder_values.hpp"

namespace culprit::ingest {

// "nccl:send 0->3", taken apart once for each name that stands in a dump.
struct RecorderOperation {
  std::string name, backend;
  std::uint32_t hash = 0;
  std::int64_t peer = kUnknownSequence;  // within the group
  bool p2p = false, coalesced = false;
};

struct RecorderEntry {
  std::int64_t record = kUnknownSequence, sequence = kUnknownSequence;
  std::uint32_t group = 0, operation = 0;
  std::uint32_t node = 0;
  std::uint64_t line = 0;
  std::optional<std::int64_t> timeout_ms;
  Nanoseconds created = 0, started = 0, completed = 0;
  double duration = -1;
  Value state, input_sizes, output_sizes, input_types, output_types, frames, thread;
  std::uint8_t progress = 0;  // 0 scheduled 1 started 2 completed
  bool p2p = false, retired = false, borrowed = false;
};

struct RecorderEntries {
  std::vector<RecorderOperation> operations;  // each once
  std::vector<RecorderEntry> all;             // by record
};

// Adds to `groups` those that only entries name, and the entries of each. status: the group
// counters of the dump; the recorder of torchcomms has none.
RecorderEntries read_entries(const RecorderPart& part, RecorderValues& values, const Value& list,
                             const Value& status, RecorderGroups& groups);

}  // namespace culprit::ingest
