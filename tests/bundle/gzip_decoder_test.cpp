// ISA-L against zlib: the same bytes of the same stream, wherever it is cut and however it is fed.
#include "bundle/gzip_decoder.hpp"

#include <gtest/gtest.h>

#include <random>

#include "kit.hpp"

namespace culprit::bundle {
namespace {

using test::squeeze;

struct Decoded {
  std::string bytes;
  std::size_t used = 0;  // of what was given
  GzipDecoder::Step end = GzipDecoder::Step::goes_on;
};

// One member, `slice` compressed bytes and `room` bytes of place at a time.
Decoded decoded(GzipDecoder& decoder, std::string_view bytes, std::size_t slice, std::size_t room) {
  Decoded result;
  std::string place(room, '\0');
  std::string_view rest = bytes;
  decoder.restart();
  while (result.end == GzipDecoder::Step::goes_on) {
    std::string_view in = rest.substr(0, slice);
    const std::size_t given = in.size();
    std::span<char> left(place);
    result.end = decoder.decode(in, left);
    rest.remove_prefix(given - in.size());
    result.bytes.append(place, 0, room - left.size());
    if (given == 0 && !left.empty()) break;  // truncated
  }
  result.used = bytes.size() - rest.size();
  return result;
}

std::string log_text(std::mt19937& random, std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i)
    text += "rank " + std::to_string(random() % 64) + " iteration " + std::to_string(i) + "\n";
  return text;
}

std::string noise(std::mt19937& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

class Both : public ::testing::Test {
 protected:
  void SetUp() override {
    if (isal_ == nullptr) GTEST_SKIP() << "skipped: built without ISA-L";
  }
  std::unique_ptr<GzipDecoder> zlib_ = zlib_decoder();
  std::unique_ptr<GzipDecoder> isal_ = isal_decoder();
};

TEST_F(Both, WholeMembersHoweverTheyAreFed) {
  std::mt19937 random(20261125);
  for (const std::string& text : {std::string(), std::string("x"), log_text(random, 3'000),
                                  noise(random, 70'000), std::string(300'000, 'a')}) {
    const std::string bytes = squeeze(text);
    const std::string two = bytes + squeeze("the next member\n");
    for (const std::size_t slice : {1, 7, 1'000, 1 << 20})
      for (const std::size_t room : {1, 300, 1 << 18})
        for (GzipDecoder* one : {zlib_.get(), isal_.get()}) {
          if (room == 1 && slice > 7) continue;
          const Decoded got = decoded(*one, two, slice, room);
          EXPECT_EQ(got.end, GzipDecoder::Step::member_ended) << slice << " " << room;
          EXPECT_TRUE(got.bytes == text) << slice << " " << room;
          EXPECT_EQ(got.used, bytes.size()) << slice << " " << room;
        }
  }
}

TEST_F(Both, NothingBeforeACutIsLostButTheLastSymbol) {
  std::mt19937 random(7);
  for (const std::string& text : {log_text(random, 40), noise(random, 600)}) {
    const std::string bytes = squeeze(text);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::string_view cut = std::string_view(bytes).substr(0, size);
      const Decoded slow = decoded(*zlib_, cut, 64, 1 << 16);
      const Decoded fast = decoded(*isal_, cut, 64, 1 << 16);
      EXPECT_EQ(fast.end, GzipDecoder::Step::goes_on) << size;
      EXPECT_EQ(slow.bytes.substr(0, fast.bytes.size()), fast.bytes) << size;
      EXPECT_LE(slow.bytes.size(), fast.bytes.size() + 1) << size;
    }
  }
}

TEST_F(Both, DamageIsSeen) {
  std::mt19937 random(11);
  const std::string text = log_text(random, 200);
  const std::string whole = squeeze(text);
  int seen = 0;
  for (int round = 0; round < 2'000; ++round) {
    std::string bytes = whole;
    bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    const Decoded slow = decoded(*zlib_, bytes, 1'000, 1 << 16);
    const Decoded fast = decoded(*isal_, bytes, 1'000, 1 << 16);
    // The header's time and system are free, and zlib alone refuses reserved flags.
    if (slow.end == GzipDecoder::Step::member_ended) {
      EXPECT_EQ(fast.end, GzipDecoder::Step::member_ended) << round;
    }
    if (fast.end == GzipDecoder::Step::member_ended) { EXPECT_EQ(fast.bytes, text) << round; }
    if (fast.end == GzipDecoder::Step::damaged) {
      ++seen;
      EXPECT_FALSE(isal_->reason().empty());
    }
  }
  EXPECT_GT(seen, 1'000);
}

}  // namespace
}  // namespace culprit::bundle
