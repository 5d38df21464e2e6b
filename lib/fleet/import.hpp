// Events of other systems out of a table whose columns have names.
//
// A row is either a whole event (start, and end or duration), or one of two: the kind of the row
// then says whether a failure begins or ends ("fault_start", "fault_end", "open", "resolved",
// "firing"). Beginnings and ends of one machine, device, class and description are matched in the
// order of time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/fleet.hpp"
#include "model/result.hpp"

namespace culprit::fleet {

// What a column is for; the names that are understood stand in import.cpp.
enum class Field {
  host,
  device,
  time,
  start,
  end,
  duration,
  kind,
  level,
  event_class,
  description,
  none
};
Field field_named(std::string_view name);

struct ImportTable {
  std::vector<std::string> columns;
  // Cells of a column by row; "" is missing.
  std::vector<std::vector<std::string_view>> cells;
  std::size_t rows = 0;
};

struct ImportParams {
  std::string system;                          // who recorded it
  std::string file;                            // for the place of each event
  std::map<std::string, std::string> columns;  // field name -> column, where the names are others
  std::optional<Nanoseconds> epoch;            // of numbers; without it they are Unix times
  double unit_s = 0;                           // of numbers; 0: by their size, s ms us or ns
};

struct Imported {
  std::vector<FleetEvent> events;
  std::size_t rows = 0, used = 0;                            // used: gave an event, or ended one
  std::vector<std::pair<std::size_t, std::string>> rejects;  // row (from 1) and why
  std::map<std::string, std::string> columns;                // field -> column that was taken
};

// Errors (usage): no column names a machine or a time, or a named column is not there.
Result<Imported> import_events(const ImportTable& table, const ImportParams& params,
                               std::optional<Nanoseconds> (*parse_time)(std::string_view));

}  // namespace culprit::fleet
