#include "model/csv.hpp"

namespace culprit {

std::string csv_cell(std::string_view text) {
  std::string out;
  if (!text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos)
    out = "'";
  if (text.find_first_of("\",\r\n") == std::string_view::npos) return out.append(text);
  out.insert(0, 1, '"');
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace culprit
