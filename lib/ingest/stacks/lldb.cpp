// lldb's `thread backtrace all`.
#include "ingest/stacks/stack_text.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr int kLldbForeignLines = 4;

struct LldbThreadHead {
  std::int64_t number = 0;
  std::optional<std::int64_t> tid;
  std::string name;
};

//   thread #16, name = 'python', stop reason = signal SIGSTOP · * thread #1, tid = 31446, name =
//   'python'
std::optional<LldbThreadHead> lldb_thread_head(std::string_view text) {
  text = trim(text);
  if (take(text, "*")) text = trim(text);
  LldbThreadHead head;
  if (!take(text, "thread #")) return std::nullopt;
  const auto number = take_number(text);
  if (!number || (!text.empty() && text[0] != ',' && text[0] != ':')) return std::nullopt;
  head.number = *number;
  if (const std::size_t at = text.find("tid = "); at != std::string_view::npos) {
    std::string_view rest = text.substr(at + 6);
    if (rest.substr(0, 2) == "0x") {
      std::int64_t value = 0;
      std::size_t digits = 0;
      for (const char c : rest.substr(2, 12)) {
        const int nibble = c >= '0' && c <= '9'   ? c - '0'
                           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                  : -1;
        if (nibble < 0) break;
        value = value * 16 + nibble;
        ++digits;
      }
      if (digits > 0) head.tid = value;
    } else {
      head.tid = take_number(rest);
    }
  }
  if (const std::size_t at = text.find("name = '"); at != std::string_view::npos) {
    const std::size_t end = text.find('\'', at + 8);
    if (end != std::string_view::npos) head.name = std::string(text.substr(at + 8, end - at - 8));
  }
  return head;
}

// frame #0: 0x00007fff2039 libc.so.6`__poll(fds=0x7f, n=1) + 29 at poll.c:29:10
bool lldb_frame(std::string_view text, Frame& frame) {
  text = trim(text);
  if (take(text, "*")) text = trim(text);
  if (!take(text, "frame #") || !take_number(text) || !take(text, ": ")) return false;
  text = trim(text);
  if (take(text, "0x")) {
    const std::size_t end = text.find(' ');
    text = end == std::string_view::npos ? std::string_view{} : trim(text.substr(end));
  }
  frame.native = true;
  if (const std::size_t tick = text.find('`'); tick != std::string_view::npos) {
    frame.module = std::string(text.substr(0, tick));
    text.remove_prefix(tick + 1);
  }
  if (const std::size_t at = text.rfind(" at "); at != std::string_view::npos) {
    std::string_view where = text.substr(at + 4);
    const std::size_t slash = where.rfind('/');
    const std::size_t colon = where.find(':', slash == std::string_view::npos ? 0 : slash);
    if (colon != std::string_view::npos) {
      std::string_view number = where.substr(colon + 1);
      if (const auto line = take_number(number)) {
        frame.file = std::string(where.substr(0, colon));
        frame.line = *line;
        text = text.substr(0, at);
      }
    }
  }
  if (const std::size_t plus = text.rfind(" + ");
      plus != std::string_view::npos &&
      text.find_first_not_of("0123456789", plus + 3) == std::string_view::npos)
    text = text.substr(0, plus);
  // Arguments have values; the types of a C++ name have none.
  if (!text.empty() && text.back() == ')') {
    int depth = 0;
    for (std::size_t i = text.size(); i-- > 0;) {
      if (text[i] == ')')
        ++depth;
      else if (text[i] == '(' && --depth == 0) {
        if (contains(text.substr(i), '=')) text = text.substr(0, i);
        break;
      }
    }
  }
  text = trim(text);
  frame.function =
      text.empty() || text.substr(0, 17) == "___lldb_unnamed_s" ? "?" : std::string(text);
  return true;
}

class LldbAssembler final : public Assembler {
 public:
  std::uint64_t most_lines() const override { return 1'000'000; }

  Step feed(const TextLine& line, Reading& reading) override {
    const std::string_view text = line.line.message;
    if (auto head = lldb_thread_head(text)) {
      flush(reading);
      if (head->number == 1) pid_ = head->tid;
      row_ = stack_row(line, "lldb", reading);
      if (reading.text_kind == "stack") row_.pid = pid_in_path(reading.path);
      if (!row_.pid) row_.pid = pid_;
      row_.tid = head->tid;
      row_.thread = std::move(head->name);
      row_.main = head->number == 1;
      if (row_.main && !row_.tid) row_.tid = row_.pid;
      open_ = true;
    } else if (Frame frame; open_ && lldb_frame(text, frame)) {
      add_frame(row_, std::move(frame));
      reach(row_.place, line.place);
    } else if (!trim(text).empty()) {
      return ++foreign_ <= kLldbForeignLines ? Step::watching : Step::not_mine;
    }
    foreign_ = 0;
    return Step::took;
  }

  void finish(Reading& reading) override { flush(reading); }

 private:
  void flush(Reading& reading) {
    if (!open_) return;
    open_ = false;
    if (row_.frames.empty()) {
      if (reading.text_kind != "stack") return;  // somebody else's "thread #1"
      row_.problem = "no frames";
    }
    reading.sink.put(row_);
  }

  StackRow row_;
  std::optional<std::int64_t> pid_;
  bool open_ = false;
  int foreign_ = 0;
};

Outcome read_lldb(const TextLine& line, Reading& reading) {
  if (!lldb_thread_head(line.line.message)) return {};
  Outcome outcome;
  outcome.assembler = std::make_unique<LldbAssembler>();
  outcome.assembler->feed(line, reading);
  return outcome;
}

constexpr std::string_view kLldbWords[] = {"thread #"};

}  // namespace

extern constinit const Recogniser kLldb{"lldb", "lldb thread backtrace all", kLldbWords, read_lldb,
                                        "stack"};

}  // namespace culprit::ingest
