// Walker over folders: component by component in byte order, never through a link.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

#include "bundle/descriptor.hpp"
#include "bundle/own_files.hpp"
#include "bundle/walker.hpp"
#include "model/sort.hpp"

namespace culprit::bundle {
namespace {

// One descriptor is open per level, and people run with `ulimit -n 1024`.
constexpr int kMaxFolderDepth = 256;
constexpr std::size_t kMaxLinkBytes = 64 << 10;

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { closedir(folder); }
};

void keep_first(std::vector<std::string>& names, std::uint64_t count) {
  const auto last = names.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(names.begin(), last, names.end());
  names.erase(last, names.end());
}

std::string link_target(int folder_fd, const std::string& name) {
  std::string target(256, '\0');
  for (;;) {
    const ssize_t size = readlinkat(folder_fd, name.c_str(), target.data(), target.size());
    if (size < 0) return {};
    if (static_cast<std::size_t>(size) < target.size() || target.size() >= kMaxLinkBytes) {
      target.resize(static_cast<std::size_t>(size));
      return target;
    }
    target.resize(target.size() * 2);
  }
}

}  // namespace

void Walker::unreadable(const std::string& path, const char* what, int error) {
  teller_.problem(path, {"bundle.unreadable",
                         std::string(what) + ": " + std::generic_category().message(error)});
}

void Walker::folder(int fd, const std::string& prefix, int depth) {
  const std::string shown = prefix.empty() ? "." : prefix.substr(0, prefix.size() - 1);
  std::unique_ptr<DIR, CloseFolder> open(fdopendir(fd));
  if (!open) {
    unreadable(shown, "cannot list this folder", errno);
    ::close(fd);
    return;
  }
  if (struct stat info{}; !device_ && fstat(fd, &info) == 0) device_ = info.st_dev;
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* item = readdir(open.get());
    if (!item) break;
    const std::string_view name = item->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    // More names than the walk may tell: only the first ones in order matter, however the disk
    // lists them.
    if (names.size() / 2 > limits_.members) keep_first(names, limits_.members + 1);
  }
  if (errno != 0) unreadable(shown, "cannot list all of this folder", errno);
  sort_rows(names);  // std::string compares as unsigned bytes
  const std::vector<std::string> own = own_files(fd, names);
  for (const std::string& name : names) {
    if (teller_.over()) return;
    if (std::ranges::binary_search(own, name)) {
      teller_.own(prefix + name);
      continue;
    }
    folder_item(fd, name, prefix + name, depth);
  }
}

void Walker::folder_item(int folder_fd, const std::string& name, const std::string& path,
                         int depth) {
  if (!may_hold(path)) {
    teller_.count(path);
    return;
  }
  struct stat info {};
  if (fstatat(folder_fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return unreadable(path_for(path), "cannot look at this file", errno);

  if (S_ISDIR(info.st_mode)) {
    if (!teller_.count(path)) return;
    // /proc, /sys and a share of terabytes are mounted in folders that people name without thinking
    // of them.
    if (device_ && info.st_dev != *device_)
      return teller_.problem(path_for(path), {"bundle.other_device",
                                              "not opened: another file system is mounted here; if "
                                              "it belongs to the bundle, name it besides"});
    if (depth >= kMaxFolderDepth)
      return teller_.problem(
          path_for(path),
          {"bundle.depth", "not opened: more than " + std::to_string(kMaxFolderDepth) +
                               " folders stand within each other; give this folder itself"});
    const int fd = openat(folder_fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return unreadable(path_for(path), "cannot open this folder", errno);
    return folder(fd, path + "/", depth + 1);
  }
  const auto size = S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
  if (!teller_.unit({path, size, info.st_mtim.tv_sec})) return;
  folder_file(folder_fd, name, path, info);
  teller_.unit_end();
}

void Walker::folder_file(int folder_fd, const std::string& name, const std::string& path,
                         struct stat info) {
  Place place;
  place.path = path_for(path);
  place.prefix = place.path + "/";
  place.mtime_s = info.st_mtim.tv_sec;
  if (!S_ISREG(info.st_mode)) {
    MemberHead head{.path = place.path,
                    .kind = S_ISLNK(info.st_mode)                            ? MemberKind::link
                            : S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode) ? MemberKind::device
                                                                             : MemberKind::other,
                    .mtime_s = place.mtime_s};
    if (head.kind == MemberKind::link) head.link_target = link_target(folder_fd, name);
    return teller_.note(head);
  }
  // Somebody may have put a link or a device here since: O_NOFOLLOW, O_NONBLOCK and a second look.
  const Descriptor file{
      openat(folder_fd, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  if (file.fd < 0)
    return unread(place, {"bundle.unreadable",
                          "cannot open this file: " + std::generic_category().message(errno)});
  if (fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode))
    return unread(place,
                  {"bundle.unreadable", "changed into something else while it was being opened"});
  FdSource source(
      file.fd, file_buffer_, [this] { return teller_.over(); },
      [this](std::uint64_t bytes) { teller_.taken(bytes); });
  stream(source, place);
}

}  // namespace culprit::bundle
