#include "bundle/gzip_decoder.hpp"

#include <fmt/format.h>
#include <zlib.h>
#ifdef CULPRIT_ISAL
#include <isa-l.h>
#endif

namespace culprit::bundle {
namespace {

// windowBits of inflateInit2: the largest window, a gzip header and its checksum.
constexpr int kGzipOnly = 15 + 16;

// Both libraries name the places of reading and writing as pointers with a count of 32 bits.
void give(auto& state, std::string_view in, std::span<char> room) {
  state.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(in.data()));
  state.avail_in = static_cast<unsigned>(in.size());
  state.next_out = reinterpret_cast<unsigned char*>(room.data());
  state.avail_out = static_cast<unsigned>(room.size());
}

void take_back(const auto& state, std::string_view& in, std::span<char>& room) {
  in.remove_prefix(in.size() - state.avail_in);
  room = room.subspan(room.size() - state.avail_out);
}

class Zlib : public GzipDecoder {
 public:
  ~Zlib() override { inflateEnd(&stream_); }
  bool begin() { return inflateInit2(&stream_, kGzipOnly) == Z_OK; }
  void restart() override { inflateReset(&stream_); }

  Step decode(std::string_view& in, std::span<char>& room) override {
    give(stream_, in, room);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    take_back(stream_, in, room);
    if (code == Z_STREAM_END) return Step::member_ended;
    return code == Z_OK || code == Z_BUF_ERROR ? Step::goes_on : Step::damaged;
  }

  std::string reason() const override {
    return stream_.msg != nullptr ? stream_.msg : "the data cannot be understood";
  }

 private:
  z_stream stream_{};
};

#ifdef CULPRIT_ISAL
class Isal : public GzipDecoder {
 public:
  Isal() { isal_inflate_init(&state_), restart(); }

  void restart() override {
    isal_inflate_reset(&state_);
    state_.crc_flag = ISAL_GZIP;
    code_ = ISAL_DECOMP_OK;
  }

  Step decode(std::string_view& in, std::span<char>& room) override {
    give(state_, in, room);
    code_ = isal_inflate(&state_);
    take_back(state_, in, room);
    if (code_ < 0 || code_ == ISAL_NEED_DICT) return Step::damaged;
    return state_.block_state == ISAL_BLOCK_FINISH ? Step::member_ended : Step::goes_on;
  }

  std::string reason() const override {
    switch (code_) {
      case ISAL_INVALID_BLOCK: return "invalid block type or code lengths";
      case ISAL_INVALID_SYMBOL: return "invalid code";
      case ISAL_INVALID_LOOKBACK: return "invalid distance too far back";
      case ISAL_INVALID_WRAPPER: return "incorrect header check";
      case ISAL_UNSUPPORTED_METHOD: return "unknown compression method";
      case ISAL_INCORRECT_CHECKSUM: return "incorrect data check";
      default: return "the data cannot be understood";
    }
  }

 private:
  inflate_state state_;
  int code_ = ISAL_DECOMP_OK;
};
#endif

}  // namespace

std::unique_ptr<GzipDecoder> zlib_decoder() {
  auto decoder = std::make_unique<Zlib>();
  if (!decoder->begin()) return nullptr;
  return decoder;
}

std::unique_ptr<GzipDecoder> isal_decoder() {
#ifdef CULPRIT_ISAL
  return std::make_unique<Isal>();
#else
  return nullptr;
#endif
}

std::unique_ptr<GzipDecoder> gzip_decoder() {
  auto fast = isal_decoder();
  return fast != nullptr ? std::move(fast) : zlib_decoder();
}

std::string gzip_library() {
#ifdef CULPRIT_ISAL
  return fmt::format(" ISA-L/{}.{}.{}", ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION, ISAL_PATCH_VERSION);
#else
  return {};
#endif
}

}  // namespace culprit::bundle
