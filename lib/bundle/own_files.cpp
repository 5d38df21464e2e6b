#include "bundle/own_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "bundle/descriptor.hpp"

namespace culprit::bundle {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr std::string_view kApplication = "CUDL";  // PRAGMA application_id, big-endian
constexpr std::size_t kApplicationAt = 68;
constexpr std::size_t kHeadBytes = kApplicationAt + 4;
constexpr off_t kMaxReportBytes = 64 << 20;
constexpr std::string_view kReports[] = {"report.html", "report.json",  "report.junit.xml",
                                         "report.md",   "report.sarif", "report.txt"};

bool is_own_database(int folder, const std::string& name) {
  const Descriptor file{
      openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  struct stat info {};
  if (file.fd < 0 || fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode)) return false;
  char head[kHeadBytes];
  const ssize_t got = pread(file.fd, head, sizeof head, 0);
  return got > 0 && bundle::is_own_database({head, static_cast<std::size_t>(got)});
}

}  // namespace

bool is_own_database(std::string_view head) {
  return head.size() >= kHeadBytes && head.starts_with(kMagic) &&
         head.substr(kApplicationAt, kApplication.size()) == kApplication;
}

std::vector<std::string> own_files(int fd, const std::vector<std::string>& names) {
  const auto there = [&](const std::string& name) {
    return std::binary_search(names.begin(), names.end(), name);
  };
  std::vector<std::string> out;
  for (const std::string& name : names) {
    // One that is being written has its log beside it; one that is not has the ending that people
    // give it.
    if (!name.ends_with(".db") && !name.ends_with(".sqlite") && !name.ends_with(".sqlite3") &&
        !there(name + "-wal") && !there(name + "-journal"))
      continue;
    if (!is_own_database(fd, name)) continue;
    out.push_back(name);
    for (const char* ending : {"-journal", "-shm", "-wal"})
      if (there(name + ending)) out.push_back(name + ending);
    if (name != "incident.db") continue;
    for (const std::string_view report : kReports)
      for (const char* ending : {"", ".part"})
        if (const std::string beside = std::string(report) + ending; there(beside))
          out.push_back(beside);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

OwnFile own_file(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  struct stat info {};
  if (file.fd < 0 || fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode)) return OwnFile::none;
  std::string text(kHeadBytes, '\0');
  const ssize_t got = pread(file.fd, text.data(), text.size(), 0);
  if (got <= 0) return OwnFile::none;
  text.resize(static_cast<std::size_t>(got));
  if (is_own_database(text)) return OwnFile::database;
  if (text[0] != '{' || info.st_size > kMaxReportBytes) return OwnFile::none;
  text.resize(static_cast<std::size_t>(info.st_size));
  std::size_t size = 0;
  for (ssize_t more;
       size < text.size() && (more = pread(file.fd, text.data() + size, text.size() - size,
                                           static_cast<off_t>(size))) > 0;)
    size += static_cast<std::size_t>(more);
  text.resize(size);
  // At the top level, whatever the order of the keys: deeper ones are indented further.
  return text.find("\n  \"schema\": \"culprit.diagnosis/") != std::string::npos ? OwnFile::report
                                                                                : OwnFile::none;
}

}  // namespace culprit::bundle
