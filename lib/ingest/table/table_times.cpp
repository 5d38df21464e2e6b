#include "ingest/table/table_times.hpp"

#include <algorithm>
#include <cmath>

#include "line/timestamp.hpp"

namespace culprit::ingest {

TableTimes table_times(const TableColumn& column, double unit) {
  TableTimes out;
  out.times.assign(column.cells.size(), kNoValue);
  double most = 0;
  for (const double v : column.values)
    if (std::isfinite(v)) most = std::max(most, std::fabs(v));
  // 1e11 seconds are the year 5138; 1e11 milliseconds are 1973.
  const double by_size = most < 1e11 ? 1e9 : most < 1e14 ? 1e6 : most < 1e17 ? 1e3 : 1;
  const std::string name = folded_name(column.name);
  // A name that tells the unit is believed, whatever the size: moments since 1970 and times since
  // the start of something alike.
  if (!(unit > 0))
    unit = name.ends_with("ns") || name.ends_with("nsec")   ? 1
           : name.ends_with("us") || name.ends_with("usec") ? 1e3
           : name.ends_with("ms") || name.ends_with("msec") ? 1e6
                                                            : by_size;
  for (std::size_t r = 0; r < out.times.size(); ++r) {
    const double v = column.values[r];
    if (std::isfinite(v)) {
      out.since_start = out.since_start || most * unit < 1e8 * 1e9;
      if (std::fabs(v * unit) < 4e18) out.times[r] = std::llround(v * unit);
      continue;
    }
    Timestamp stamp;
    const std::string_view cell = column.cells[r];
    if (line::parse_iso(cell, stamp) == 0 && line::parse_calendar(cell, stamp) == 0) continue;
    if (stamp.clock != Clock::utc && stamp.clock != Clock::local &&
        stamp.clock != Clock::local_no_year)
      continue;
    out.no_zone = out.no_zone || stamp.clock != Clock::utc;
    out.times[r] = stamp.ns;
  }
  return out;
}

}  // namespace culprit::ingest
