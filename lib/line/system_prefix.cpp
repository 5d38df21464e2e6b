// Prefixes of kernels, of syslog and journals, and of container runtimes.
#include "line/prefix_forms.hpp"

#include <algorithm>
#include <array>

#include "line/digit.hpp"
#include "line/loose_time.hpp"
#include "line/timestamp.hpp"
#include "model/contains.hpp"

namespace culprit::line {

void keep_time(Prefix& prefix, const Timestamp& stamp) {
  if (stamp.clock == Clock::none) return;
  const auto worth = [](Clock clock) {
    switch (clock) {
      case Clock::utc: return 5;
      case Clock::local: return 4;
      case Clock::local_no_year: return 3;
      case Clock::local_no_date: return 2;
      case Clock::boot: return 1;
      case Clock::none: return 0;
    }
    return 0;
  };
  if (stamp.clock == Clock::boot && prefix.time.clock != Clock::none) {
    if (!prefix.boot) prefix.boot = stamp;
    return;
  }
  if (prefix.time.clock == Clock::boot) prefix.boot = prefix.time;
  // The outermost record was written by the collector of the line; an inner time of the same worth
  // is nearer to the event.
  if (worth(stamp.clock) >= worth(prefix.time.clock)) prefix.time = stamp;
}

// [  123.456789] and the forms beside it. Three decimals are Xorg's clock, which starts elsewhere:
// not ours to take.
bool peel_boot_time(Cursor& p, Prefix& prefix) {
  if (!p.take("[")) return false;
  p.spaces();
  const bool relative = p.take("+");
  const auto whole = p.number();
  if (!whole) return false;
  Timestamp stamp;
  const bool fractional = p.take(".");
  if (fractional) {
    const std::size_t begin = p.at;
    const auto fraction = p.number();
    if (!fraction) return false;
    const std::size_t digits = p.at - begin;
    if (digits == 6 && !relative && *whole < 9'000'000'000LL)
      stamp = {Clock::boot, *whole * kSecond + *fraction * 1'000, 1'000};
  } else if (relative) {
    return false;
  }
  if (!p.take("]")) return false;
  if (p.peek() == '[') {  // CONFIG_PRINTK_CALLER: [ T5085] or [ C3]
    Cursor q = p;
    q.take("[");
    q.spaces();
    if ((q.take("T") || q.take("C")) && q.number() && q.take("]")) p = q;
  }
  if (stamp.clock == Clock::none && ((fractional && !relative) || (!p.done() && p.peek() != ' ')))
    return false;
  p.take(" ");
  if (stamp.clock == Clock::boot || relative)
    prefix.kernel = true;  // dmesg -d prints what passed since the line before
  keep_time(prefix, stamp);
  return true;
}

// "kern  :warn  : " (dmesg -x)
bool peel_facility(Cursor& p, Prefix& prefix) {
  static constexpr std::array<std::string_view, 12> kFacilities{
      "kern", "user", "mail", "daemon", "auth",     "syslog",
      "lpr",  "news", "uucp", "cron",   "authpriv", "ftp"};
  const std::string_view facility = p.word(alpha);
  if (!contains(kFacilities, facility)) return false;
  p.spaces();
  if (!p.take(":") || p.word(alpha).empty()) return false;
  p.spaces();
  if (!p.take(":")) return false;
  p.take(" ");
  if (facility == "kern") {
    prefix.kernel = true;
    prefix.unit = "kernel";
  }
  return true;
}

// 6,3964,206764307,-;msg
bool peel_kmsg(Cursor& p, Prefix& prefix) {
  if (!p.number() || !p.take(",") || !p.number() || !p.take(",")) return false;
  const auto us = p.number();
  if (!us || !p.take(",") || *us > 9'000'000'000'000'000LL) return false;
  const std::size_t semicolon = p.text.find(';', p.at);
  if (semicolon == std::string_view::npos || semicolon - p.at > 64) return false;
  p.at = semicolon + 1;
  prefix.kernel = true;
  prefix.unit = "kernel";
  keep_time(prefix, {Clock::boot, *us * 1'000, 1'000});
  return true;
}

namespace {

// "2026-11-21T03:19:38Z step: 12/400 loss: 2.3": what a trainer prints is no name of a program.
bool begins_a_message(std::string_view word) {
  constexpr std::string_view kWords[] = {"step",      "Step",  "iter",  "Iter", "iteration",
                                         "Iteration", "epoch", "Epoch", "loss", "Loss"};
  return contains(kWords, word);
}

// "[rank3]: " or "gpu-a:615:18953 [2] ": a process of the job speaks from here on.
bool begins_a_process(std::string_view text) {
  if (text.starts_with("[rank") || text.starts_with("[default")) return true;
  Cursor c{text};
  return !c.word(host_char).empty() && c.take(":") && c.number() && c.take(":") && c.number() &&
         c.take(" [") && c.number() && c.take("]");
}

// After a syslog time: [host] [LEVEL] tag[pid]:  Takes nothing when no tag with a colon follows.
void peel_syslog_source(Cursor& c, Prefix& prefix) {
  Cursor p = c;
  const bool no_host = p.peek() == ' ';
  p.spaces();
  std::string_view host;
  for (int token = 0; token < 3; ++token) {
    const std::size_t begin = p.at;
    while (!p.done() && p.peek() != ' ' && p.peek() != ':' && p.peek() != '[') ++p.at;
    std::string_view word = p.text.substr(begin, p.at - begin);
    if (word.empty() || word.size() > 255) return;
    std::optional<std::int64_t> pid;
    if (p.peek() == '[') {
      Cursor q = p;
      q.take("[");
      pid = q.number();
      if (!pid || !q.take("]")) return;
      p = q;
    }
    if (p.take(":")) {
      if (!p.done() && p.peek() != ' ') return;    // "0000:3b:00": no tag
      if (word.front() == '%' && !host.empty()) {  // a switch's message by its code: no program
        prefix.host = Host(host);
        c.at = begin;
        return;
      }
      if (begins_a_message(word) || begins_a_message(host)) return;  // "Epoch 0: ..."
      // Without a host or a process before the colon it is a program's name only if it looks like
      // one: "2026/08/10 19:09:42 XidCriticalError: ..." begins a message.
      const auto capital = [](char ch) { return ch >= 'A' && ch <= 'Z'; };
      if (host.empty() && !pid && std::ranges::any_of(word, capital)) return;
      p.take(" ");
      // The program that speaks. What it repeats of another machine has another's.
      if (prefix.unit.empty() || (!host.empty() && prefix.host == Host(host))) {
        prefix.unit = std::string(word);
        if (word == "kernel") prefix.kernel = true;
      }
      if (pid) prefix.pid = *pid;
      if (!host.empty()) prefix.host = Host(host);
      c = p;
      return;
    }
    if (p.peek() != ' ' || pid) return;
    ++p.at;
    if (token == 0 && !no_host) {
      if (!std::ranges::all_of(word, host_char) || is_level(word)) return;
      host = word;
      Cursor q = p;
      q.spaces();
      if (begins_a_process(q.rest())) {  // a journal without the unit's name
        prefix.host = Host(host);
        c = q;
        return;
      }
    } else if (!std::ranges::all_of(word, [](char ch) { return ch >= 'A' && ch <= 'Z'; })) {
      return;
    }
    p.spaces();
  }
}

// "cx-4 kernel: ..." or "cx-4<tab>kernel<tab>..." behind a tab: a machine's log, exported.
void peel_kernel_field(Cursor& c, Prefix& prefix) {
  Prefix found = prefix;
  Cursor p = c;
  peel_syslog_source(p, found);
  if (found.host && found.kernel) {
    prefix = std::move(found);
    c = p;
    return;
  }
  p = c;
  const std::string_view host = p.word(host_char);
  if (host.empty() || !p.take("\tkernel") || !(p.take("\t") || p.take(":\t"))) return;
  prefix.host = Host(host);
  prefix.unit = "kernel";
  prefix.kernel = true;
  c = p;
}

// "<34>1 time host app procid msgid [data] msg", behind the priority: RFC 5424.
bool peel_rfc5424(Cursor& p, Prefix& prefix) {
  if (!p.take("1 ")) return false;
  Timestamp stamp;
  const std::size_t used = parse_iso(p.rest(), stamp);
  if (used == 0 && !p.take("-")) return false;
  p.at += used;
  std::array<std::string_view, 4> field;  // host, app, procid, msgid
  for (std::string_view& f : field) {
    if (!p.take(" ")) return false;
    f = p.word([](char ch) { return ch != ' '; });
    if (f.empty()) return false;
  }
  if (!p.take(" ")) return false;
  if (p.peek() == '[') {
    bool quoted = false;
    while (!p.done()) {
      const char ch = p.peek();
      ++p.at;
      if (ch == '\\' && quoted)
        ++p.at;
      else if (ch == '"')
        quoted = !quoted;
      else if (ch == ']' && !quoted && p.peek() != '[')
        break;
    }
    p.at = std::min(p.at, p.text.size());
  } else {
    p.take("-");
  }
  p.take(" ");
  p.take("\xEF\xBB\xBF");
  keep_time(prefix, stamp);
  if (field[0] != "-") prefix.host = Host(field[0]);
  prefix.unit = std::string(field[1]);
  prefix.kernel = prefix.kernel || field[1] == "kernel";
  return true;
}

}  // namespace

bool peel_syslog(Cursor& p, Prefix& prefix) {
  Timestamp stamp;
  const std::size_t begin = p.at;
  const std::size_t used = parse_calendar(p.rest(), stamp);
  if (used == 0) return false;
  p.at += used;
  // "Wed Mar 20 14:55:03 2019[1,3]<stderr>:" is mpirun's, with its time stamps.
  if (Cursor q = p; stamp.clock == Clock::local_no_year && q.take(" ") && q.number() &&
                    q.peek() == '[' && q.at - p.at == 5) {
    const std::string dated(p.text.substr(begin, q.at - begin));
    if (Timestamp whole; parse_calendar(dated, whole) == dated.size()) {
      keep_time(prefix, whole);
      p = q;
      return true;
    }
  }
  if (!p.done() && !p.take(" ")) return false;
  keep_time(prefix, stamp);
  peel_syslog_source(p, prefix);
  return true;
}

// Date first. A Kubernetes record names its stream, a modern syslog its host and tag; a logger
// neither.
bool peel_iso(Cursor& p, Prefix& prefix) {
  Timestamp stamp;
  const std::size_t begin = p.at;
  std::size_t used = parse_iso(p.rest(), stamp);
  const bool of_logger = used == 0;
  if (of_logger) used = parse_short_date(p.rest(), stamp);
  if (used == 0) return false;
  p.at += used;
  const bool tab = p.take("\t");  // loggers of Ray and of operators written in Go
  if (!tab && !p.done() && !p.take(" ") && !p.take(",") && !p.take(":")) return false;
  keep_time(prefix, stamp);
  // dmesg --time-format iso: microseconds after a comma, and a zone. Nothing but the message
  // follows.
  const bool comma = contains(p.text.substr(begin, used + 1), ',');
  if (stamp.clock == Clock::utc && stamp.precision == 1'000 && comma) {
    prefix.kernel = true;
    prefix.unit = "kernel";
  }
  if (prefix.unit == "kernel") return true;
  Cursor q = p;
  const std::string_view stream = q.rest().substr(0, 6);
  if ((q.take("stdout ") || q.take("stderr ")) && (q.peek() == 'F' || q.peek() == 'P')) {
    prefix.partial = q.peek() == 'P';
    prefix.stream = std::string(stream);
    ++q.at;
    if (q.done() || q.take(" ")) {
      p = q;
      return true;
    }
  }
  // A comma before the fraction is a Python logger's: "2026-11-21 03:19:38,601 trainer ERROR: ..."
  // names no host.
  if (tab)
    peel_kernel_field(p, prefix);
  else if (!comma && !of_logger)
    peel_syslog_source(p, prefix);
  return true;
}

// "1790028004.917 node-7 sshd[26443]: message": journalctl -o short-unix. A number alone may be
// anything: host and program must follow.
bool peel_unix_time(Cursor& p, Prefix& prefix) {
  const std::string_view seconds = p.word(digit);
  if (seconds.size() != 10 || seconds.front() != '1' || !p.take(".")) return false;
  std::string fraction(p.word(digit));
  if (fraction.size() < 3 || fraction.size() > 9 || !p.take(" ")) return false;
  Nanoseconds precision = 1;
  for (; fraction.size() < 9; fraction += '0') precision *= 10;
  Prefix found = prefix;
  const std::size_t begin = p.at;
  peel_syslog_source(p, found);
  if (p.at == begin || !found.host) return false;
  prefix = std::move(found);
  const std::string digits = std::string(seconds) + fraction;
  keep_time(prefix, {Clock::utc, std::stoll(digits), precision});
  return true;
}

// <4> before a kernel line or a syslog record.
bool peel_priority(Cursor& p, Prefix& prefix) {
  if (!p.take("<")) return false;
  const auto priority = p.number();
  if (!priority || *priority > 191 || !p.take(">")) return false;
  if (!take_first(p, prefix, peel_rfc5424)) prefix.kernel = prefix.kernel || *priority < 8;
  return true;
}

// "  2f | 11/15/2026 | 11:06:30 UTC | Processor #0x41 | IERR | Asserted": ipmitool sel list.
void note_sel_time(std::string_view text, Prefix& prefix) {
  Cursor p{text};
  p.spaces();
  const std::string_view id = p.word([](char ch) { return digit(ch) || (ch >= 'a' && ch <= 'f'); });
  p.spaces();
  if (id.empty() || id.size() > 8 || !p.take("| ")) return;
  if (p.rest().size() < 21) return;
  const std::string_view date = p.rest().substr(0, 13), clock = p.rest().substr(13, 8);
  if (date[2] != '/' || date[5] != '/' || date.substr(10) != " | ") return;
  Timestamp stamp;
  const std::string_view after = p.rest().substr(21);
  const std::string whole = std::string(date.substr(6, 4)) + "-" + std::string(date.substr(0, 2)) +
                            "-" + std::string(date.substr(3, 2)) + " " + std::string(clock) +
                            std::string(after.substr(0, after.find(' ', 1)));  // its zone
  if (parse_iso(whole, stamp) == 0) return;
  if (after.starts_with(" PM") && std::stoi(std::string(clock.substr(0, 2))) < 12)
    stamp.ns += 12 * 3600 * kSecond;
  keep_time(prefix, stamp);
}

// "  794 | 01.11.2025 08:03:35 | loss 2.516", "71203,2025-02-19 16:47:20,Critical": rows of tables
// that begin with their number.
void note_time_behind_number(std::string_view text, Prefix& prefix) {
  Cursor p{text};
  p.spaces();
  if (!p.number()) return;
  const bool bar = p.take(" | ");
  if (!bar && !p.take(",") && !p.take(";")) return;
  Timestamp stamp;
  if (parse_iso(p.rest(), stamp) > 0 || (bar && parse_loose(p.rest(), stamp).sure))
    keep_time(prefix, stamp);
}

}  // namespace culprit::line
