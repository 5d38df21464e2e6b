#include "report/terminal.hpp"

#include <fmt/format.h>

namespace culprit::report {

namespace {

// Length of the sequence at text[at] and its character; 0 when the bytes are no UTF-8.
std::size_t decode(std::string_view text, std::size_t at, char32_t& character) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned a = byte(at);
  if (a < 0x80) { character = a; return 1; }
  const std::size_t n = a >= 0xF0 && a <= 0xF4 ? 4 : a >= 0xE0 && a < 0xF0 ? 3 : a >= 0xC2 && a < 0xE0 ? 2 : 0;
  if (n == 0) return 0;
  char32_t value = a & (0xFFu >> (n + 1));
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
    value = (value << 6) | (byte(at + i) & 0x3F);
  }
  if ((n == 3 && (value < 0x800 || (value >= 0xD800 && value <= 0xDFFF))) || (n == 4 && (value < 0x10000 || value > 0x10FFFF))) return 0;
  character = value;
  return n;
}

bool dangerous(char32_t c) {
  return (c < 0x20 && c != '\t') || (c >= 0x7F && c < 0xA0) || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF ||
         (c & 0xFFFE) == 0xFFFE;   // no characters, and XML takes none of them
}

}  // namespace

std::string visible(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    char32_t c = 0;
    const std::size_t n = decode(text, at, c);
    if (n == 0) { out += "\xEF\xBF\xBD"; ++at; continue; }
    if (dangerous(c)) out += c < 0x100 ? fmt::format("\\x{:02x}", static_cast<unsigned>(c)) : fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else out.append(text, at, n);
    at += n;
  }
  return out;
}

std::size_t columns(std::string_view text) {
  std::size_t n = 0;
  for (std::size_t at = 0; at < text.size();) {
    char32_t c = 0;
    const std::size_t bytes = decode(text, at, c);
    at += bytes == 0 ? 1 : bytes;
    if (c >= 0x300 && c < 0x370) continue;
    n += (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFF00 && c <= 0xFF60) || c >= 0x1F300 ? 2 : 1;
  }
  return n;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent, std::size_t begin) {
  std::string out;
  std::size_t used = begin;
  for (std::size_t at = 0; at < text.size();) {
    while (at < text.size() && text[at] == ' ') ++at;
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (word.empty()) break;
    const std::size_t size = columns(word);
    if (!out.empty() && used + 1 + size > width) {
      out += '\n';
      out.append(indent, ' ');
      used = indent;
    } else if (!out.empty()) {
      out += ' ';
      ++used;
    }
    out += word;
    used += size;
    at = end;
  }
  return out;
}

}  // namespace culprit::report
