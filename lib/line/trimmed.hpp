#pragma once

#include <string_view>

namespace culprit::line {

// Without the blanks, tabs and carriage returns at both ends.
inline std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string_view::npos
             ? std::string_view{}
             : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

// What exporters and people write above and within a table: the query, the moment, a blank line.
inline bool remark(std::string_view line) {
  return trimmed(line).empty() || trimmed(line).front() == '#';
}

}  // namespace culprit::line
