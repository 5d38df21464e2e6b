// The decompressed bytes of a gzip stream, over all of its members (RFC 1952). Not by libarchive,
// which drops up to 64 KiB before the place where a stream was cut and does not compare the
// checksums: a truncated tarball is an ordinary bundle.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bundle/byte_source.hpp"
#include "bundle/limits.hpp"

struct z_stream_s;

namespace culprit::bundle {

class Inflated : public ByteSource {
 public:
  Inflated(ByteSource& source, Layer& layer, const Limits& limits);  // all three are kept
  ~Inflated() override;
  std::string_view next() override;

 private:
  bool refill();  // false: the source has ended
  void damaged(const std::string& reason);
  bool next_member();  // false: what follows is padding, or the end

  ByteSource& source_;
  Layer& layer_;
  const Limits& limits_;
  std::unique_ptr<z_stream_s> stream_;
  std::string out_;
  std::string_view rest_;  // of the source's block
  bool source_ended_ = false;
  bool within_ = true;  // a member
  bool ended_ = false;
};

}  // namespace culprit::bundle
