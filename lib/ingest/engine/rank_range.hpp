// The ranks of one machine, as a line lists them: "ranks 8-15 gx-02".
#pragma once

#include <cstdint>
#include <string>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

struct RankRange {
  std::string host;
  std::int64_t first = 0, last = 0;

  std::int64_t size() const { return last - first + 1; }
  // A machine's ranks are as many as every other's, so the first is a multiple of their number.
  bool of_one_machine() const {
    constexpr std::int64_t kMostOfMachine = 72;
    return size() >= 1 && size() <= kMostOfMachine && first % size() == 0;
  }
};

// An identity for each rank, of source "rank map".
inline void put_rank_range(const RankRange& range, const Place& place, Reading& reading) {
  for (std::int64_t i = 0; i < range.size(); ++i)
    reading.sink.put(IdentityRow{.place = place,
                                 .source = "rank map",
                                 .host = Host(range.host),
                                 .local_rank = LocalRank(i),
                                 .rank = range.first + i});
}

}  // namespace culprit::ingest
