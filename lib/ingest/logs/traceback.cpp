#include "ingest/logs/traceback.hpp"

#include <algorithm>

#include <re2/re2.h>

#include "ingest/engine/events.hpp"
#include "model/contains.hpp"
#include "rules/frames.hpp"

namespace culprit::ingest {

namespace {

constexpr int kLinesWatched = 12;
constexpr std::size_t kFrameIndent = 2;  // of "File ..." behind "Traceback ..."
constexpr std::string_view kHead = "Traceback (most recent call last):";

std::string_view trim_left(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t");
  return at == std::string_view::npos ? std::string_view{} : text.substr(at);
}

// "  | " and "  +-+---- 1 ----" around an exception group. What is left of a rule is empty.
std::string_view without_group_marks(std::string_view line, bool& marked) {
  std::string_view body = trim_left(line);
  if (body.empty() || (body[0] != '|' && body[0] != '+')) return line;
  if (body.rfind("+-", 0) == 0) {
    marked = true;
    return {};
  }
  if (body.size() > 1 && body[1] != ' ') return line;
  marked = true;
  return body.substr(std::min<std::size_t>(2, body.size()));
}

// A word with which a shell or a logger speaks, no exception.
bool foreign_word(std::string_view type, bool alone) {
  if (alone && (type == "Killed" || type == "Aborted" || type == "Terminated")) return true;
  return std::ranges::all_of(
      type, [](char c) { return (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9'); });
}

bool connector(std::string_view line) {
  return contains(line, "During handling of the above exception") ||
         contains(line, "The above exception was the direct cause");
}

}  // namespace

bool split_exception(std::string_view line, std::string& type, std::string& message) {
  // A dotted name whose last part begins with a capital, alone or followed by a colon.
  static const re2::RE2 kException(R"(^((?:[A-Za-z_][\w]*\.)*[A-Z]\w*)(?:: ?((?s).*))?$)");
  if (line.size() > 4096) line = line.substr(0, 4096);
  return re2::RE2::FullMatch(re2::StringPiece(line.data(), line.size()), kException, &type,
                             &message) &&
         !foreign_word(type, type.size() == line.size());
}

// "WorkerGroupError: Training failed due to worker errors:": what failed stands below, behind names
// of workers and frames of theirs.
bool TracebackParser::announces() const {
  constexpr int kMost = 30;  // lines
  return !chained_ && !told_ && announced_ < kMost && message_.ends_with(':');
}

// False: the line belongs to nothing that was announced, and neither does what follows.
bool TracebackParser::take_announced(std::string_view body, std::size_t indent) {
  // "[Rank 0]", "ray.exceptions.RayTaskError(ArrowInvalid): ..." names the exception it carries.
  static const re2::RE2 kWorker(R"(\[[^\]]{1,60}\]:?)");
  static const re2::RE2 kCarrier(R"((?:[A-Za-z_]\w*\.)*[A-Z]\w*\([A-Z]\w*\): (?s).*)");
  static const re2::RE2 kError(R"(\w*(?:Error|Exception|Interrupt|Failure))");
  const re2::StringPiece text(body.data(), body.size());
  ++announced_;
  if (body.empty() || indent > margin_ || body.rfind(kHead, 0) == 0 ||
      re2::RE2::FullMatch(text, kWorker))
    return true;
  std::string type, message;
  const bool error = split_exception(body, type, message) &&
                     re2::RE2::FullMatch(type.substr(type.rfind('.') + 1), kError);
  told_ = true;
  if (connector(body) || !(error || re2::RE2::FullMatch(text, kCarrier))) return false;
  message_ += ' ';
  message_ += body.substr(0, 400);
  return true;
}

bool TracebackParser::feed(std::string_view line) {
  names_it_ = false;
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  bool marked = false;
  const std::string_view inner = without_group_marks(line, marked);
  if (marked && inner.empty()) return true;
  const std::string_view body = trim_left(inner);
  const std::size_t indent = inner.size() - body.size();
  if (have_exception_) {
    if (announces() && take_announced(body, indent)) return true;
    if (body.empty()) return ++blank_ <= 2;
    if (marked && body.rfind(kHead, 0) ==
                      0) {  // the exceptions of a group: the first says more than the group
      chained_ = !type_.ends_with("ExceptionGroup");
      have_exception_ = false;
      in_frames_ = true;
      blank_ = 0;
      return true;
    }
    if (marked && !connector(body)) return true;
    if (connector(body)) {
      chained_ = true;
      blank_ = 0;
      return true;
    }
    if (chained_ && body.rfind(kHead, 0) == 0) {
      in_frames_ = true;
      have_exception_ = false;
      blank_ = 0;
      return true;
    }
    return false;
  }
  if (body.empty()) return in_frames_ && ++blank_ <= 1;
  if (body.rfind(kHead, 0) == 0) return true;
  if (body.rfind("File \"", 0) == 0) {
    static const re2::RE2 kFrame(R"re(^File "([^"]*)", line (\d+)(?:, in (.*))?$)re");
    Frame frame;
    if (!re2::RE2::FullMatch(re2::StringPiece(body.data(), body.size()), kFrame, &frame.file,
                             &frame.line, &frame.function))
      return false;
    margin_ = indent >= kFrameIndent ? indent - kFrameIndent : 0;
    current_innermost_ = frame;
    // Nobody mends an installed library, or the interpreter, to mend a job.
    if (!rules::library_file(frame.file)) current_own_ = frame;
    return true;
  }
  // Source text, carets, "[Previous line repeated 995 more times]".
  if (indent >= margin_ + kFrameIndent) return true;
  std::string type, message;
  if (!split_exception(body, type, message)) return false;
  have_exception_ = true;
  in_frames_ = false;
  blank_ = 0;
  if (!chained_) {
    names_it_ = true;
    type_ = std::move(type);
    message_ = std::move(message);
    innermost_ = current_innermost_;
    own_ = current_own_;
  }
  current_innermost_ = current_own_ = {};
  return true;
}

void TracebackParser::fill(TracebackRow& row) const {
  row.type = type_.substr(0, 200);
  row.message = message_.substr(0, 1000);
  const Frame& frame = own_.file.empty() ? innermost_ : own_;
  row.file = frame.file;
  row.file_line = frame.line;
  row.function = frame.function;
}

void classify_traceback(TracebackRow& row, const rules::RulePack& pack,
                        const std::string& raised_in) {
  const std::string text = row.type + ": " + row.message;
  std::optional<rules::Match> match = pack.match(text);
  // "No space left on device" means another thing where a semaphore was to be created: rules may
  // ask for the place.
  if (!raised_in.empty()) {
    const std::string placed = text + " [raised in " + raised_in + "]";
    auto in_place = pack.match(placed);
    const auto known = pack.all_matches(text);
    if (in_place && !contains(known, in_place->rule)) match = std::move(in_place);
  }
  if (!match || match->role == Role::advice) return;
  row.event_class = match->event_class;
  row.rule = match->rule->id;
  // Whose it is, where the text says so and nothing before it did.
  if (const auto it = match->captures.find("host"); it != match->captures.end() && !row.host)
    row.host = Host(it->second);
  const auto rank = captured_number(match->captures, "rank");
  if (rank && !row.rank) row.rank = Rank(*rank);
  const auto gpu = captured_number(match->captures, "gpu");
  if (gpu && !row.local_rank) row.local_rank = LocalRank(*gpu);
}

namespace {

class TracebackAssembler final : public Assembler {
 public:
  explicit TracebackAssembler(const TextLine& head) {
    row_.place = head.place;
    row_.time = head.line.prefix.time;
    row_.source = "log";
    row_.host = head.line.prefix.host;
    row_.rank = head.line.prefix.rank;
    row_.local_rank = head.line.prefix.local_rank;
    row_.pid = head.line.prefix.pid;
    row_.task = head.line.prefix.task;
    row_.last_line = head.place.line;
  }

  Step feed(const TextLine& line, Reading&) override {
    // A line with a time, where the traceback has none, is a logger's.
    if (row_.time.clock == Clock::none && line.line.prefix.time.clock != Clock::none)
      parser_.announced_nothing();
    if (!parser_.feed(line.line.message)) {
      // A message of several lines may yet be followed by "During handling of the above exception
      // ...".
      const bool fresh = contains(line.line.message, kHead);
      return parser_.complete() && !fresh && ++watched_ <= kLinesWatched ? Step::watching
                                                                         : Step::not_mine;
    }
    watched_ = 0;
    if (parser_.names_it()) row_.place = line.place;  // what proves is that line, not the head
    row_.last_line = line.place.line;
    return Step::took;
  }

  void finish(Reading& reading) override {
    parser_.fill(row_);
    if (row_.type.empty()) {
      reading.sink.put(RejectRow{row_.place, "traceback.unfinished", std::string(kHead)});
      return;
    }
    classify_traceback(row_, reading.pack, parser_.raised_in());
    reading.sink.put(row_);
  }

 private:
  TracebackParser parser_;
  TracebackRow row_;
  int watched_ = 0;
};

// What Python could not raise, as in a destructor or when it leaves: it is printed, and the program
// goes on.
class IgnoredAssembler final : public Assembler {
 public:
  Step feed(const TextLine& line, Reading&) override {
    return parser_.feed(line.line.message) ? Step::took : Step::not_mine;
  }

 private:
  TracebackParser parser_;
};

Outcome read_ignored(const TextLine&, Reading&) {
  Outcome outcome;
  outcome.assembler = std::make_unique<IgnoredAssembler>();
  return outcome;
}

Outcome read_traceback(const TextLine& line, Reading&) {
  // The report of an agent repeats its children's tracebacks ("  traceback : Traceback ..."):
  // torchrun.cpp reads those.
  if (contains(line.line.message, "traceback : ")) return {};
  Outcome outcome;
  outcome.assembler = std::make_unique<TracebackAssembler>(line);
  outcome.begins_exception = true;
  return outcome;
}

constexpr std::string_view kTracebackWords[] = {"Traceback (most recent call last)"};
constexpr std::string_view kIgnoredWords[] = {"Exception ignored"};

}  // namespace

extern constinit const Recogniser kTraceback{
    "python-traceback", "Python exceptions with their stacks, chained and interleaved",
    kTracebackWords, read_traceback};
extern constinit const Recogniser kIgnored{"python-ignored",
                                           "exceptions that Python prints and does not raise",
                                           kIgnoredWords, read_ignored};

}  // namespace culprit::ingest
