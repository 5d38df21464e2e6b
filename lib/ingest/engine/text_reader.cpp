#include "ingest/engine/text_reader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <re2/re2.h>

#include "ingest/engine/name_moment.hpp"
#include "line/digit.hpp"
#include "line/zone.hpp"
#include "model/hostlist.hpp"
#include "rules/grammar.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostNodesOfALine = 256;
constexpr std::size_t kAssemblersAtOnce = 256;
constexpr std::size_t kMostClaims = 10'000;
constexpr std::uint64_t kClocksPerMember = 4'096;
constexpr std::size_t kPartialBytes = 64 * 1024;
constexpr std::size_t kWaitingAtOnce = 64;
constexpr int kLinesToWait = 8;
constexpr std::size_t kTailBytes = 4'096;
constexpr std::size_t kLookBytes = 4'096;

// Records of one process: what tells its lines from those of others in the same pipe.
std::string stream_of(const line::Prefix& prefix) {
  std::string key;
  if (prefix.rank) key += "r" + std::to_string(number_of(*prefix.rank));
  if (prefix.local_rank) key += "l" + std::to_string(number_of(*prefix.local_rank));
  if (prefix.task) key += "t" + std::to_string(*prefix.task);
  if (prefix.pid) key += "p" + std::to_string(*prefix.pid);
  if (prefix.address) key += "@" + *prefix.address;
  if (!prefix.stream.empty()) key += "/" + prefix.stream;
  return key;
}

using line::digit;

// "# dmesg | grep -i xid" of a session that somebody pasted: what was typed is no event.
bool typed_command(std::string_view raw) {
  static const re2::RE2 kTyped(
      R"(^(?:[\w.-]+@[\w.-]+[^$#]{0,80})?[$#] ?(?:sudo )?(?:dmesg|journalctl|[ef]?grep|zcat|kubectl|nvidia-smi|cat|tail|head) .*[|/-])");
  return raw.size() < 1024 && re2::RE2::PartialMatch({raw.data(), raw.size()}, kTyped);
}

// Whether a line is worth looking at for what the grammar says of it alone.
bool leads(const std::optional<rules::Said>& named) {
  return named && named->speaker->severe && named->reason->role != rules::ReasonRole::advice &&
         named->reason->role != rules::ReasonRole::teardown;
}

// Whether a prefix stands in these bytes as the line layer will see it: no colours or NULs to take
// out, nothing wrapped in JSON. No early exit: compilers turn this loop into vector code.
bool is_plain(std::string_view bytes) {
  unsigned char special = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    const char c = bytes[i];
    special =
        static_cast<unsigned char>(special | (c == '\0') | (c == '\x1b') | (c == '^') |
                                   (c == '\\') | (c == '{') | ((c == '#') & (bytes[i + 1] == '0')));
  }
  return special == 0 && (bytes.empty() || std::strchr("\x1b^\\{", bytes.back()) == nullptr);
}

// What a line without a time shows: times have a colon or a hyphen between two digits, or six of
// them in a row. Where something is to be taken out of the line first, or unwrapped, it may have
// one.
bool may_tell_time(std::string_view text) {
  enum : unsigned char { other, number, special };
  static constexpr std::array kBytes = [] {
    std::array<unsigned char, 256> out{};
    for (const char c : {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9'})
      out[static_cast<unsigned char>(c)] = number;
    for (const char c : {'\0', '\x1b', '^', '\\', '{', '#'})
      out[static_cast<unsigned char>(c)] = special;
    return out;
  }();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned char kind = kBytes[static_cast<unsigned char>(text[i])];
    if (kind == other) continue;
    if (kind == special) {
      if (text[i] != '#' || (i + 1 < text.size() && text[i + 1] == '0')) return true;
      continue;
    }
    const std::size_t begin = i;
    while (i + 1 < text.size() && digit(text[i + 1])) ++i;
    if (i - begin >= 5 ||
        (begin > 1 && (text[begin - 1] == ':' || text[begin - 1] == '-') && digit(text[begin - 2])))
      return true;
  }
  return false;
}

std::uint64_t hash_message(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h >> 1;  // SQLite's integers have a sign
}

// "+02:00" of a moment that a line prints with its distance from UTC; "" where that is none.
std::string printed_offset(std::string_view text, const Timestamp& time) {
  static const re2::RE2 kOffset(R"([T ]\d\d:\d\d:\d\d(?:[.,]\d+)? ?([+-]\d\d):?([0-5]\d)\b)");
  std::string hours, minutes;
  const re2::StringPiece head(text.data(), std::min<std::size_t>(text.size(), 64));
  if (time.clock != Clock::utc || !re2::RE2::PartialMatch(head, kOffset, &hours, &minutes) ||
      (hours.substr(1) == "00" && minutes == "00"))
    return {};
  return hours + ":" + minutes;
}

}  // namespace

TextReader::TextReader(const Scanner& scanner, Sink& sink, MemberId member, std::string text_kind,
                       line::Habit habit, bool rules, std::string path)
    : scanner_(scanner),
      reading_{sink, scanner.pack(), std::move(text_kind), {}, {}, std::move(path)},
      member_(member),
      habit_(habit),
      rules_(rules) {
  const auto list = recognisers();
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!list[i]->whole_kind.empty() && list[i]->whole_kind == reading_.text_kind)
      every_line_.recognisers.insert(i);
}

void TextReader::mark_used(std::uint64_t line) {
  if (line == last_used_line_) return;
  last_used_line_ = line;
  ++used_;
  if (line == last_rejected_line_) {
    --rejected_;
    last_rejected_line_ = 0;
  }
}

void TextReader::reject(const TextLine& line, std::string_view reason) {
  reading_.sink.put(
      RejectRow{line.place, std::string(reason), std::string(line.raw.substr(0, 200))});
  if (line.place.line == last_used_line_ || line.place.line == last_rejected_line_) return;
  last_rejected_line_ = line.place.line;
  ++rejected_;
}

// Lines that can tie one clock to another: a kernel line with two times, or one whose twin may
// stand in another member with the other clock.
void TextReader::keep_clock(const TextLine& line) {
  const line::Prefix& prefix = line.line.prefix;
  if (!prefix.kernel || prefix.time.clock == Clock::none ||
      prefix.time.clock == Clock::local_no_date || line.line.message.size() < 12)
    return;
  if (clocks_kept_ >= kClocksPerMember) return;
  ++clocks_kept_;
  // "PROCESSOR 0:c06f2 TIME 1793159900 SOCKET 1": a machine check has the seconds since 1970.
  static const re2::RE2 kMachineCheck(R"(\[Hardware Error\]: PROCESSOR \S+ TIME (1\d{9}) )");
  if (std::int64_t seconds = 0; prefix.time.clock == Clock::boot &&
                                re2::RE2::PartialMatch(line.line.message, kMachineCheck, &seconds))
    return reading_.sink.put(ClockRow{line.place, Timestamp{Clock::utc, seconds * kSecond, kSecond},
                                      prefix.time, 0, reading_.host_of(prefix), "kernel"});
  reading_.sink.put(ClockRow{line.place, prefix.time, prefix.boot, hash_message(line.line.message),
                             reading_.host_of(prefix), "kernel"});
}

// "2026-03-07T11:36:12,135000+01:00 NVRM: ...": a machine's log in local time says how far that is
// from UTC. Zero says nothing: journals are exported in UTC wherever they come from.
void TextReader::keep_printed_zone(std::string_view head, const line::Prefix& prefix) {
  const std::string offset = printed_offset(head, prefix.time);
  if (!offset.empty())
    reading_.sink.put(
        ConfigRow{{member_, 1, 0, 0}, "timezone", offset, reading_.host_of(prefix), {}});
}

// "2026-07-22T10:40:03+02:00 start" of a batch script, and a minute later by the same clock what a
// program prints without a zone: it is the script's.
void TextReader::keep_zone_beside(std::span<const std::string_view> lines, std::string_view offset,
                                  Nanoseconds first, const Place& place) {
  constexpr Nanoseconds kNear = 30 * kMinute;
  const auto zone = line::Zone::named(offset);
  if (!zone || reading_.path.empty()) return;
  for (const std::string_view text : lines) {
    line::peel(text.substr(0, 1024), habit_, peeled_);
    Timestamp& time = peeled_.prefix.time;
    if (time.clock != Clock::local) continue;
    if (const Nanoseconds later = zone->utc(time.ns) - first; later >= 0 && later < kNear)
      reading_.sink.put(
          ConfigRow{place, "timezone.file[" + reading_.path + "]", std::string(offset)});
    return;
  }
}

// When the log begins and ends: the frame of the job, and the moment a host fell silent.
void TextReader::keep_edge_time(std::string_view bytes, bool first) {
  std::array<std::string_view, 200> lines;
  std::size_t count = 0;
  for (std::size_t at = 0; count < lines.size() && at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    lines[count++] = bytes.substr(at, end - at);
    at = end + 1;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t n = first ? i : count - 1 - i;
    if (!may_tell_time(lines[n].substr(0, 1024))) continue;
    line::peel(lines[n].substr(0, 1024), habit_, peeled_);
    Timestamp& time = peeled_.prefix.time;
    if (first)
      days_.begin(time);
    else
      days_.place(time);
    if (time.clock == Clock::none || time.clock == Clock::boot) continue;
    Place place{member_, lines_, bytes_, 0};
    if (first) {
      place.line = n + 1;
      place.offset = static_cast<std::uint64_t>(lines[n].data() - bytes.data());
    }
    reading_.sink.put(ClockRow{place, time, {}, 0, {}, first ? "first" : "last"});
    if (const std::string offset = first ? printed_offset(lines[n], time) : ""; !offset.empty())
      keep_zone_beside(std::span(lines).subspan(n + 1, count - n - 1), offset, time.ns, place);
    return;
  }
  if (first) without_time_ = bytes.size();
}

// "train_20260903_130012.log" began then: what prints times of day alone has that date.
void TextReader::begin_by_name(std::string_view bytes) {
  constexpr Nanoseconds kBefore = 5 * kMinute, kSoon = 2 * kHour;
  Timestamp named;
  if (!moment_of_name(reading_.path, named) || named.clock != Clock::local) return;
  line::peel(bytes.substr(0, std::min<std::size_t>(bytes.find('\n'), 1024)), habit_, peeled_);
  const Timestamp& time = peeled_.prefix.time;
  const Nanoseconds after = time.ns - named.ns % kDay;
  if (time.clock == Clock::local_no_date && after >= -kBefore && after < kSoon) days_.begin(named);
}

void TextReader::keep_last_lines(std::string_view bytes, const Candidate& candidate) {
  constexpr std::size_t kEnough = 2'048;
  const std::string_view here = bytes.substr(0, candidate.begin);
  const Place at{member_, newlines_ + candidate.newlines_before + 1, bytes_ + candidate.begin, 0};
  if (here.size() >= kEnough || tail_.empty())
    last_lines_.trouble(here, at);
  else
    last_lines_.trouble(tail_ + std::string(here), at);
}

void TextReader::keep_first_clocks(std::string_view bytes) {
  std::size_t at = 0;
  for (std::uint64_t n = 1; n <= 64 && at < bytes.size(); ++n) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    const std::string_view raw = bytes.substr(at, std::min<std::size_t>(end - at, 4096));
    const line::Line line = line::peel(raw, habit_);
    keep_clock({{member_, n, at, static_cast<std::uint32_t>(raw.size())}, raw, line});
    if (n == 1) keep_printed_zone(raw.substr(0, 64), line.prefix);
    at = end + 1;
  }
}

bool TextReader::feed_assemblers(const TextLine& line) {
  if (running_.empty()) return false;
  bool took = false;
  for (auto it = running_.begin(); it != running_.end();) {
    if (!it->stream.is(line.line.prefix)) {
      ++it;
      continue;
    }
    Assembler::Step step = it->assembler->feed(line, reading_);
    if (step == Assembler::Step::watching && ++it->fed < it->assembler->most_lines()) {
      ++it;
      continue;
    }
    if (step == Assembler::Step::watching) step = Assembler::Step::not_mine;
    took = took || step != Assembler::Step::not_mine;
    if (step != Assembler::Step::took || ++it->fed >= it->assembler->most_lines()) {
      it->assembler->finish(reading_);
      it = running_.erase(it);
    } else {
      ++it;
    }
    if (took) break;
  }
  if (took) mark_used(line.place.line);
  return took;
}

// A message that came in several records stands where the first of them does.
bool TextReader::judge_joined(const Partial& partial, std::uint64_t last_line) {
  if (!rules_) return false;
  const auto match = reading_.pack.match(partial.line.message, reading_.text_kind);
  if (!match || !reading_.pack.is_event(*match)) return false;
  EventRow row = make_event({partial.place, {}, partial.line}, *match, reading_);
  row.last_line = last_line;
  storms_.add(std::move(row), reading_.sink);
  return true;
}

void TextReader::settle_waiting(const TextLine& line) {
  const Timestamp& time = line.line.prefix.time;
  const bool watchdog =
      time.clock != Clock::none && line.raw.find("ProcessGroupNCCL") != std::string_view::npos;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (watchdog) it->row.time = it->row.last_time = {time.clock, time.ns, 2 * kSecond};
    if (watchdog || --it->lines <= 0) {
      storms_.add(std::move(it->row), reading_.sink);
      it = waiting_.erase(it);
    } else {
      ++it;
    }
  }
}

// CRI writes a long message as several records: they are joined until the one that completes it.
// Whether the line is a part of such a message.
bool TextReader::join_partial(const TextLine& line) {
  if (!line.line.prefix.partial && partial_.empty()) return false;
  // What the program itself prints before its message stands in the first record alone.
  const std::string stream =
      line.line.prefix.stream.empty() ? stream_of(line.line.prefix) : line.line.prefix.stream;
  if (line.line.prefix.partial) {
    Partial& partial = partial_[stream];
    if (partial.line.message.empty()) {
      partial = {line.place, line.line};
      partial.line.prefix.partial = false;
    } else if (partial.line.message.size() < kPartialBytes) {
      partial.line.message += line.line.message;
    }
    mark_used(line.place.line);
    return true;
  }
  const auto it = partial_.find(stream);
  if (it == partial_.end()) return false;
  it->second.line.message += line.line.message;
  if (judge_joined(it->second, line.place.line)) mark_used(line.place.line);
  partial_.erase(it);
  return true;
}

// What all of them say together. Their rejects are noted, and assemblers that they begin run.
Outcome TextReader::ask_recognisers(const RecogniserSet& wanted, const TextLine& line) {
  Outcome all;
  const auto list = recognisers();
  wanted.each([&](std::size_t i) {
    Outcome outcome = list[i]->read(line, reading_);
    all.used = all.used || outcome.used || outcome.assembler != nullptr;
    all.judge = all.judge || outcome.judge;
    all.speaks_of_error = all.speaks_of_error || outcome.speaks_of_error;
    all.begins_exception = all.begins_exception || outcome.begins_exception;
    if (!outcome.reject.empty()) reject(line, outcome.reject);
    if (outcome.assembler == nullptr) return;
    if (running_.size() >= kAssemblersAtOnce) {
      running_.front().assembler->finish(reading_);
      running_.erase(running_.begin());
    }
    running_.push_back({Stream(line.line.prefix), std::move(outcome.assembler), 0});
  });
  return all;
}

void TextReader::keep_event(const TextLine& line, const rules::Match& match) {
  EventRow row = make_event(line, match, reading_);
  trouble_ = trouble_ || (row.severity >= Severity::distributed && row.role != Role::advice);
  if (row.time.clock == Clock::none && row.peer && line.line.prefix.nccl &&
      waiting_.size() < kWaitingAtOnce)
    waiting_.push_back({std::move(row), kLinesToWait});
  else if (row.host && row.host->find('[') != std::string::npos)
    keep_event_of_each(std::move(row));
  else
    storms_.add(std::move(row), reading_.sink);
  keep_clock(line);
}

// slurmctld names several nodes in one line: "Nodes cx-[01-03] not responding".
void TextReader::keep_event_of_each(EventRow row) {
  const Hostlist list = expand_hostlist(*row.host, kMostNodesOfALine);
  if (list.hosts.empty()) return storms_.add(std::move(row), reading_.sink);
  for (const std::string& node : list.hosts) {
    row.host = Host(node);
    storms_.add(row, reading_.sink);
  }
}

// "Skipped 24 previous similar messages": counted for the event they repeat. Whether there is one.
bool TextReader::count_suppressed(const TextLine& line, const rules::Match& match) {
  const auto it = match.captures.find("count");
  // "(client.c:2141:ptlrpc_expire_one_request()) Skipped 24": the function tells which message
  // was left out.
  std::string_view like;
  const std::string& message = line.line.message;
  if (const std::size_t open = message.rfind('(', message.find("()"));
      open != std::string::npos && message.find("())") != std::string::npos) {
    const std::size_t colon = message.rfind(':', message.find("()"));
    like = std::string_view(message).substr(colon + 1, message.find("()") - colon - 1);
  }
  return it != match.captures.end() && it->second.size() < 10 &&
         storms_.add_repeats(std::strtoull(it->second.c_str(), nullptr, 10), like, line.place.line);
}

// Whether the word before a rank is a machine, what else the bundle says of machines decides.
void TextReader::keep_claim(const TextLine& line) {
  const line::Prefix& prefix = line.line.prefix;
  if (prefix.rank && claims_.size() < kMostClaims &&
      claims_.emplace(*prefix.claimed_host, *prefix.rank).second)
    reading_.sink.put(IdentityRow{.place = line.place,
                                  .source = "rank label",
                                  .host = prefix.claimed_host,
                                  .rank = number_of(*prefix.rank)});
}

void TextReader::look(const TextLine& line, const Candidate* candidate) {
  if (contains(line.line.message, '\n')) {
    const line::Line told = line.line;
    return look_at_each(line.place, told.message, told.prefix);
  }
  trouble_ = false;
  if (!waiting_.empty()) settle_waiting(line);
  if (line.line.prefix.claimed_host) keep_claim(line);
  if (join_partial(line)) return;
  if (feed_assemblers(line)) {
    if (candidate != nullptr)
      candidate->recognisers.each([&](std::size_t i) {
        if (const Recogniser* one = recognisers()[i]; one->beside) one->read(line, reading_);
      });
    return;
  }
  if (candidate == nullptr) {
    if (every_line_.recognisers.empty()) return;
    candidate = &every_line_;
  }
  const Outcome said = ask_recognisers(candidate->recognisers | every_line_.recognisers, line);
  bool used = said.used;
  trouble_ = said.begins_exception;
  std::optional<rules::Match> asked;
  const bool asked_before = candidate->judged != nullptr;
  const bool judged = asked_before && candidate->judged->match;
  std::optional<rules::Said> named;
  if (candidate->marker && rules_ && !used && !judged)
    named = rules::Grammar::built_in().said(line.raw, true);
  if ((said.judge || named) && rules_ && !asked_before)
    asked = reading_.pack.match(line.line.message, reading_.text_kind);
  const std::optional<rules::Match>& match = judged ? candidate->judged->match : asked;
  if (match && reading_.pack.is_event(*match)) {
    if (typed_command(line.raw)) return;
    keep_event(line, *match);
    used = true;
  } else if (match && match->rule->meaning.traits.has(Trait::suppressed)) {
    used = count_suppressed(line, *match) || used;
  } else if ((said.speaks_of_error || leads(named)) && rules_ && !used && !match) {
    if (auto row = error_line(line, named, reading_)) {
      trouble_ = true;
      storms_.add(std::move(*row), reading_.sink);
      keep_clock(line);
      used = true;
    }
  }
  if (used) mark_used(line.place.line);
}

// A rank that died prints no more: its traceback waits for a line that never comes, through
// gigabytes of others' lines.
bool TextReader::only_ranks_run() const {
  return every_line_.recognisers.empty() && partial_.empty() && waiting_.empty() &&
         std::all_of(running_.begin(), running_.end(),
                     [](const Running& one) { return one.stream.rank || one.stream.local_rank; });
}

// The begin of the first line that may be of a rank whose assembler runs. Ranks are printed as
// "[rank12]:",
// "[trainer7|12]:", "[1,12]<stdout>:" and local ones as "[default3]:"; without one of those there
// is nothing to feed.
std::size_t TextReader::next_of_ranks(std::string_view bytes, std::size_t from,
                                      std::size_t to) const {
  // Whole lines, a few KiB at a time.
  const auto through_line = [&](std::size_t at) {
    return std::min(record_end(bytes, at, to) + 1, to);
  };
  std::string_view text =
      bytes.substr(from, (to - from > kLookBytes ? through_line(from + kLookBytes) : to) - from);
  if (!is_plain(text)) {
    text = bytes.substr(from, through_line(from) - from);
    if (!is_plain(text)) return from;
  }
  for (std::size_t close = text.find(']'); close != std::string_view::npos;
       close = text.find(']', close + 1)) {
    std::size_t first = close;
    while (first > 0 && digit(text[first - 1])) --first;
    if (first == close || first == 0) continue;
    std::int64_t value = 0;
    for (const char c : text.substr(first, std::min<std::size_t>(close - first, 18)))
      value = value * 10 + (c - '0');
    const char before = text[first - 1];
    const char after = close + 1 < text.size() ? text[close + 1] : '\0';
    const bool global =
        before == 'k' || (before == '|' && after == ':') || (before == ',' && after == '<');
    const bool local = after == ':';
    if (!global && !local) continue;
    for (const Running& one : running_)
      if ((global && one.stream.rank == Rank(value)) ||
          (local && one.stream.local_rank == LocalRank(value))) {
        const std::size_t end = text.substr(0, first).find_last_of("\r\n");
        return end == std::string_view::npos ? from : from + end + 1;
      }
  }
  return from + text.size();
}

// All lines of a stretch, while an assembler wants to see them. Stops early when none is left.
void TextReader::walk_lines(std::string_view bytes, std::size_t from, std::size_t to,
                            std::uint64_t newlines_before) {
  std::size_t at = from;
  while (at < to && wants_every_line()) {
    if (only_ranks_run()) {
      const std::size_t next = next_of_ranks(bytes, at, to);
      if (next > at) {
        newlines_before += count_newlines(bytes.substr(at, next - at));
        at = next;
        continue;
      }
    }
    const std::size_t end = record_end(bytes, at, to);
    const std::string_view raw = bytes.substr(at, std::min<std::size_t>(end - at, 64 * 1024));
    const bool line_end_of_dos = raw.empty() && at > 0 && bytes[at - 1] == '\r';
    if (!line_end_of_dos && (!raw.empty() || bytes[std::min(end, bytes.size() - 1)] == '\n')) {
      line::peel(raw, habit_, peeled_);
      days_.place(peeled_.prefix.time);
      look({{member_, newlines_ + newlines_before + 1, bytes_ + at,
             static_cast<std::uint32_t>(raw.size())},
            raw,
            peeled_},
           nullptr);
    }
    if (end < to && bytes[end] == '\n') ++newlines_before;
    at = end + 1;
  }
}

void TextReader::block(std::string_view bytes, const BlockScan& scan) {
  if (newlines_ == 0 && bytes_ == 0) {
    if (reading_.text_kind == "kernel")
      keep_first_clocks(bytes);
    else {
      keep_edge_time(bytes, true);
      begin_by_name(bytes);
      // A syslog: daemons and the kernel in turn.
      const std::string_view first = bytes.substr(0, std::min<std::size_t>(bytes.find('\n'), 4096));
      if (const line::Line line = line::peel(first, habit_); line.prefix.host)
        keep_printed_zone(first.substr(0, 64), line.prefix);
    }
  }
  std::size_t position = 0;
  std::uint64_t seen = 0;
  for (const Candidate& candidate : scan.candidates) {
    if (wants_every_line()) walk_lines(bytes, position, candidate.begin, seen);
    const std::string_view raw = bytes.substr(candidate.begin, candidate.length);
    reading_.above = bytes.substr(0, candidate.begin);
    if (candidate.judged == nullptr)
      line::peel(raw, candidate.first ? habit_ : line::Habit{}, peeled_);
    line::Line& line = candidate.judged != nullptr ? candidate.judged->line : peeled_;
    days_.place(line.prefix.time);
    look({{member_, newlines_ + candidate.newlines_before + 1, bytes_ + candidate.begin,
           static_cast<std::uint32_t>(candidate.length)},
          raw,
          line},
         &candidate);
    if (trouble_ && reading_.text_kind != "kernel") keep_last_lines(bytes, candidate);
    position = candidate.begin + candidate.length;
    seen = candidate.newlines_before;
    if (position < bytes.size() && (bytes[position] == '\n' || bytes[position] == '\r'))
      seen += bytes[position++] == '\n';
  }
  if (wants_every_line()) walk_lines(bytes, position, bytes.size(), seen);
  // Of a kernel's log the end says little, unless somebody pasted a few lines of it.
  if (reading_.text_kind != "kernel" || bytes_ + bytes.size() <= kTailBytes) {
    tail_.append(bytes.substr(bytes.size() > kTailBytes ? bytes.size() - kTailBytes : 0));
    if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
  }
  bytes_ += bytes.size();
  newlines_ += scan.newlines;
  if (!bytes.empty()) open_line_ = bytes.back() != '\n';
  lines_ = newlines_ + (open_line_ ? 1 : 0);
}

void TextReader::record(const Place& place, std::string_view text, const line::Prefix& told) {
  ++lines_;
  look_at_each(place, text, told);
}

// A record may hold a whole traceback: each line of it has what the record says of itself.
void TextReader::look_at_each(const Place& place, std::string_view text, const line::Prefix& told) {
  const auto complete = [&](line::Line& line) {
    line::Prefix& prefix = line.prefix;
    // Both are true; the record's has a date and a zone.
    if (prefix.time.clock != Clock::utc && told.time.clock != Clock::none) {
      if (prefix.time.clock == Clock::boot && !prefix.boot) prefix.boot = prefix.time;
      prefix.time = told.time;
    }
    if (!prefix.host) prefix.host = told.host;
    if (!prefix.rank) prefix.rank = told.rank;
    if (prefix.stream.empty()) prefix.stream = told.stream;
    prefix.kernel = prefix.kernel || told.kernel;
    if (prefix.unit.empty()) prefix.unit = told.unit;
  };
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view raw = text.substr(at, std::min<std::size_t>(end - at, 64 * 1024));
    at = end + 1;
    if (raw.empty()) continue;
    BlockScan scan = scanner_.scan(raw, reading_.text_kind, habit_, rules_);
    for (Candidate& candidate : scan.candidates) {
      const std::string_view piece = raw.substr(candidate.begin, candidate.length);
      if (candidate.judged == nullptr)
        line::peel(piece, candidate.first ? habit_ : line::Habit{}, peeled_);
      line::Line& line = candidate.judged != nullptr ? candidate.judged->line : peeled_;
      complete(line);
      look({place, piece, line}, &candidate);
    }
    if (scan.candidates.empty() && wants_every_line()) {
      line::peel(raw, habit_, peeled_);
      complete(peeled_);
      look({place, raw, peeled_}, nullptr);
    }
  }
}

void TextReader::finish() {
  // Where no line prints the first time none prints the last.
  if (!tail_.empty() && (bytes_ != without_time_ || bytes_ > tail_.size()))
    keep_edge_time(tail_, false);
  if (rules_ && (reading_.text_kind != "kernel" || bytes_ <= kTailBytes))
    last_lines_.finish(tail_, {member_, newlines_ + 1, bytes_, 0}, reading_.sink);
  for (Running& running : running_) running.assembler->finish(reading_);
  running_.clear();
  for (const auto& [stream, partial] : partial_)
    judge_joined(partial, partial.place.line);  // cut before its end
  partial_.clear();
  for (Waiting& waiting : waiting_) storms_.add(std::move(waiting.row), reading_.sink);
  waiting_.clear();
  for (const auto& kept : reading_.kept) kept->finish(reading_);
  reading_.kept.clear();
  storms_.flush(reading_.sink);
}

}  // namespace culprit::ingest
