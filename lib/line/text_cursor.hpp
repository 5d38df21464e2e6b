// A place in a text from which readers take what they know. Each takes its part whole, or leaves
// the cursor where it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "line/digit.hpp"
#include "line/timestamp.hpp"

namespace culprit::line {

constexpr bool host_char(char c) {
  return alpha(c) || digit(c) || c == '-' || c == '.' || c == '_';
}

struct Cursor {
  std::string_view text;
  std::size_t at = 0;

  std::string_view rest() const { return text.substr(at); }
  bool done() const { return at >= text.size(); }
  char peek() const { return done() ? '\0' : text[at]; }
  bool take(std::string_view word) {
    if (done() || text[at] != word[0] || text.substr(at, word.size()) != word)
      return false;  // the first byte decides nearly always
    at += word.size();
    return true;
  }
  void spaces() {
    while (peek() == ' ') ++at;
  }
  void blanks() {
    while (peek() == ' ' || peek() == '\t') ++at;
  }
  std::optional<std::int64_t> number() {
    std::size_t used = 0;
    std::int64_t value = 0;
    if (!parse_digits(rest(), used, value)) return std::nullopt;
    at += used;
    return value;
  }
  std::string_view word(bool (*accept)(char)) {
    const std::size_t begin = at;
    while (!done() && accept(text[at])) ++at;
    return text.substr(begin, at - begin);
  }
  // `word` is in lower case; the text need not be.
  bool take_any_case(std::string_view word) {
    if (text.size() - at < word.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i) {
      const char c = text[at + i];
      if ((alpha(c) ? c | 0x20 : c) != word[i]) return false;
    }
    at += word.size();
    return true;
  }
};

}  // namespace culprit::line
