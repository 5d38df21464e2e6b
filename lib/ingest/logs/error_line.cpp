// Lines that speak of an error in words that no rule knows. They decide nothing; the analysis of
// leads ranks them by where and when they stand, and an answer that proves nothing quotes the best
// (L4, FSE 2025).
#include <set>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kLongest = 2'000;
constexpr std::size_t kTemplates = 256;  // of one member; a log with more is noise from end to end

class Templates final : public Kept {
 public:
  bool admits(const std::string& shape) {
    return seen_.size() < kTemplates ? (seen_.insert(shape), true) : seen_.count(shape) > 0;
  }

 private:
  std::set<std::string> seen_;
};

bool is_error(const re2::StringPiece text) {
  static const re2::RE2 kSpeaks(
      R"((?i)\b(?:\w*error|\w*exception|fatal|failed|failure|abort(?:ed|ing)?|killed|denied|refused|cannot|can't|unable to|panic|unreachable|time[sd] out|corrupt(?:ed)?|out of resources?)\b)");
  static const re2::RE2 kHarmless(
      R"((?i)\b(?:no|0|zero|without|ignor\w+|non-fatal|not fatal|retry\w*|will retry|if it fails|on failure|on_error|error_?(?:rate|feedback|handling|file|log)|mean|squared|absolute|relative|max|min|std|standard) (?:\w+ )?(?:errors?|failures?|exceptions?)\b|\berrors?\s*[=:]\s*(?:0\b|none)|\berror_?(?:rate|feedback|handling|file|log|bar)|(?:failed|failures|errors?|exceptions?|killed)[ =:]+0(?:\b|$)|\b0 (?:failed|killed|denied|refused)|deprecat|\bwarn(?:ing)?\b|\b(?:is initialized|initialized successfully|registered|enabled|recovered|succeeded)\b)");
  // What is printed as an error is one, whatever else it mentions.
  static const re2::RE2 kSevere(
      R"(^(?:\[?(?:ERROR|CRITICAL|FATAL)\b|[EF] \S+\.(?:cc|cpp|py|cu):\d+\]))");
  // "Link Error Recovery Counter : 0", "Error Information Log Entries: 2": a reading of a counter.
  static const re2::RE2 kReading(R"(^\s*[A-Za-z]\w*(?:[ _./()-]+\w+)+[ )]*[:=]\s*\d+\s*$)"),
      kOutcome(R"((?i)\b(?:exit\w*|code|status|signal|errno|rank|pid)\b)");
  return re2::RE2::PartialMatch(text, kSpeaks) &&
         (re2::RE2::PartialMatch(text, kSevere) || !re2::RE2::PartialMatch(text, kHarmless)) &&
         (!re2::RE2::PartialMatch(text, kReading) || re2::RE2::PartialMatch(text, kOutcome));
}

// The prefix holds the level; what NCCL warns of is what it gives up for.
bool warning_of_nccl(const TextLine& line) {
  return line.line.prefix.nccl && contains(line.raw, "NCCL WARN ");
}

Outcome read_error_line(const TextLine& line, Reading&) {
  const std::string& message = line.line.message;
  if (message.size() > kLongest || message.size() < 8 ||
      !(warning_of_nccl(line) || is_error({message.data(), message.size()})))
    return {};
  Outcome out;
  out.judge = true;  // a rule may know it, or know that it is harmless
  out.speaks_of_error = true;
  return out;
}

constexpr std::string_view kErrorLineWords[] = {
    "error:",  " error",          "error ",    "exception",   "fatal:",    " fatal",
    "failed",  "failure",         " abort",    "aborted",     "killed",    "denied",
    "refused", "cannot ",         "unable to", "unreachable", "timed out", "times out",
    "corrupt", "out of resource", "NCCL WARN "};

}  // namespace

// Numbers, addresses, quoted words and paths differ from line to line; the rest is what the
// program's author wrote.
std::string template_of(std::string_view message) {
  std::string out;
  bool variable = false;
  for (std::size_t i = 0; i < message.size() && out.size() < 160; ++i) {
    const auto c = static_cast<unsigned char>(message[i]);
    if (isdigit(c) || (variable && (isalnum(c) || c == '.' || c == '/' || c == '_' || c == '-' ||
                                    c == ':' || c >= 0x80))) {
      if (!variable) {
        while (!out.empty() &&
               (isalnum(static_cast<unsigned char>(out.back())) || out.back() == '/' ||
                out.back() == '_' || out.back() == '-' || out.back() == '.'))
          out.pop_back();
        out += '#';
      }
      variable = true;
      continue;
    }
    variable = false;
    out += static_cast<char>(c);
  }
  return out;
}

std::optional<EventRow> error_line(const TextLine& line, const std::optional<rules::Said>& named,
                                   Reading& reading) {
  if (reading.path.ends_with("collect-errors.txt"))
    return std::nullopt;  // what the collector could not do, not what happened to the job
  const std::string shape = template_of(line.line.message);
  if (!reading.keep<Templates>().admits(shape)) return std::nullopt;
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : shape) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  EventRow row{.place = line.place,
               .time = line.line.prefix.time,
               .boot = line.line.prefix.boot,
               .event_class = named ? named->event_class : fmt::format("error_line/{:016x}", hash)};
  if (named)
    row.detail = fmt::format("shape={:016x}\ntitle={}\nrole={}", hash, named->title,
                             name(named->reason->role));
  row.severity = Severity::info;
  row.role = Role::advice;
  row.host = line.line.prefix.host;
  row.rank = line.line.prefix.rank;
  row.local_rank = line.line.prefix.local_rank;
  row.pid = line.line.prefix.pid;
  row.task = line.line.prefix.task;
  row.last_line = row.place.line;
  row.last_time = row.time;
  row.message = line.line.message.substr(0, 1024);
  return row;
}

extern constinit const Recogniser kErrorLine{
    "error-line", "lines that speak of an error in words that no rule knows", kErrorLineWords,
    read_error_line};

}  // namespace culprit::ingest
