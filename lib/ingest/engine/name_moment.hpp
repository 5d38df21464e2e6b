// When a snapshot was taken, for files that say it in their name alone: rdma_20260514T101500.txt,
// ethtool-2026-05-14_10-15-00.log, counters.1715680000.
#pragma once

#include <string_view>

#include "model/time.hpp"

namespace culprit::ingest {

// What a series says of itself when its times are those of file names (SeriesRow::labels).
inline constexpr std::string_view kTimeOfName = "time=file name";

// The moment in the last part of a path: date and time of day with or without separators (a zone
// only as a Z), or 10 or 13 digits of seconds or ms since 1970. A date alone is no moment. False
// when there is none, or several that differ.
bool moment_of_name(std::string_view path, Timestamp& stamp);

}  // namespace culprit::ingest
