// Records of Slurm about its jobs and nodes: scontrol show job, scontrol show node, sacct. When the
// job began and ended and with what, which addresses its nodes have and when they started.
#include <algorithm>
#include <map>

#include <re2/re2.h>

#include "ingest/engine/events.hpp"
#include "ingest/logs/node_reason.hpp"
#include "line/digit.hpp"
#include "line/timestamp.hpp"
#include "line/trimmed.hpp"
#include "model/ascii.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostSlurmColumns = 128;
constexpr std::string_view kBy = " by ";
constexpr std::size_t kMostValue = 256;
constexpr std::size_t kMostNodeBytes = 1u << 16;  // bytes of a list of scattered nodes

// "Unknown", "None", "(null)" and "N/A" say nothing.
bool says_something(std::string_view value) {
  return !value.empty() && value != "Unknown" && value != "None" && value != "(null)" &&
         value != "N/A";
}

// What a record says of a job, under names of our own; the times are the controller's.
void put_job(const Place& place, std::string_view id, std::string_view key, std::string_view value,
             Reading& reading) {
  if (id.empty() || !says_something(value)) return;
  reading.sink.put(
      ConfigRow{place, "slurm.job." + std::string(key),
                std::string(id.substr(0, 64)) + " " +
                    std::string(value.substr(0, key == "nodes" ? kMostNodeBytes : kMostValue))});
}

// When a job was submitted and started is when its allocation began and ended.
void put_allocation(const Place& place, std::string_view id, const char* edge,
                    std::string_view value, Reading& reading) {
  StartMarkRow row{.place = place, .part = "allocation", .edge = edge};
  if (id.empty() || line::parse_iso(value, row.time) == 0) return;
  row.about = id.substr(0, 64);
  reading.sink.put(row);
}

// That the scheduler ended a job of its own accord, and when: the word of its log, which may be
// lacking. A job that was cancelled may have failed, or stood, before.
void put_ending(const Place& place, std::string_view id, std::string_view state,
                std::string_view end, Reading& reading) {
  const bool ended = state == "TIMEOUT" || state == "PREEMPTED";
  line::Line said;
  if (id.empty() || !ended || line::parse_iso(end, said.prefix.time) == 0) return;
  said.message = "JobId=" + std::string(id.substr(0, 64)) + " JobState=" + std::string(state);
  put_said(place, said, "scheduler", reading);
}

// KEY=value words; a value runs up to the next word that has an equals sign, for some hold spaces.
void each_pair(std::string_view text, auto see) {
  std::size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && text[at] == ' ') ++at;
    const std::size_t equals = text.find('=', at);
    if (equals == std::string_view::npos || contains(text.substr(at, equals - at), ' ')) {
      at = std::min(text.find(' ', at), text.size());
      continue;
    }
    const std::size_t end = std::min(text.find(' ', equals), text.size());
    see(text.substr(at, equals - at), text.substr(equals + 1, end - equals - 1));
    at = end;
  }
}

// The lines below "JobId=…" or "NodeName=…" belong to it, up to an empty one.
class SlurmRecord : public Assembler {
 public:
  Step feed(const TextLine& line, Reading& reading) override {
    const std::string_view text = line.raw;
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) return Step::finished;
    if (text.front() != ' ' && text.front() != '\t')
      return Step::not_mine;  // the next record, or something else
    take(line.place, text, reading);
    return Step::took;
  }
  void finish(Reading& reading) override { put_ending(place_, job_, state_, end_, reading); }
  std::uint64_t most_lines() const override { return 80; }

  void take(const Place& place, std::string_view text, Reading& reading) {
    static const re2::RE2 kReason(R"(^\s+Reason=(\S.*?) \[[^@\]]*@([^\]]+)\])");
    std::string reason, time;
    if (!node_.empty() &&
        re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kReason, &reason, &time))
      return put_node_reason(place, node_, reason, time, reading);
    each_pair(text, [&](std::string_view key, std::string_view value) {
      if (key == "JobId")
        job_ = std::string(value);
      else if (key == "NodeName")
        node_ = std::string(value);
      else if (!job_.empty())
        of_job(place, key, value, reading);
      else if (!node_.empty())
        of_node(place, key, value, reading);
    });
  }

 private:
  void of_job(const Place& place, std::string_view key, std::string_view value, Reading& reading) {
    if (key == "JobState") {
      put_job(place, job_, "state", value, reading);
      state_ = std::string(value.substr(0, kMostValue));
      place_ = place;
    }
    if (key == "ExitCode")
      put_job(place, job_, "exit_code", value, reading);
    else if (key == "SubmitTime")
      put_allocation(place, job_, "begin", value, reading);
    else if (key == "StartTime") {
      put_job(place, job_, "start", value, reading);
      put_allocation(place, job_, "end", value, reading);
    } else if (key == "EndTime") {
      put_job(place, job_, "end", value, reading);
      end_ = std::string(value.substr(0, kMostValue));
    } else if (key == "NodeList") {
      put_job(place, job_, "nodes", value, reading);
      if (says_something(value))
        reading.sink.put(ConfigRow{place, "slurm.nodelist", std::string(value)});
    }
  }

  void of_node(const Place& place, std::string_view key, std::string_view value, Reading& reading) {
    if (!says_something(value)) return;
    if (key == "NodeAddr" || key == "NodeHostName") {
      if (value == node_) return;
      reading.sink.put(IdentityRow{.place = place,
                                   .source = "scontrol",
                                   .host = Host(node_),
                                   .address = std::string(value)});
    } else if (key == "State") {
      reading.sink.put(ConfigRow{place, "slurm.node_state",
                                 std::string(value.substr(0, kMostValue)), Host(node_)});
    } else if (key == "BootTime") {
      Timestamp stamp;
      if (line::parse_iso(value, stamp) > 0)
        reading.sink.put(ClockRow{place, stamp, Timestamp{Clock::boot, 0, kSecond}, 0, Host(node_),
                                  "boot_time"});
    }
  }

  std::string job_, node_, state_, end_;
  Place place_;  // of the state
};

Outcome read_scontrol(const TextLine& line, Reading& reading) {
  const std::string_view text = line.raw;
  const bool job = text.starts_with("JobId=");
  if (!job && !text.starts_with("NodeName=")) return {};
  if (job ? !contains(text, " JobName=")
          : !contains(text, " Arch=") && !contains(text, " CPUAlloc=") &&
                !contains(text, " NodeAddr="))
    return {};
  auto record = std::make_unique<SlurmRecord>();
  record->take(line.place, text, reading);
  return {true, std::move(record)};
}

// The end of a cell. With commas, cells may stand in quotes, and lists of nodes have commas of
// their own in brackets.
std::size_t cell_end(std::string_view text, std::size_t at, char separator) {
  const std::size_t plain = std::min(text.find(separator, at), text.size());
  if (separator != ',' || plain == text.size()) return plain;
  if (at < text.size() && text[at] == '"') {
    const std::size_t close = text.find('"', at + 1);
    return close == std::string_view::npos ? plain : std::min(text.find(',', close), text.size());
  }
  const std::size_t open = text.substr(0, plain).find('[', at);
  if (open == std::string_view::npos) return plain;
  const std::size_t close = text.find(']', open);
  const bool list = close != std::string_view::npos &&
                    text.substr(open + 1, close - open - 1).find_first_not_of("0123456789-,") ==
                        std::string_view::npos;
  return list ? cell_end(text, close + 1, separator) : plain;
}

// sacct's table, its columns as the heading has them: "JobID|State|ExitCode|Start|End" with -P,
// another separator with --delimiter, else under dashes.
class Accounting : public Assembler {
 public:
  Accounting(std::vector<std::string> columns, char separator)
      : columns_(std::move(columns)), separator_(separator) {}

  Step feed(const TextLine& line, Reading& reading) override {
    const std::string_view text = line.raw;
    if (separator_ == ' ' && text.starts_with("---")) {
      read_widths(text);
      return Step::took;
    }
    Row row;
    // A table that somebody pasted or aligned anew has dashes of other columns, or none.
    if (separator_ != ' ')
      cut_at(text, row,
             [&](std::size_t, std::size_t at) { return cell_end(text, at, separator_); });
    else if (fits_widths(text))
      cut_at(text, row,
             [&](std::size_t c, std::size_t at) { return std::min(at + widths_[c], text.size()); });
    else if (!cut_at_spaces(text, row))
      return Step::not_mine;
    const std::string_view id = row["jobid"];
    if (id.empty() || id.front() < '0' || id.front() > '9') return Step::not_mine;
    // "4711.batch" and "4711.0" are steps of job 4711, which has a row of its own.
    if (!contains(id, '.')) {
      put_allocation(line.place, id, "begin", row["submit"], reading);
      if (says_something(row["submit"]))
        put_allocation(line.place, id, "end", row["start"], reading);
      for (const auto& [column, key] : {std::pair{"state", "state"},
                                        {"exitcode", "exit_code"},
                                        {"start", "start"},
                                        {"end", "end"},
                                        {"jobname", "name"},
                                        {"nodelist", "nodes"}})
        put_job(line.place, id, key, row[column], reading);
      put_ending(line.place, id, row["state"], row["end"], reading);
    }
    return Step::took;
  }

 private:
  using Row = std::map<std::string_view, std::string_view>;

  void put(Row& row, std::size_t column, std::string_view cell) const {
    const auto around = [](char letter) {
      return letter == ' ' || letter == '\r' || letter == '"';
    };
    while (!cell.empty() && around(cell.front())) cell.remove_prefix(1);
    while (!cell.empty() && around(cell.back())) cell.remove_suffix(1);
    row[columns_[column]] = cell;
  }
  // end(column, at): where the cell that begins at `at` ends.
  void cut_at(std::string_view text, Row& row, auto end) const {
    std::size_t at = 0;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::size_t past = end(c, at);
      put(row, c, at <= text.size() ? text.substr(at, past - at) : std::string_view{});
      at = past + 1;
    }
  }
  // Only where each column has a word: an empty one would shift those behind it.
  bool cut_at_spaces(std::string_view text, Row& row) const {
    std::size_t c = 0;
    for (std::size_t at = text.find_first_not_of(" \r"); at != std::string_view::npos; ++c) {
      if (c == columns_.size()) return false;
      std::size_t end = std::min(text.find_first_of(" \r", at), text.size());
      if (text.substr(end).starts_with(kBy))  // "CANCELLED by 1002" is one word
        end = std::min(text.find_first_of(" \r", end + kBy.size()), text.size());
      put(row, c, text.substr(at, end - at));
      at = text.find_first_not_of(" \r", end);
    }
    return c == columns_.size();
  }

  // No column's end is in the middle of a word.
  bool fits_widths(std::string_view text) const {
    if (widths_.size() != columns_.size()) return false;
    std::size_t at = 0;
    for (const std::size_t width : widths_) {
      at += width;
      if (at < text.size() && text[at] != ' ' && text[at] != '\r') return false;
      ++at;
    }
    return true;
  }

  void read_widths(std::string_view text) {
    for (std::size_t at = 0; at < text.size() && widths_.size() < kMostSlurmColumns;) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      widths_.push_back(end - at);
      at = end + 1;
    }
  }

  std::vector<std::string> columns_;
  std::vector<std::size_t> widths_;
  char separator_;
};

// squeue's table: which machines each job had when somebody looked. "JOBID PARTITION NAME USER ST
// TIME NODES NODELIST(REASON)"; a job that waits has a reason there.
class Queue : public Assembler {
 public:
  // of_nodes: which of the columns lists them.
  Queue(std::size_t columns, std::size_t of_nodes) : columns_(columns), of_nodes_(of_nodes) {}

  Step feed(const TextLine& line, Reading& reading) override {
    std::vector<std::string_view> cells;
    const std::string_view text = line::trimmed(line.raw);
    for (std::size_t at = 0; at < text.size() && cells.size() < columns_;) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      cells.push_back(text.substr(at, end - at));
      at = std::min(text.find_first_not_of(' ', end), text.size());
    }
    if (cells.empty() || !line::digit(cells.front().front())) return Step::not_mine;
    if (cells.size() == columns_ && cells[of_nodes_].front() != '(')
      reading.sink.put(ConfigRow{line.place, "slurm.queue.nodes",
                                 std::string(cells.front()) + " " +
                                     std::string(cells[of_nodes_].substr(0, kMostNodeBytes))});
    return Step::took;
  }

 private:
  std::size_t columns_, of_nodes_;
};

Outcome read_sacct(const TextLine& line, Reading&) {
  const std::string_view text = line.raw.substr(0, 4096);
  char separator = ' ';
  for (const char one : {'\t', ',', '|'})
    if (contains(text, one)) separator = one;
  std::vector<std::string> columns;
  for (std::size_t at = 0; at < text.size() && columns.size() < kMostSlurmColumns;) {
    const std::size_t begin = separator != ' ' ? at : text.find_first_not_of(" \r", at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    std::string name(text.substr(begin, end - begin));
    std::erase_if(name, [](char c) { return c == '\r' || c == ' ' || c == '"'; });
    columns.push_back(lower(name));
    at = end + 1;
  }
  const auto has = [&](const char* name) { return contains(columns, name); };
  const bool of_times = has("start") && (has("end") || has("nodelist"));
  const auto nodes = std::ranges::find_if(
      columns, [](const std::string& name) { return name.starts_with("nodelist"); });
  if (!columns.empty() && columns.front() == "jobid" && nodes != columns.end() &&
      separator == ' ' && !of_times && !has("exitcode"))
    return {true, std::make_unique<Queue>(columns.size(),
                                          static_cast<std::size_t>(nodes - columns.begin()))};
  if (!has("jobid") || !has("state") || (!has("exitcode") && !of_times)) return {};
  return {true, std::make_unique<Accounting>(std::move(columns), separator)};
}

// The controller's log: "sched: Allocate JobId=4711 NodeList=...", "sched/backfill: ... Started
// JobId=4711 in gpu on ...", "_job_complete: JobId=4711 done". It speaks of every job of the site.
Outcome read_controller(const TextLine& line, Reading& reading) {
  static const re2::RE2 kStart(R"(\b(?:Allocate|Started) JobId=(\d{1,12})\b)");
  static const re2::RE2 kEnd(R"(job_complete: JobId=(\d{1,12}) )");
  std::string id;
  const bool start = re2::RE2::PartialMatch(line.line.message, kStart, &id);
  if ((!start && !re2::RE2::PartialMatch(line.line.message, kEnd, &id)) ||
      line.line.prefix.time.clock == Clock::none)
    return {};
  reading.sink.put(ConfigRow{line.place, start ? "slurm.log.start" : "slurm.log.end", id});
  reading.sink.put(ClockRow{line.place, line.line.prefix.time, {}, 0, {}, "job record"});
  return {true};
}

constexpr std::string_view kControllerWords[] = {
    "Allocate JobId=", "Started JobId=", "job_complete: JobId="};
constexpr std::string_view kScontrolWords[] = {"JobId=", "NodeName="};
constexpr std::string_view kSacctWords[] = {"ExitCode", "NodeList", "Start|End", "Start,End"};

constexpr std::string_view kAlsoOfRecords[] = {"jobid"};

}  // namespace

extern constinit const Recogniser kController{
    "slurmctld", "slurmctld.log: when jobs began and ended", kControllerWords, read_controller};
extern constinit const Recogniser kScontrol{
    "scontrol",
    "scontrol show job, scontrol show node: start and end of a job, addresses and states of nodes",
    kScontrolWords, read_scontrol};
extern constinit const Recogniser kSacct{
    "sacct",       "sacct: start, end, state and exit code of jobs", kSacctWords, read_sacct, {},
    kAlsoOfRecords};

}  // namespace culprit::ingest
