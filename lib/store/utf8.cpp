#include "store/utf8.hpp"

#include "model/utf8.hpp"

namespace culprit::store {

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    char32_t c = 0;
    const std::size_t n = decode_utf8(text, at, c);
    if (n == 0) {
      out += "\xEF\xBF\xBD";
      ++at;
    } else if (c == 0) {
      ++at;
    }  // SQLite's text functions stop at a NUL
    else {
      out.append(text, at, n);
      at += n;
    }
  }
  return out;
}

}  // namespace culprit::store
