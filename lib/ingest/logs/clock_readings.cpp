// What the clocks of several machines showed when they were asked at one moment, as `pdsh date`,
// clush and loops over ssh print it: the one that is apart from all others is wrong.
//
//   mu06: 08:04:20.782847210          c07-gpu: Wed Aug 19 07:17:05 UTC 2026
//   mu07: 07:58:09.131361692          c08-gpu: 1787122950.12
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/events.hpp"
#include "ingest/engine/recogniser.hpp"
#include "ingest/engine/scan.hpp"
#include "line/trimmed.hpp"
#include "model/median.hpp"

namespace culprit::ingest {

namespace {

constexpr std::string_view kClocksKind = "clocks";
constexpr std::size_t kFewestClocks = 3, kMostClocks = 100'000;
constexpr double kDay = 86'400;

struct ClockReading {
  std::string host;
  double seconds = 0;  // of the day
};

bool read_clock(std::string_view text, ClockReading& out) {
  static const re2::RE2 kTime(
      R"(\[?([A-Za-z][\w.-]*\d[\w.-]*)\]?(?: *[:|>]| ) *)"
      R"((?:[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ |[A-Z][a-z]{2} +\d+ [A-Z][a-z]{2} |\d{4}-\d\d-\d\d[T ])?)"
      R"((\d\d):(\d\d):(\d\d(?:[.,]\d+)?)(?: ?[AP]M)?(?: ?(?:Z|[A-Z]{3,5}|[+-]\d\d:?\d\d))?(?: \d{4})?)"),
      kEpoch(R"(\[?([A-Za-z][\w.-]*\d[\w.-]*)\]?(?: *[:|>]| ) *(\d{10}(?:\.\d+)?))");
  const std::string_view line = line::trimmed(text);
  if (line.size() > 160 || line.empty()) return false;
  const re2::StringPiece piece(line.data(), line.size());
  int hours = 0, minutes = 0;
  std::string seconds;
  double epoch = 0;
  if (re2::RE2::FullMatch(piece, kTime, &out.host, &hours, &minutes, &seconds)) {
    std::ranges::replace(seconds, ',', '.');
    out.seconds = hours * 3600 + minutes * 60 + std::strtod(seconds.c_str(), nullptr);
    return true;
  }
  if (!re2::RE2::FullMatch(piece, kEpoch, &out.host, &epoch)) return false;
  out.seconds = std::fmod(epoch, kDay);
  return true;
}

class Clocks final : public Kept {
 public:
  void add(const ClockReading& reading, const Place& place) {
    if (clocks_.size() < kMostClocks) clocks_.emplace(reading.host, Shown{reading.seconds, place});
  }

  void finish(Reading& reading) override {
    constexpr double kApart = 20, kZone = 900, kNearZone = 3;
    if (clocks_.size() < kFewestClocks) return;
    std::vector<double> all;
    for (const auto& [host, shown] : clocks_) all.push_back(shown.seconds);
    const double usual = median_of(all);
    // One after another, they were asked over a while.
    const double slack = std::max(kApart, 2.0 * static_cast<double>(clocks_.size()));
    std::vector<const std::pair<const std::string, Shown>*> odd;
    for (const auto& one : clocks_)
      if (std::fabs(one.second.seconds - usual) > slack) odd.push_back(&one);
    if (odd.size() != 1) return;
    const double apart = odd.front()->second.seconds - usual;
    // Another zone is no wrong clock; nor is the other side of midnight.
    if (std::fabs(apart - kZone * std::round(apart / kZone)) <= kNearZone ||
        kDay - std::fabs(apart) <= slack)
      return;
    put_said(odd.front()->second.place, Host(odd.front()->first),
             fmt::format("clock is {:.0f} s {} those of {} other machines", std::fabs(apart),
                         apart > 0 ? "ahead of" : "behind", clocks_.size() - 1),
             reading);
  }

 private:
  struct Shown {
    double seconds = 0;
    Place place;
  };
  std::map<std::string, Shown> clocks_;
};

Outcome read_clock_line(const TextLine& line, Reading& reading) {
  ClockReading clock;
  if (!read_clock(line.raw, clock)) return {};
  reading.keep<Clocks>().add(clock, line.place);
  return {true};
}

}  // namespace

// Declared in engine/kinds.cpp.
bool clock_readings(const Head& head) {
  constexpr std::size_t kShare = 3;  // one of so many lines: other answers of the machines between
  if (head.bytes.size() > (1u << 16) && !head.whole) return false;
  const auto told = [&](std::string_view word) {
    return mentions(head.path, word) || head.mentions(word);
  };
  if (!told("date") && !told("clock") && !told("chrony") && !told("ntp")) return false;
  // "last seen" and "started at" are lists of moments, too.
  static const re2::RE2 kAsked(
      R"((?i)\bdate\b|(?:^|[/_. -])date[_.-]|clock|chrony|\bntp|timedatectl|hwclock)");
  const std::string asked = std::string(head.path) + "\n" + std::string(head.bytes.substr(0, 512));
  if (!re2::RE2::PartialMatch(asked, kAsked)) return false;
  std::map<std::string, int> hosts;
  std::size_t lines = 0, clocks = 0;
  ClockReading clock;
  for (std::string_view rest = head.bytes; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::string_view text = rest.substr(0, end);
    rest = end == rest.npos ? std::string_view{} : rest.substr(end + 1);
    if (line::trimmed(text).empty()) continue;
    ++lines;
    if (!read_clock(text, clock)) continue;
    ++clocks;
    ++hosts[clock.host];
  }
  // Each once: what a machine prints again and again is a log.
  return hosts.size() >= kFewestClocks && clocks == hosts.size() && clocks * kShare >= lines;
}

extern constinit const Recogniser kClockReadings{
    .name = "clock-readings",
    .summary = "clocks of several machines, asked at one moment",
    .words = {},
    .read = read_clock_line,
    .whole_kind = kClocksKind};

}  // namespace culprit::ingest
