// ps, with whatever columns it was asked for. Threads (-L) are folded into their process; without a
// PPID column the forest's indentation tells who the parent is.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ingest/engine/events.hpp"
#include "ingest/stacks/stack_text.hpp"
#include "model/contains.hpp"
#include "model/word_list.hpp"

namespace culprit::ingest {

namespace {

constexpr std::string_view kProcessKind = "process";
constexpr int kForeignProcessLines = 2;
constexpr std::size_t kProcesses = 200'000;
constexpr std::size_t kMostProcessColumns = 64;
constexpr std::size_t kProcessCommandBytes = 4'096;

enum class ProcessField {
  other,
  user,
  pid,
  parent,
  tid,
  threads,
  state,
  wait,
  clock,
  busy,
  name,
  command
};

struct ProcessColumn {
  ProcessField field = ProcessField::other;
  std::size_t begin = 0;  // of its heading
};

struct KnownProcessColumn {
  std::string_view heading;
  ProcessField field;
};
constexpr KnownProcessColumn kKnownProcessColumns[] = {
    {"PID", ProcessField::pid},         {"TGID", ProcessField::pid},
    {"PPID", ProcessField::parent},     {"TID", ProcessField::tid},
    {"LWP", ProcessField::tid},         {"SPID", ProcessField::tid},
    {"NLWP", ProcessField::threads},    {"THCNT", ProcessField::threads},
    {"STAT", ProcessField::state},      {"S", ProcessField::state},
    {"STATE", ProcessField::state},     {"WCHAN", ProcessField::wait},
    {"STARTED", ProcessField::clock},   {"START", ProcessField::clock},
    {"LSTART", ProcessField::clock},    {"STIME", ProcessField::clock},
    {"COMMAND", ProcessField::command}, {"CMD", ProcessField::command},
    {"ARGS", ProcessField::command},    {"COMM", ProcessField::name},
    {"UCMD", ProcessField::name},       {"UCOMM", ProcessField::name},
    {"%CPU", ProcessField::busy},       {"USER", ProcessField::user},
    {"UID", ProcessField::user},        {"RUSER", ProcessField::user},
    {"EUSER", ProcessField::user},
};
constexpr std::string_view kOthers =
    "%MEM VIRT RES SHR TIME+ PR VSZ RSS SZ TTY TT TIME ELAPSED ETIME ETIMES C F PRI NI PSR "
    "CLS RTPRIO POL ADDR PGID PGRP SID SESS TPGID CPUID CP SIZE MAJFLT MINFLT PENDING "
    "BLOCKED IGNORED CAUGHT GROUP GID EUID RUID LABEL CGROUP NUMA NS STACKP ESP EIP TRS DRS "
    "PPR SCH PSS USS";

class ProcessCursor {
 public:
  explicit ProcessCursor(std::string_view text) : text_(text) {}
  std::string_view word() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ' ') ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::string_view next() const {
    ProcessCursor copy = *this;
    return copy.word();
  }
  void skip(std::size_t to) { at_ = std::min(to, text_.size()); }
  std::size_t at() const { return at_; }
  std::string_view rest() const { return text_.substr(at_); }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// The command stands last, and may hold blanks.
std::optional<std::vector<ProcessColumn>> with_command_last(std::vector<ProcessColumn> columns) {
  const bool pid =
      std::ranges::find(columns, ProcessField::pid, &ProcessColumn::field) != columns.end();
  if (!pid || columns.size() < 2) return std::nullopt;
  const ProcessField last = columns.back().field;
  if (last != ProcessField::command && last != ProcessField::name) return std::nullopt;
  // "comm,args" prints COMMAND twice: the one with a column after it is the name.
  for (std::size_t i = 0; i + 1 < columns.size(); ++i)
    if (columns[i].field == ProcessField::command) columns[i].field = ProcessField::name;
  return columns;
}

std::optional<std::vector<ProcessColumn>> columns_of(std::string_view text) {
  std::vector<ProcessColumn> columns;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ' || text[at] == '\t') {
      ++at;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \t\r", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    ProcessColumn column{ProcessField::other, at};
    const auto known = std::ranges::find(kKnownProcessColumns, word, &KnownProcessColumn::heading);
    if (known != std::end(kKnownProcessColumns))
      column.field = known->field;
    else if (!has_word(kOthers, word))
      return std::nullopt;
    columns.push_back(column);
    at = end + 1;
    if (columns.size() > kMostProcessColumns) return std::nullopt;
  }
  return with_command_last(std::move(columns));
}

// "ps -eLo pid,stat,wchan:22,args | grep train": what was echoed names the columns that grep took
// away.
std::optional<std::vector<ProcessColumn>> columns_asked_for(std::string_view text) {
  const std::size_t ps = text.find("ps ");
  if (ps == std::string_view::npos ||
      (ps > 0 && std::isalnum(static_cast<unsigned char>(text[ps - 1]))))
    return std::nullopt;
  ProcessCursor words(text.substr(ps));
  for (std::string_view word = words.word(); !word.empty(); word = words.word()) {
    if (word == "|" || !contains(word, "pid") || !contains(word, ',')) continue;
    std::vector<ProcessColumn> columns;
    while (!word.empty()) {
      std::string_view name = word.substr(0, word.find(','));
      word.remove_prefix(std::min(word.size(), name.size() + 1));
      name = name.substr(0, name.find_first_of(":="));
      const auto known = std::ranges::find_if(kKnownProcessColumns, [&](const auto& one) {
        return std::ranges::equal(name, one.heading, {},
                                  [](unsigned char c) { return std::toupper(c); });
      });
      columns.push_back(
          {known == std::end(kKnownProcessColumns) ? ProcessField::other : known->field, 0});
      if (columns.size() > kMostProcessColumns) return std::nullopt;
    }
    return with_command_last(std::move(columns));
  }
  return std::nullopt;
}

struct ProcessEntry {
  std::optional<std::int64_t> pid, parent, tid;
  std::int64_t threads = 0;
  double busy = 0;  // per cent of a processor
  std::string_view user, state, wait, name, command;
  std::size_t indent = 0;  // of the command in the forest
};

bool weekday(std::string_view word) {
  static constexpr std::array<std::string_view, 7> kDays{"Mon", "Tue", "Wed", "Thu",
                                                         "Fri", "Sat", "Sun"};
  return contains(kDays, word);
}
bool month(std::string_view word) {
  static constexpr std::array<std::string_view, 12> kMonths{
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return contains(kMonths, word);
}

std::optional<std::int64_t> whole_number(std::string_view word) {
  const auto value = take_number(word);
  return value && word.empty() ? value : std::nullopt;
}

bool state_letters(std::string_view word) {
  return !word.empty() && word.size() <= 8 && contains(std::string_view("DRSTtZXIWKP"), word[0]) &&
         word.find_first_not_of("DRSTtZXIWKP<NLsl+VBE", 0) == std::string_view::npos;
}

std::optional<ProcessEntry> process_entry(std::string_view text,
                                          const std::vector<ProcessColumn>& columns) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  ProcessEntry entry;
  ProcessCursor cursor(text);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ProcessColumn& column = columns[i];
    if (i + 1 == columns.size()) {
      std::string_view rest = cursor.rest();
      if (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
      // "|   \_ python3": the glyphs stand for levels.
      std::size_t glyphs = 0;
      while (glyphs < rest.size() && (rest[glyphs] == ' ' || rest[glyphs] == '|')) ++glyphs;
      if (rest.substr(glyphs, 3) == "\\_ ") glyphs += 3;
      entry.indent = glyphs;
      (column.field == ProcessField::name ? entry.name : entry.command) = trim(rest.substr(glyphs));
      break;
    }
    // A thread's name may hold blanks: its column is as wide as the headings say, when the next one
    // begins there.
    if (column.field == ProcessField::name) {
      while (cursor.at() < text.size() && text[cursor.at()] == ' ') cursor.skip(cursor.at() + 1);
      const std::size_t begin = cursor.at();
      const std::size_t end = begin + (columns[i + 1].begin - column.begin);
      if (i + 2 == columns.size() && end < text.size() && text[end - 1] == ' ' &&
          text[end] != ' ') {
        entry.name = trim(text.substr(begin, end - begin));
        cursor.skip(end - 1);
      } else {
        entry.name = cursor.word();
      }
      continue;
    }
    const std::string_view word = cursor.word();
    if (word.empty()) return std::nullopt;
    switch (column.field) {
      case ProcessField::pid:
        entry.pid = whole_number(word);
        if (!entry.pid) return std::nullopt;
        break;
      case ProcessField::parent:
        entry.parent = whole_number(word);
        if (!entry.parent) return std::nullopt;
        break;
      case ProcessField::tid:
        if (word == "-") break;  // -m: the line of the process
        entry.tid = whole_number(word);
        if (!entry.tid) return std::nullopt;
        break;
      case ProcessField::busy:
        std::from_chars(word.data(), word.data() + word.size(), entry.busy);
        break;
      case ProcessField::user: entry.user = word; break;
      case ProcessField::threads: entry.threads = whole_number(word).value_or(0); break;
      case ProcessField::state:
        if (!state_letters(word)) return std::nullopt;
        entry.state = word;
        break;
      case ProcessField::wait:
        entry.wait = word == "-" || word == "0" || word == "*" ? std::string_view{} : word;
        break;
      case ProcessField::clock:
        if (weekday(word))
          for (int n = 0; n < 4; ++n) cursor.word();  // Sat Nov 21 03:34:37 2026
        else if (month(word) && whole_number(cursor.next()))
          cursor.word();  // Nov 21
        break;
      default: break;
    }
  }
  return entry.pid ? std::optional(entry) : std::nullopt;
}

// "RANK=21": what somebody printed of the environment behind the command.
std::optional<Rank> rank_in(std::string_view command) {
  constexpr std::string_view kName = " RANK=";
  const std::size_t at = command.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view digits = command.substr(at + kName.size());
  const auto value = take_number(digits);
  return value ? std::optional(Rank(*value)) : std::nullopt;
}

std::string_view base_name(std::string_view path) {
  path.remove_prefix(std::min(path.rfind('/') + 1, path.size()));
  return path.substr(0, 64);
}

// "python3 -u /opt/prep/tokenize.py --shard 0", "python -m prep.tokenize": what the interpreter
// runs; empty: no interpreter, or code of the command line.
std::string_view script_of(std::string_view command) {
  ProcessCursor words(command);
  const std::string_view program = base_name(words.word());
  if (!program.starts_with("python") && program != "perl" && program != "bash" && program != "sh")
    return {};
  for (std::string_view word = words.word(); !word.empty(); word = words.word()) {
    if (word == "-m") return words.word().substr(0, 64);
    if (word == "-c") return {};
    if (word[0] != '-') return base_name(word);
  }
  return {};
}

class ProcessListAssembler final : public Assembler {
 public:
  explicit ProcessListAssembler(std::vector<ProcessColumn> columns)
      : columns_(std::move(columns)) {}

  std::uint64_t most_lines() const override { return 4'000'000; }

  Step feed(const TextLine& line, Reading& reading) override {
    const std::string_view text = line.line.message;
    if (trim(text).empty()) return Step::watching;
    if (columns_of(text) || columns_asked_for(line.raw)) return Step::not_mine;  // the next list
    auto entry = process_entry(text, columns_);
    std::optional<Host> host = line.line.prefix.host;
    // "gx-04: 18083 ...": pdsh's word on whose line it is; numbers and times behind it look like
    // the head of a logger's line.
    if (const std::size_t colon = line.raw.find(": "); !entry && colon != std::string_view::npos) {
      entry = process_entry(line.raw.substr(colon + 2), columns_);
      host = Host(line.raw.substr(0, colon));
    }
    if (!entry)
      return reading.text_kind == kProcessKind && ++foreign_ <= kForeignProcessLines
                 ? Step::watching
                 : Step::not_mine;
    foreign_ = 0;
    add(line, *entry, host);
    return Step::took;
  }

  void finish(Reading& reading) override {
    for (const ProcessRow& row : rows_) reading.sink.put(row);
    for (const auto& [host, busy] : busy_)
      reading.sink.put(ConfigRow{busy.first, "cpu.program",
                                 fmt::format("{}", fmt::join(busy.second, " ")),
                                 host.empty() ? reading.host_of({}) : std::optional(host)});
    for (const auto& [key, use] : uses_) {
      if (use.percent < kManyCores || (use.script && !left_behind(key.first, use))) continue;
      line::Line said;
      if (!key.first.empty()) said.prefix.host = key.first;
      said.message = fmt::format("busy program {} takes {:.1f} cores in {} processes", key.second,
                                 use.percent / 100, use.processes);
      put_said(use.first, said, {}, reading);
    }
    rows_.clear();
    busy_.clear();
    uses_.clear();
  }

 private:
  void add(const TextLine& line, const ProcessEntry& entry, const std::optional<Host>& host) {
    note_busy(line, entry, host.value_or(Host()));
    const auto [it, fresh] = index_.try_emplace({host.value_or(Host()), *entry.pid}, rows_.size());
    if (fresh) {
      if (rows_.size() >= kProcesses) {
        index_.erase(it);
        return;
      }
      ProcessRow row = process_row(line, "ps");
      row.pid = *entry.pid;
      row.host = host;
      row.parent = entry.parent;
      if (!row.parent) {
        while (!above_.empty() && above_.back().first >= entry.indent) above_.pop_back();
        if (!above_.empty()) row.parent = above_.back().second;
        above_.push_back({entry.indent, row.pid});
      }
      rows_.push_back(std::move(row));
    }
    ProcessRow& row = rows_[it->second];
    const bool main = !entry.tid || entry.tid == entry.pid;
    const bool sleeps = !entry.state.empty() && entry.state[0] == 'D';
    const bool slept = !row.state.empty() && row.state[0] == 'D';
    if (fresh || (main && !slept) || (sleeps && !slept)) {
      row.state = std::string(entry.state);
      row.wait = std::string(entry.wait);
      row.place = line.place;
    }
    if (fresh || main) {
      row.name = std::string(entry.name.substr(0, 200));
      row.command = std::string(entry.command.substr(0, kProcessCommandBytes));
      row.rank = rank_in(entry.command);
    }
    row.threads = std::max(entry.threads, entry.tid ? row.threads + 1 : entry.threads);
    if (entry.threads > 0) row.threads = entry.threads;
  }

  // Programs that fill half of a processor or more.
  void note_busy(const TextLine& line, const ProcessEntry& entry, const Host& host) {
    constexpr double kBusy = 50;
    constexpr std::size_t kMostPrograms = 16;
    if (entry.busy < kBusy) return;
    const std::string_view script = script_of(entry.command);
    std::string_view program = entry.name.empty() ? entry.command : entry.name;
    program = script.empty() ? base_name(program.substr(0, program.find(' '))) : script;
    if (program.empty()) return;
    Use& use = uses_[{host, std::string(program)}];
    if (++use.processes == 1) {
      use.first = line.place;
      use.user = entry.user;
    }
    use.percent += entry.busy;
    use.script = !script.empty();
    if (entry.parent == 1) ++use.orphans;
    auto& [first, programs] = busy_[host];
    if (programs.empty()) first = line.place;
    if (programs.size() < kMostPrograms) programs.emplace(program);
  }

  static constexpr double kManyCores = 400;  // percent: who takes these takes them from others
  struct Use {
    Place first;
    double percent = 0;
    std::size_t processes = 0, orphans = 0;
    bool script = false;  // an interpreter runs it, as it does the trainers
    std::string user;     // of the first
  };

  // Whoever started them is gone, and another user's, which have a parent, are at work on the
  // machine. In a container trainers are orphans, too.
  bool left_behind(const Host& host, const Use& use) const {
    return use.orphans == use.processes && !use.user.empty() &&
           std::ranges::any_of(uses_, [&](const auto& other) {
             return other.first.first == host && other.second.script &&
                    other.second.user != use.user && !other.second.user.empty() &&
                    other.second.orphans < other.second.processes;
           });
  }

  std::vector<ProcessColumn> columns_;
  std::vector<ProcessRow> rows_;
  std::map<Host, std::pair<Place, std::set<std::string>>> busy_;
  std::map<std::pair<Host, std::string>, Use> uses_;  // of the processors, by program
  std::map<std::pair<Host, std::int64_t>, std::size_t> index_;
  std::vector<std::pair<std::size_t, std::int64_t>> above_;  // indent, pid
  int foreign_ = 0;
};

// The columns that a command asked for, of a list without a heading.
struct AskedColumns final : Kept {
  std::vector<ProcessColumn> columns;
};

Outcome read_process_list(const TextLine& line, Reading& reading) {
  Outcome outcome;
  auto columns = columns_of(line.line.message);
  if (!columns && (columns = columns_asked_for(line.raw)))
    reading.keep<AskedColumns>().columns = *columns;
  if (columns) {
    outcome.assembler = std::make_unique<ProcessListAssembler>(std::move(*columns));
  } else if (reading.text_kind == kProcessKind) {
    // pdsh's lines are a stream for each machine, and the command's is another.
    const auto& asked = reading.keep<AskedColumns>().columns;
    if (asked.empty()) return outcome;
    auto list = std::make_unique<ProcessListAssembler>(asked);
    if (list->feed(line, reading) == Assembler::Step::took) outcome.assembler = std::move(list);
  }
  return outcome;
}

// In a heading the last column is the command: another follows this one. Shorter words would slow
// the search for everybody's.
constexpr std::string_view kProcessListWords[] = {
    "  PID ",   "  PID\t",   "pid,ppid",  "pid,stat",   "pid,user", "pid,comm", "pid,args",
    "pid,pcpu", "pid,wchan", "pid,etime", "pid,lstart", "pid,rss,", "pid,tid,", "user,pid"};

}  // namespace

// Declared in engine/kinds.cpp.
bool lists_processes(std::string_view first_line) {
  return columns_asked_for(first_line).has_value();
}

extern constinit const Recogniser kProcessList{
    "ps", "ps with any columns: processes, their states and parents, threads folded",
    kProcessListWords, read_process_list, kProcessKind};

}  // namespace culprit::ingest
