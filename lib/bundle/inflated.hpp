// The decompressed bytes of a gzip stream, over all of its members (RFC 1952). Not by libarchive,
// which drops up to 64 KiB before the place where a stream was cut and does not compare the
// checksums: a truncated tarball is an ordinary bundle.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bundle/byte_source.hpp"
#include "bundle/gzip_decoder.hpp"
#include "bundle/limits.hpp"

namespace culprit::bundle {

class Inflated : public ByteSource {
 public:
  // All are kept. The decoder is another only in tests.
  Inflated(ByteSource& source, Layer& layer, const Limits& limits,
           std::unique_ptr<GzipDecoder> decoder = gzip_decoder());
  std::string_view next() override;

 private:
  bool refill();  // false: the source has ended
  void damaged(const std::string& reason, std::size_t made);
  bool next_member();  // false: what follows is padding, or the end

  ByteSource& source_;
  Layer& layer_;
  const Limits& limits_;
  std::unique_ptr<GzipDecoder> decoder_;
  std::string out_;
  std::string_view rest_;   // of the source's block
  std::string_view slice_;  // of that, what the decoder is given
  bool source_ended_ = false;
  bool within_ = true;  // a member
  bool ended_ = false;
};

}  // namespace culprit::bundle
