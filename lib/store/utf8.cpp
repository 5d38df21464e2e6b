#include "store/utf8.hpp"

#include <cstdint>

namespace culprit::store {

namespace {

// Length of the well-formed sequence at text[at], 0 when there is none (RFC 3629: no overlong forms, no surrogates).
std::size_t sequence(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned a = byte(at);
  const auto tail = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) { return byte(at + i) >= low && byte(at + i) <= high; };
  if (a < 0x80) return 1;
  if (a >= 0xC2 && a <= 0xDF) return tail(1) ? 2 : 0;
  if (a >= 0xE0 && a <= 0xEF) return tail(1, a == 0xE0 ? 0xA0 : 0x80, a == 0xED ? 0x9F : 0xBF) && tail(2) ? 3 : 0;
  if (a >= 0xF0 && a <= 0xF4) return tail(1, a == 0xF0 ? 0x90 : 0x80, a == 0xF4 ? 0x8F : 0xBF) && tail(2) && tail(3) ? 4 : 0;
  return 0;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = sequence(text, at);
    if (n == 0) { out += "\xEF\xBF\xBD"; ++at; }
    else if (text[at] == '\0') { ++at; }  // SQLite's text functions stop at a NUL
    else { out.append(text, at, n); at += n; }
  }
  return out;
}

}  // namespace culprit::store
