#include "bundle/archive_stream.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <new>
#include <utility>

#include "bundle/feed.hpp"
#include "bundle/gzip_decoder.hpp"
#include "model/contains.hpp"

namespace culprit::bundle {
namespace {

// A damaged tar header is skipped block by block until a good one is found: at most half a
// gibibyte.
constexpr int kMaxRetries = 1 << 20;
constexpr int kMaxWarnings = 64;
constexpr std::size_t kZeroBytes = 64 << 10;
constexpr char kZeros[kZeroBytes] = {};

const char* name_of(Shape shape) {
  switch (shape) {
    case Shape::gzip: return "gzip";
    case Shape::zstd: return "zstd";
    case Shape::xz: return "xz";
    case Shape::bzip2: return "bzip2";
    case Shape::lz4: return "lz4";
    case Shape::zip: return "zip";
    default: return "tar";
  }
}

int filter_code(Shape shape) {
  switch (shape) {
    case Shape::zstd: return ARCHIVE_FILTER_ZSTD;
    case Shape::xz: return ARCHIVE_FILTER_XZ;
    case Shape::bzip2: return ARCHIVE_FILTER_BZIP2;
    default: return ARCHIVE_FILTER_LZ4;
  }
}

bool failed(int code) { return code != ARCHIVE_OK && code != ARCHIVE_WARN; }

std::string words_of(archive* handle) {
  const char* words = archive_error_string(handle);
  return words && *words ? words : "the data cannot be understood";
}

ArchiveEntry::Type type_of(archive_entry* entry) {
  // A hard link may carry the bytes itself (pax); then it is as good as a file.
  if (archive_entry_hardlink(entry) &&
      !(archive_entry_size_is_set(entry) && archive_entry_size(entry) > 0))
    return ArchiveEntry::Type::link;
  switch (archive_entry_filetype(entry)) {
    case AE_IFDIR: return ArchiveEntry::Type::directory;
    case AE_IFLNK: return ArchiveEntry::Type::link;
    case AE_IFCHR:
    case AE_IFBLK: return ArchiveEntry::Type::device;
    case AE_IFIFO:
    case AE_IFSOCK: return ArchiveEntry::Type::other;
    default: return ArchiveEntry::Type::file;
  }
}

ArchiveEntry convert(archive_entry* raw) {
  ArchiveEntry entry;
  const char* name = archive_entry_pathname(raw);
  if (!name) name = archive_entry_pathname_utf8(raw);
  entry.named = name != nullptr;
  if (name) entry.name = name;
  entry.type = type_of(raw);
  const char* target = archive_entry_hardlink(raw);
  if (!target) target = archive_entry_symlink(raw);
  if (target && entry.type == ArchiveEntry::Type::link) entry.link_target = target;
  if (archive_entry_mtime_is_set(raw)) entry.mtime_s = archive_entry_mtime(raw);
  entry.encrypted = archive_entry_is_encrypted(raw) != 0;
  return entry;
}

}  // namespace

std::string unpacking_libraries() { return archive_version_details() + gzip_library(); }

void CloseArchive::operator()(archive* handle) const noexcept { archive_read_free(handle); }

Decompressed::Decompressed(ByteSource& source, Shape shape, Layer& layer, const Limits& limits)
    : shape_(shape),
      layer_(layer),
      limits_(limits),
      feed_(std::make_unique<Feed>(source, layer)),
      archive_(archive_read_new()) {
  if (archive_ == nullptr) throw std::bad_alloc();
  archive* handle = archive_.get();
  archive_read_support_format_raw(handle);
  archive_read_support_format_empty(handle);
  // Exactly one filter: left to choose, libarchive peels gzip within gzip up to 25 times, past our
  // depth limit.
  archive_entry* entry = nullptr;
  int code = archive_read_append_filter(handle, filter_code(shape));
  if (!failed(code)) code = feed_->open(handle, false);
  // Damage in the first bytes looks like an empty stream to libarchive; only the error tells them
  // apart.
  const bool opened_well = !failed(code) && !archive_error_string(handle);
  if (opened_well) code = archive_read_next_header(handle, &entry);
  if (code == ARCHIVE_EOF && !archive_error_string(handle)) {
    finish();
  } else if (failed(code) || !opened_well) {
    trouble_ = source.trouble().any()
                   ? source.trouble()
                   : Trouble{"bundle.damaged", std::string("damaged ") + name_of(shape) +
                                                   " data: " + words_of(handle)};
    ended_ = true;
  }
}

Decompressed::~Decompressed() { archive_.reset(); }

std::string_view Decompressed::next() {
  for (int warnings = 0; !ended_;) {
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int code = archive_read_data_block(archive_.get(), &block, &size, &offset);
    if (code == ARCHIVE_EOF) {
      finish();
    } else if (failed(code) || ++warnings > kMaxWarnings) {
      ended_ = true;
      trouble_ =
          feed_->source().trouble().any()
              ? feed_->source().trouble()
              : Trouble{"bundle.damaged", std::string("damaged ") + name_of(shape_) +
                                              " data after " + std::to_string(layer_.out) +
                                              " decompressed bytes: " + words_of(archive_.get())};
    } else if (size > 0) {
      layer_.out += size;
      if (layer_.burst(limits_)) {
        ended_ = true;
        trouble_ = expansion_trouble(layer_, limits_);
      }
      return {static_cast<const char*>(block), size};
    }
  }
  return {};
}

void Decompressed::finish() {
  ended_ = true;
  if (feed_->source().trouble().any()) {
    trouble_ = feed_->source().trouble();
    return;
  }
  // bzip2 and lz4 end quietly at the first byte that begins no further member; zeros are padding,
  // as for gzip(1). The other filters reject such bytes themselves.
  if (shape_ != Shape::bzip2 && shape_ != Shape::lz4) return;
  const auto consumed = static_cast<std::uint64_t>(archive_filter_bytes(archive_.get(), -1));
  if (feed_->anything_after(consumed))
    trouble_ = {"bundle.damaged", std::string("the compressed data ends after ") +
                                      std::to_string(consumed) +
                                      " bytes and is followed by others that are no " +
                                      name_of(shape_) + " data; those were not read"};
}

ArchiveReader::ArchiveReader(ByteSource& source, Shape shape, Layer& layer, const Limits& limits)
    : shape_(shape),
      layer_(layer),
      limits_(limits),
      feed_(std::make_unique<Feed>(source, layer)),
      archive_(archive_read_new()) {
  if (archive_ == nullptr) throw std::bad_alloc();
  archive* handle = archive_.get();
  archive_read_support_filter_none(handle);
  if (shape == Shape::zip) {
    // With a directory at the end (seek) names, modes and links are certain; without it a zip still
    // streams.
    archive_read_support_format_zip_streamable(handle);
    if (source.has_size()) archive_read_support_format_zip_seekable(handle);
  } else {
    archive_read_support_format_tar(handle);
    // What stands behind the end mark is read, too: `cat a.tar b.tar`, or rubbish that is then told
    // as such.
    archive_read_set_options(handle, "tar:read_concatenated_archives");
  }
  if (source.has_size()) layer.in_most = source.size();
  const int code = feed_->open(handle, shape == Shape::zip && source.has_size());
  if (failed(code)) {
    trouble_ = reason(code);
    dead_ = true;
  }
}

ArchiveReader::~ArchiveReader() { archive_.reset(); }

Trouble ArchiveReader::reason(int code) const {
  if (feed_->source().trouble().any()) return feed_->source().trouble();
  const std::string words = words_of(archive_.get());
  if (code == ARCHIVE_FAILED && (contains(words, "ncrypt") || contains(words, "assphrase")))
    return {"bundle.encrypted", "encrypted: unpack it with its password and give the result"};
  if (contains(words, "nsupported") || contains(words, "not supported"))
    return {"bundle.unsupported", "stored in a way that cannot be read here (" + words +
                                      "): unpack it and give the result"};
  return {"bundle.damaged", std::string("damaged ") + name_of(shape_) + " archive: " + words};
}

ArchiveReader::Step ArchiveReader::next(ArchiveEntry& entry) {
  for (int tries = 0; !dead_;) {
    archive_entry* raw = nullptr;
    const int code = archive_read_next_header(archive_.get(), &raw);
    if (code == ARCHIVE_OK || code == ARCHIVE_WARN) {
      entry = convert(raw);
      return Step::entry;
    }
    if (code == ARCHIVE_EOF) {
      if (feed_->source().trouble().any() ||
          (shape_ == Shape::tar && feed_->ended() && !feed_->ends_with_zeros())) {
        trouble_ = feed_->source().trouble();
        if (!trouble_.any())
          trouble_ = {"bundle.damaged",
                      "the tar archive has no end mark: it was cut, and members may be missing"};
        dead_ = true;
        return Step::trouble;
      }
      return Step::end;
    }
    if (code == ARCHIVE_FATAL || ++tries > kMaxRetries || (shape_ == Shape::zip && tries > 16)) {
      trouble_ = reason(code);
      dead_ = true;
      break;
    }
    if (!warning_) {
      warning_ = reason(code);
      warning_->reason += "; what could not be read was left out";
    }
  }
  return Step::trouble;
}

std::optional<Trouble> ArchiveReader::take_warning() {
  return std::exchange(warning_, std::nullopt);
}

std::string_view ArchiveReader::Data::count(std::string_view block) {
  position_ += block.size();
  reader_.layer_.out += block.size();
  if (reader_.layer_.burst(reader_.limits_)) {
    ended_ = true;
    if (!trouble_.any()) trouble_ = expansion_trouble(reader_.layer_, reader_.limits_);
  }
  return block;
}

std::string_view ArchiveReader::Data::next() {
  while (!ended_) {
    if (hole_ > 0) {
      const std::uint64_t part = std::min<std::uint64_t>(hole_, kZeroBytes);
      hole_ -= part;
      return count({kZeros, part});
    }
    if (!after_hole_.empty()) return count(std::exchange(after_hole_, {}));
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = static_cast<la_int64_t>(position_);
    const int code = archive_read_data_block(reader_.archive_.get(), &block, &size, &offset);
    if (failed(code) && code != ARCHIVE_EOF) {
      ended_ = true;
      trouble_ = reader_.reason(code);
      if (code == ARCHIVE_FATAL) reader_.dead_ = true;
      break;
    }
    if (code == ARCHIVE_WARN) {
      // A checksum that does not match: the bytes are given, and said to be wrong.
      if (!trouble_.any()) trouble_ = reader_.reason(code);
      if (++warnings_ > kMaxWarnings) break;
    }
    if (code == ARCHIVE_EOF) {
      // A hole at the end of a sparse file shows only in the offset of its end.
      if (offset > static_cast<la_int64_t>(position_)) {
        hole_ = static_cast<std::uint64_t>(offset) - position_;
        continue;
      }
      break;
    }
    if (offset < static_cast<la_int64_t>(position_)) {
      trouble_ = {"bundle.damaged", "the parts of a sparse file are stored out of order"};
      break;
    }
    hole_ = static_cast<std::uint64_t>(offset) - position_;
    after_hole_ = {static_cast<const char*>(block), size};
  }
  ended_ = true;
  return {};
}

}  // namespace culprit::bundle
