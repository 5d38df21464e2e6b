// fleet.db (schemas/fleet.sql): read as a whole, written as a whole. It is small beside what it was
// made from (some kilobytes an incident), so a new file takes the place of the old one: the same
// record gives the same bytes whatever was written before, and a kill leaves the old file.
#pragma once

#include <string>

#include "model/fleet.hpp"
#include "model/result.hpp"

namespace culprit::store {

bool is_fleet_database(const std::string& path);

// Errors: no such file, not a fleet.db, another layout, damage.
Result<FleetRecord> read_fleet(const std::string& path);

// Sorts the record first. The file appears, or changes, all at once.
Result<> write_fleet(const std::string& path, FleetRecord& record);

// What `more` has is added to `record`; an incident, event or scope of the same id is replaced.
void merge_fleet(FleetRecord& record, FleetRecord&& more);

}  // namespace culprit::store
