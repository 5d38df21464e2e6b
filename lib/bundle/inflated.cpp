#include "bundle/inflated.hpp"

#include <zlib.h>

namespace culprit::bundle {
namespace {

// Compressed bytes count as taken in small slices, so that one block of a bomb does not entitle it
// to a gigabyte before the expansion is looked at.
constexpr std::size_t kInflatedBytes = 64 << 10;
constexpr std::size_t kOutBytes = 256 << 10;
constexpr int kGzipOnly =
    15 + 16;  // windowBits of inflateInit2: largest window, gzip header and checksum

}  // namespace

Inflated::Inflated(ByteSource& source, Layer& layer, const Limits& limits)
    : source_(source),
      layer_(layer),
      limits_(limits),
      stream_(std::make_unique<z_stream_s>()),
      out_(kOutBytes, '\0') {
  stream_->avail_out = kOutBytes;
  if (inflateInit2(stream_.get(), kGzipOnly) != Z_OK) damaged("out of memory");
}

Inflated::~Inflated() { inflateEnd(stream_.get()); }

void Inflated::damaged(const std::string& reason) {
  ended_ = true;
  trouble_ = source_.trouble().any()
                 ? source_.trouble()
                 : Trouble{"bundle.damaged",
                           "damaged gzip data after " +
                               std::to_string(layer_.out + out_.size() - stream_->avail_out) +
                               " decompressed bytes: " + reason};
}

bool Inflated::refill() {
  if (stream_->avail_in > 0) return true;
  if (rest_.empty() && !source_ended_) {
    rest_ = source_.next();
    source_ended_ = rest_.empty();
  }
  const std::string_view slice = rest_.substr(0, kInflatedBytes);
  rest_.remove_prefix(slice.size());
  layer_.in += slice.size();
  stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(slice.data()));
  stream_->avail_in = static_cast<uInt>(slice.size());
  return !slice.empty();
}

// Zeros between and after members are padding, as for gzip(1).
bool Inflated::next_member() {
  while (refill()) {
    while (stream_->avail_in > 0 && *stream_->next_in == 0) {
      ++stream_->next_in;
      --stream_->avail_in;
    }
    if (stream_->avail_in == 0) continue;
    if (*stream_->next_in != 0x1f) {
      damaged(
          "the compressed data is followed by bytes that are no gzip data; those were not read");
      return false;
    }
    if (inflateReset(stream_.get()) == Z_OK) return within_ = true;
    damaged("the decompressor cannot be reset");
    return false;
  }
  ended_ = true;
  trouble_ = source_.trouble();
  return false;
}

std::string_view Inflated::next() {
  while (!ended_) {
    stream_->avail_out = static_cast<uInt>(out_.size());
    if (!within_ && !next_member()) break;
    stream_->next_out = reinterpret_cast<Bytef*>(out_.data());
    const auto made = [&] { return out_.size() - stream_->avail_out; };
    while (!ended_ && within_ && stream_->avail_out > 0) {
      // At the end of the source zlib may still hold bytes that had no room before.
      const bool more = refill();
      const int code = inflate(stream_.get(), Z_NO_FLUSH);
      if (code == Z_STREAM_END)
        within_ = false;
      else if (!more && (code == Z_BUF_ERROR || (code == Z_OK && stream_->avail_out > 0)))
        damaged("truncated");
      else if (code != Z_OK)
        damaged(stream_->msg != nullptr ? stream_->msg : "the data cannot be understood");
    }
    if (const std::size_t size = made(); size > 0) {
      layer_.out += size;
      if (!ended_ && layer_.burst(limits_)) {
        ended_ = true;
        trouble_ = expansion_trouble(layer_, limits_);
      }
      return {out_.data(), size};
    }
  }
  return {};
}

}  // namespace culprit::bundle
