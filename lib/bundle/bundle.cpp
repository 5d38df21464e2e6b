#include "bundle/bundle.hpp"

#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <system_error>

#include "bundle/paths.hpp"
#include "bundle/walker.hpp"

namespace culprit::bundle {
namespace {

constexpr std::uint64_t kMaxRange = 1 << 20;

// libarchive turns the UTF-8 names of pax and zip into the locale's characters, and loses them in
// the C locale. For this thread and this walk the locale is set here, whatever the program did.
class Utf8Names {
 public:
  Utf8Names() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_) before_ = uselocale(locale_);
  }
  ~Utf8Names() {
    if (!locale_) return;
    uselocale(before_);
    freelocale(locale_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  locale_t locale_;
  locale_t before_ = nullptr;
};

struct File {
  int fd = -1;
  bool ours = true;
  ~File() {
    if (ours && fd >= 0) ::close(fd);
  }
};

Error cannot_open(const std::string& path, int error) {
  const char* remedy =
      error == ENOENT || error == ENOTDIR
          ? "is the path right? A bundle is a folder, an archive, a file, or - for standard input"
      : error == EACCES || error == EPERM
          ? "you may not read it: ask its owner, or copy it as a user who may"
          : "can it be read with other programs?";
  return fail("cannot open this bundle: " + std::generic_category().message(error))
      .at({path, 0})
      .hint(remedy);
}

Result<> check_kind(const std::string& path, const struct stat& info) {
  if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) || S_ISFIFO(info.st_mode)) return {};
  return fail("this is not a folder, a file or a pipe")
      .at({path, 0})
      .hint("name a folder or a file of logs");
}

Result<> walk_with(const std::string& path, Walker& walker) {
  Utf8Names names;
  Place place;
  place.top = true;
  File file;
  struct stat info {};
  if (path == "-") {
    file.fd = STDIN_FILENO;
    file.ours = false;
    place.path = "stdin";
    if (fstat(file.fd, &info) != 0) return cannot_open(path, errno);
    if (S_ISDIR(info.st_mode))
      return fail("standard input is a folder").hint("name the folder in the place of -");
  } else {
    // What the user typed may be a link, or a pipe such as <(tar c ...); a pipe is waited for.
    if (stat(path.c_str(), &info) != 0) return cannot_open(path, errno);
    CULPRIT_CHECK(check_kind(path, info));
    file.fd = ::open(path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (file.fd < 0 || fstat(file.fd, &info) != 0) return cannot_open(path, errno);
    place.path = last_component(path);
    if (S_ISREG(info.st_mode)) place.mtime_s = info.st_mtim.tv_sec;
  }
  if (S_ISDIR(info.st_mode)) {
    // A second descriptor: folder() closes the one it gets.
    const int fd = openat(file.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return cannot_open(path, errno);
    walker.folder(fd, "", 0);
    return {};
  }
  FdSource source(
      file.fd, walker.file_buffer(), [&] { return walker.over(); },
      [&](std::uint64_t bytes) { walker.taken(bytes); });
  walker.whole(source, place, S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0);
  return {};
}

class Range : public Visitor {
 public:
  Range(const std::string& member, std::uint64_t offset, std::uint64_t length)
      : member_(member), offset_(offset), length_(std::min(length, kMaxRange)) {}

  bool begin(const MemberHead& head) override { return inside_ = !found_ && head.path == member_; }
  void data(std::string_view bytes) override {
    const std::uint64_t skipped =
        std::min<std::uint64_t>(bytes.size(), offset_ - std::min(offset_, position_));
    position_ += bytes.size();
    bytes.remove_prefix(skipped);
    bytes_.append(bytes.substr(0, length_ - bytes_.size()));
    if (bytes_.size() == length_) found_ = done_ = true;
  }
  void end(const MemberEnd&) override {
    if (inside_) found_ = done_ = true;
    inside_ = false;
  }
  void note(const MemberHead&) override {}
  void problem(const Problem&) override {}
  bool stop() override { return done_; }

  bool found() const { return found_; }
  std::string take() { return std::move(bytes_); }

 private:
  const std::string& member_;
  std::uint64_t offset_, length_;
  std::uint64_t position_ = 0;
  std::string bytes_;
  bool inside_ = false, found_ = false, done_ = false;
};

}  // namespace

Result<> check_readable(const std::string& path) {
  if (path == "-") return {};
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || access(path.c_str(), R_OK) != 0)
    return cannot_open(path, errno);
  return check_kind(path, info);
}

Result<> walk(const std::string& path, const Limits& limits, Visitor& visitor) try {
  Walker walker(limits, visitor);
  CULPRIT_CHECK(walk_with(path, walker));
  walker.counted();
  return {};
} catch (const std::bad_alloc&) {
  throw;  // no fault of the bundle, nor of ours
} catch (const std::exception& problem) {
  return internal_error(std::string("reading the bundle failed: ") + problem.what());
}

Result<std::string> read_range(const std::string& path, const std::string& member,
                               std::uint64_t offset, std::uint64_t length,
                               const Limits& limits) try {
  Range range(member, offset, length);
  Walker walker(limits, range);
  walker.only(member);
  CULPRIT_CHECK(walk_with(path, walker));
  if (!range.found()) return fail("no file '" + member + "' in this bundle").at({path, 0});
  return range.take();
} catch (const std::bad_alloc&) { throw; } catch (const std::exception& problem) {
  return internal_error(std::string("reading the bundle failed: ") + problem.what());
}

}  // namespace culprit::bundle
