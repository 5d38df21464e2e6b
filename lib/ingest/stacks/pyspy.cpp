// py-spy dump. Concatenated dumps, children (--subprocesses), native frames and local variables; an
// error that stands in place of a dump is kept as the reason why there is none.
#include "ingest/stacks/pyspy.hpp"

#include <algorithm>

#include "ingest/engine/events.hpp"
#include "ingest/stacks/dump_heading.hpp"
#include "ingest/stacks/stack_text.hpp"

namespace culprit::ingest {

namespace {

constexpr int kPyspyForeignLines = 3;
constexpr int kForeignLinesAmongLocals = 64;  // a repr may hold line ends
constexpr std::size_t kPyspyCommandBytes = 4'096;

constexpr std::string_view kCollecting = "<garbage collection>";

struct PyspyThreadHead {
  std::optional<std::int64_t> tid;
  std::string id, state, name;
  bool collecting = false;  // garbage
};

// Thread 31446 (idle): "MainThread" · Thread 0x7F6D3C29D740 (active+gil)
std::optional<PyspyThreadHead> pyspy_thread_head(std::string_view text) {
  PyspyThreadHead head;
  if (!take(text, "Thread ")) return std::nullopt;
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || space == 0 || space > 20) return std::nullopt;
  std::string_view id = text.substr(0, space);
  text.remove_prefix(space);
  if (id.substr(0, 2) == "0x") {
    if (id.size() < 3 ||
        id.substr(2).find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
      return std::nullopt;
    head.id = std::string(id);
  } else {
    head.tid = take_number(id);
    if (!head.tid || !id.empty()) return std::nullopt;
  }
  if (!take(text, " (")) return std::nullopt;
  const std::size_t close = text.find(')');
  if (close == std::string_view::npos) return std::nullopt;
  const std::string_view state = text.substr(0, close);
  if (state.substr(0, 4) != "idle" && state.substr(0, 6) != "active" && state != "running")
    return std::nullopt;
  if (state.find_first_not_of("abcdefghijklmnopqrstuvwxyz+, ") != std::string_view::npos ||
      state.size() > 24)
    return std::nullopt;
  head.state = std::string(state);
  head.collecting = state.ends_with("+gc");
  text.remove_prefix(close + 1);
  if (take(text, ": \"")) {
    if (text.ends_with(kCollecting)) {
      head.collecting = true;
      text = trim(text.substr(0, text.size() - kCollecting.size()));
    }
    if (!text.empty() && text.back() == '"') text.remove_suffix(1);
    head.name = std::string(text.substr(0, 200));
  } else if (!trim(text).empty()) {
    return std::nullopt;
  }
  return head;
}

struct ProcessHead {
  std::int64_t pid = 0;
  std::string command;
};

std::optional<ProcessHead> process_head(std::string_view text) {
  ProcessHead head;
  if (!take(text, "Process ")) return std::nullopt;
  const auto pid = take_number(text);
  if (!pid || !take(text, ":")) return std::nullopt;
  head.pid = *pid;
  head.command = std::string(trim(text).substr(0, kPyspyCommandBytes));
  return head;
}

bool python_version(std::string_view text) {
  return take(text, "Python v") && take_number(text).has_value();
}

class PyspyAssembler final : public Assembler {
 public:
  std::uint64_t most_lines() const override { return 4'000'000; }

  Step feed(const TextLine& line, Reading& reading) override {
    const std::string_view text = line.line.message;
    if (take_line(line, text, reading)) {
      foreign_ = 0;
      return Step::took;
    }
    if (!locals_) flush(reading);
    return ++foreign_ <= (locals_ ? kForeignLinesAmongLocals : kPyspyForeignLines) ? Step::watching
                                                                                   : Step::not_mine;
  }

  void finish(Reading& reading) override { flush(reading); }

 private:
  bool take_line(const TextLine& line, std::string_view text, Reading& reading) {
    const std::string_view body = trim(text);
    if (body.empty()) {
      if (open_ && !row_.problem.empty()) flush(reading);
      return true;
    }
    const std::size_t indent = text.find_first_not_of(" \t");
    if (indent >= 8 && open_ && (locals_ || body == "Arguments:" || body == "Locals:")) {
      locals_ = true;
      return true;
    }
    if (indent > 0) {
      if (!open_) return false;
      if (!row_.problem.empty()) {
        row_.problem += ' ' + std::string(body.substr(0, 200));
        return true;
      }
      if (body == kCollecting) return collecting_ = true;
      std::optional<Frame> frame = pyspy_frame(body);
      if (!frame) return false;
      add_frame(row_, std::move(*frame));
      if (row_.frames.size() == 1) row_.place = line.place;  // what it is in proves, not its head
      reach(row_.place, line.place);
      return true;
    }
    if (auto head = pyspy_thread_head(text)) {
      flush(reading);
      begin(line, std::move(*head), reading);
      return true;
    }
    if (auto head = process_head(text)) {
      flush(reading);
      pid_ = head->pid;
      command_ = std::move(head->command);
      process_ = process_row(line, "stack");
      DumpHeading& heading = reading.keep<DumpHeading>();
      heading.begin_process();
      process_.rank = heading.rank;
      process_.local_rank = heading.local_rank;
      process_.pid = *pid_;
      process_.command = command_;
      have_process_ = true;
      return true;
    }
    if (std::string_view rest = text; take(rest, "Parent ")) {
      const auto parent = process_head(rest);
      if (!parent || !have_process_) return false;
      process_.parent = parent->pid;
      reach(process_.place, line.place);
      return true;
    }
    if (python_version(text) && pid_) return true;
    if (text.substr(0, 7) == "Error: " && reading.text_kind == "stack") {
      flush(reading);
      row_ = stack_row(line, "pyspy", reading);
      row_.problem = std::string(trim(text.substr(7)).substr(0, 400));
      row_.pid = pid_in_path(reading.path);  // the process named above, if any, has been dumped
      open_ = true;
      return true;
    }
    if (open_ && !row_.problem.empty() && row_.frames.empty() && text.substr(0, 8) == "Reason: ") {
      row_.problem += ": " + std::string(trim(text.substr(8)).substr(0, 200));
      reach(row_.place, line.place);
      return true;
    }
    if (body.size() >= 8 && body.find_first_not_of('-') ==
                                std::string_view::npos) {  // the rule between parent and child
      flush(reading);
      return true;
    }
    return false;
  }

  void begin(const TextLine& line, PyspyThreadHead head, Reading& reading) {
    if (head.name == "MainThread" && main_seen_)
      pid_.reset();  // another process, whose head is missing
    if (head.name == "MainThread" && !pid_) reading.keep<DumpHeading>().begin_process();
    if (head.name == "MainThread") main_seen_ = true;
    row_ = stack_row(line, "pyspy", reading);
    if (pid_)
      row_.pid = pid_;
    else if (const auto pid = pid_in_path(reading.path); pid && reading.text_kind == "stack")
      row_.pid = pid;
    if (!row_.pid && head.name == "MainThread" && head.tid) row_.pid = pid_ = head.tid;
    row_.tid = head.tid;
    row_.thread_id = std::move(head.id);
    row_.thread = std::move(head.name);
    row_.state = std::move(head.state);
    collecting_ = head.collecting;
    row_.command = command_;
    open_ = true;
    locals_ = false;
  }

  void flush(Reading& reading) {
    if (have_process_) {
      reading.sink.put(process_);
      have_process_ = false;
      main_seen_ = false;
    }
    if (!open_) return;
    open_ = false;
    if (row_.frames.empty() && row_.problem.empty()) row_.problem = "no frames";
    row_.main = row_.thread == "MainThread" || (row_.tid && row_.tid == row_.pid) ||
                (row_.thread.empty() && starts_program(row_));
    if (row_.main && collecting_) {
      line::Line said;
      said.message = "garbage collection in the main thread";
      put_said(row_.place, said, {}, reading);
    }
    reading.sink.put(row_);
    row_ = {};
  }

  std::optional<std::int64_t> pid_;
  std::string command_;
  ProcessRow process_;
  bool have_process_ = false;
  StackRow row_;
  bool open_ = false;
  bool main_seen_ = false;
  bool collecting_ = false;  // the thread collects garbage
  bool locals_ = false;
  int foreign_ = 0;
};

Outcome read_pyspy(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  const bool error = text.substr(0, 7) == "Error: " && reading.text_kind == "stack";
  if (!error && !pyspy_thread_head(text) && !(reading.text_kind == "stack" && process_head(text)))
    return {};
  Outcome outcome;
  outcome.assembler = std::make_unique<PyspyAssembler>();
  outcome.assembler->feed(line, reading);
  return outcome;
}

constexpr std::string_view kPyspyWords[] = {"(idle)", "(active)", "(active+", "(idle, gil)"};

}  // namespace

bool python_file(std::string_view file) {
  return file.ends_with(".py") || file.ends_with(".pyw") || (!file.empty() && file.front() == '<');
}

// Parsed from the right, because names of C++ functions hold blanks and brackets.
std::optional<Frame> pyspy_frame(std::string_view text) {
  if (text.empty() || text.back() != ')') return std::nullopt;
  int depth = 0;
  std::size_t open = text.size();
  while (open > 0) {
    --open;
    if (text[open] == ')')
      ++depth;
    else if (text[open] == '(' && --depth == 0)
      break;
  }
  if (depth != 0 || open < 2 || text[open - 1] != ' ') return std::nullopt;
  Frame frame;
  frame.function = std::string(trim(text.substr(0, open - 1)));
  std::string_view file = text.substr(open + 1, text.size() - open - 2);
  if (const std::size_t colon = file.rfind(':'); colon != std::string_view::npos) {
    std::string_view number = file.substr(colon + 1);
    if (const auto line = take_number(number); line && number.empty()) {
      frame.line = *line;
      file = file.substr(0, colon);
    }
  }
  frame.native = !python_file(file) &&
                 (frame.line == 0 || std::ranges::any_of(kNativeSources, [&](std::string_view e) {
                    return file.ends_with(e);
                  }));
  if (file != "?")
    (frame.native && frame.line == 0 ? frame.module : frame.file) = std::string(file);
  if (frame.function.empty() || frame.function == "??") frame.function = "?";
  if (frame.native && frame.function.substr(0, 2) == "0x" &&
      frame.function.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string::npos)
    frame.function = "?";
  return frame;
}

extern constinit const Recogniser kPyspy{
    "py-spy", "py-spy dump: threads of Python processes, with native frames, locals and children",
    kPyspyWords, read_pyspy, "stack"};

}  // namespace culprit::ingest
