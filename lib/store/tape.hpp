// How a shard remembers in which order its facts came: equal calls of a sink in a row are one
// entry, a code and how many. A merge repeats the calls; then the database it writes lies on its
// pages as that of one machine does. Used by shard.cpp and merge.cpp alone.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/row_list.hpp"
#include "store/tables.hpp"

namespace culprit::store::tape {

// Below kGroup: a row of the table of that place in CULPRIT_ROWS.
#define CULPRIT_ONE(Row, field) +1
enum Code : std::uint8_t {
  kGroup = CULPRIT_ROWS(CULPRIT_ONE),
  kSeries,
  kManifest,
  kBegin,
  kEnd,
  kProblem
};
#undef CULPRIT_ONE

template <class Row>
constexpr std::uint8_t code_of() {
  constexpr std::string_view wanted = TableOf<Row>::name;
#define CULPRIT_NAME(Other, field) TableOf<Other>::name,
  constexpr std::array names{CULPRIT_ROWS(CULPRIT_NAME)};
#undef CULPRIT_NAME
  for (std::uint8_t i = 0; i < names.size(); ++i)
    if (names[i] == wanted) return i;
  return kGroup;
}

// Seven bits a byte, the lowest first; the eighth says that more follow.
inline void put_number(std::string& out, std::uint64_t number) {
  for (; number >= 128; number >>= 7) out += static_cast<char>(number | 128);
  out += static_cast<char>(number);
}
inline void put_text(std::string& out, std::string_view text) {
  put_number(out, text.size());
  out += text;
}

// Reads entries; anything that is none makes it bad, and gives nothing from then on.
class Cursor {
 public:
  explicit Cursor(std::string_view rest) : rest_(rest) {}
  bool over() const { return rest_.empty(); }
  bool bad() const { return bad_; }
  std::uint8_t code() {
    if (rest_.empty()) return fail(), std::uint8_t{0};
    const auto code = static_cast<std::uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return code;
  }
  std::uint64_t number() {
    std::uint64_t out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = code();
      out |= std::uint64_t{byte & 127u} << shift;
      if (byte < 128) return out;
    }
    return fail(), 0;
  }
  std::string_view text() {
    const std::uint64_t size = number();
    if (size > rest_.size()) return fail(), std::string_view();
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }

 private:
  void fail() {
    bad_ = true;
    rest_ = {};
  }
  std::string_view rest_;
  bool bad_ = false;
};

}  // namespace culprit::store::tape
