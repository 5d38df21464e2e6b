// The one way in which bytes of JSON are walked: a cursor over a text that is mapped, or a line of
// one. It allocates nothing and does not call itself, whatever the nesting; what it passes is given
// as views. Readers of documents (a tree, samples, objects of a metrics file) are made of it; none
// of them knows quotes and escapes.
//
// It is lenient: escapes that JSON does not know stand for the character behind them, and who reads
// decides what words are numbers (NaN, Infinity). False always means: the text ends or breaks here,
// and at() is where.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/utf8.hpp"

namespace culprit {

class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {
    if (text.starts_with("\xEF\xBB\xBF")) at_ += 3;
  }

  static bool blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

  bool done() const { return at_ == end_; }
  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }
  void seek(std::size_t offset) { at_ = begin_ + offset; }
  const char* at() const { return at_; }
  const char* end() const { return end_; }
  void seek(const char* to) { at_ = to; }
  std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }

  // The character here, or 0 at the end (and where a 0 stands: ask done()).
  char peek() const { return at_ == end_ ? '\0' : *at_; }
  void blanks() {
    while (at_ != end_ && blank(*at_)) ++at_;
  }
  void next() { ++at_; }
  // Passes over blanks and then this character.
  bool take(char c) {
    blanks();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  // A string, from its opening quote on: what stands between the quotes, as it stands there. False,
  // and at the end: it has no end.
  bool text(std::string_view& raw, bool& escaped) {
    const char* const from = ++at_;
    const char* p = from;
    escaped = false;
    while (true) {
      while (p != end_ && *p != '"' && *p != '\\') ++p;
      if (p == end_) break;
      if (*p == '"') {
        raw = {from, static_cast<std::size_t>(p - from)};
        at_ = p + 1;
        return true;
      }
      escaped = true;
      if (++p == end_) break;
      ++p;
    }
    at_ = end_;
    return false;
  }

  // A number or a word, up to what ends it; may be empty.
  std::string_view word() {
    const char* const from = at_;
    while (at_ != end_ && !blank(*at_) && *at_ != ',' && *at_ != '}' && *at_ != ']') ++at_;
    return {from, static_cast<std::size_t>(at_ - from)};
  }

  // Any value, unread: an object or a list with all that it holds, `deepest` within each other.
  bool skip(std::size_t deepest = ~std::size_t{0}) {
    blanks();
    std::string_view ignored;
    bool escaped = false;
    std::size_t depth = 0;
    do {
      if (at_ == end_) return false;
      const char c = *at_;
      if (c == '"') {
        if (!text(ignored, escaped)) return false;
      } else if (c == '{' || c == '[') {
        if (++depth > deepest) return false;
        ++at_;
      } else if (c == '}' || c == ']') {
        if (depth == 0) return false;
        --depth;
        ++at_;
      } else if (depth > 0) {
        ++at_;
      } else if (word().empty()) {
        return false;
      }
    } while (depth > 0);
    return true;
  }

  // Calls member() with the raw key for each member of the object that begins here, the value being
  // next; it takes the value, or says false.
  bool object(auto member) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string_view key;
      bool escaped = false;
      blanks();
      if (peek() != '"' || !text(key, escaped) || !take(':')) return false;
      blanks();
      if (!member(key, escaped)) return false;
    } while (take(','));
    return take('}');
  }
  bool array(auto element) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      blanks();
      if (!element()) return false;
    } while (take(','));
    return take(']');
  }

 private:
  const char* begin_;
  const char* at_;
  const char* end_;
};

namespace detail {

inline bool json_hex(const char*& p, const char* end, std::uint32_t& code) {
  if (end - p < 4) return false;
  const auto [stop, error] = std::from_chars(p, p + 4, code, 16);
  if (error != std::errc{} || stop != p + 4) return false;
  p = stop;
  return true;
}

}  // namespace detail

// What a raw string means. A \u without four digits stays as it is; half of a pair is U+FFFD.
inline std::string json_unescaped(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  const char* p = raw.data();
  const char* const end = p + raw.size();
  while (p != end) {
    if (*p != '\\' || p + 1 == end) {
      out.push_back(*p++);
      continue;
    }
    const char c = p[1];
    p += 2;
    switch (c) {
      case 'n': out.push_back('\n'); break;
      case 't': out.push_back('\t'); break;
      case 'r': out.push_back('\r'); break;
      case 'b': out.push_back('\b'); break;
      case 'f': out.push_back('\f'); break;
      case 'u': {
        std::uint32_t code = 0;
        if (!detail::json_hex(p, end, code)) {
          out += "\\u";
          break;
        }
        if (code >= 0xD800 && code < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
          const char* low_at = p + 2;
          std::uint32_t low = 0;
          if (detail::json_hex(low_at, end, low) && low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            p = low_at;
          }
        }
        append_utf8(out, code);
        break;
      }
      default: out.push_back(c);
    }
  }
  return out;
}

}  // namespace culprit
