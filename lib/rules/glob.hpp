// Patterns of names in the tables: * stands for any run of characters, nothing else is special.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace culprit::rules {

bool glob(std::string_view pattern, std::string_view text);

// Of several patterns that fit, the one with most of them says most.
inline std::size_t fixed_characters(std::string_view pattern) {
  return pattern.size() - static_cast<std::size_t>(std::ranges::count(pattern, '*'));
}

}  // namespace culprit::rules
