// A bare table that a command was given in place of an incident.
#pragma once

#include <string>

#include "arguments.hpp"
#include "ingest/table/bare_table.hpp"

namespace culprit::cli {

// The table of a file; "-" is standard input. What could not be read is remarked, the first lines
// one by one.
Result<ingest::BareTable> read_table_file(const Arguments& arguments, const std::string& path);

}  // namespace culprit::cli
