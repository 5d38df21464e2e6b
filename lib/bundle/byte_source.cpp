#include "bundle/byte_source.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace culprit::bundle {

FdSource::FdSource(int fd, std::string& buffer, std::function<bool()> over,
                   std::function<void(std::uint64_t)> taken)
    : fd_(fd), buffer_(buffer), over_(std::move(over)), taken_(std::move(taken)) {
  if (buffer_.size() < kBlockBytes) buffer_.resize(kBlockBytes);
  struct stat info {};
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    const off_t here = lseek(fd, 0, SEEK_CUR);
    // Standard input may be a file that somebody else has read a part of: then it is treated as a
    // pipe.
    regular_ = here == 0;
    size_ = static_cast<std::uint64_t>(info.st_size);
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
}

std::string_view FdSource::next() {
  if (trouble_.any()) return {};
  for (;;) {
    const ssize_t got = ::read(fd_, buffer_.data(), kBlockBytes);
    if (got >= 0) {
      position_ += static_cast<std::uint64_t>(got);
      if (taken_) taken_(static_cast<std::uint64_t>(got));
      return {buffer_.data(), static_cast<std::size_t>(got)};
    }
    if (errno == EINTR) {
      if (over_ && over_()) return {};
      continue;
    }
    if (errno == EAGAIN) {  // a pipe that its owner made non-blocking
      pollfd wait{fd_, POLLIN, 0};
      if (::poll(&wait, 1, -1) >= 0) continue;
      if (errno == EINTR) {
        if (over_ && over_()) return {};
        continue;
      }
    }
    trouble_ = {"bundle.unreadable", "reading failed after " + std::to_string(position_) +
                                         " bytes: " + std::generic_category().message(errno)};
    return {};
  }
}

std::uint64_t FdSource::skip(std::uint64_t bytes) {
  // Never beyond the end: what is missing there must be noticed by reading.
  if (!regular_ || position_ >= size_) return 0;
  bytes = std::min(bytes, size_ - position_);
  if (!seek(position_ + bytes)) return 0;
  if (taken_) taken_(bytes);
  return bytes;
}

bool FdSource::seek(std::uint64_t position) {
  if (!regular_ || position > size_ || lseek(fd_, static_cast<off_t>(position), SEEK_SET) < 0)
    return false;
  position_ = position;
  return true;
}

std::string_view Peeked::head() {
  if (peeked_) return head_;
  peeked_ = true;
  head_ = source_.next();
  if (head_.size() >= kPeekBytes) return head_;
  if (head_.empty()) {
    ended_ = true;
    trouble_ = source_.trouble();
    return head_;
  }
  copy_.assign(head_);
  while (copy_.size() < kPeekBytes) {
    const std::string_view more = source_.next();
    if (more.empty()) {
      ended_ = true;
      trouble_ = source_.trouble();
      break;
    }
    copy_.append(more);
  }
  return head_ = copy_;
}

std::string_view Peeked::next() {
  if (!given_) {
    given_ = true;
    if (!head().empty()) return head_;
  }
  const std::string_view block = ended_ ? std::string_view{} : source_.next();
  if (block.empty()) {
    ended_ = true;
    trouble_ = source_.trouble();
  }
  return block;
}

std::uint64_t Peeked::skip(std::uint64_t bytes) {
  return given_ && !ended_ ? source_.skip(bytes) : 0;
}

bool Peeked::seek(std::uint64_t position) {
  if (!source_.seek(position)) return false;
  given_ = true;
  ended_ = false;
  return true;
}

}  // namespace culprit::bundle
