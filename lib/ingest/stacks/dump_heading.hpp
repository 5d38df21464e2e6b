// What a collector's loop prints above the dump of a process.
#pragma once

#include <optional>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

// The last heading of the member; it holds until the next one.
class DumpHeading final : public Kept {
 public:
  void finish(Reading&) override {}
  std::optional<Rank> rank;
  std::optional<LocalRank> local_rank;
};

}  // namespace culprit::ingest
