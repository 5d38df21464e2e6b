// A cell of a table for spreadsheets.
#pragma once

#include <string>
#include <string_view>

namespace culprit {

// RFC 4180. Text that a spreadsheet would take for a formula gets an apostrophe in front: logs are
// other people's words.
std::string csv_cell(std::string_view text);

}  // namespace culprit
