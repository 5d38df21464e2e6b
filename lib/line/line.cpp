#include "line/line.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <tuple>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <fmt/format.h>
#include <re2/re2.h>

#include "line/digit.hpp"
#include "line/loose_time.hpp"
#include "line/header_layout.hpp"
#include "line/text_cursor.hpp"
#include "line/timestamp.hpp"
#include "line/wrapper.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"

namespace culprit::line {

namespace {

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
bool peel_boot_time(Cursor& c, Prefix& prefix) {
  Cursor p = c;
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
  c = p;
  return true;
}

// [pod/ddp-worker-0/trainer] of kubectl logs --prefix. Inside a pod its name is the host's name.
bool peel_pod(Cursor& c, Prefix& prefix) {
  Cursor p = c;
  if (!p.take("[pod/")) return false;
  const std::string_view pod = p.word(host_char);
  if (pod.empty() || !p.take("/")) return false;
  const std::string_view container = p.word(host_char);
  if (container.empty() || !(p.take("] ") || (p.take("]") && p.done()))) return false;
  prefix.host = Host(pod);
  prefix.stream = std::string(pod) + "/" + std::string(container);
  c = p;
  return true;
}

// [rank3]: · [rank  3] · [default3]: · [1,3]<stdout>: · [prterun-n7-812@1,3]<stdout>: ·
// [trainer85612|12]:
bool peel_launcher_bracket(Cursor& c, Prefix& prefix) {
  Cursor p = c;
  if (!p.take("[")) return false;
  if (p.peek() == 'p' && p.rest().starts_with("prterun-")) {
    Cursor q = p;
    q.word(host_char);
    if (q.take("@")) p = q;
  }
  if (const auto job = p.number()) {
    if (!p.take(",")) return false;
    const auto rank = p.number();
    if (!rank || !p.take("]<") || p.word(alpha).empty() || !p.take(">:")) return false;
    prefix.rank = Rank(*rank);
    p.take(" ");
    c = p;
    return true;
  }
  const std::string_view role = p.word([](char ch) { return alpha(ch) || ch == '_' || ch == '-'; });
  if (role.empty()) return false;
  if (p.peek() == ']') {  // "[titan] 2025-06-10 21:58:27,008 - root - INFO - ..."
    Timestamp stamp;
    if (!p.take("] ") || parse_iso(p.rest(), stamp) == 0) return false;
    c = p;
    return true;
  }
  if (role == "rank") p.spaces();
  const auto number = p.number();
  if (!number) return false;
  if (p.take("|")) {
    const auto rank = p.number();
    if (!rank || !p.take("]:")) return false;
    prefix.rank = Rank(*rank);
    c = p;
    return true;
  }
  if (!p.take("]")) return false;
  const bool colon = p.take(":");
  if (role == "rank") {
    if (!colon && p.peek() != ' ') return false;
    prefix.rank = Rank(*number);
  } else {
    if (!colon) return false;
    prefix.local_rank = LocalRank(*number);
  }
  p.take(" ");
  c = p;
  return true;
}

// [gpu-a07][rank 12]: some launchers' own. A word without a digit is a logger's name or a level.
bool peel_host_and_rank(Cursor& c, Prefix& prefix) {
  Cursor p = c;
  if (!p.take("[")) return false;
  const std::string_view host = p.word(host_char);
  if (std::ranges::none_of(host, digit) || std::ranges::none_of(host, alpha) ||
      !may_name_machine(host) || !p.take("]"))
    return false;
  p.take(" ");
  if (!p.rest().starts_with("[rank") || !peel_launcher_bracket(p, prefix)) return false;
  prefix.host = Host(host);
  c = p;
  return true;
}

// gpu-a07 [rank12]: message, of launchers that put a machine before what its ranks print. Whether
// the word is one, somebody else must know.
bool peel_word_before_rank(Cursor& c, Prefix& prefix) {
  Cursor p = c;
  const std::string_view host = p.word(host_char);
  if (prefix.rank || prefix.host || std::ranges::none_of(host, digit) || !alpha(host.front()) ||
      !may_name_machine(host) || !p.take(" ") || !p.rest().starts_with("[rank") ||
      !peel_launcher_bracket(p, prefix))
    return false;
  prefix.claimed_host = Host(host);
  c = p;
  return true;
}

// [rank130] 12/Mar/2026:05:07:55 +0000 [gpu-a07] message: the same word behind rank and time.
bool peel_word_behind_rank(Cursor& c, Prefix& prefix) {
  Cursor p = c;
  if (!prefix.rank || prefix.time.clock == Clock::none || prefix.host || prefix.claimed_host ||
      !p.take("["))
    return false;
  const std::string_view host = p.word(host_char);
  if (std::ranges::none_of(host, digit) || !alpha(host.front()) || !may_name_machine(host) ||
      !p.take("] "))
    return false;
  prefix.claimed_host = Host(host);
  c = p;
  return true;
}

bool is_level(std::string_view word) {
  static constexpr std::array<std::string_view, 10> kLevels{"INFO",  "WARNING",  "WARN",  "ERROR",
                                                            "DEBUG", "CRITICAL", "FATAL", "SUCCESS",
                                                            "TRACE", "NOTICE"};
  return contains(kLevels, word);
}

// [2026-11-21 03:19:38,601] · [Fri Aug 30 11:43:09 2024] · [Jul 23 2024 07:53:55] · [15:58:29] ·
// [NeMo W 2025-...] · [WARN 2026-11-21 03:19:38] · [I 2026-11-21 03:19:38]
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

bool peel_bracketed_date(Cursor& c, Prefix& prefix) {
  Cursor p = c;
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
  c = p;
  return true;
}

// [INFO] [tid 841] [rank3] after a bracketed date: fields of a logger's format.
bool peel_logger_field(Cursor& c, Prefix& prefix) {
  if (prefix.time.clock == Clock::none) return false;
  Cursor p = c;
  if (!p.take("[")) return false;
  if (p.take("tid ")) {
    if (!p.number()) return false;
  } else if (!is_level(p.word(alpha))) {
    return false;
  }
  if (!p.take("] ")) return false;
  c = p;
  return true;
}

// [E621 06:24:44.903881913 ProcessGroupNCCL.cpp:616] · [E ProcessGroupNCCL.cpp:458] · E0611
// 02:50:04.977 3766697 api.py:914]
bool peel_glog(Cursor& c, Prefix& prefix) {
  Cursor p = c;
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
  c = p;
  return true;
}

// ", ip=10.72.7.6"; some clusters give machines' names there.
void take_ip(Cursor& p, Prefix& prefix) {
  if (!p.take(", ip=")) return;
  const std::string_view ip = p.word([](char ch) {
    return digit(ch) || alpha(ch) || ch == '.' || ch == ':' || ch == '-' || ch == '_';
  });
  const bool name = ip.find_first_of("ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ-_") != ip.npos;
  if (name)
    prefix.host = Host(ip);
  else
    prefix.address = std::string(ip);
}

// (raylet) · (raylet, ip=10.72.7.6) · (autoscaler +1m2s): Ray's own processes
bool peel_ray_daemon(Cursor& c, Prefix& prefix) {
  Cursor p = c;
  if (p.take("(raylet")) {
    take_ip(p, prefix);
  } else if (p.take("(autoscaler +")) {
    p.word([](char ch) { return digit(ch) || alpha(ch); });
  } else {
    return false;
  }
  if (!p.take(") ")) return false;
  c = p;
  return true;
}

// (RayTrainWorker pid=615, ip=10.72.7.6) · (pid=615) · (EngineCore_DP0 pid=81) · (VllmWorker rank=3
// pid=84) of vLLM
bool peel_ray(Cursor& c, Prefix& prefix) {
  if (peel_ray_daemon(c, prefix)) return true;
  Cursor p = c;
  if (!p.take("(")) return false;
  std::string_view actor = p.word([](char ch) { return ch != ')' && ch != '=' && ch != ','; });
  std::optional<Rank> rank;
  if (actor.ends_with(" rank") && p.take("=")) {
    rank = maybe<Rank>(p.number());
    if (!rank || !p.take(" pid")) return false;
    actor = "pid";
  }
  if ((actor != "pid" && !actor.ends_with(" pid")) || !p.take("=")) return false;
  const auto pid = p.number();
  if (!pid) return false;
  if (rank) prefix.rank = rank;
  take_ip(p, prefix);
  if (!p.take(")")) return false;
  prefix.pid = *pid;
  p.take(" ");
  c = p;
  return true;
}

// "kern  :warn  : " (dmesg -x)
bool peel_facility(Cursor& c, Prefix& prefix) {
  Cursor p = c;
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
  c = p;
  return true;
}

// 6,3964,206764307,-;msg
bool peel_kmsg(Cursor& c, Prefix& prefix) {
  Cursor p = c;
  if (!p.number() || !p.take(",") || !p.number() || !p.take(",")) return false;
  const auto us = p.number();
  if (!us || !p.take(",") || *us > 9'000'000'000'000'000LL) return false;
  const std::size_t semicolon = p.text.find(';', p.at);
  if (semicolon == std::string_view::npos || semicolon - p.at > 64) return false;
  p.at = semicolon + 1;
  prefix.kernel = true;
  prefix.unit = "kernel";
  keep_time(prefix, {Clock::boot, *us * 1'000, 1'000});
  c = p;
  return true;
}

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

bool peel_syslog(Cursor& c, Prefix& prefix) {
  Timestamp stamp;
  Cursor p = c;
  const std::size_t used = parse_calendar(p.rest(), stamp);
  if (used == 0) return false;
  p.at += used;
  // "Wed Mar 20 14:55:03 2019[1,3]<stderr>:" is mpirun's, with its time stamps.
  if (Cursor q = p; stamp.clock == Clock::local_no_year && q.take(" ") && q.number() &&
                    q.peek() == '[' && q.at - p.at == 5) {
    const std::string dated(c.text.substr(c.at, q.at - c.at));
    if (Timestamp whole; parse_calendar(dated, whole) == dated.size()) {
      keep_time(prefix, whole);
      c = q;
      return true;
    }
  }
  if (!p.done() && !p.take(" ")) return false;
  keep_time(prefix, stamp);
  peel_syslog_source(p, prefix);
  c = p;
  return true;
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

// Date first. A Kubernetes record names its stream, a modern syslog its host and tag; a logger
// neither.
bool peel_iso(Cursor& c, Prefix& prefix) {
  Timestamp stamp;
  Cursor p = c;
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
  const bool comma = contains(c.text.substr(c.at, used + 1), ',');
  if (stamp.clock == Clock::utc && stamp.precision == 1'000 && comma) {
    prefix.kernel = true;
    prefix.unit = "kernel";
  }
  if (prefix.unit == "kernel") {
    c = p;
    return true;
  }
  Cursor q = p;
  const std::string_view stream = q.rest().substr(0, 6);
  if ((q.take("stdout ") || q.take("stderr ")) && (q.peek() == 'F' || q.peek() == 'P')) {
    prefix.partial = q.peek() == 'P';
    prefix.stream = std::string(stream);
    ++q.at;
    if (q.done() || q.take(" ")) {
      c = q;
      return true;
    }
  }
  // A comma before the fraction is a Python logger's: "2026-11-21 03:19:38,601 trainer ERROR: ..."
  // names no host.
  if (tab) {
    peel_kernel_field(p, prefix);
  } else if (!comma && !of_logger) {
    peel_syslog_source(p, prefix);
  }
  c = p;
  return true;
}

// "1790028004.917 node-7 sshd[26443]: message": journalctl -o short-unix. A number alone may be
// anything: host and program must follow.
bool peel_unix_time(Cursor& c, Prefix& prefix) {
  Cursor p = c;
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
  c = p;
  return true;
}

// <4> before a kernel line or a syslog record; "<34>1 time host app pid msgid [data] msg" is RFC
// 5424.
bool peel_priority(Cursor& c, Prefix& prefix) {
  Cursor p = c;
  if (!p.take("<")) return false;
  const auto priority = p.number();
  if (!priority || *priority > 191 || !p.take(">")) return false;
  if (Cursor q = p; q.take("1 ")) {
    Timestamp stamp;
    const std::size_t used = parse_iso(q.rest(), stamp);
    if (used > 0 || q.take("-")) {
      q.at += used;
      std::array<std::string_view, 4> field;  // host, app, procid, msgid
      bool whole = true;
      for (std::string_view& f : field) {
        if (!q.take(" ")) {
          whole = false;
          break;
        }
        f = q.word([](char ch) { return ch != ' '; });
        whole = whole && !f.empty();
      }
      if (whole && q.take(" ")) {
        if (q.peek() == '[') {
          bool quoted = false;
          while (!q.done()) {
            const char ch = q.peek();
            ++q.at;
            if (ch == '\\' && quoted)
              ++q.at;
            else if (ch == '"')
              quoted = !quoted;
            else if (ch == ']' && !quoted && q.peek() != '[')
              break;
          }
          q.at = std::min(q.at, q.text.size());
        } else {
          q.take("-");
        }
        q.take(" ");
        q.take("\xEF\xBB\xBF");
        keep_time(prefix, stamp);
        if (field[0] != "-") prefix.host = Host(field[0]);
        prefix.unit = std::string(field[1]);
        prefix.kernel = prefix.kernel || field[1] == "kernel";
        c = q;
        return true;
      }
    }
  }
  prefix.kernel = prefix.kernel || *priority < 8;
  c = p;
  return true;
}

// ERROR 06-30 13:53:19 [core.py:515] message · INFO 06-30 13:53:19 core.py:515] message, of vLLM
bool peel_level_date(Cursor& c, Prefix& prefix) {
  const char first = c.peek();
  if (first != 'E' && first != 'I' && first != 'W' && first != 'D' && first != 'C') return false;
  Cursor p = c;
  if (!is_level(p.word(alpha)) || !p.take(" ")) return false;
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
  c = p;
  return true;
}

// "| ERROR    | package.module:function:12 - message" after a date: loguru.
// "fa88a9df [rank=2] || ERROR: message" after a date: Determined.
bool peel_after_date(Cursor& c, Prefix& prefix) {
  if (prefix.time.clock == Clock::none) return false;
  Cursor p = c;
  if (p.take("| ")) {
    const std::string_view level = p.word(alpha);
    p.spaces();
    if (!is_level(level) || !p.take("| ")) return false;
    const std::size_t dash = p.text.find(" - ", p.at);
    if (dash == std::string_view::npos || dash - p.at > 200 ||
        !contains(p.text.substr(p.at, dash - p.at), ':'))
      return false;
    p.at = dash + 3;
    c = p;
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
  c = p;
  return true;
}

// What no other form is, of loggers that somebody wrote himself.
bool peel_loose(Cursor& c, Habit habit, Prefix& prefix) {
  if (prefix.time.clock != Clock::none) return false;
  Timestamp stamp;
  const LooseTime found = parse_loose(c.rest(), stamp);
  if (found.used == 0 || !(found.sure || habit.loose_time)) return false;
  c.at += found.used;
  keep_time(prefix, stamp);
  return true;
}

// What follows begins with a time.
bool before_time(std::string_view rest) {
  Timestamp stamp;
  if (rest.starts_with("[")) rest.remove_prefix(1);
  return parse_iso(rest, stamp) > 0 || parse_calendar(rest, stamp) > 0 ||
         parse_loose(rest, stamp).used > 0;
}

// Who speaks, where it says so in a word of ranks beside a time.
bool peel_rank_label(Cursor& c, Prefix& prefix) {
  if (prefix.rank) return false;
  const RankLabel label = parse_rank_label(c.rest());
  if (label.used == 0) return false;
  if (label.host.empty() && prefix.time.clock == Clock::none &&
      !before_time(c.rest().substr(label.used)))
    return false;
  prefix.rank = Rank(label.rank);
  if (!label.host.empty() && !prefix.host) prefix.claimed_host = Host(label.host);
  if (prefix.stream.empty()) prefix.stream = std::string(c.rest().substr(0, label.used));
  c.at += label.used;
  return true;
}

// What most lines of the file begin with. A line of another layout keeps what it has.
bool peel_layout(Cursor& c, const HeaderLayout& layout, Prefix& prefix) {
  std::string_view fields = layout.view();
  if (fields.empty()) return false;
  const Header header = parse_header(c.rest());
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
  c.at += message_begin(c.rest(), header, fields.size());
  return true;
}

// "stderr: " · "  3: " (srun -l) · "retraining/0 " (torchx) · "kernel: "
bool peel_words(Cursor& c, Prefix& prefix) {
  Cursor p = c;
  if (p.take("stderr: ") || p.take("stdout: ")) {
    c = p;
    return true;
  }
  if (p.take("kernel: ")) {
    prefix.kernel = true;
    prefix.unit = "kernel";
    c = p;
    return true;
  }
  if (const auto label = p.number()) {
    if (*label < 1'000'000 && p.take(": ")) {
      prefix.task = *label;
      c = p;
      return true;
    }
    return false;
  }
  if (!alpha(p.peek())) return false;
  p.word(host_char);
  if (p.take("/") && p.number() && p.take(" ") && p.peek() == '[') {
    c = p;
    return true;
  }
  return false;
}

// pdsh, only where the whole file has it: a word with a colon means too many other things.
bool peel_host(Cursor& c, Prefix& prefix) {
  Cursor p = c;
  const std::string_view host = p.word(host_char);
  if (host.empty() || !(p.take(": ") || (p.take(":") && p.done()))) return false;
  prefix.stream = std::string(host);
  prefix.host = Host(host);
  // "gx-09.3: " of a machine's fourth process, as launchers label it; an address is all digits.
  if (const std::size_t dot = host.rfind('.');
      dot != std::string_view::npos && host.size() - dot <= 3 && host.size() - dot > 1 &&
      std::ranges::all_of(host.substr(dot + 1), digit) && alpha(host.front())) {
    std::int64_t number = 0;
    parse_whole(host.substr(dot + 1), number);
    prefix.host = Host(host.substr(0, dot));
    prefix.local_rank = LocalRank(number);
  }
  c = p;
  return true;
}

// "worker-1  | message": docker compose. A numbered service is a machine of its own.
bool peel_compose(Cursor& c, Prefix& prefix) {
  Cursor p = c;
  const std::string_view service = p.word(host_char);
  p.spaces();
  if (service.empty() || !(p.take("| ") || (p.take("|") && p.done()))) return false;
  if (std::ranges::any_of(service, digit)) prefix.host = Host(service);
  prefix.stream = std::string(service);
  c = p;
  return true;
}

// "ddp-worker-0 trainer message": stern
bool peel_stern(Cursor& c, Prefix& prefix) {
  Cursor p = c;
  const std::string_view pod = p.word(host_char);
  if (pod.empty() || !p.take(" ")) return false;
  const std::string_view container = p.word(host_char);
  if (container.empty() || !(p.take(" ") || p.done())) return false;
  p.take("\xE2\x80\xBA ");  // an older layout draws a mark
  prefix.host = Host(pod);
  prefix.stream = std::string(pod) + "/" + std::string(container);
  c = p;
  return true;
}

// "  2f | 11/15/2026 | 11:06:30 UTC | Processor #0x41 | IERR | Asserted": ipmitool sel list. The
// columns stay, since they are what rules know.
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
// that begin with their number. The columns stay.
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

bool peel_habit(Cursor& c, Habit habit, Prefix& prefix) {
  return (habit.host_prefix && peel_host(c, prefix)) ||
         (habit.compose_prefix && peel_compose(c, prefix)) ||
         (habit.stern_prefix && peel_stern(c, prefix));
}

// Characters other than `stop` and a newline, at most 400 of them, and then `stop`: where that
// ends, or npos. Bars are drawn with characters of several bytes; a torn one belongs to no bar.
std::size_t up_to(std::string_view text, std::size_t at, char stop) {
  for (int n = 0; at < text.size(); ++n) {
    const auto lead = static_cast<unsigned char>(text[at]);
    if (text[at] == stop) return at + 1;
    if (text[at] == '\n' || n == 400) break;
    std::size_t more = 0;
    if (lead >= 0x80) {
      if (lead < 0xC2 || lead > 0xF4) break;
      more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    }
    for (++at; more > 0; --more, ++at)
      if (at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80)
        return std::string_view::npos;
  }
  return std::string_view::npos;
}

// The rest of a bar, after its per cent sign.
std::size_t bar_after(std::string_view text, std::size_t at) {
  const auto count = [](char c) {
    return digit(c) || c == '.' || c == ',' || c == 'k' || c == 'M' || c == 'G';
  };
  Cursor c{text, at};
  if (c.take("|") && (c.at = up_to(text, c.at, '|')) == std::string_view::npos) return c.at;
  c.spaces();
  if (c.word(count).empty() || !c.take("/")) return std::string_view::npos;
  const std::size_t total = c.at;
  while (!c.done() && (count(c.peek()) || c.peek() == '?')) ++c.at;
  if (c.at == total || !c.take(" [")) return std::string_view::npos;
  return up_to(text, c.at, ']');
}

std::size_t bar_end(std::string_view text) {
  // 3%|###   | 12/345 [00:07<06:50,  1.23s/it]   or, when the tool had no room for the bar,   50%
  // 1/2 [00:49<00:49, 49.97s/it]
  std::size_t end = 0;
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
    if (at == end || !digit(text[at - 1])) continue;
    const std::size_t found = bar_after(text, at + 1);
    if (found != std::string_view::npos) {
      end = found;
      at = found - 1;
    }
  }
  return end;
}

// "gpu-a:615:18953 [2] NCCL INFO " at the start: the head of nearly every line of NCCL_DEBUG, of
// which a log may have millions. Returns where it ends, or 0.
std::size_t plain_nccl_head(std::string_view text, std::string_view& host, std::int64_t& pid,
                            std::int64_t& device) {
  Cursor c{text};
  host = c.word(host_char);
  if (host.empty() || !c.take(":")) return 0;
  const auto p = c.number();
  if (!p || !c.take(":") || !c.number() || !c.take(" [")) return 0;
  const auto d = c.number();
  if (!d || !(c.take("] NCCL INFO") || c.take("] NCCL WARN"))) return 0;
  pid = *p;
  device = *d;
  return c.at;
}

void read_nccl_head(std::string_view message, Prefix& prefix) {
  static const re2::RE2 kHead(
      R"(([^\s:()\[\]]+):(\d+):(\d+) \[(\d+)\] (?:\S+ ){0,3}?(?:\(\w+\) )?NCCL (?:INFO|WARN|TRACE))");
  std::string host;
  std::string_view plain;
  std::int64_t pid = 0;
  std::int64_t tid = 0;
  std::int64_t device = 0;
  const bool at_start = plain_nccl_head(message, plain, pid, device) > 0;
  if (at_start) host = plain;
  if (at_start || re2::RE2::PartialMatch(re2::StringPiece(message.data(), message.size()), kHead,
                                         &host, &pid, &tid, &device)) {
    prefix.host = Host(host);
    prefix.pid = pid;
    prefix.device = device;
    prefix.nccl = true;
  }
}

// {"log":"... and {"MESSAGE":"...: the record inside is split, if at all, after it was unwrapped.
bool wrapped(std::string_view raw) {
  const std::size_t at = raw.find_first_not_of(' ');
  return at != std::string_view::npos && raw.substr(at, 2) == "{\"" &&
         (contains(raw, "\"log\"") || contains(raw, "\"MESSAGE\""));
}

std::string_view without_returns(std::string_view raw) {
  while (!raw.empty() && raw.back() == '\r') raw.remove_suffix(1);
  return raw;
}

}  // namespace

// No early exit: the loops are such that compilers turn them into vector code. '#' begins frames of
// debuggers, and comments; only "#033[" is a control byte.
bool is_clean(std::string_view raw) {
  unsigned char suspicious = 0;
  for (const char c : raw)
    suspicious = static_cast<unsigned char>(suspicious | (c == '\0') | (c == '\x1b') | (c == '^') |
                                            (c == '\\'));
  for (std::size_t i = 0; i + 5 <= raw.size(); ++i)
    suspicious = static_cast<unsigned char>(
        suspicious | ((raw[i] == '#') & (raw[i + 1] == '0') & (raw[i + 2] == '3')));
  return suspicious == 0;
}

bool may_hold_heads(std::string_view raw) {
  const auto is_head = [&](std::size_t at) {
    return raw.compare(at, 5, "[rank") == 0 || raw.compare(at, 8, "[default") == 0 ||
           raw.compare(at, 5, "NCCL ") == 0;
  };
  std::size_t i = 0;
#if defined(__SSE2__)
  // The first two bytes of a head, sixteen places at once.
  const auto equals = [](__m128i bytes, char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
  for (; i + 17 <= raw.size(); i += 16) {
    const __m128i one = _mm_loadu_si128(reinterpret_cast<const __m128i*>(raw.data() + i));
    const __m128i two = _mm_loadu_si128(reinterpret_cast<const __m128i*>(raw.data() + i + 1));
    const __m128i launcher =
        _mm_and_si128(equals(one, '['), _mm_or_si128(equals(two, 'r'), equals(two, 'd')));
    const __m128i nccl = _mm_and_si128(equals(one, 'N'), equals(two, 'C'));
    for (auto places = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(launcher, nccl)));
         places != 0; places &= places - 1)
      if (is_head(i + static_cast<std::size_t>(std::countr_zero(places)))) return true;
  }
#endif
  for (; i < raw.size(); ++i)
    if ((raw[i] == '[' || raw[i] == 'N') && is_head(i)) return true;
  return false;
}

bool needs_cleaning(std::string_view raw) { return contains(raw, '\0') || contains(raw, '\x1b'); }

std::string clean(std::string_view raw) {
  if (is_clean(raw)) return std::string(without_returns(raw));
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size();) {
    const char c = raw[i];
    if (c == '\0') {
      ++i;
      continue;
    }
    std::size_t sequence = 0;  // bytes that stand for ESC
    if (c == '\x1b')
      sequence = 1;
    else if (c == '^' && raw.substr(i, 3) == "^[[")
      sequence = 2;
    else if (c == '\\') {  // as JSON, Python and shells write it
      for (const std::string_view spelt : {"\\u001b", "\\u001B", "\\x1b", "\\x1B", "\\033", "\\e"})
        if (raw.substr(i, spelt.size()) == spelt && raw.substr(i + spelt.size(), 1) == "[")
          sequence = spelt.size();
    } else if (c == '#' && raw.substr(i, 5) == "#033[")
      sequence = 4;  // rsyslog writes control bytes in octal
    if (sequence > 0) {
      std::size_t p = i + sequence;
      if (p < raw.size() && raw[p] == '[') {
        ++p;
        while (p < raw.size() && (digit(raw[p]) || raw[p] == ';' || raw[p] == ':' || raw[p] == '?'))
          ++p;
        i = p < raw.size() && alpha(raw[p]) ? p + 1 : p;
        continue;
      }
      if (c == '\x1b' && p < raw.size() && raw[p] == ']') {
        std::size_t end = p + 1;
        while (end < raw.size() && raw[end] != '\a' && raw[end] != '\x1b') ++end;
        i = end < raw.size() && raw[end] == '\a' ? end + 1 : std::min(end + 2, raw.size());
        continue;
      }
      if (c == '\x1b') {
        i = std::min(p + 1, raw.size());
        continue;
      }
    }
    out.push_back(c);
    ++i;
  }
  while (!out.empty() && out.back() == '\r') out.pop_back();
  return out;
}

Line peel(std::string_view raw, Habit habit) {
  Line line;
  peel(raw, habit, line);
  return line;
}

void peel(std::string_view raw, Habit habit, Line& line) {
  line.prefix = Prefix{};
  // The line is copied once, at the end, unless something in it must go.
  std::string owned;
  std::string_view text = without_returns(raw);
  if (!is_clean(raw)) text = owned = clean(raw);
  if (const std::size_t bar = bar_end(text);
      bar > 0 && text.find_first_not_of(" ,:", bar) != std::string::npos)
    text.remove_prefix(bar);
  if (contains(text.substr(0, 12), " | ")) note_sel_time(text, line.prefix);
  // Of every line: find_first_of() calls a function for each byte.
  if (line.prefix.time.clock == Clock::none && std::ranges::any_of(text.substr(0, 12), [](char c) {
        return c == '|' || c == ',' || c == ';';
      }))
    note_time_behind_number(text, line.prefix);
  Cursor c{text};
  for (int depth = 0; depth < 12; ++depth) {
    if (c.peek() == '{') {
      if (auto inner = unwrap(c.rest(), line.prefix)) {
        owned = clean(*inner);
        text = owned;
        while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
        c = Cursor{text};
        continue;
      }
    }
    Cursor p = c;
    p.spaces();
    const bool indented = p.at > c.at;
    bool peeled = depth == 0 && !indented && peel_layout(p, habit.header, line.prefix);
    if (!peeled) switch (p.peek()) {
        case '[':
          peeled = peel_launcher_bracket(p, line.prefix) || peel_host_and_rank(p, line.prefix) ||
                   peel_pod(p, line.prefix) || peel_bracketed_date(p, line.prefix) ||
                   peel_rank_label(p, line.prefix) || peel_loose(p, habit, line.prefix) ||
                   peel_boot_time(p, line.prefix) || peel_word_behind_rank(p, line.prefix) ||
                   peel_logger_field(p, line.prefix) || peel_glog(p, line.prefix);
          break;
        case '<':
          peeled = peel_priority(p, line.prefix) || peel_loose(p, habit, line.prefix);
          break;
        case '(':
          peeled = peel_ray(p, line.prefix) || peel_loose(p, habit, line.prefix) ||
                   peel_rank_label(p, line.prefix);
          break;
        case '|': peeled = peel_after_date(p, line.prefix); break;
        default:
          if (digit(p.peek()))
            peeled = peel_iso(p, line.prefix) || peel_unix_time(p, line.prefix) ||
                     peel_kmsg(p, line.prefix) || peel_loose(p, habit, line.prefix) ||
                     peel_syslog(p, line.prefix) || peel_after_date(p, line.prefix) ||
                     peel_words(p, line.prefix);
          else if (indented && line.prefix.kernel)
            peeled = false;  // the indentation of a call trace
          else
            peeled = peel_glog(p, line.prefix) || peel_level_date(p, line.prefix) ||
                     peel_after_date(p, line.prefix) || peel_facility(p, line.prefix) ||
                     peel_syslog(p, line.prefix) || peel_words(p, line.prefix) ||
                     peel_rank_label(p, line.prefix) || peel_word_before_rank(p, line.prefix) ||
                     (depth == 0 && peel_habit(p, habit, line.prefix)) ||
                     peel_loose(p, habit, line.prefix);
      }
    if (!peeled) break;
    c = p;
  }
  line.message.assign(c.rest());
  if (contains(line.message, "NCCL ")) read_nccl_head(line.message, line.prefix);
}

namespace {

// Before the head stands what is peeled, or what is with the head behind it: a time and a host, or
// a word that may be one.
bool nothing_but_prefixes(std::string_view raw, std::size_t head) {
  if (peel(raw.substr(0, head + 1)).message.size() <= 1) return true;
  const Line whole = peel(raw);
  return ((whole.prefix.time.clock != Clock::none && whole.prefix.host) ||
          whole.prefix.claimed_host) &&
         raw.substr(head).ends_with(whole.message);
}

}  // namespace

namespace {

// Where "[default3]:[rank43]: " ends, of which nearly every line of a log has one.
std::size_t launcher_labels_end(std::string_view raw) {
  constexpr std::size_t kLongest = 16;
  std::size_t end = 0;
  while (raw.substr(end, 5) == "[rank" || raw.substr(end, 8) == "[default") {
    const std::size_t close = raw.substr(end, kLongest).find(']');
    if (close == std::string_view::npos) break;
    end += close + 1;
    while (end < raw.size() && (raw[end] == ':' || raw[end] == ' ')) ++end;
  }
  return end;
}

}  // namespace

std::vector<std::size_t> record_heads(std::string_view raw) {
  // A launcher prefix or an NCCL head in the middle of a line is another process's record.
  static const re2::RE2 kInner(
      R"((\[rank\d+\]:|\[default\d+\]:|[A-Za-z0-9][\w.-]*:\d+:\d+ \[\d+\] (?:\S+ )?NCCL (?:INFO|WARN)))");
  std::vector<std::size_t> heads{0};
  if (!may_hold_heads(raw)) return heads;
  if (raw.starts_with('{') && raw.ends_with('}')) return heads;  // a record by itself
  {                                                              // one head, where it should be
    std::string_view host;
    std::int64_t pid = 0;
    std::int64_t device = 0;
    const std::size_t end = plain_nccl_head(raw, host, pid, device);
    if (end > 0 && raw.find("NCCL ", end) == std::string_view::npos && !contains(raw, "[rank") &&
        !contains(raw, "[default"))
      return heads;
  }
  if (const std::size_t begin = launcher_labels_end(raw);
      begin > 0 && !may_hold_heads(raw.substr(begin)))
    return heads;
  const re2::StringPiece input(raw.data(), raw.size());
  re2::StringPiece match;
  std::size_t at = 0;
  bool first = true;
  while (heads.size() < 64 && at < raw.size() &&
         kInner.Match(input, at, raw.size(), re2::RE2::UNANCHORED, &match, 1)) {
    const auto begin = static_cast<std::size_t>(match.data() - raw.data());
    // Nothing but prefixes before it: the head is the line's own.
    if (first && begin > 0 && wrapped(raw)) return heads;
    const bool prefix_stack = first && begin > 0 && nothing_but_prefixes(raw, begin);
    const bool stacked =
        begin > 0 && (raw[begin - 1] == ':' ||
                      (raw[begin - 1] == ' ' && begin > 1 &&
                       (raw[begin - 2] == ']' || raw[begin - 2] == ')' || raw[begin - 2] == ':')));
    if (begin > 0 && !prefix_stack && !stacked) heads.push_back(begin);
    first = false;
    at = begin + match.size();
  }
  return heads;
}

namespace {

// Machines called by words before every line. Levels, services and keys stand before a colon, too:
// "ox-alder: [2026-03-07 ..." takes several that share what is before the hyphen, each before a
// date or bracket; "alder: ..." takes several that the lines themselves name as ends of connections
// ("remote peer alder<41006>").
class WordedHosts {
 public:
  void take(std::string_view word, Cursor c) {
    if (word.empty() || word[0] < 'a' || word[0] > 'z' ||
        !(c.take(": ") || (c.take(":") && c.done())))
      return;
    ++lines_;
    words_.insert(word);
    const std::string_view stem = word.substr(0, word.find('-'));
    if (stem.size() + 1 < word.size() && (c.peek() == '[' || digit(c.peek()))) ++stems_[stem];
  }
  // Of so many lines; `head` is where they stand.
  bool hosts(int lines, std::string_view head) const {
    if (words_.size() < 2 || lines_ * 100 < lines * 95) return false;
    if (stems_.size() == 1 && stems_.begin()->second * 100 >= lines * 95) return true;
    const bool again = static_cast<std::size_t>(lines_) >= 2 * words_.size();  // no listing of keys
    if (words_.size() >= 3 && again && numbered_by_letters()) return true;
    std::size_t peers = 0;
    for (const std::string_view word : words_) peers += contains(head, fmt::format(" {}<", word));
    return peers >= 2 && 2 * peers >= words_.size();
  }

 private:
  // "lx-train-a", "lx-train-b": they differ behind the last dash alone.
  bool numbered_by_letters() const {
    const std::string_view first = *words_.begin();
    const std::string_view stem = first.substr(0, first.rfind('-') + 1);
    return stem.size() > 1 && std::ranges::all_of(words_, [&](std::string_view one) {
             return one.starts_with(stem) && one.size() > stem.size() &&
                    one.size() <= stem.size() + 2;
           });
  }

  int lines_ = 0;
  std::map<std::string_view, int> stems_;
  std::set<std::string_view> words_;
};

// Whether lines begin with a time of a form that may be something else: enough of them, and in
// order.
class LooseTimes {
 public:
  void take(std::string_view text) {
    Timestamp stamp;
    const LooseTime found = parse_loose(text, stamp);
    if (found.used == 0 || found.sure) return;
    in_order_ += lines_ > 0 && stamp.ns >= last_;
    last_ = stamp.ns;
    ++lines_;
  }
  bool are_times(int lines) const {
    constexpr int kLeast = 3, kShare = 30, kInOrder = 95;  // percent
    return lines_ >= kLeast && lines_ * 100 >= lines * kShare &&
           in_order_ * 100 >= (lines_ - 1) * kInOrder;
  }

 private:
  int lines_ = 0, in_order_ = 0;
  Nanoseconds last_ = 0;
};

}  // namespace

namespace {

// Whether the layout says more of the lines that have it than what is peeled anyway.
bool says_more(const HeaderLayout& layout, std::string_view head) {
  constexpr int kEnough = 8;
  int more = 0, seen = 0;
  Habit habit;
  habit.header = layout;
  while (!head.empty() && seen < kEnough && 2 * (seen - more) < kEnough) {
    const std::string_view text = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(head.size(), text.size() + 1));
    if (!parse_header(text).view().starts_with(layout.view())) continue;
    const Prefix with = peel(text, habit).prefix, without = peel(text).prefix;
    if (without.kernel) return false;  // whose words are names of drivers
    // "[default3]:[rank43] ": what a launcher counts is read as it means it.
    if ((without.local_rank && !with.local_rank) || (without.rank && !with.rank)) return false;
    ++seen;
    more += (with.host && with.host != without.host) || (with.rank && with.rank != without.rank) ||
            (with.task && with.task != without.task) ||
            (with.local_rank && with.local_rank != without.local_rank) ||
            (with.time.clock != Clock::none && without.time.clock == Clock::none);
  }
  return 2 * more > seen;
}

}  // namespace

Habit habit_of(std::string_view head) {
  Habit habit;
  int lines = 0;
  int prefixed = 0;
  WordedHosts siblings;
  LooseTimes loose;
  int composed = 0;
  std::map<std::string_view, int> pods, containers;  // the first two words
  std::string_view rest = head;
  while (!rest.empty() && lines < 200) {
    const std::size_t end = rest.find('\n');
    const std::string_view text = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (text.empty()) continue;
    ++lines;
    const std::size_t label = parse_rank_label(text).used;
    loose.take(text.substr(label));
    Cursor c{text};
    const std::string_view host = c.word(host_char);
    const bool numbered = std::ranges::any_of(host, digit) && !host.empty() && alpha(host[0]) &&
                          may_name_machine(host);
    if (Cursor q = c; !host.empty() && q.peek() == ' ') {
      q.spaces();
      if (q.take("|") && (q.done() || q.peek() == ' '))
        ++composed;
      else if (numbered && contains(host, '-') && c.take(" ")) {
        const std::string_view container = c.word(host_char);
        if (!container.empty() && alpha(container[0]) && (c.done() || c.peek() == ' ')) {
          ++pods[host];
          ++containers[container];
        }
      }
    }
    if (numbered && label == 0 && (c.take(": ") || (c.take(":") && c.done()))) ++prefixed;
    if (!numbered) siblings.take(host, c);
  }
  habit.loose_time = loose.are_times(lines);
  // A kernel's device names look alike ("nvme0: ", "eth0: "), but never on nearly every line of a
  // file. What pdsh and the launcher that calls it say themselves has no machine before it.
  habit.host_prefix = lines >= 3 && (prefixed * 100 >= lines * 85 || siblings.hosts(lines, head));
  habit.compose_prefix = lines >= 3 && composed * 100 >= lines * 95;
  // One container on every line, and fewer pods than lines: "step-1 loss 3.2" has as many first
  // words as lines.
  int most = 0;
  for (const auto& [container, count] : containers) most = std::max(most, count);
  habit.stern_prefix =
      lines >= 6 && most * 100 >= lines * 95 && pods.size() * 2 <= static_cast<std::size_t>(lines);
  if (!habit.host_prefix && !habit.compose_prefix && !habit.stern_prefix)
    if (const HeaderLayout header = learn_header(head);
        !header.view().empty() && says_more(header, head))
      habit.header = header;
  return habit;
}

}  // namespace culprit::line
