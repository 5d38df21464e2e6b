#include "store/utf8.hpp"

#include <cstdint>
#include <cstring>

#include "model/utf8.hpp"

namespace culprit::store {

std::string valid_utf8(std::string_view text) {
  if (is_plain(text)) return std::string(text);
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

bool is_plain(std::string_view text) {
  constexpr std::uint64_t kHigh = 0x8080808080808080, kOnes = 0x0101010101010101;
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data() + at, 8);
    if (((eight | (eight - kOnes)) & kHigh) != 0) return false;  // a high bit, or a NUL
  }
  for (; at < text.size(); ++at)
    if (const auto c = static_cast<unsigned char>(text[at]); c == 0 || c >= 0x80) return false;
  return true;
}

}  // namespace culprit::store
