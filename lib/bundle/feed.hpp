// The callbacks through which libarchive reads a ByteSource.
#pragma once

#include <archive.h>

#include <string>
#include <string_view>

#include "bundle/byte_source.hpp"
#include "bundle/limits.hpp"

namespace culprit::bundle {

class Feed {
 public:
  Feed(ByteSource& source, Layer& layer) : source_(source), layer_(layer) {}
  int open(archive* handle, bool with_seek);

  const ByteSource& source() const { return source_; }
  bool ended() const { return ended_; }
  std::uint64_t position() const { return position_; }
  bool ends_with_zeros() const { return tail_.find_first_not_of('\0') == std::string::npos; }
  // Whether more than zeros stands behind `consumed`; reads the source to its end or until that is
  // known.
  bool anything_after(std::uint64_t consumed);

 private:
  static la_ssize_t on_read(archive* handle, void* self, const void** block) noexcept;
  static la_int64_t on_skip(archive* handle, void* self, la_int64_t bytes) noexcept;
  static la_int64_t on_seek(archive* handle, void* self, la_int64_t offset, int whence) noexcept;
  std::string_view take();

  ByteSource& source_;
  Layer& layer_;
  std::string_view rest_;  // of the source's last block, not handed on yet
  std::string_view last_;  // what was handed on last
  std::string tail_;       // the last bytes that were handed on
  std::uint64_t position_ = 0;
  bool ended_ = false;
};

}  // namespace culprit::bundle
