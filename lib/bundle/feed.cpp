#include "bundle/feed.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace culprit::bundle {
namespace {

// Compressed bytes count as taken when libarchive gets them. In small slices, so that one block of
// a bomb does not entitle it to a gigabyte before the expansion is looked at.
constexpr std::size_t kSliceBytes = 256 << 10;
constexpr std::size_t kTailBytes = 512;  // a tar block

}  // namespace

int Feed::open(archive* handle, bool with_seek) {
  archive_read_set_callback_data(handle, this);
  archive_read_set_read_callback(handle, on_read);
  archive_read_set_skip_callback(handle, on_skip);
  if (with_seek) archive_read_set_seek_callback(handle, on_seek);
  return archive_read_open1(handle);
}

std::string_view Feed::take() {
  if (rest_.empty()) rest_ = source_.next();
  last_ = rest_.substr(0, kSliceBytes);
  rest_.remove_prefix(last_.size());
  position_ += last_.size();
  layer_.in += last_.size();
  if (last_.size() >= kTailBytes) {
    tail_.assign(last_.substr(last_.size() - kTailBytes));
  } else if (!last_.empty()) {
    tail_.append(last_);
    tail_.erase(0, tail_.size() - std::min(tail_.size(), kTailBytes));
  }
  return last_;
}

la_ssize_t Feed::on_read(archive* handle, void* self, const void** block) noexcept {
  Feed& feed = *static_cast<Feed*>(self);
  try {
    const std::string_view slice = feed.take();
    *block = slice.data();
    if (!slice.empty()) return static_cast<la_ssize_t>(slice.size());
    feed.ended_ = true;
    if (!feed.source_.trouble().any()) return 0;
    archive_set_error(handle, EIO, "%s", feed.source_.trouble().reason.c_str());
    return ARCHIVE_FATAL;
  } catch (...) {  // no exception may pass through libarchive's frames
    archive_set_error(handle, ENOMEM, "out of memory");
    return ARCHIVE_FATAL;
  }
}

la_int64_t Feed::on_skip(archive*, void* self, la_int64_t bytes) noexcept {
  Feed& feed = *static_cast<Feed*>(self);
  if (bytes <= 0) return 0;
  try {
    std::uint64_t done =
        std::min<std::uint64_t>(static_cast<std::uint64_t>(bytes), feed.rest_.size());
    feed.rest_.remove_prefix(done);
    if (feed.rest_.empty()) done += feed.source_.skip(static_cast<std::uint64_t>(bytes) - done);
    if (done > 0) feed.tail_.clear();
    feed.position_ += done;
    feed.layer_.in += done;
    return static_cast<la_int64_t>(done);
  } catch (...) { return 0; }
}

la_int64_t Feed::on_seek(archive*, void* self, la_int64_t offset, int whence) noexcept {
  Feed& feed = *static_cast<Feed*>(self);
  try {
    const auto size = static_cast<la_int64_t>(feed.source_.size());
    const la_int64_t from = whence == SEEK_SET   ? 0
                            : whence == SEEK_END ? size
                                                 : static_cast<la_int64_t>(feed.position_);
    la_int64_t target = 0;
    if (__builtin_add_overflow(from, offset, &target) || target < 0 || target > size)
      return ARCHIVE_FATAL;
    if (!feed.source_.seek(static_cast<std::uint64_t>(target))) return ARCHIVE_FATAL;
    feed.rest_ = {};
    feed.position_ = static_cast<std::uint64_t>(target);
    return target;
  } catch (...) { return ARCHIVE_FATAL; }
}

bool Feed::anything_after(std::uint64_t consumed) {
  const auto more_than_zeros = [](std::string_view bytes) {
    return bytes.find_first_not_of('\0') != std::string_view::npos;
  };
  if (consumed < position_) {
    const std::uint64_t left = position_ - consumed;
    const std::string_view seen = last_.empty() ? std::string_view(tail_) : last_;
    if (more_than_zeros(seen.substr(seen.size() - std::min<std::uint64_t>(left, seen.size()))))
      return true;
  }
  if (more_than_zeros(rest_)) return true;
  rest_ = {};
  for (std::string_view block; !ended_ && !(block = source_.next()).empty();)
    if (more_than_zeros(block)) return true;
  return false;
}

}  // namespace culprit::bundle
