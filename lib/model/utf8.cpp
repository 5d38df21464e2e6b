#include "model/utf8.hpp"

#include <fmt/format.h>

namespace culprit {

std::size_t decode_utf8(std::string_view text, std::size_t at, char32_t& character) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned lead = byte(at);
  if (lead < 0x80) {
    character = lead;
    return at < text.size() ? 1 : 0;
  }
  const std::size_t n = lead >= 0xF0 && lead <= 0xF4  ? 4
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xC2 && lead < 0xE0 ? 2
                                                      : 0;
  if (n == 0) return 0;
  char32_t value = lead & (0xFFu >> (n + 1));
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
    value = (value << 6) | (byte(at + i) & 0x3F);
  }
  if (n == 3 && (value < 0x800 || (value >= 0xD800 && value <= 0xDFFF))) return 0;
  if (n == 4 && (value < 0x10000 || value > 0x10FFFF)) return 0;
  character = value;
  return n;
}

void append_utf8(std::string& out, char32_t c) {
  if ((c >= 0xD800 && c <= 0xDFFF) || c > 0x10FFFF) c = 0xFFFD;
  const auto add = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) return add(c);
  if (c < 0x800) {
    add(0xC0 | c >> 6);
  } else {
    if (c < 0x10000)
      add(0xE0 | c >> 12);
    else
      add(0xF0 | c >> 18), add(0x80 | (c >> 12 & 0x3F));
    add(0x80 | (c >> 6 & 0x3F));
  }
  add(0x80 | (c & 0x3F));
}

bool unseen(char32_t c) {
  if (c < 0x7F) return c < 0x20 && c != '\t';
  if (c < 0xA0) return true;
  if (c < 0x200B) return false;
  return c <= 0x200F || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) ||
         c == 0xFEFF || (c & 0xFFFE) == 0xFFFE;
}

std::string without_unseen(std::string json) {
  std::size_t at = 0, kept = 0;
  std::string out;
  while (at < json.size()) {
    const auto lead = static_cast<unsigned char>(json[at]);
    if (lead < 0x7F) {
      ++at;
      continue;
    }
    char32_t c = 0;
    const std::size_t n = decode_utf8(json, at, c);
    if (n == 0 || !unseen(c)) {
      at += n == 0 ? 1 : n;
      continue;
    }
    out.append(json, kept, at - kept);
    // Beyond 16 bits JSON wants a pair of surrogates.
    if (c < 0x10000)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800u + static_cast<unsigned>((c - 0x10000) >> 10),
                         0xDC00u + static_cast<unsigned>(c & 0x3FF));
    kept = at += n;
  }
  if (kept == 0) return json;
  return out.append(json, kept);
}

}  // namespace culprit
