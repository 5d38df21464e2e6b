// Metric series: numbers of one thing over time or over training steps, as one member of the bundle
// tells them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/rows.hpp"

namespace culprit {

using SeriesId = std::int64_t;

// What tells one series of a member from the others. Names stay as the source spells them
// (DCGM_FI_DEV_GPU_TEMP, "utilization.gpu", iter_ms): what they mean is the metric catalogue's
// knowledge (rules/tables/metrics.json).
struct SeriesRow {
  SeriesId id = 0;  // 0 until the sink has given one
  MemberId member = 0;
  std::string name;
  std::string unit;                // as printed: "%", MHz, "MiB" ...; "" = not said
  std::string kind;                // gauge counter; "" = not said
  std::optional<Host> host;        // printed in the record; else the member's, later
  std::optional<std::string> gpu;  // index, UUID or PCI address, as printed
  std::optional<std::string> nic;  // mlx5_0/1, eth0 ...
  std::optional<Rank> rank;        // global
  std::optional<LocalRank> local_rank;
  std::string labels;         // what else tells it from others: "k=v", sorted, comma-separated
  Clock clock = Clock::none;  // of its times
  auto operator<=>(const SeriesRow&) const = default;
};

// In the labels of numbers on lines with a label of srun -l, which may be the rank's.
inline constexpr std::string_view kTaskLabel = "task=";

// The name of the ranks that a program names as its slowest, one at a time.
inline constexpr std::string_view kSlowestRank = "slowest rank";

// A step or a time that a record does not give.
inline constexpr std::int64_t kNoValue = std::numeric_limits<std::int64_t>::min();
inline constexpr double kNoFigure = std::numeric_limits<double>::quiet_NaN();

// The samples of one series, column by column. A column is empty when the source gives none of it,
// else as long as `values`. A value that is not a number stands as NaN: the source printed it; a
// sample that is missing is not here.
struct SeriesPoints {
  std::vector<double> values;
  std::vector<std::int64_t> steps;    // training iteration; kNoValue = not given
  std::vector<std::int64_t> times;    // nanoseconds on the series' clock; kNoValue = not given
  std::vector<std::int64_t> lines;    // 1-based line of the member, 0 = not of a line
  std::vector<std::int64_t> offsets;  // byte offset of that line
  std::size_t size() const { return values.size(); }
};

// Some samples of one series in the order of the member, packed. place: of the first of them.
// Series of one table or of one kind of line have their samples at the same steps, times and
// places: the first has those columns, and the others name it.
struct ChunkRow {
  SeriesId series = 0;
  std::optional<SeriesId> axis;  // whose columns these are: of its chunk of the same number
  Place place;
  std::int64_t samples = 0;
  std::int64_t first_step = kNoValue, last_step = kNoValue;
  std::int64_t first_time = kNoValue, last_time = kNoValue;
  std::string data;  // pack()
};

// The values with the columns of an axis.
SeriesPoints along(const SeriesPoints& axis, SeriesPoints values);
// Adds the samples of `more`; a column that only one of them has is filled up with "not given".
void append(SeriesPoints& points, const SeriesPoints& more);

// Columns to bytes and back. Integers as variable-length differences of differences on the largest
// power of ten that divides them all; values as decimal integers when that loses nothing, else as
// raw IEEE doubles; runs of zeros as their length. A regular series of readings with three digits
// takes 3 to 4 bytes a sample with its place.
std::string pack(const SeriesPoints& points);
// Into an empty `points`. False, with `points` unchanged, when the bytes are not what pack() makes.
bool unpack(std::string_view bytes, SeriesPoints& points);

}  // namespace culprit
