#include "report/terminal.hpp"

#include <fmt/format.h>

#include "model/utf8.hpp"

namespace culprit::report {

std::string visible(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    char32_t c = 0;
    const std::size_t n = decode_utf8(text, at, c);
    if (n == 0) {
      out += "\xEF\xBF\xBD";
      ++at;
      continue;
    }
    if (unseen(c))
      out += c < 0x100 ? fmt::format("\\x{:02x}", static_cast<unsigned>(c))
                       : fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out.append(text, at, n);
    at += n;
  }
  return out;
}

std::size_t columns(std::string_view text) {
  std::size_t n = 0;
  for (std::size_t at = 0; at < text.size();) {
    char32_t c = 0;
    const std::size_t bytes = decode_utf8(text, at, c);
    at += bytes == 0 ? 1 : bytes;
    if (c >= 0x300 && c < 0x370) continue;
    n += (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
                 (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
                 (c >= 0xFF00 && c <= 0xFF60) || c >= 0x1F300
             ? 2
             : 1;
  }
  return n;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent,
                    std::size_t begin) {
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

std::string paragraph(std::string_view lead, std::string_view text, std::size_t width,
                      std::size_t indent, std::size_t begin) {
  return std::string(lead) + wrapped(text, width, indent, begin) + "\n";
}

std::string Ink::paint(const char* code, const std::string& text) const {
  return on ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

}  // namespace culprit::report
