#include "ingest/table_times.hpp"

#include <algorithm>
#include <cmath>

#include "line/timestamp.hpp"

namespace culprit::ingest {

TableTimes table_times(const TableColumn& column) {
  TableTimes out;
  out.times.assign(column.cells.size(), kNoValue);
  double most = 0;
  for (const double v : column.values)
    if (std::isfinite(v)) most = std::max(most, std::fabs(v));
  // 1e11 seconds are the year 5138; 1e11 milliseconds are 1973.
  const double by_size = most < 1e11 ? 1e9 : most < 1e14 ? 1e6 : most < 1e17 ? 1e3 : 1;
  const std::string name = folded_name(column.name);
  const double by_name = name.ends_with("ns") ? 1 : name.ends_with("us") ? 1e3 : name.ends_with("ms") ? 1e6 : by_size;
  // Moments since 1970 tell their unit; times since the start of something do not.
  const double unit = most * by_size < 1e8 * 1e9 || most * by_name > 1e8 * 1e9 ? by_name : by_size;
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
    if (stamp.clock != Clock::utc && stamp.clock != Clock::local && stamp.clock != Clock::local_no_year) continue;
    out.no_zone = out.no_zone || stamp.clock != Clock::utc;
    out.times[r] = stamp.ns;
  }
  return out;
}

}  // namespace culprit::ingest
