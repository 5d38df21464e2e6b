// The ranks of one machine, as a line lists them: "ranks 8-15 gx-02".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

struct RankRange {
  std::string host, address;  // address: "" where none stands before the host
  std::int64_t first = 0, last = 0;

  std::int64_t size() const { return last - first + 1; }
  // A machine's ranks are as many as every other's, so the first is a multiple of their number.
  bool of_one_machine() const {
    constexpr std::int64_t kMostOfMachine = 72;
    return size() >= 1 && size() <= kMostOfMachine && first % size() == 0;
  }
};

// A line of a list of machines and their ranks; nothing: it is none. settings/rank_table.cpp
std::optional<RankRange> rank_range(std::string_view text);

// An identity for each rank, of source "rank map", and one for the address.
inline void put_rank_range(const RankRange& range, const Place& place, Reading& reading) {
  for (std::int64_t i = 0; i < range.size(); ++i)
    reading.sink.put(IdentityRow{.place = place,
                                 .source = "rank map",
                                 .host = Host(range.host),
                                 .local_rank = LocalRank(i),
                                 .rank = range.first + i});
  if (!range.address.empty())
    reading.sink.put(IdentityRow{
        .place = place, .source = "etc-hosts", .host = Host(range.host), .address = range.address});
}

}  // namespace culprit::ingest
