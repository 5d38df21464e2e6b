// Whether the rows of a database may be believed: their ids index vectors of ours, and the file may
// come from anybody.
#pragma once

#include <optional>
#include <string>

struct sqlite3;

namespace culprit::store {

// What is wrong, as "table.column": an id that is missing, or one that leads nowhere. Nothing when
// all is well.
std::optional<std::string> broken_reference(sqlite3* db);

}  // namespace culprit::store
