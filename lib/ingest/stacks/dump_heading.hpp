// What a collector's loop prints above the dump of a process.
#pragma once

#include <optional>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

// The last heading of the member. It holds for one process: what follows without a heading of its
// own is nobody's.
class DumpHeading final : public Kept {
 public:
  void begin_process() {
    if (used_) rank.reset(), local_rank.reset();
    used_ = true;
  }
  void begin_heading() { rank.reset(), local_rank.reset(), used_ = false; }
  std::optional<Rank> rank;
  std::optional<LocalRank> local_rank;

 private:
  bool used_ = false;
};

}  // namespace culprit::ingest
