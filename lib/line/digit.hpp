// What digits of ASCII say, whatever the locale.
#pragma once

#include <cstddef>
#include <string_view>

#include "model/ascii.hpp"

namespace culprit::line {

using culprit::alpha;
using culprit::digit;

// Exactly `width` digits of the text from `at` on, or -1.
constexpr int fixed(std::string_view text, std::size_t at, std::size_t width) {
  if (at + width > text.size()) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + width; ++i) {
    if (!digit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

}  // namespace culprit::line
