// gdb's `thread apply all bt`, pstack and gstack, cuda-gdb's table of kernels, and py-bt between
// them.
//
// The main thread is printed last and tells the process, so the threads of a dump wait for it.
#include <algorithm>
#include <set>
#include <vector>

#include "ingest/stacks/pyspy.hpp"
#include "ingest/stacks/stack_text.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr int kGdbForeignLines = 16;
constexpr std::size_t kThreads = 8'192;
constexpr std::size_t kJoinedBytes = 64 * 1024;
constexpr std::string_view kPython = "Traceback (most recent call first):";
constexpr std::string_view kNoPython = "Unable to locate python frame";

struct GdbThreadHead {
  std::int64_t number = 0;
  std::optional<std::int64_t> tid;
  bool process = false;  // "(process 31446)": the id is the process's
  std::string id, name;
};

// Thread 15 (Thread 0x7fa4dcff96c0 (LWP 8736) "python3"): · Thread 3 (LWP 1234): · Thread 1
// (process 1234):
std::optional<GdbThreadHead> gdb_thread_head(std::string_view text) {
  GdbThreadHead head;
  if (!take(text, "Thread ")) return std::nullopt;
  const auto number = take_number(text);
  if (!number) return std::nullopt;
  head.number = *number;
  if (take(text, ".")) {  // inferior.thread
    const auto inner = take_number(text);
    if (!inner) return std::nullopt;
    head.number = *inner;
  }
  if (!take(text, " (") || text.size() > 400 || !trim(text).ends_with("):")) return std::nullopt;
  if (text.substr(0, 9) == "Thread 0x") {
    const std::size_t end = std::min(text.find_first_of(" )", 7), text.size());
    head.id = std::string(text.substr(7, end - 7));
  }
  for (const std::string_view word : {std::string_view("LWP "), std::string_view("process ")}) {
    const std::size_t at = text.find(word);
    if (at == std::string_view::npos) continue;
    std::string_view rest = text.substr(at + word.size());
    head.tid = take_number(rest);
    head.process = word == "process ";
    break;
  }
  if (head.id.empty() && !head.tid) return std::nullopt;
  if (const std::size_t quote = text.find('"'); quote != std::string_view::npos) {
    const std::size_t end = text.rfind('"');
    if (end > quote) head.name = std::string(text.substr(quote + 1, end - quote - 1));
  }
  return head;
}

// "#12 0x00007f in f (x=1) at a.c:3": the text after the number, or nothing.
bool frame_line(std::string_view text, std::string_view& rest) {
  if (text.empty() || text[0] != '#') return false;
  text.remove_prefix(1);
  const std::size_t before = text.size();
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') text.remove_prefix(1);
  if (text.size() == before || text.empty() || text[0] != ' ') return false;
  rest = trim(text);
  return !rest.empty();
}

// " at ./nptl/futex-internal.c:57" or " from /lib/libc.so.6" at the end, taken away.
void take_source(std::string_view& text, Frame& frame) {
  if (const std::size_t at = text.rfind(" at "); at != std::string_view::npos) {
    const std::string_view path = text.substr(at + 4);
    const std::size_t colon = path.rfind(':');
    if (colon != std::string_view::npos && !contains(path, ')')) {
      std::string_view number = path.substr(colon + 1);
      const auto line = take_number(number);
      if (line && number.empty()) {
        frame.file = std::string(path.substr(0, colon));
        frame.line = *line;
        text = trim(text.substr(0, at));
        return;
      }
    }
  }
  if (const std::size_t at = text.rfind(" from "); at != std::string_view::npos) {
    const std::string_view path = text.substr(at + 6);
    if (path.find_first_of(")\"'") == std::string_view::npos && !path.empty()) {
      frame.module = std::string(path);
      text = trim(text.substr(0, at));
    }
  }
}

// The name before the last balanced "(...)". Where a value holds a bracket of its own that does not
// close, the name ends at the first bracket outside of <> and () that a blank precedes.
std::string_view without_arguments(std::string_view text) {
  if (!text.empty() && text.back() == ')') {
    int depth = 0;
    for (std::size_t i = text.size(); i-- > 0;) {
      if (text[i] == ')')
        ++depth;
      else if (text[i] == '(' && --depth == 0) {
        const std::string_view name = trim(text.substr(0, i));
        if (i > 0 && text[i - 1] == ' ' && name.find_first_of("\"=") == std::string_view::npos)
          return name;
        if (i > 0 && text[i - 1] == ' ' && contains(name, "operator") && !contains(name, '"') &&
            !contains(name, " ("))
          return name;
        break;
      }
    }
  }
  int round = 0;
  int angle = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<')
      ++angle;
    else if (c == '>' && angle > 0 && (i == 0 || text[i - 1] != '-'))
      --angle;
    else if (c == '(' && i > 0 && text[i - 1] == ' ' && round == 0 && angle == 0)
      return trim(text.substr(0, i));
    else if (c == '(')
      ++round;
    else if (c == ')' && round > 0)
      --round;
  }
  const std::size_t open = text.find(" (");
  return trim(text.substr(0, open));
}

std::string plain_name(std::string_view name) {
  if (const std::size_t launch = name.find("<<<"); launch != std::string_view::npos && launch > 0)
    name = trim(name.substr(0, launch));  // kernel<<<(24,1,1),(640,1,1)>>>
  if (const std::size_t at = name.rfind('@');
      at != std::string_view::npos && at > 0 &&
      name.find_first_of(" (<", at) == std::string_view::npos) {
    name = name.substr(0, at);  // @plt, @@GLIBC_2.34
    if (name.back() == '@') name.remove_suffix(1);
  }
  return name.empty() || name == "??" ? "?" : std::string(name);
}

Frame native_frame(std::string_view text) {
  Frame frame;
  frame.native = true;
  if (text.substr(0, 2) == "0x") {
    const std::size_t end = text.find_first_not_of("0123456789abcdefABCDEF", 2);
    text = end == std::string_view::npos ? std::string_view{} : trim(text.substr(end));
    take(text, "in ");
  }
  if (text.substr(0, 1) == "<" && contains(text, '>') && contains(text, " called>")) {
    frame.function = std::string(text.substr(0, text.find('>') + 1));  // <signal handler called>
    return frame;
  }
  take_source(text, frame);
  frame.function = plain_name(without_arguments(text));
  return frame;
}

// Nothing of the frame can follow on another line, except " at ..." and " from ...".
bool arguments_closed(std::string_view text) {
  int depth = 0;
  bool any = false;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '(') {
      ++depth;
      any = true;
    } else if (c == ')') {
      --depth;
    }
  }
  return any && depth <= 0 && !quoted;
}

bool pager(std::string_view text) {
  return contains(text, "Type <return> to continue") || contains(text, "Type <RET> for more");
}

// "[Inferior 1 (process 31446) detached]", "Attaching to process 31446", "[Detaching after fork
// from child process 7]" not
std::optional<std::int64_t> inferior(std::string_view text) {
  for (const std::string_view word :
       {std::string_view("[Inferior "), std::string_view("Attaching to "),
        std::string_view("Detaching from program")}) {
    if (text.substr(0, word.size()) != word) continue;
    const std::size_t at = text.rfind("process ");
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view rest = text.substr(at + 8);
    return take_number(rest);
  }
  return std::nullopt;
}

// Why a debugger saw nothing.
bool refusal(std::string_view text) {
  for (const std::string_view start :
       {"ptrace: ", "Could not attach to process", "Unable to attach to program",
        "gdb: ", "warning: process ", "pstack: ", "gstack: ", "error: attach failed"})
    if (text.substr(0, std::string_view(start).size()) == start) return true;
  // pid 4711 is no longer there
  return text.substr(0, 8) == "Process " &&
         (text.ends_with(" not found.") || text.ends_with(" does not exist"));
}

bool kernel_table(std::string_view text) {
  return contains(text, "Kernel Parent Dev Grid") && contains(text, "Invocation");
}

class GdbAssembler final : public Assembler {
 public:
  GdbAssembler(const TextLine& head, Reading& reading, std::optional<std::int64_t> pid)
      : pid_(pid) {
    feed(head, reading);
  }

  std::uint64_t most_lines() const override { return 2'000'000; }

  Step feed(const TextLine& line, Reading& reading) override {
    const std::string_view text = line.line.message;
    const int took = take_line(line, text, reading);
    if (took == kEnd) return Step::finished;
    if (took == kTook) {
      foreign_ = 0;
      return Step::took;
    }
    close_frame();
    in_python_ = false;
    in_table_ = false;
    return ++foreign_ <= kGdbForeignLines ? Step::watching : Step::not_mine;
  }

  void finish(Reading& reading) override { flush(reading); }

 private:
  static constexpr int kTook = 0, kForeign = 1, kEnd = 2;

  // A head comes before the stack of each thread. Those of one process come up or down by number.
  void begin_thread(GdbThreadHead head, const TextLine& line, Reading& reading) {
    if (main_seen_ && !ascending_)
      flush(reading);
    else if (!numbers_.insert(head.number).second || rows_.size() >= kThreads)
      flush(reading);
    if (numbers_.empty() || rows_.empty()) ascending_ = head.number == 1;
    numbers_.insert(head.number);
    StackRow row = stack_row(line, "gdb", reading);
    row.tid = head.process ? std::nullopt : head.tid;
    row.thread_id = std::move(head.id);
    row.thread = std::move(head.name);
    row.main = head.number == 1;
    if (row.main) {
      main_seen_ = true;
      main_tid_ = head.tid;
    }
    rows_.push_back(std::move(row));
  }

  int begin_frame(const TextLine& line, std::string_view text, std::string_view rest,
                  Reading& reading) {
    const bool innermost = text.substr(0, 3) == "#0 ";
    if (rows_.empty() || (innermost && !rows_.back().frames.empty() &&
                          rows_.back().source == "gdb")) {  // a process with one thread has no head
      flush(reading);
      StackRow row = stack_row(line, "gdb", reading);
      row.main = innermost;
      rows_.push_back(std::move(row));
    }
    if (rows_.back().source == "gdb-py") return kForeign;
    joined_ = std::string(rest.substr(0, kJoinedBytes));
    frame_open_ = true;
    if (rows_.back().frames.empty()) rows_.back().place = line.place;
    reach(rows_.back().place, line.place);
    return kTook;
  }

  int take_line(const TextLine& line, std::string_view text, Reading& reading) {
    const std::string_view body = trim(text);
    if (auto head = gdb_thread_head(text)) {
      close_frame();
      in_python_ = in_table_ = false;
      begin_thread(std::move(*head), line, reading);
      return kTook;
    }
    std::string_view rest;
    if (frame_line(text, rest)) {
      close_frame();
      in_python_ = in_table_ = false;
      return begin_frame(line, text, rest, reading);
    }
    if (body.empty()) {
      close_frame();
      in_python_ = false;
      return rows_.empty() ? kForeign : kTook;
    }
    if (text.substr(0, kPython.size()) == kPython || text == kNoPython) {
      close_frame();
      begin_python(line, reading);
      if (text == kNoPython)
        rows_.back().problem = std::string(kNoPython);
      else
        in_python_ = true;
      reach(rows_.back().place, line.place);
      return kTook;
    }
    if (in_python_ && take_python(line, text, body)) return kTook;
    if (kernel_table(text)) {
      close_frame();
      in_table_ = true;
      return kTook;
    }
    if (in_table_ && take_kernel(line, body, reading)) return kTook;
    const bool indented = text[0] == ' ' || text[0] == '\t';
    if (indented && frame_open_ && take_continuation(line, body, text, reading)) return kTook;
    if (pager(text)) return kTook;
    if (text.substr(0, 18) == "Backtrace stopped:") {
      close_frame();
      return kTook;
    }
    if (text == "No locals.") return kTook;
    if (const auto pid = inferior(text)) {
      close_frame();
      pid_ = pid;
      return text[0] == '[' ? kEnd : kTook;
    }
    return kForeign;
  }

  void begin_python(const TextLine& line, Reading& reading) {
    if (rows_.size() >= kThreads) flush(reading);
    if (rows_.empty()) {  // py-bt alone: gdb stands in the thread it stopped
      StackRow row = stack_row(line, "gdb-py", reading);
      row.main = true;
      rows_.push_back(std::move(row));
      return;
    }
    StackRow& last = rows_.back();
    if (last.source == "gdb" && last.frames.empty()) {
      last.source = "gdb-py";
      return;
    }
    StackRow row =
        stack_row(line, "gdb-py", reading);  // after the machine's frames of the same thread
    row.tid = last.tid;
    row.thread_id = last.thread_id;
    row.thread = last.thread;
    row.main = last.main;
    rows_.push_back(std::move(row));
  }

  bool take_python(const TextLine& line, std::string_view text, std::string_view body) {
    StackRow& row = rows_.back();
    Frame frame;
    if (std::string_view rest = body; take(rest, "File \"")) {
      const std::size_t quote = rest.find("\", line ");
      if (quote == std::string_view::npos) return false;
      frame.file = std::string(rest.substr(0, quote));
      rest = rest.substr(quote + 8);
      if (!take(rest, "?")) frame.line = take_number(rest).value_or(0);
      if (!take(rest, ", in ")) return false;
      frame.function = std::string(trim(rest));
    } else if (body.front() == '<' &&
               body.back() == '>') {  // <built-in method open of module object at remote 0x7f>
      rest = body.substr(1, body.size() - 2);
      if (!take(rest, "built-in method ")) return text[0] == ' ';
      frame.function = std::string(rest.substr(0, rest.find(' ')));
      frame.native = true;
    } else if (text[0] == ' ') {
      return true;  // source text, "(failed to get frame line number)", "Waiting for the GIL"
    } else {
      return false;
    }
    if (frame.function.empty()) frame.function = "?";
    add_frame(row, std::move(frame));
    if (row.frames.size() == 1) row.place = line.place;
    reach(row.place, line.place);
    return true;
  }

  //   Kernel Parent Dev Grid Status   SMs Mask     GridDim  BlockDim Invocation
  // *      0      -   0   13 Active 0x00ffffff (24,1,1) (640,1,1)
  // ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args=...)
  bool take_kernel(const TextLine& line, std::string_view body, Reading& reading) {
    const bool focused = take(body, "*");
    body = trim(body);
    if (!take_number(body)) return false;
    const std::size_t tuple = body.find(") (");
    const std::size_t end = tuple == std::string_view::npos ? tuple : body.find(')', tuple + 2);
    if (end == std::string_view::npos) return false;
    std::string_view name = trim(body.substr(end + 1));
    if (name.empty()) return true;  // wrapped: nothing to say about it
    int angle = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
      if (name[i] == '<')
        ++angle;
      else if (name[i] == '>')
        --angle;
      else if (name[i] == '(' && angle <= 0) {
        name = trim(name.substr(0, i));
        break;
      }
    }
    StackRow row = stack_row(line, "cuda-gdb", reading);
    row.thread = "cuda kernel";
    if (const std::size_t active = body.find("Active");
        active != std::string_view::npos && active < tuple)
      row.state = "active";
    else if (body.find("Sleeping") < tuple)
      row.state = "sleeping";
    Frame frame;
    frame.native = true;
    frame.function = plain_name(name);
    row.frames.push_back(std::move(frame));
    if (focused) row.state += row.state.empty() ? "focus" : " focus";
    if (kernels_.size() < kThreads) kernels_.push_back(std::move(row));
    return true;
  }

  bool take_continuation(const TextLine& line, std::string_view body, std::string_view text,
                         const Reading& reading) {
    const bool closed = arguments_closed(joined_);
    const bool source = body.substr(0, 5) == "from " || body.substr(0, 3) == "at " ||
                        joined_.ends_with(" at") || joined_.ends_with(" from");
    if (closed && !source) {
      // The variables of `bt full`: known to be no frame, told as such by their depth.
      return reading.text_kind == "stack" || text.substr(0, 8) == "        ";
    }
    if (joined_.size() + body.size() < kJoinedBytes) joined_ += " " + std::string(body);
    reach(rows_.back().place, line.place);
    return true;
  }

  void close_frame() {
    if (!frame_open_) return;
    frame_open_ = false;
    add_frame(rows_.back(), native_frame(joined_));
    joined_.clear();
  }

  void flush(Reading& reading) {
    close_frame();
    const bool of_a_dump = reading.text_kind == "stack";
    const auto pid = pid_        ? pid_
                     : main_tid_ ? main_tid_
                     : of_a_dump ? pid_in_path(reading.path)
                                 : std::nullopt;
    for (StackRow& row : rows_) {
      if (row.frames.empty() && row.problem.empty()) row.problem = "no frames";
      if (pid) row.pid = pid;
      if (!row.tid && row.main) row.tid = row.pid;
      reading.sink.put(row);
    }
    for (StackRow& row : kernels_) {
      if (pid) row.pid = pid;
      reading.sink.put(row);
    }
    rows_.clear();
    kernels_.clear();
    numbers_.clear();
    main_seen_ = false;
    main_tid_.reset();
    pid_.reset();
  }

  std::vector<StackRow> rows_, kernels_;
  std::set<std::int64_t> numbers_;
  std::optional<std::int64_t> pid_, main_tid_;
  std::string joined_;
  bool frame_open_ = false;
  bool in_python_ = false;
  bool in_table_ = false;
  bool main_seen_ = false;
  bool ascending_ = false;
  int foreign_ = 0;
};

Outcome read_gdb(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  const bool dump = reading.text_kind == "stack";
  std::string_view rest;
  if (dump && refusal(text)) {
    StackRow row = stack_row(line, "gdb", reading);
    row.problem = std::string(text.substr(0, 400));
    row.pid = pid_in_path(reading.path);
    if (const std::size_t at = text.find("process "); !row.pid && at != std::string_view::npos) {
      std::string_view number = text.substr(at + 8);
      row.pid = take_number(number);
    }
    reading.sink.put(row);
    Outcome outcome;
    outcome.used = true;
    return outcome;
  }
  const auto attached = dump && text.substr(0, 9) == "Attaching" ? inferior(text) : std::nullopt;
  // eu-stack's frames look the same and stand under a TID.
  const bool headless =
      dump && frame_line(text, rest) && (contains(rest, '(') || contains(rest, " in "));
  if (!gdb_thread_head(text) && !attached && !headless && !kernel_table(text) &&
      text.substr(0, kPython.size()) != kPython)
    return {};
  Outcome outcome;
  outcome.assembler = std::make_unique<GdbAssembler>(line, reading, attached);
  return outcome;
}

// Each digit for itself: the five letters that they share would slow the search for everybody's
// words.
constexpr std::string_view kGdbWords[] = {"(LWP 1",
                                          "(LWP 2",
                                          "(LWP 3",
                                          "(LWP 4",
                                          "(LWP 5",
                                          "(LWP 6",
                                          "(LWP 7",
                                          "(LWP 8",
                                          "(LWP 9",
                                          "Kernel Parent Dev Grid",
                                          "Traceback (most recent call first)"};

}  // namespace

extern constinit const Recogniser kGdb{
    "gdb", "gdb thread apply all bt, pstack, gstack, py-bt, cuda-gdb's kernels", kGdbWords,
    read_gdb, "stack"};

}  // namespace culprit::ingest
