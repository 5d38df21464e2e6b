// Prefixes of loggers, and those that only the lines of one file have.
#include "line/prefix_forms.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "line/digit.hpp"
#include "line/loose_time.hpp"
#include "line/timestamp.hpp"
#include "model/contains.hpp"

namespace culprit::line {

bool is_level(std::string_view word) {
  static constexpr std::array<std::string_view, 10> kLevels{"INFO",  "WARNING",  "WARN",  "ERROR",
                                                            "DEBUG", "CRITICAL", "FATAL", "SUCCESS",
                                                            "TRACE", "NOTICE"};
  return contains(kLevels, word);
}

namespace {

// "05-27 22:59:19", no year is printed.
std::size_t parse_month_and_day(std::string_view text, Timestamp& stamp) {
  const std::string_view date = text.substr(0, 14);
  if (date.size() < 14 || !digit(date[0]) || date[2] != '-' || date[5] != ' ' ||
      parse_iso("2000-" + std::string(date), stamp) == 0)
    return 0;
  stamp.clock = Clock::local_no_year;
  return date.size();
}

// "I 2026-11-21 03:19:38": tornado's level, before a date and not before a file as glog's.
bool letter_before_date(const Cursor& c) {
  const std::string_view text = c.rest();
  return text.size() > 2 && std::string_view("DIWEFCV").find(text[0]) != std::string_view::npos &&
         text[1] == ' ' && digit(text[2]);
}

// "trainer.loop:2026-11-21T03:19:38Z step=12" behind a level: Python's own format, and a time that
// the program put before its message.
bool date_behind_logger(Cursor& p, Prefix& prefix) {
  if (p.word(host_char).empty() || !p.take(":")) return false;
  Timestamp stamp;
  const std::size_t used = parse_iso(p.rest(), stamp);
  if (used == 0) return false;
  p.at += used;
  if (!p.take(" ")) return false;
  keep_time(prefix, stamp);
  return true;
}

}  // namespace

// [2026-11-21 03:19:38,601] · [Fri Aug 30 11:43:09 2024] · [Jul 23 2024 07:53:55] · [15:58:29] ·
// [NeMo W 2025-...] · [WARN 2026-11-21 03:19:38] · [I 2026-11-21 03:19:38]
bool peel_bracketed_date(Cursor& p, Prefix& prefix) {
  if (!p.take("[")) return false;
  if (p.take("NeMo ")) {
    p.word(alpha);
    p.take(" ");
  } else if (Cursor q = p; is_level(q.word(alpha)) && q.take(" ")) {
    p = q;
  } else if (letter_before_date(p)) {
    p.at += 2;
  }
  Timestamp stamp;
  std::size_t used = parse_iso(p.rest(), stamp);
  if (used == 0) {
    used = parse_calendar(p.rest(), stamp);
    // "[Fri Aug 30 11:43:09 2024]", with the day of the week, is dmesg -T and nothing else.
    if (used > 0 && alpha(p.peek()) && stamp.clock == Clock::local && p.rest().size() > 4 &&
        p.rest()[3] == ' ' && alpha(p.rest()[4])) {
      prefix.kernel = true;
      prefix.unit = "kernel";
    }
  }
  if (used == 0) used = parse_month_and_day(p.rest(), stamp);
  if (used == 0) used = parse_short_date(p.rest(), stamp);
  if (used == 0) used = parse_time_of_day(p.rest(), stamp);
  if (used == 0) return false;
  p.at += used;
  if (p.peek() == ' ') {  // "file.py:239]" of NeMo
    const std::size_t close = p.text.find(']', p.at);
    if (close == std::string_view::npos || close - p.at > 80) return false;
    p.at = close;
  }
  if (!p.take("]")) return false;
  p.take(" ");
  keep_time(prefix, stamp);
  return true;
}

// [INFO] [tid 841] [rank3] after a bracketed date: fields of a logger's format.
bool peel_logger_field(Cursor& p, Prefix& prefix) {
  if (prefix.time.clock == Clock::none) return false;
  if (!p.take("[")) return false;
  if (p.take("tid ")) {
    if (!p.number()) return false;
  } else if (!is_level(p.word(alpha))) {
    return false;
  }
  if (!p.take("] ")) return false;
  return true;
}

// [E621 06:24:44.903881913 ProcessGroupNCCL.cpp:616] · [E ProcessGroupNCCL.cpp:458] · E0611
// 02:50:04.977 3766697 api.py:914]
bool peel_glog(Cursor& p, Prefix& prefix) {
  const bool bracket = p.take("[");
  if (bracket && letter_before_date(p)) return false;
  const char level = p.peek();
  if (level != 'I' && level != 'W' && level != 'E' && level != 'F' && level != 'C' && level != 'V')
    return false;
  ++p.at;
  Timestamp stamp;
  if (digit(p.peek())) {
    const std::size_t used = parse_glog(p.rest(), stamp);
    if (used == 0) return false;
    p.at += used;
  } else if (!bracket || p.peek() != ' ') {
    return false;  // "[Epoch 3:10]"
  }
  const std::size_t close = p.text.find(']', p.at);
  if (close == std::string_view::npos || close - p.at > 160) return false;
  const std::string_view middle =
      p.text.substr(p.at, close - p.at);  // " 3766697 torch/.../api.py:914"
  const std::size_t colon = middle.rfind(':');
  const bool placed =
      colon != std::string_view::npos && colon + 1 < middle.size() && digit(middle[colon + 1]);
  // "I0901 00:35:31.200000] step=15637": a logger of the same form, without the place.
  if (!placed && (bracket || !middle.empty() || stamp.clock == Clock::none)) return false;
  if (middle.find_first_of("()\"'{}") != std::string_view::npos) return false;
  p.at = close + 1;
  p.take(" ");
  keep_time(prefix, stamp);
  return true;
}

// ERROR 06-30 13:53:19 [core.py:515] message · INFO 06-30 13:53:19 core.py:515] message, of vLLM
// INFO:trainer.loop:2026-11-21T03:19:38Z step=12
bool peel_level_date(Cursor& p, Prefix& prefix) {
  const char first = p.peek();
  if (first != 'E' && first != 'I' && first != 'W' && first != 'D' && first != 'C') return false;
  if (!is_level(p.word(alpha))) return false;
  if (p.take(":")) return date_behind_logger(p, prefix);
  if (!p.take(" ")) return false;
  Timestamp stamp;
  const std::size_t used = parse_month_and_day(p.rest(), stamp);
  if (used == 0) return false;
  p.at += used;
  if (!p.take(" ")) return false;
  const std::size_t close = p.text.find("] ", p.at);
  const std::size_t end =
      close == std::string_view::npos && p.text.ends_with("]") ? p.text.size() - 1 : close;
  if (end == std::string_view::npos || end - p.at > 100) return false;
  const std::string_view source = p.text.substr(p.at, end - p.at);
  if (!contains(source, ':') || contains(source, ' ')) return false;
  p.at = end + 1;
  p.take(" ");
  keep_time(prefix, stamp);
  return true;
}

// "| ERROR    | package.module:function:12 - message" after a date: loguru.
// "fa88a9df [rank=2] || ERROR: message" after a date: Determined.
bool peel_after_date(Cursor& p, Prefix& prefix) {
  if (prefix.time.clock == Clock::none) return false;
  if (p.take("| ")) {
    const std::string_view level = p.word(alpha);
    p.spaces();
    if (!is_level(level) || !p.take("| ")) return false;
    const std::size_t dash = p.text.find(" - ", p.at);
    if (dash == std::string_view::npos || dash - p.at > 200 ||
        !contains(p.text.substr(p.at, dash - p.at), ':'))
      return false;
    p.at = dash + 3;
    return true;
  }
  const std::string_view id = p.word([](char ch) { return digit(ch) || (ch >= 'a' && ch <= 'f'); });
  if (id.size() != 8 || !p.take(" ")) return false;
  std::optional<Rank> rank;
  if (p.take("[rank=")) {
    rank = maybe<Rank>(p.number());
    if (!rank || !p.take("] ")) return false;
  }
  if (!p.take("||")) return false;
  p.take(" ");
  if (Cursor q = p; is_level(q.word(alpha)) && q.take(": ")) p = q;
  if (rank) prefix.rank = rank;
  return true;
}

// What no other form is, of loggers that somebody wrote himself.
bool peel_loose(Cursor& p, const Habit& habit, Prefix& prefix) {
  if (prefix.time.clock != Clock::none) return false;
  Timestamp stamp;
  const LooseTime found = parse_loose(p.rest(), stamp);
  if (found.used == 0 || !(found.sure || habit.loose_time)) return false;
  p.at += found.used;
  keep_time(prefix, stamp);
  return true;
}

// What most lines of the file begin with. A line of another layout keeps what it has.
bool peel_layout(Cursor& p, const HeaderLayout& layout, Prefix& prefix) {
  std::string_view fields = layout.view();
  if (fields.empty()) return false;
  const Header header = parse_header(p.rest());
  // What a process prints without its logger has no time behind its machine and number.
  if (!header.view().starts_with(fields) && fields.starts_with("HP"))
    fields = fields.substr(0, fields.find('T'));
  if (!header.view().starts_with(fields)) return false;
  if (has_any(fields, "T")) keep_time(prefix, header.time);
  if (layout.hosts) (layout.claims ? prefix.claimed_host : prefix.host) = Host(header.host);
  if (header.rank && has_any(fields, "Rrn")) {
    if (layout.local_ranks)
      prefix.local_rank = LocalRank(*header.rank);
    else
      prefix.rank = Rank(*header.rank);
  }
  if (header.number && has_any(fields, "PN")) switch (layout.number) {
      case HeaderNumber::rank: prefix.rank = Rank(*header.number); break;
      case HeaderNumber::local_rank: prefix.local_rank = LocalRank(*header.number); break;
      case HeaderNumber::pid: prefix.pid = header.number; break;
      case HeaderNumber::task: prefix.task = header.number; break;
      case HeaderNumber::unknown: break;
    }
  prefix.cluster = std::string(header.cluster);
  prefix.stream = std::string(header.host);
  if (const auto number = header.rank ? header.rank : header.number)
    prefix.stream += fmt::format("/{}", *number);
  p.at += message_begin(p.rest(), header, fields.size());
  return true;
}

}  // namespace culprit::line
