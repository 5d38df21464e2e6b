// Python's faulthandler: dump_traceback(), fatal errors, dump_traceback_later(); since 3.14 with a
// C stack. It writes into the ordinary error output, so its lines come with whatever prefix a
// launcher puts before them.
#include "ingest/stacks/stack_text.hpp"

namespace culprit::ingest {

namespace {

constexpr std::string_view kMark = " (most recent call first):";

struct FaulthandlerThreadHead {
  std::string id, name;
  bool current = false;
  bool machine = false;  // "Current thread's C stack trace"
};

// Thread 0x00007fa4dcff96c0 (most recent call first): · Current thread 0x... [name] (most recent
// call first):
std::optional<FaulthandlerThreadHead> faulthandler_thread_head(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  if (!text.ends_with(kMark)) return std::nullopt;
  text.remove_suffix(kMark.size());
  FaulthandlerThreadHead head;
  if (text == "Current thread's C stack trace") {
    head.machine = head.current = true;
    return head;
  }
  if (text == "Stack") {  // of one thread
    head.current = true;
    return head;
  }
  head.current = take(text, "Current thread ");
  if (!head.current && !take(text, "Thread ")) return std::nullopt;
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view id = text.substr(0, end);
  if (id.substr(0, 2) != "0x" || id.size() < 3 || id.size() > 18 ||
      id.find_first_not_of("0123456789abcdefABCDEF", 2) != std::string_view::npos)
    return std::nullopt;
  head.id = std::string(id);
  text = trim(text.substr(end));
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']')
    head.name = std::string(text.substr(1, text.size() - 2));
  else if (!text.empty())
    return std::nullopt;
  return head;
}

// File "/w/data.py", line 27 in refresh
bool python_frame(std::string_view text, Frame& frame) {
  if (!take(text, "File ")) return false;
  if (take(text, "???")) {
    frame.file = "";
  } else {
    if (!take(text, "\"")) return false;
    const std::size_t quote = text.find("\", line ");
    if (quote == std::string_view::npos) return false;
    frame.file = std::string(text.substr(0, quote));
    text.remove_prefix(quote + 1);
  }
  if (!take(text, ", line ")) return false;
  if (!take(text, "???")) {
    const auto line = take_number(text);
    if (!line) return false;
    frame.line = *line;
  }
  if (!take(text, " in ")) return false;  // a traceback has a comma here
  frame.function = std::string(trim(text));
  if (frame.function.empty() || frame.function == "???") frame.function = "?";
  return true;
}

// Binary file "/usr/lib/libc.so.6", at abort+0x27 [0x77b73226bef0]
bool machine_frame(std::string_view text, Frame& frame) {
  if (!take(text, "Binary file \"")) return false;
  const std::size_t quote = text.find('"');
  if (quote == std::string_view::npos) return false;
  frame.native = true;
  frame.module = std::string(text.substr(0, quote));
  text.remove_prefix(quote + 1);
  if (take(text, ", at ")) {
    const std::size_t end = std::min(
        text.rfind('+') == std::string_view::npos ? text.find(' ') : text.rfind('+'), text.size());
    frame.function = std::string(trim(text.substr(0, end)));
  }
  if (frame.function.empty()) frame.function = "?";
  return true;
}

class FaulthandlerAssembler final : public Assembler {
 public:
  std::uint64_t most_lines() const override {
    return 50'000;
  }  // 100 threads of 100 frames at most, says faulthandler

  Step feed(const TextLine& line, Reading& reading) override {
    const std::string_view text = line.line.message;
    const std::string_view body = trim(text);
    if (auto head = faulthandler_thread_head(body)) {
      flush(reading);
      begin(line, *head, reading);
      return Step::took;
    }
    if (body.empty()) return ++blank_ <= 2 ? Step::took : Step::not_mine;
    const int blank = blank_;
    blank_ = 0;
    if (body.substr(0, 19) == "Extension modules: ") {
      flush(reading);
      return Step::finished;
    }
    if (!open_ || blank > 0) return Step::not_mine;  // a blank line ends a thread
    Frame frame;
    if (machine_ ? machine_frame(body, frame) : python_frame(body, frame)) {
      add_frame(row_, std::move(frame));
    } else if (body == "...") {
      cut_ = true;
    } else if (body.front() == '<' && body.back() == '>' &&
               row_.frames.empty()) {  // <no Python frame>, <cannot get C stack on this system>
      row_.problem = std::string(body.substr(1, std::min<std::size_t>(body.size() - 2, 200)));
    } else {
      return Step::not_mine;
    }
    reach(row_.place, line.place);
    return Step::took;
  }

  void finish(Reading& reading) override { flush(reading); }

 private:
  void begin(const TextLine& line, const FaulthandlerThreadHead& head, Reading& reading) {
    row_ = stack_row(line, "faulthandler", reading);
    if (reading.text_kind == "stack") row_.pid = pid_in_path(reading.path);
    row_.thread_id = head.machine ? current_ : head.id;
    row_.thread = head.name;
    if (head.current && !head.machine) current_ = head.id;
    current_head_ = head.current;
    machine_ = head.machine;
    open_ = true;
    cut_ = false;
    blank_ = 0;
  }

  void flush(Reading& reading) {
    if (!open_) return;
    open_ = false;
    if (row_.frames.empty() && row_.problem.empty()) row_.problem = "no frames";
    // What the main thread alone has is its bottom, <module>. A stack that was cut at 100 frames
    // has lost it: the thread that asked for the dump is the likeliest then.
    row_.main = machine_ ? main_is_current_ : starts_program(row_) || (cut_ && current_head_);
    if (!machine_ && current_head_) main_is_current_ = row_.main;
    reading.sink.put(row_);
  }

  StackRow row_;
  std::string current_;
  bool open_ = false;
  bool machine_ = false;
  bool cut_ = false;
  bool current_head_ = false;
  bool main_is_current_ = false;
  int blank_ = 0;
};

Outcome read_faulthandler(const TextLine& line, Reading& reading) {
  if (!faulthandler_thread_head(trim(line.line.message))) return {};
  Outcome outcome;
  outcome.assembler = std::make_unique<FaulthandlerAssembler>();
  outcome.assembler->feed(line, reading);
  return outcome;
}

constexpr std::string_view kFaulthandlerWords[] = {"(most recent call first):"};

}  // namespace

extern constinit const Recogniser kFaulthandler{
    "faulthandler", "Python's faulthandler: threads in dumps, fatal errors and timeouts, C stacks",
    kFaulthandlerWords, read_faulthandler, "stack"};

}  // namespace culprit::ingest
