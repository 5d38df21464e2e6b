#include "bundle/own_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "bundle/descriptor.hpp"
#include "model/sort.hpp"

namespace culprit::bundle {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
// PRAGMA application_id, big-endian.
constexpr std::string_view kIncident = "CUDL", kFleet = "CUFL";
constexpr std::size_t kApplicationAt = 68;
constexpr std::size_t kHeadBytes = kApplicationAt + 4;
constexpr off_t kMaxReportBytes = 64 << 20;
constexpr std::string_view kReports[] = {"report.html", "report.json",  "report.junit.xml",
                                         "report.md",   "report.sarif", "report.txt"};

Descriptor opened(int folder, const std::string& name) {
  return Descriptor{
      openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
}

std::string head_of(int fd, std::size_t most) {
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return {};
  std::string head(most, '\0');
  const ssize_t got = pread(fd, head.data(), head.size(), 0);
  head.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return head;
}

bool of_application(std::string_view head, std::string_view application) {
  return head.size() >= kHeadBytes && head.starts_with(kMagic) &&
         head.substr(kApplicationAt, application.size()) == application;
}

// A document of ours is indented, and its keys are sorted.
bool is_own_report(int fd) {
  struct stat info {};
  if (!head_of(fd, 16).starts_with("{\n  \"") || fstat(fd, &info) != 0 ||
      info.st_size > kMaxReportBytes)
    return false;
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t size = 0;
  for (ssize_t more; size < text.size() && (more = pread(fd, text.data() + size, text.size() - size,
                                                         static_cast<off_t>(size))) > 0;)
    size += static_cast<std::size_t>(more);
  text.resize(size);
  // At the top level, whatever the order of the keys: deeper ones are indented further.
  return text.find("\n  \"schema\": \"culprit.diagnosis/") != std::string::npos;
}

}  // namespace

bool is_own_database(std::string_view head) {
  return of_application(head, kIncident) || of_application(head, kFleet);
}

std::vector<std::string> own_files(int fd, const std::vector<std::string>& names) {
  const auto there = [&](const std::string& name) {
    return std::binary_search(names.begin(), names.end(), name);
  };
  std::vector<std::string> out;
  for (const std::string& name : names) {
    if (name.ends_with(".json") && is_own_report(opened(fd, name).fd)) out.push_back(name);
    // One that is being written has its log beside it; one that is not has the ending that people
    // give it.
    if (!name.ends_with(".db") && !name.ends_with(".sqlite") && !name.ends_with(".sqlite3") &&
        !there(name + "-wal") && !there(name + "-journal"))
      continue;
    if (!is_own_database(head_of(opened(fd, name).fd, kHeadBytes))) continue;
    out.push_back(name);
    for (const char* ending : {"-journal", "-shm", "-wal"})
      if (there(name + ending)) out.push_back(name + ending);
    if (name != "incident.db") continue;
    for (const std::string_view report : kReports)
      for (const char* ending : {"", ".part"})
        if (const std::string beside = std::string(report) + ending; there(beside))
          out.push_back(beside);
  }
  sort_rows(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

OwnFile own_file(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  const std::string head = head_of(file.fd, kHeadBytes);
  if (of_application(head, kIncident)) return OwnFile::database;
  if (of_application(head, kFleet)) return OwnFile::fleet;
  return is_own_report(file.fd) ? OwnFile::report : OwnFile::none;
}

}  // namespace culprit::bundle
