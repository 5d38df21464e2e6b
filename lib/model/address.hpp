// Whether the name of a machine is an address: "10.66.0.17", "fe80::1".
#pragma once

#include <algorithm>
#include <string_view>

namespace culprit {

inline bool is_address(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789abcdefABCDEF.:") != std::string_view::npos)
    return false;
  if (text.find(':') != std::string_view::npos) return true;
  return std::ranges::count(text, '.') == 3 &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace culprit
