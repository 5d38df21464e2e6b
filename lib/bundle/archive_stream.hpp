// libarchive as pull streams: a decompressor and an archive reader over any ByteSource, so that
// they nest. libarchive itself is seen by archive_stream.cpp and feed.hpp alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bundle/bundle.hpp"
#include "bundle/byte_source.hpp"
#include "bundle/limits.hpp"
#include "bundle/shape.hpp"

struct archive;

namespace culprit::bundle {

// The libraries that unpack, with their versions.
std::string unpacking_libraries();

class Feed;  // feed.hpp: hands a ByteSource to libarchive

struct CloseArchive {
  void operator()(archive* handle) const noexcept;
};
using ArchiveHandle = std::unique_ptr<archive, CloseArchive>;

// The decompressed bytes of one zstd, xz, bzip2 or lz4 stream, over all of its members or frames
// (gzip: inflated.hpp).
class Decompressed : public ByteSource {
 public:
  Decompressed(ByteSource& source, Shape shape, Layer& layer,
               const Limits& limits);  // all three are kept
  ~Decompressed() override;
  std::string_view next() override;

 private:
  void finish();

  Shape shape_;
  Layer& layer_;
  const Limits& limits_;
  std::unique_ptr<Feed> feed_;
  ArchiveHandle archive_;
  bool ended_ = false;
};

struct ArchiveEntry {
  enum class Type { file, directory, link, device, other };
  std::string name;   // as stored
  bool named = true;  // false: no name could be read at all
  Type type = Type::file;
  std::string link_target;
  std::int64_t mtime_s = 0;
  bool encrypted = false;
};

class ArchiveReader {
 public:
  enum class Step { entry, end, trouble };

  ArchiveReader(ByteSource& source, Shape shape, Layer& layer,
                const Limits& limits);  // all three are kept
  ~ArchiveReader();
  Step next(ArchiveEntry& entry);
  const Trouble& trouble() const { return trouble_; }
  bool dead() const { return dead_; }     // the archive cannot be read any further
  std::optional<Trouble> take_warning();  // a part was left out before the entry that next() gave

  // The bytes of the entry that next() gave last; holes are filled with zeros.
  class Data : public ByteSource {
   public:
    explicit Data(ArchiveReader& reader) : reader_(reader) {}
    std::string_view next() override;

   private:
    std::string_view count(std::string_view block);

    ArchiveReader& reader_;
    std::uint64_t position_ = 0;
    std::uint64_t hole_ = 0;       // zeros still to give ...
    std::string_view after_hole_;  // ... before this
    bool ended_ = false;
    int warnings_ = 0;
  };

 private:
  Trouble reason(int code) const;

  Shape shape_;
  Layer& layer_;
  const Limits& limits_;
  std::unique_ptr<Feed> feed_;
  ArchiveHandle archive_;
  Trouble trouble_;
  std::optional<Trouble> warning_;
  bool dead_ = false;
};

}  // namespace culprit::bundle
