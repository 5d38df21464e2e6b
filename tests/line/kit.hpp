// What the tests of this room share.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "line/line.hpp"

namespace culprit::line::test {

inline Nanoseconds at(std::int64_t year, unsigned month, unsigned day, int h, int m, int s,
                      Nanoseconds fraction = 0) {
  return (days_from_civil(year, month, day) * 86400 + h * 3600 + m * 60 + s) * kSecond + fraction;
}

// A copy in a buffer of exactly this size, so that the sanitizer sees a read past the end.
class Exact {
 public:
  explicit Exact(std::string_view text) : bytes_(new char[text.size()]), size_(text.size()) {
    if (size_ > 0) std::memcpy(bytes_.get(), text.data(), size_);
  }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

}  // namespace culprit::line::test
