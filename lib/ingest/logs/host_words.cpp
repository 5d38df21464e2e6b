// What machines say of themselves in a few words: their name, their addresses, their zone, when
// they started and how long they have run, and when somebody looked. As files of their own
// (hostname, date, /proc/uptime, etc/timezone) and as the lines that uptime, who -b, last,
// timedatectl, hostnamectl, ip addr and a shell's prompt print.
#include <algorithm>

#include <re2/re2.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/setting_lines.hpp"
#include "line/timestamp.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostHostWordBytes = 4'096;

re2::StringPiece host_piece(std::string_view text) { return {text.data(), text.size()}; }

bool host_word(std::string_view text) {
  return !text.empty() && text.size() <= 253 && isalnum(static_cast<unsigned char>(text.front())) &&
         std::ranges::any_of(text, [](unsigned char c) { return isalpha(c); }) &&
         std::ranges::all_of(
             text, [](unsigned char c) { return isalnum(c) || c == '-' || c == '.' || c == '_'; });
}

std::string_view whole_text(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos
             ? std::string_view{}
             : text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::int64_t number(const std::string& digits) {
  return digits.empty() || digits.size() > 9 ? 0 : std::strtoll(digits.c_str(), nullptr, 10);
}

// A whole text that is a moment: what `date` prints in its forms, ISO 8601, seconds since 1970.
bool host_moment(std::string_view text, Timestamp& stamp) {
  std::size_t used = 0;
  std::int64_t number = 0;
  if (line::parse_digits(text, used, number) && number > 1'000'000'000 && number < 4'000'000'000 &&
      (used == text.size() || text[used] == '.')) {
    stamp = {Clock::utc, number * kSecond, kSecond};
    return text.find_first_not_of("0123456789.") == std::string_view::npos;
  }
  used = line::parse_iso(text, stamp);
  if (used == 0) used = line::parse_calendar(text, stamp);
  return used > 0 && (stamp.clock == Clock::utc || stamp.clock == Clock::local) &&
         text.find_first_not_of(" \t", used) == std::string_view::npos;
}

// "+0800" at the end of what `date -R` or `date -Is` prints, as a zone; "" for none, or for UTC,
// which containers print too.
std::string offset_at_end(std::string_view text) {
  static const re2::RE2 kOffset(R"([ 0-9T:]([+-]\d\d):?(\d\d)?(?: \d{4})?$)");
  std::string hours, minutes;
  if (!re2::RE2::PartialMatch(host_piece(text), kOffset, &hours, &minutes)) return {};
  return hours + ":" + (minutes.empty() ? "00" : minutes);
}

enum class HostWords { none, hostname, timezone, uptime, boot_time, collected };

// By the file's name, and only where the content is that and nothing else.
HostWords host_words_of(std::string_view path, std::string_view bytes, Timestamp& stamp) {
  const std::string name = lower(path.substr(path.rfind('/') + 1));
  const std::string_view text = whole_text(bytes);
  if (text.empty() || text.size() > 256 || contains(text, '\n')) return HostWords::none;
  const auto has = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [&](std::string_view w) { return contains(name, w); });
  };
  const auto starts = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [&](std::string_view w) { return name.starts_with(w); });
  };
  static const re2::RE2 kUptime(R"((\d{1,10})\.(\d\d) \d{1,13}\.\d\d)");
  std::int64_t seconds = 0, hundredths = 0;
  if (has({"uptime"}) && re2::RE2::FullMatch(host_piece(text), kUptime, &seconds, &hundredths)) {
    stamp = {Clock::boot, seconds * kSecond + hundredths * 10'000'000, 10'000'000};
    return HostWords::uptime;
  }
  if ((has({"hostname"}) || name == "nodename") && host_word(text)) return HostWords::hostname;
  if (starts({"timezone", "time_zone"}) && !contains(text, ' ') &&
      text.find_first_of("/+-") != std::string_view::npos)
    return HostWords::timezone;
  if (starts({"timezone", "time_zone"}) && (text == "UTC" || text == "GMT"))
    return HostWords::timezone;
  if (has({"btime", "boot_time", "boottime", "boot-time", "uptime-s", "uptime_s", "uptime_-s",
           "uptime--since", "booted at"}) &&
      host_moment(text, stamp))
    return HostWords::boot_time;
  if ((starts({"date", "collected", "collection", "captured", "snapshot_time", "timestamp"}) ||
       has({"_date", "-date", "collected_at", "collect_time"})) &&
      host_moment(text, stamp))
    return HostWords::collected;
  return HostWords::none;
}

bool sniff_host_words(const Head& head) {
  Timestamp stamp;
  return head.whole && head.bytes.size() <= kMostHostWordBytes &&
         host_words_of(head.path, head.bytes, stamp) != HostWords::none;
}

std::string read_host_words(std::string_view bytes, const MemberRow& member, Reading& reading) {
  Timestamp stamp;
  const std::string_view text = whole_text(bytes);
  const Place place{member.id, 1, static_cast<std::uint64_t>(text.data() - bytes.data()),
                    static_cast<std::uint32_t>(text.size())};
  switch (host_words_of(member.path, bytes, stamp)) {
    case HostWords::hostname: {
      reading.sink.put(IdentityRow{.place = place, .source = "hostname", .host = Host(text)});
      break;
    }
    case HostWords::timezone:
      reading.sink.put(ConfigRow{place, "timezone", std::string(text)});
      break;
    case HostWords::uptime: reading.sink.put(ClockRow{place, {}, stamp, 0, {}, "uptime"}); break;
    case HostWords::boot_time:
      reading.sink.put(
          ClockRow{place, stamp, Timestamp{Clock::boot, 0, kSecond}, 0, {}, "boot_time"});
      break;
    case HostWords::collected:
      reading.sink.put(ClockRow{place, stamp, {}, 0, {}, "collected"});
      if (const std::string zone = offset_at_end(text); !zone.empty() && zone != "+00:00")
        reading.sink.put(ConfigRow{place, "timezone", zone});
      break;
    case HostWords::none: return "host_words.none";
  }
  return {};
}

// journalctl --list-boots: "  0 4f0c… Thu 2026-11-19 08:12:33 UTC—Sat 2026-11-21 …", and with a
// heading "IDX BOOT ID FIRST ENTRY".
const re2::RE2& boot_line() {
  static const re2::RE2 kLine(
      R"(^\s*(-?\d+)\s+[0-9a-f]{32}\s+\w{3} (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)( UTC)?)");
  return kLine;
}

bool sniff_boots(const Head& head) {
  std::string_view text =
      head.bytes.substr(head.bytes.find_first_not_of(" \r\n\t") == std::string_view::npos
                            ? head.bytes.size()
                            : head.bytes.find_first_not_of("\r\n"));
  if (trimmed(text).starts_with("IDX BOOT ID"))
    text = !contains(text, '\n') ? std::string_view{} : text.substr(text.find('\n') + 1);
  return re2::RE2::PartialMatch(host_piece(text.substr(0, text.find('\n'))), boot_line());
}

std::string read_boots(std::string_view bytes, const MemberRow& member, Reading& reading) {
  // The journal's first line of a start follows the kernel's by seconds.
  each_text_line(bytes, [&](std::string_view text, std::uint64_t number, std::size_t offset) {
    std::int64_t index = 0;
    std::string time, utc;
    if (!re2::RE2::PartialMatch(host_piece(text), boot_line(), &index, &time, &utc) || index != 0)
      return;
    Timestamp stamp;
    if (line::parse_iso(time + utc, stamp) == 0) return;
    stamp.precision = 15 * kSecond;
    reading.sink.put(
        ClockRow{{member.id, number, offset,
                  static_cast<std::uint32_t>(std::min<std::size_t>(text.size(), 1u << 20))},
                 stamp,
                 Timestamp{Clock::boot, 0, kSecond},
                 0,
                 {},
                 "boot_time"});
  });
  return {};
}

void put_boot_time(const TextLine& line, Timestamp stamp, Nanoseconds precision, Reading& reading) {
  stamp.precision = precision;
  reading.sink.put(ClockRow{line.place, stamp, Timestamp{Clock::boot, 0, kSecond}, 0,
                            reading.host_of(line.line.prefix), "boot_time"});
}

// " 03:26:24 up 12 days,  3:04,  2 users,  load average: 1.02, 0.98, 0.91"
bool read_uptime(const TextLine& line, std::string_view text, Reading& reading) {
  static const re2::RE2 kUptime(
      R"(^\s*(?:(\d\d:\d\d:\d\d)\s+)?up\s+(?:(\d+) days?,\s+)?(?:(\d+):(\d\d)|(\d+) min|(\d+) hrs?)\b.*load average:)");
  std::string clock, days, hours, minutes, only_minutes, only_hours;
  if (!re2::RE2::PartialMatch(host_piece(text), kUptime, &clock, &days, &hours, &minutes,
                              &only_minutes, &only_hours) ||
      number(days) > 100'000)
    return false;
  const std::int64_t in_minutes = (number(days) * 24 + number(hours) + number(only_hours)) * 60 +
                                  number(minutes) + number(only_minutes);
  if (in_minutes > 100'000LL * 24 * 60) return false;
  const Timestamp up{Clock::boot, in_minutes * kMinute, kMinute};
  Timestamp time;
  if (!clock.empty()) line::parse_time_of_day(clock, time);
  reading.sink.put(ClockRow{line.place, time, up, 0, reading.host_of(line.line.prefix), "uptime"});
  return true;
}

// who -b: "system boot  2026-11-19 08:12"; last -x: "reboot   system boot  5.15.0-91 Thu Nov 19
// 08:12", and with -F the year.
bool read_system_boot(const TextLine& line, std::string_view text, Reading& reading) {
  static const re2::RE2 kWho(R"(^\s*system boot\s+(\d{4}-\d\d-\d\d \d\d:\d\d)\b)");
  static const re2::RE2 kLast(
      R"(^reboot\s+system boot\s+(?:\S+\s+)?\w{3} (\w{3})\s+(\d{1,2}) (\d\d:\d\d)(?:(:\d\d) (\d{4}))?)");
  std::string when, month, day, clock, seconds, year;
  Timestamp stamp;
  if (re2::RE2::PartialMatch(host_piece(text), kWho, &when) &&
      line::parse_iso(when + ":00", stamp) > 0) {
    put_boot_time(line, stamp, kMinute, reading);
    return true;
  }
  if (!re2::RE2::PartialMatch(host_piece(text), kLast, &month, &day, &clock, &seconds, &year))
    return false;
  if (line::parse_calendar(month + " " + day + " " + clock + (seconds.empty() ? ":00" : seconds) +
                               (year.empty() ? "" : " " + year),
                           stamp) == 0)
    return false;
  put_boot_time(line, stamp, seconds.empty() ? kMinute : kSecond, reading);
  return true;
}

// "# boot: 2026-02-27 08:14:00 UTC", "boot time = 2026-02-27T08:14:00Z": as people note it.
bool read_noted_boot(const TextLine& line, std::string_view text, Reading& reading) {
  static const re2::RE2 kNoted(
      R"((?i)^\W*(?:uptime -s|(?:last )?boot(?:ed)?(?:[ _-](?:time|at))?(?: of (?:this|the) (?:node|host|machine))?)\s*[:=]\s*(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)( ?(?:UTC|GMT|Z))?\W*(?:\([^()]*\))?$)");
  std::string when, zone;
  Timestamp stamp;
  if (!re2::RE2::PartialMatch(host_piece(text), kNoted, &when, &zone) ||
      line::parse_iso(when + (zone.empty() ? "" : "Z"), stamp) == 0)
    return false;
  put_boot_time(line, stamp, kSecond, reading);
  return true;
}

// chronyc tracking: "System time     : 187.004512300 seconds slow of NTP time"
bool read_clock_offset(const TextLine& line, std::string_view text, Reading& reading) {
  static const re2::RE2 kOffset(
      R"((?:([A-Za-z][\w.-]*):\s+)?System time\s*:\s*(\d{1,9})\.(\d{1,3})\d* seconds (slow|fast) of NTP time)");
  std::string host, whole, part, side;  // pdsh puts the host before it
  if (!re2::RE2::PartialMatch(host_piece(text), kOffset, &host, &whole, &part, &side)) return false;
  part.resize(3, '0');
  reading.sink.put(
      ConfigRow{line.place, "clock_ahead_ms",
                (side == "slow" ? "-" : "") + std::to_string(number(whole) * 1000 + number(part)),
                host.empty() ? reading.host_of(line.line.prefix) : std::optional(Host(host))});
  return true;
}

bool read_zone(const TextLine& line, std::string_view text, Reading& reading) {
  static const re2::RE2 kZone(
      R"(^\s*(?:Time ?zone:\s+|.*/zoneinfo/)([A-Za-z][\w+/-]*)(?: \(|\s*$))");
  static const re2::RE2 kUniversal(
      R"(^\s*Universal time:\s+\w{3} (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC\s*$)");
  std::string value;
  Timestamp stamp;
  if (re2::RE2::PartialMatch(host_piece(text), kUniversal, &value) &&
      line::parse_iso(value + "Z", stamp) > 0) {
    reading.sink.put(
        ClockRow{line.place, stamp, {}, 0, reading.host_of(line.line.prefix), "collected"});
    return true;
  }
  if (!re2::RE2::PartialMatch(host_piece(text), kZone, &value) || value.size() > 64) return false;
  reading.sink.put(ConfigRow{line.place, "timezone", value, reading.host_of(line.line.prefix)});
  return true;
}

Outcome read_clock_words(const TextLine& line, Reading& reading) {
  static const re2::RE2 kBtime(R"(^btime (\d{9,10})\s*$)");
  const std::string& text = line.line.message;
  std::int64_t btime = 0;
  if (re2::RE2::PartialMatch(text, kBtime, &btime)) {
    put_boot_time(line, {Clock::utc, btime * kSecond, kSecond}, kSecond, reading);
    return {true};
  }
  // A prefix that looks like a time of day was taken off: the raw line has it.
  return {read_uptime(line, line.raw, reading) || read_uptime(line, text, reading) ||
              read_system_boot(line, text, reading) || read_zone(line, text, reading) ||
              read_clock_offset(line, text, reading) || read_noted_boot(line, line.raw, reading),
          nullptr,
          {}};
}

// What follows `cat` or `tail` at a prompt may be another machine's.
// "    inet 10.1.4.7/16 brd … scope global eth0"; "inet addr:10.1.4.7"; hostnamectl; "user@cx-7:~$
// dmesg".
Outcome read_name_words(const TextLine& line, Reading& reading) {
  static const re2::RE2 kAddress(
      R"(^\s*(?:\d+: \S+\s+)?inet6? ([0-9a-fA-F.:]+)/\d+ .*scope global)");
  // Of a network inside of the machine: the same everywhere.
  static const re2::RE2 kInner(
      R"((?:docker|br-|virbr|cni|flannel|cali|veth|vxlan|tmfifo|usb|podman|lxc|lxd|nodelocal|kube-)\S*\s*$)");
  // "bond0.407@bond0  UP  10.40.7.23/24" of `ip -br addr`, and netplan's files.
  static const re2::RE2 kBrief(
      R"(^(?:(?:eno|ens|enp|eth|bond|ib|rail|rdma|roce|gpu|hsn|p\d|net)[\w.@-]*)\s+UP\s+((?:\d{1,3}\.){3}\d{1,3})/\d)");
  static const re2::RE2 kNetplan(R"(^\s*addresses:\s*\[\s*['"]?((?:\d{1,3}\.){3}\d{1,3})/\d)");
  static const re2::RE2 kName(R"(^\s*Static hostname:\s+(\S+)\s*$)");
  static const re2::RE2 kPrompt(
      R"(^\[?[a-z_][\w.-]*@([A-Za-z][A-Za-z0-9.-]*)(?::| )[^ $#]*\]?\s?[$#] ?(?:sudo )?(?:dmesg|nvidia-smi|uname|hostname|journalctl|ibstat|uptime|ps|py-spy|ip)\b)");
  // A console that waits for somebody: "gx-07 login: ", with a time before it or not.
  static const re2::RE2 kLogin(R"(^\s*([A-Za-z][\w.-]*\d[\w.-]*) login:\s*$)");
  const std::string_view text = line.raw.substr(0, 1024);
  IdentityRow row;
  row.place = line.place;
  std::string value;
  if ((re2::RE2::PartialMatch(host_piece(text), kAddress, &value) &&
       !re2::RE2::PartialMatch(host_piece(text), kInner)) ||
      re2::RE2::PartialMatch(host_piece(text), kBrief, &value) ||
      re2::RE2::PartialMatch(host_piece(text), kNetplan, &value)) {
    row.source = "ip addr";
    row.host = reading.host_of(line.line.prefix);
    row.address = value;
  } else if (re2::RE2::PartialMatch(line.line.message, kName, &value) && host_word(value)) {
    row.source = "hostname";
    row.host = Host(value);
  } else if (re2::RE2::PartialMatch(line.line.message, kLogin, &value)) {
    row.source = "prompt";
    row.host = Host(value);
  } else if (re2::RE2::PartialMatch(host_piece(text), kPrompt, &value) && host_word(value)) {
    row.source = "prompt";
    row.host = Host(value);
    reading.current_host = value;
  } else {
    return {};
  }
  reading.sink.put(row);
  return {true};
}

constexpr std::string_view kClockWords[] = {
    "load average:", "system boot", "Universal time:", "Time zone:", "Timezone:",
    "/zoneinfo/",    "btime 1",     "of NTP time",     "boot: 2",    "boot time",
    "boot_time",     "booted",      "uptime -s"};
constexpr std::string_view kNameWords[] = {
    "scope global", "UP          ", "addresses: [", "Static hostname:", "$ dmesg",    "# dmesg",
    "$ sudo ",      "$ nvidia-smi", "# nvidia-smi", "$ uname",          "$ hostname", "# hostname",
    "$ journalctl", "# journalctl", "$ uptime",     "$ py-spy",         " login:"};

}  // namespace

extern constinit const Document kHostWords{
    "host-words", "hostname, date, /proc/uptime, etc/timezone of a machine", kMostHostWordBytes,
    sniff_host_words, read_host_words};
extern constinit const Document kBootList{"boot-list",
                                          "journalctl --list-boots: when a machine was started",
                                          1u << 20, sniff_boots, read_boots};
extern constinit const Recogniser kClockLines{
    "clock-words",
    "uptime, who -b, last -x, timedatectl, /proc/stat: when a machine started, its time zone",
    kClockWords, read_clock_words};
extern constinit const Recogniser kNameLines{
    "name-words", "hostnamectl, ip addr, prompts of a shell: names and addresses of a machine",
    kNameWords, read_name_words};

}  // namespace culprit::ingest
