// eu-stack -p: PID, then TID by TID. Frames it cannot name have an address only.
#include "ingest/stacks/stack_text.hpp"

namespace culprit::ingest {

namespace {

constexpr int kEuStackForeignLines = 4;

// "TID 31446:" · "PID 31446 - process"
std::optional<std::int64_t> head_of(std::string_view text, std::string_view word,
                                    std::string_view end) {
  if (!take(text, word)) return std::nullopt;
  const auto id = take_number(text);
  return id && trim(text) == end ? id : std::nullopt;
}

// #3  0x00007f272a9a9b4e c10d::Work::wait(...)[ - 1][ - /lib/libtorch.so]
bool eu_stack_frame(std::string_view text, Frame& frame) {
  if (!take(text, "#") || !take_number(text) || text.empty() || text[0] != ' ') return false;
  text = trim(text);
  if (!take(text, "0x")) return false;
  const std::size_t end = text.find_first_not_of("0123456789abcdefABCDEF");
  if (end == 0) return false;
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end);
  if (take(text, " - 1")) {}
  if (!text.empty() && text[0] != ' ') return false;
  if (const std::size_t path = text.rfind(" - /"); path != std::string_view::npos) {
    frame.module = std::string(trim(text.substr(path + 3)));
    text = text.substr(0, path);
  }
  text = trim(text);
  if (text.ends_with(" - 1")) text = trim(text.substr(0, text.size() - 4));
  if (text == "- 1") text = {};
  if (const std::size_t at = text.rfind('@');
      at != std::string_view::npos && at > 0 &&
      text.find_first_of(" (<", at) == std::string_view::npos) {
    text = text.substr(0, at);  // pthread_cond_wait@@GLIBC_2.3.2
    if (text.back() == '@') text.remove_suffix(1);
  }
  frame.native = true;
  frame.function = text.empty() ? "?" : std::string(text);
  return true;
}

class EuStackAssembler final : public Assembler {
 public:
  std::uint64_t most_lines() const override { return 4'000'000; }

  Step feed(const TextLine& line, Reading& reading) override {
    const std::string_view text = line.line.message;
    if (take_line(line, text, reading)) {
      foreign_ = 0;
      return Step::took;
    }
    return ++foreign_ <= kEuStackForeignLines ? Step::watching : Step::not_mine;
  }

  void finish(Reading& reading) override { flush(reading); }

 private:
  bool take_line(const TextLine& line, std::string_view text, Reading& reading) {
    if (const auto pid = head_of(text, "PID ", "- process")) {
      flush(reading);
      pid_ = pid;
      return true;
    }
    if (const auto tid = head_of(text, "TID ", ":")) {
      flush(reading);
      row_ = stack_row(line, "eu-stack", reading);
      row_.tid = tid;
      if (pid_)
        row_.pid = pid_;
      else if (reading.text_kind == "stack")
        row_.pid = pid_in_path(reading.path);
      row_.main = row_.pid && row_.tid == row_.pid;
      open_ = true;
      return true;
    }
    if (Frame frame; eu_stack_frame(text, frame)) {
      if (!open_) return false;
      add_frame(row_, std::move(frame));
      reach(row_.place, line.place);
      return true;
    }
    if (std::string_view rest = text; take(rest, "eu-stack: ")) {
      if (!open_) return false;
      row_.problem = std::string(trim(rest).substr(0, 400));
      return true;
    }
    // -s: the source of the frame above, "    ../sysdeps/unix/sysv/linux/poll.c:29:10"
    if (open_ && !row_.frames.empty() && text.substr(0, 4) == "    ") {
      std::string_view where = trim(text);
      const std::size_t slash = where.rfind('/');
      const std::size_t colon = where.find(':', slash == std::string_view::npos ? 0 : slash);
      if (colon == std::string_view::npos) return false;
      std::string_view number = where.substr(colon + 1);
      const auto at = take_number(number);
      if (!at) return false;
      row_.frames.back().file = std::string(where.substr(0, std::min<std::size_t>(colon, 2'048)));
      row_.frames.back().line = *at;
      return true;
    }
    return false;
  }

  void flush(Reading& reading) {
    if (!open_) return;
    open_ = false;
    if (row_.frames.empty() && row_.problem.empty()) row_.problem = "no frames";
    if (!row_.frames.empty()) row_.problem.clear();  // it ended early: what is there is a stack
    reading.sink.put(row_);
  }

  std::optional<std::int64_t> pid_;
  StackRow row_;
  bool open_ = false;
  int foreign_ = 0;
};

Outcome read_eu_stack(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  Outcome outcome;
  if (head_of(text, "PID ", "- process") || head_of(text, "TID ", ":")) {
    outcome.assembler = std::make_unique<EuStackAssembler>();
    outcome.assembler->feed(line, reading);
  } else if (std::string_view rest = text;
             reading.text_kind == "stack" && take(rest, "eu-stack: ")) {
    StackRow row = stack_row(line, "eu-stack", reading);
    row.problem = std::string(trim(rest).substr(0, 400));
    row.pid = pid_in_path(reading.path);
    if (const std::size_t at = rest.find("pid "); !row.pid && at != std::string_view::npos) {
      std::string_view number = rest.substr(at + 4);
      row.pid = take_number(number);
    }
    reading.sink.put(row);
    outcome.used = true;
  }
  return outcome;
}

constexpr std::string_view kEuStackWords[] = {" - process"};

}  // namespace

extern constinit const Recogniser kEuStack{"eu-stack",
                                           "eu-stack -p: threads of a process, machine frames",
                                           kEuStackWords, read_eu_stack, "stack"};

}  // namespace culprit::ingest
