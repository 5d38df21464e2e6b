// What a character is, of ASCII and whatever the locale, and texts in lower case.
#pragma once

#include <string>
#include <string_view>

namespace culprit {

constexpr bool digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool alnum(char c) { return digit(c) || alpha(c); }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

}  // namespace culprit
