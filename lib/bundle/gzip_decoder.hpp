// Decompressors of one gzip member at a time (RFC 1952), header and checksum included. ISA-L is
// several times as fast as zlib; it is used where it was found when the program was built.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace culprit::bundle {

class GzipDecoder {
 public:
  enum class Step { goes_on, member_ended, damaged };

  virtual ~GzipDecoder() = default;
  virtual void restart() = 0;  // at the first byte of another member
  // Takes bytes from the front of `in`, writes to the front of `room`, and shortens both by what
  // was used. goes_on: `in` is used up, or there is no room; while there is room nothing is held
  // back but, by ISA-L, the last symbol of a stream that was cut.
  virtual Step decode(std::string_view& in, std::span<char>& room) = 0;
  virtual std::string reason() const = 0;  // after damaged: what is wrong with the bytes
};

std::unique_ptr<GzipDecoder> zlib_decoder();  // nullptr: out of memory
std::unique_ptr<GzipDecoder> isal_decoder();  // nullptr: this program was built without ISA-L
std::unique_ptr<GzipDecoder> gzip_decoder();  // the faster of those there are

std::string gzip_library();  // " ISA-L/2.30.0", after libarchive's own list; empty without it

}  // namespace culprit::bundle
