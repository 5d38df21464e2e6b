// What the tests of this room share: a sink that remembers, text read from memory, blocks cut where
// one likes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/ingest.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/scan.hpp"
#include "ingest/engine/text_reader.hpp"
#include "rules/pack.hpp"

namespace culprit::ingest::test {

class Rows : public MemberSink {
 public:
#define CULPRIT_KEEP(Row, name) std::vector<Row> name;
  CULPRIT_ROWS(CULPRIT_KEEP)
#undef CULPRIT_KEEP
  std::vector<GroupRow> groups;        // id = index + 1
  std::vector<SeriesRow> series_rows;  // id = index + 1
  std::vector<MemberRow> members;
  std::vector<std::string> problems;
  std::string log;    // everything, in order
  std::string times;  // what hangs on the blocks: an event's line without a time borrows it from
                      // its neighbours

#define CULPRIT_PUT(Row, name)        \
  void put(const Row& row) override { \
    name.push_back(row);              \
    tell(row);                        \
  }
  CULPRIT_ROWS(CULPRIT_PUT)
#undef CULPRIT_PUT

  // The log: of rows that nobody describes, their place.
  template <class Row>
  void tell(const Row& r) {
    log += fmt::format("{} row\n", at(r.place));
  }
  void tell(const EventRow& r) {
    log += fmt::format("{} event {} {} x{} to {} {}\n", at(r.place), r.rule, r.event_class, r.count,
                       r.last_line, r.message);
    times += fmt::format("{} {}\n", at(r.place), r.time.ns);
  }
  void tell(const TracebackRow& r) {
    log +=
        fmt::format("{} traceback {} {} {}:{} {} rank {} to {}\n", at(r.place), r.type, r.message,
                    r.file, r.file_line, r.function, r.rank.value_or(kNoRank), r.last_line);
  }
  void tell(const ExitRow& r) {
    log += fmt::format("{} exit {} {} pid {}\n", at(r.place), r.source, r.code, r.pid.value_or(-1));
  }
  void tell(const ProgressRow& r) {
    log += fmt::format("{} progress {} {} {}\n", at(r.place), r.framework, r.iteration.value_or(-1),
                       r.loss.value_or(-1));
  }
  void tell(const IdentityRow& r) {
    log += fmt::format("{} identity {} {} {}\n", at(r.place), r.source, name_of(r.host),
                       r.rank.value_or(-1));
  }
  void tell(const ConfigRow& r) {
    log += fmt::format("{} config {}={}\n", at(r.place), r.name, r.value);
  }
  // The edges of a log are looked for in its first and last block.
  void tell(const ClockRow& r) {
    (r.kind == "first" || r.kind == "last" ? times : log) +=
        fmt::format("{} clock {} {} {}\n", at(r.place), r.kind, r.time.ns, r.text_hash);
  }
  void tell(const RejectRow& r) { log += fmt::format("{} reject {}\n", at(r.place), r.reason); }
  void put(const Manifest& m, const Place& place) override {
    log += fmt::format("{} manifest {}\n", at(place), m.job);
  }
  void tell(const StackRow& r) {
    log += fmt::format("{} stack {} {} {} {}\n", at(r.place), r.source, r.pid.value_or(-1),
                       r.frames.size(), r.frames.empty() ? r.problem : r.frames.front().function);
  }
  void tell(const ProcessRow& r) {
    log += fmt::format("{} process {} {} {} {}\n", at(r.place), r.pid, r.parent.value_or(-1),
                       r.state, r.command);
  }
  GroupId group(const GroupRow& r) override {
    auto found = std::find(groups.begin(), groups.end(), r);
    if (found == groups.end()) found = groups.insert(groups.end(), r);
    return group_at(static_cast<std::size_t>(found - groups.begin()));
  }
  void tell(const FrontierRow& r) {
    log += fmt::format("{} frontier {} {} {} {}/{}\n", at(r.place), name(r.source),
                       index_of(r.group) + 1, r.rank.value_or(kNoRank), r.enqueued, r.completed);
  }
  void tell(const CollectiveRow& r) {
    log += fmt::format("{} collective {} {} {} {} {}\n", at(r.place), name(r.source),
                       index_of(r.group) + 1, r.sequence, r.operation, r.state);
  }
  void tell(const HistoryRow& r) {
    log += fmt::format("history {} {} {}\n", r.rank.value_or(kNoRank), index_of(r.group) + 1,
                       r.entries.size());
  }
  void tell(const RecorderRow& r) {
    log += fmt::format("{} recorder {} {} {}\n", at(r.place), r.version, r.rank.value_or(kNoRank),
                       r.entries);
  }
  void tell(const NetworkRow& r) {
    log += fmt::format("{} network {} {} {}\n", at(r.place), r.kind, r.name, r.hosts.size());
  }
  SeriesId series(const SeriesRow& r) override {
    series_rows.push_back(r);
    log += fmt::format("series {} {} {} {} {} {}\n", r.name, r.unit, name_of(r.host),
                       r.gpu.value_or(""), r.rank.value_or(kNoRank), r.labels);
    return static_cast<SeriesId>(series_rows.size());
  }
  void tell(const ChunkRow& r) {
    log += fmt::format("{} chunk {} x{} {}\n", at(r.place), r.series, r.samples, r.data.size());
  }
  // The columns that a chunk shares.
  SeriesPoints axis_of(const ChunkRow& chunk) const {
    SeriesPoints out;
    auto before = std::count_if(chunks.data(), &chunk,
                                [&](const ChunkRow& c) { return c.series == chunk.series; });
    for (const ChunkRow& c : chunks)
      if (c.series == chunk.axis && before-- == 0) { EXPECT_TRUE(unpack(c.data, out)); }
    EXPECT_EQ(out.size(), static_cast<std::size_t>(chunk.samples));
    return out;
  }
  // All samples of the first series of this name (and, when given, whose host, gpu, nic or labels
  // say this).
  SeriesPoints points(std::string_view name, std::string_view of = {}) const {
    SeriesPoints out;
    for (std::size_t i = 0; i < series_rows.size(); ++i) {
      const SeriesRow& r = series_rows[i];
      if (r.name != name ||
          (!of.empty() && r.host != of && r.gpu != of && r.nic != of && r.labels != of))
        continue;
      for (const ChunkRow& c : chunks)
        if (c.series == static_cast<SeriesId>(i + 1)) {
          SeriesPoints chunk;
          EXPECT_TRUE(unpack(c.data, chunk));
          append(out, c.axis ? along(axis_of(c), chunk) : chunk);
        }
      break;
    }
    return out;
  }
  std::optional<std::string> finished(const std::string&) override { return std::nullopt; }
  MemberId begin_member(const MemberRow& r) override {
    members.push_back(r);
    members.back().id = static_cast<MemberId>(members.size());
    return members.back().id;
  }
  void end_member(const MemberRow& r) override {
    EXPECT_EQ(r.id, static_cast<MemberId>(members.size()));
    EXPECT_EQ(r.lines, r.used + r.skipped + r.rejected) << r.path;
    members.back() = r;
    log += fmt::format("member {} {} {}={}+{}+{}\n", r.path, r.format, r.lines, r.used, r.skipped,
                       r.rejected);
  }
  void problem(const std::string& path, const std::string& code, const std::string&) override {
    problems.push_back(code + " " + path);
  }

  std::string reasons() const {
    std::string out;
    for (const auto& r : rejects)
      out += (out.empty() ? "" : " ") + fmt::format("{}:{}", r.place.line, r.reason);
    return out;
  }
  // "type: message" of each traceback
  std::vector<std::string> raised() const {
    std::vector<std::string> out;
    for (const auto& t : tracebacks) out.push_back(t.type + ": " + t.message);
    return out;
  }

 private:
  static std::string at(const Place& p) {
    return fmt::format("{}:{}@{}+{}", p.member, p.line, p.offset, p.length);
  }
};

inline const rules::RulePack& pack() {
  static const rules::RulePack kPack = [] {
    auto rules = rules::load_rules({});
    if (!rules) ADD_FAILURE() << rules.error().what;
    auto compiled = rules::RulePack::compile(std::move(rules).value());
    if (!compiled) ADD_FAILURE() << compiled.error().what;
    return std::move(compiled).value();
  }();
  return kPack;
}

inline const Scanner& scanner() {
  static const Scanner kScanner(pack());
  return kScanner;
}

// The events of a whole text that one format reads as a document, a line each; or what else it is.
inline std::string told_by_document(std::string_view format, const std::string& path,
                                    const std::string& text) {
  const Head head{path, text, true};
  const Detected detected = detect(head);
  if (detected.format != format) return "read as " + std::string(detected.format);
  Rows rows;
  MemberRow member;
  member.path = path;
  member.id = rows.begin_member(member);
  Reading reading{rows, pack(), "data", {}, {}, member.path};
  EXPECT_EQ(detected.document->read(text, member, reading), "");
  std::string out;
  for (const EventRow& e : rows.events)
    out += fmt::format("{}:{} {}\n", e.place.line, e.event_class, e.message);
  return out;
}

// A member's text, whole or cut at `ends` (offsets after line ends), through scanner and reader.
inline Rows read_text(std::string_view text, std::string kind = "",
                      const std::vector<std::size_t>& ends = {}, bool rules = true,
                      std::string path = "memory") {
  Rows rows;
  MemberRow member;
  member.path = path;
  member.id = rows.begin_member(member);
  const line::Habit habit = line::habit_of(text.substr(0, 65536));
  TextReader reader(scanner(), rows, member.id, kind, habit, rules, path);
  std::size_t at = 0;
  const auto block = [&](std::size_t end) {
    if (end <= at) return;
    const std::string bytes(text.substr(at, end - at));
    reader.block(bytes, scanner().scan(bytes, kind, habit, rules));
    at = end;
  };
  for (const std::size_t end : ends) block(end);
  block(text.size());
  reader.finish();
  member.lines = reader.lines();
  member.used = reader.used();
  member.rejected = reader.rejected();
  EXPECT_LE(member.used + member.rejected, member.lines);
  EXPECT_EQ(member.lines, static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')) +
                              (!text.empty() && text.back() != '\n'));
  EXPECT_EQ(reader.tail_truncated(), !text.empty() && text.back() != '\n');
  member.skipped = member.lines - member.used - member.rejected;
  rows.end_member(member);
  return rows;
}

// A member's text whose lines are records, through the reader that its head asks for; blocks cut at
// `ends`, anywhere.
inline Rows read_records(std::string_view text, std::string path,
                         const std::vector<std::size_t>& ends = {}) {
  Rows rows;
  MemberRow member;
  member.path = path;
  member.id = rows.begin_member(member);
  const Head head{member.path, text.substr(0, 65536), text.size() <= 65536};
  const Detected detected = detect(head);
  if (detected.records == nullptr) {
    ADD_FAILURE() << path << " is read as " << detected.format << ", not as records";
    return rows;
  }
  member.format = std::string(detected.format);
  RecordTextReader reader(detected.records->make(head), Reading{rows, pack(), "data", {}, {}, path},
                          member.id);
  std::size_t at = 0;
  for (const std::size_t end : ends)
    if (end > at) reader.block(text.substr(at, end - at)), at = end;
  reader.block(text.substr(at));
  reader.finish();
  member.lines = reader.lines();
  member.used = reader.used();
  member.rejected = reader.rejected();
  member.skipped = member.lines - member.used - member.rejected;
  rows.end_member(member);
  return rows;
}

// Every row's place is inside the text and on the line it names; an event's text stands there.
inline void check_places(const Rows& rows, std::string_view text) {
  const auto check = [&](const Place& place, const std::string& needle) {
    ASSERT_GE(place.line, 1u);
    ASSERT_LE(place.offset + place.length, text.size());
    EXPECT_EQ(static_cast<std::uint64_t>(std::count(
                  text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place.offset), '\n')) +
                  1,
              place.line)
        << needle;
    const std::string there = line::clean(text.substr(place.offset, place.length));
    const bool elsewhere =
        there.find('{') != std::string::npos ||
        there.find(" P ") != std::string::npos;  // unwrapped, or joined with records below
    if (!elsewhere) {
      EXPECT_NE(there.find(needle), std::string::npos) << needle << "\nis not in\n" << there;
    }
  };
  for (const auto& r : rows.events) check(r.place, r.message.substr(0, 40));
  for (const auto& r : rows.tracebacks) check(r.place, r.type);  // the line that names it
  for (const auto& r : rows.exits) check(r.place, "");
  for (const auto& r : rows.progress) check(r.place, "");
  for (const auto& r : rows.identities) check(r.place, "");
  for (const auto& r : rows.rejects) check(r.place, "");
  for (const auto& r : rows.stacks) check(r.place, "");
  for (const auto& r : rows.processes) check(r.place, "");
}

// A dump by itself, as a file of that name.
inline Rows read_dump(std::string_view text, std::string path = "stacks/memory",
                      std::string kind = "stack") {
  return read_text(text, std::move(kind), {}, false, std::move(path));
}

// "f@a.py:3" innermost first, joined by blanks; modules in brackets, '!' for machine code.
inline std::string spell(const std::vector<Frame>& frames) {
  std::string out;
  for (const Frame& f : frames) {
    out += (out.empty() ? "" : " ") + std::string(f.native ? "!" : "") + f.function;
    if (!f.file.empty()) out += "@" + f.file;
    if (f.line != 0) out += ":" + std::to_string(f.line);
    if (!f.module.empty()) out += "[" + f.module + "]";
  }
  return out;
}

class Folder {
 public:
  Folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "culprit-ingest-XXXXXX").string();
    if (!mkdtemp(pattern.data())) std::abort();
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  void write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path path = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline Rows read_folder(const std::string& path, int threads = 1) {
  Rows rows;
  Options options;
  options.threads = threads;
  auto summary = ingest({{path, ""}}, pack(), rows, options);
  if (!summary) ADD_FAILURE() << summary.error().what;
  return rows;
}

// Seeded, so that a failure comes again.
struct Random {
  std::uint64_t state = 0x9E3779B97F4A7C15ULL;
  std::size_t below(std::size_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::size_t>(state % n);
  }
};

}  // namespace culprit::ingest::test
