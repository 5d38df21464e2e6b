// Tables of ranks or machines within a log or a report: a heading, and a row for each.
#pragma once

#include <memory>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

// What reads the rows below `line`, if it is the heading of such a table; else nothing.
std::unique_ptr<Assembler> rows_below_heading(const TextLine& line, Reading& reading);

}  // namespace culprit::ingest
