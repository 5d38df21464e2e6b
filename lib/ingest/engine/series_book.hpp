// Where readers of metrics write: samples are kept by series and leave packed, some thousand at a
// time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ingest/engine/recogniser.hpp"
#include "model/series.hpp"

namespace culprit::ingest {

class SeriesBook final : public Kept {
 public:
  using Index = std::uint32_t;
  static constexpr Index kFull = 0xffffffff;  // the member has too many series: its reader rejects
                                              // the record ('series.too_many')

  // The series of this key, made when it is new. The member of the key is set by the first sample.
  // Costs a search: a reader of columns asks once a column.
  Index series(const SeriesRow& key);

  // One sample. step and time: kNoValue when the record gives none. A value that is not a number is
  // kept as NaN; one that is missing (blank, N/A) is not to be added. Times of day without a date
  // are kept from the midnight before the first of the series.
  void add(Index index, std::int64_t step, std::int64_t time_ns, double value, const Place& place,
           Reading& reading);

  void finish(Reading& reading) override;

 private:
  struct Sample {
    std::int64_t step, time, line, offset;
    double value;
  };
  struct Open {
    SeriesRow key;
    SeriesId id = 0;  // 0: the sink has not met it
    Place first;
    std::uint32_t chunks = 0;                // that the sink has
    std::vector<Sample> samples;             // side by side: one append a sample instead of five
    std::optional<Nanoseconds> last_of_day;  // of times without a date, see after()
  };
  // The columns of a chunk that others may share.
  struct Axis {
    SeriesId series = 0;
    std::uint32_t chunk = 0;
    SeriesPoints points;  // without values
  };
  void flush(Open& open, Reading& reading);
  std::optional<SeriesId> share_axis(const Open& open);

  std::map<SeriesRow, Index> index_;
  std::vector<Open> open_;
  SeriesPoints points_;       // of the series being written
  std::array<Axis, 4> axes_;  // the last ones
  std::size_t next_axis_ = 0;
  std::size_t buffered_ = 0;
  bool dated_ = false;
  std::optional<ClockRow> last_of_day_;
};

// A cell of a metric file as a number: "98", "98 %", "592.74 W", "1.5e+09", "NaN", "+Inf". `rest`
// is what follows the number, without blanks around it ("%", "MiB"). False for a cell that says
// there is no value: empty, -, N/A, [N/A], [Not Supported], [Unknown Error], a DCGM blank code.
bool metric_number(std::string_view cell, double& value, std::string_view& rest);

}  // namespace culprit::ingest
