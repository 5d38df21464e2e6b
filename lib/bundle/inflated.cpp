#include "bundle/inflated.hpp"

#include <algorithm>
#include <utility>

namespace culprit::bundle {
namespace {

// Compressed bytes count as taken in small slices, so that one block of a bomb does not entitle it
// to a gigabyte before the expansion is looked at.
constexpr std::size_t kTakenBytes = 64 << 10;
constexpr std::size_t kOutBytes = 256 << 10;

}  // namespace

Inflated::Inflated(ByteSource& source, Layer& layer, const Limits& limits,
                   std::unique_ptr<GzipDecoder> decoder)
    : source_(source),
      layer_(layer),
      limits_(limits),
      decoder_(std::move(decoder)),
      out_(kOutBytes, '\0') {
  if (decoder_ == nullptr) damaged("out of memory", 0);
}

// `made`: decompressed bytes that the layer has not counted yet.
void Inflated::damaged(const std::string& reason, std::size_t made) {
  ended_ = true;
  trouble_ = source_.trouble().any()
                 ? source_.trouble()
                 : Trouble{"bundle.damaged", "damaged gzip data after " +
                                                 std::to_string(layer_.out + made) +
                                                 " decompressed bytes: " + reason};
}

bool Inflated::refill() {
  if (!slice_.empty()) return true;
  if (rest_.empty() && !source_ended_) {
    rest_ = source_.next();
    source_ended_ = rest_.empty();
  }
  slice_ = rest_.substr(0, kTakenBytes);
  rest_.remove_prefix(slice_.size());
  layer_.in += slice_.size();
  return !slice_.empty();
}

// Zeros between and after members are padding, as for gzip(1).
bool Inflated::next_member() {
  while (refill()) {
    slice_.remove_prefix(std::min(slice_.find_first_not_of('\0'), slice_.size()));
    if (slice_.empty()) continue;
    if (slice_.front() != '\x1f') {
      damaged("the compressed data is followed by bytes that are no gzip data; those were not read",
              0);
      return false;
    }
    decoder_->restart();
    return within_ = true;
  }
  ended_ = true;
  trouble_ = source_.trouble();
  return false;
}

std::string_view Inflated::next() {
  while (!ended_) {
    if (!within_ && !next_member()) break;
    std::span<char> room(out_);
    const auto made = [&] { return out_.size() - room.size(); };
    while (!ended_ && within_ && !room.empty()) {
      // At the end of the source the decoder may still hold bytes that had no room before.
      const bool more = refill();
      switch (decoder_->decode(slice_, room)) {
        case GzipDecoder::Step::goes_on:
          if (!more && !room.empty()) damaged("truncated", made());
          break;
        case GzipDecoder::Step::member_ended: within_ = false; break;
        case GzipDecoder::Step::damaged: damaged(decoder_->reason(), made()); break;
      }
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
