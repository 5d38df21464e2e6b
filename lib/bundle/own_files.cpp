#include "bundle/own_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "bundle/descriptor.hpp"
#include "model/contains.hpp"
#include "model/sort.hpp"

namespace culprit::bundle {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
// PRAGMA application_id, big-endian.
constexpr std::string_view kIncident = "CUDL", kFleet = "CUFL";
constexpr std::string_view kOnHosts =
    "# Runs on each host, from standard input";  // collect/host.sh
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

std::string whole_text(int fd) {
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0 || info.st_size > kMaxReportBytes) return {};
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t size = 0;
  for (ssize_t more; size < text.size() && (more = pread(fd, text.data() + size, text.size() - size,
                                                         static_cast<off_t>(size))) > 0;)
    size += static_cast<std::size_t>(more);
  text.resize(size);
  return text;
}

// The text for a terminal begins with an action in capitals.
bool begins_with_action(std::string_view head) {
  static constexpr std::string_view kFirst[] = {
      "ISOLATE",  "ROLL BACK", "REPAIR",      "RUN CHECKS",       "TRY AGAIN",    "STOP",
      "MITIGATE", "REPLAY",    "INVESTIGATE", "NO FAILURE FOUND", "NOTHING TO DO"};
  if (head.starts_with("\x1b[")) head.remove_prefix(std::min(head.find('m') + 1, head.size()));
  return std::ranges::any_of(kFirst, [&](std::string_view first) {
    return head.starts_with(first) && head.size() > first.size() &&
           (head[first.size()] == ' ' || head[first.size()] == '\n' ||
            head[first.size()] == '\x1b');
  });
}

// Of what stands behind the line of what was read: nothing, or notes.
bool only_notes(std::string_view rest) {
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.starts_with("\x1b[")) line.remove_prefix(std::min(line.find('m') + 1, line.size()));
    if (!line.empty() && line[0] != ' ' && line[0] != '\x1b' && !line.starts_with("note"))
      return false;
  }
  return true;
}

// At its end it says what was read. A log may begin with a report that a launcher printed: it goes
// on behind that.
bool is_text_report(std::string_view text) {
  constexpr std::size_t kTail = 8192;
  if (!begins_with_action(text)) return false;
  text = text.substr(text.size() - std::min(text.size(), kTail));
  for (std::size_t at = 0; (at = text.find("read ", at)) != std::string::npos; ++at) {
    if (at > 0 && text[at - 1] != '\n' && text[at - 1] != 'm') continue;
    std::string_view rest = text.substr(at, 400);
    bool all = true;  // the line is broken where the terminal ends
    for (const std::string_view word : {"used,", "skipped,", "rejected;"}) {
      const std::size_t found = rest.find(word);
      all = all && found != std::string_view::npos;
      rest = all ? rest.substr(found) : std::string_view();
    }
    if (!all) continue;
    const std::size_t behind = static_cast<std::size_t>(rest.data() - text.data());
    return only_notes(text.substr(std::min(text.find('\n', behind), text.size())));
  }
  return false;
}

// Formats that say at their very beginning who wrote them.
bool is_signed_report(std::string_view head) {
  const auto says = [&](std::string_view word) { return contains(head, word); };
  if (head.starts_with("{\n  \"$schema\""))
    return says("sarif") && says("\"driver\": {\n          \"name\": \"culprit\"");
  if (head.starts_with("{\n  \"blocks\": [") ||
      head.starts_with("{\n  \"version\": 1,\n  \"type\": "))
    return says("\"block_id\": \"culprit-verdict\"") || says("\"localId\": \"culprit-verdict\"");
  if (head.starts_with("{\"schema\":\"culprit.")) return true;  // cards
  if (head.starts_with("{\"displayTimeUnit\""))
    return says("\"otherData\":{\"program\":\"culprit ");
  if (head.starts_with("<!DOCTYPE html>"))
    return says("<meta name=\"generator\" content=\"culprit");
  if (head.starts_with("<?xml")) return says("<testsuite name=\"culprit\" package=\"culprit\"");
  if (head.starts_with("# ")) return says("\n\n**Action: ") && says(" · symptom: ");
  return head.starts_with("id,outcome,severity,analysis,class,symptom,hosts,ranks,title,");
}

bool is_own_report(int fd) {
  const std::string head = head_of(fd, 1024);
  if (is_signed_report(head)) return true;
  // A document of ours is indented, and its keys are sorted: of those at the top level, whatever
  // their order. Deeper ones are indented further.
  if (head.starts_with("{\n  \""))
    return contains(whole_text(fd), "\n  \"schema\": \"culprit.diagnosis/");
  return begins_with_action(head) && is_text_report(whole_text(fd));
}

bool may_be_report(std::string_view name) {
  static constexpr std::string_view kEndings[] = {".json", ".jsonl", ".txt",   ".md",
                                                  ".html", ".xml",   ".sarif", ".csv"};
  return std::ranges::any_of(kEndings,
                             [&](std::string_view ending) { return name.ends_with(ending); });
}

}  // namespace

bool is_own_database(std::string_view head) {
  return of_application(head, kIncident) || of_application(head, kFleet);
}

bool is_own_report(std::string_view head, bool whole) {
  if (head.starts_with("<") && is_signed_report(head.substr(0, 1024))) return true;
  if (head.starts_with("{")) {
    const auto says = [&](std::string_view word) { return contains(head, word); };
    return is_signed_report(head.substr(0, 1024)) ||
           (head.starts_with("{\n  \"bundle\": {\n    \"bytes\": ") &&
            says("\n    \"rejected\": ") && says("\n    \"skipped\": ") &&
            says("\n    \"used\": "));
  }
  return whole && is_text_report(head);
}

std::vector<std::string> own_files(int fd, const std::vector<std::string>& names) {
  const auto there = [&](const std::string& name) {
    return std::ranges::binary_search(names, name);
  };
  std::vector<std::string> out;
  // What a collector that was killed has left of its work.
  if (there(".collect") && head_of(opened(fd, ".collect/host.sh").fd, 64).starts_with(kOnHosts))
    out.emplace_back(".collect");
  for (const std::string& name : names) {
    if (may_be_report(name) && is_own_report(opened(fd, name).fd)) out.push_back(name);
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
  sort_unique(out);
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
