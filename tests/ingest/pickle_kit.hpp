// Writes pickles as PyTorch's pickler does (protocol 2, each text once), so that the tests need no
// Python.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::ingest::test {

class Pickler {
 public:
  std::string out = std::string("\x80\x02", 2);

  Pickler& op(std::string_view bytes) {
    out += bytes;
    return *this;
  }
  Pickler& text(const std::string& s) {
    if (const auto known = memo_.find(s); known != memo_.end()) return get(known->second);
    out += 'X';
    raw(static_cast<std::uint32_t>(s.size()));
    out += s;
    memo_.emplace(s, next_);
    return put();
  }
  Pickler& number(std::int64_t n) {
    if (n >= 0 && n < 256)
      out += 'K', out += static_cast<char>(n);
    else if (n >= 0 && n < 65536)
      out += 'M', raw(static_cast<std::uint16_t>(n));
    else if (n >= INT32_MIN && n <= INT32_MAX)
      out += 'J', raw(static_cast<std::int32_t>(n));
    else
      out += "\x8a\x08", raw(n);
    return *this;
  }
  Pickler& real(double d) {
    std::uint64_t bits;
    std::memcpy(&bits, &d, sizeof bits);
    bits = __builtin_bswap64(bits);
    out += 'G';
    raw(bits);
    return *this;
  }
  Pickler& yes(bool is) { return op(is ? "\x88" : "\x89"); }
  Pickler& none() { return op("N"); }
  Pickler& numbers(const std::vector<std::int64_t>& list) {
    op("](");
    for (const auto n : list) number(n);
    return op("e");
  }
  Pickler& put() {
    if (next_ < 256)
      out += 'q', out += static_cast<char>(next_);
    else
      out += 'r', raw(next_);
    ++next_;
    return *this;
  }
  Pickler& get(std::uint32_t at) {
    if (at < 256)
      out += 'h', out += static_cast<char>(at);
    else
      out += 'j', raw(at);
    return *this;
  }
  template <class Number>
  void raw(Number n) {
    char bytes[sizeof n];
    std::memcpy(bytes, &n, sizeof n);
    out.append(bytes, sizeof n);
  }

 private:
  std::map<std::string, std::uint32_t> memo_;
  std::uint32_t next_ = 0;
};

}  // namespace culprit::ingest::test
