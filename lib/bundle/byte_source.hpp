// A stream of bytes that is pulled block by block: a file, a pipe, a member of an archive, a
// decompressed stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace culprit::bundle {

// Why a stream ended before its end. An empty code means that it did not.
struct Trouble {
  std::string code;  // as in Problem::code
  std::string reason;
  bool any() const { return !code.empty(); }
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // The next block, alive until the next call of any member; empty at the end and after trouble.
  virtual std::string_view next() = 0;
  const Trouble& trouble() const { return trouble_; }

  // Moves ahead without reading; may do less than asked, and nothing at all is always allowed.
  virtual std::uint64_t skip(std::uint64_t) { return 0; }
  // A source with a size can seek. Only regular files have one.
  virtual bool has_size() const { return false; }
  virtual std::uint64_t size() const { return 0; }
  virtual bool seek(std::uint64_t) { return false; }

 protected:
  Trouble trouble_;
};

// Reads a descriptor that somebody else closes, through a buffer that somebody else keeps. When a
// signal arrives while it waits for bytes, `over` says whether it goes on waiting. `taken` is told
// how many bytes were read, or passed over.
class FdSource : public ByteSource {
 public:
  FdSource(int fd, std::string& buffer, std::function<bool()> over = {},
           std::function<void(std::uint64_t)> taken = {});
  std::string_view next() override;
  std::uint64_t skip(std::uint64_t bytes) override;
  bool has_size() const override { return regular_; }
  std::uint64_t size() const override { return size_; }
  bool seek(std::uint64_t position) override;

 private:
  int fd_;
  std::string& buffer_;
  std::function<bool()> over_;
  std::function<void(std::uint64_t)> taken_;
  bool regular_ = false;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
};

// Lets the beginning of a stream be looked at before the stream is read.
class Peeked : public ByteSource {
 public:
  explicit Peeked(ByteSource& source) : source_(source) {}
  std::string_view head();  // up to kPeekBytes or more; alive until next()
  std::string_view next() override;
  std::uint64_t skip(std::uint64_t bytes) override;
  bool has_size() const override { return source_.has_size(); }
  std::uint64_t size() const override { return source_.size(); }
  bool seek(std::uint64_t position) override;

 private:
  ByteSource& source_;
  std::string copy_;
  std::string_view head_;
  bool peeked_ = false;
  bool given_ = false;
  bool ended_ = false;
};

inline constexpr std::size_t kBlockBytes = 128 << 10;
inline constexpr std::size_t kPeekBytes = 64 << 10;

}  // namespace culprit::bundle
