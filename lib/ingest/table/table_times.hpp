// When the rows of a bare table were: its column of times, in nanoseconds.
#pragma once

#include <vector>

#include "ingest/table/bare_table.hpp"
#include "model/series.hpp"

namespace culprit::ingest {

struct TableTimes {
  std::vector<Nanoseconds> times;  // of every row; kNoValue: none
  bool no_zone = false;            // written dates without a zone: taken for UTC
  bool since_start = false;        // small numbers: seconds since nobody knows when
};

// Numbers are in the unit that ends the column's name (time_us); else seconds, ms, us or ns since
// 1970, the same in the whole column, told from the largest, and small ones seconds since some
// start. Texts are written dates. unit: nanoseconds that the user says a number counts; 0: nothing.
TableTimes table_times(const TableColumn& column, double unit = 0);

}  // namespace culprit::ingest
