#include "model/csv.hpp"

#include "model/contains.hpp"

namespace culprit {

std::string csv_cell(std::string_view text) {
  std::string out;
  if (!text.empty() && contains(std::string_view("=+-@\t\r"), text[0])) out = "'";
  if (text.find_first_of("\",\r\n") == std::string_view::npos) return out.append(text);
  out.insert(0, 1, '"');
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace culprit
