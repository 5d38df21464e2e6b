// In which line of a text an offset lies, for readers of documents that are no lines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace culprit::ingest {

// Offsets that grow are found in one pass over the text, and most do.
class LineNumbers {
 public:
  struct Found {
    std::uint64_t number = 1;
    std::size_t begin = 0, end = 0;  // the end is its newline, or that of the text
  };

  explicit LineNumbers(std::string_view bytes) : bytes_(bytes) { at_.end = end_from(0); }

  // offset: at most the size of the text
  const Found& of(std::size_t offset) {
    if (offset < at_.begin) at_ = {1, 0, end_from(0)};
    while (offset > at_.end && at_.end < bytes_.size()) {
      ++at_.number;
      at_.begin = at_.end + 1;
      at_.end = end_from(at_.begin);
    }
    return at_;
  }

 private:
  std::size_t end_from(std::size_t at) const {
    return std::min(bytes_.find('\n', at), bytes_.size());
  }

  std::string_view bytes_;
  Found at_;
};

}  // namespace culprit::ingest
