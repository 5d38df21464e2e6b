// What `uptime` and `top` say of the load of a machine. Its averages of 15, 5 and 1 minutes stand
// for each of these minutes: what lasted so long shows in all of them.
//
//   top - 02:41:10 up 61 days,  2 users,  load average: 201.4, 196.0, 180.2
//   %Cpu(s): 71.0 us, 20.1 sy,  0.0 ni,  1.1 id,  7.6 wa,  0.0 hi,  0.2 si,  0.0 st
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "ingest/engine/series_book.hpp"
#include "line/timestamp.hpp"

namespace culprit::ingest {

namespace {

struct Sample {
  Timestamp time;
  double value = 0;
};

// REQUIRES: all of them are on one clock.
void put(const TextLine& line, std::string_view metric, std::string_view unit,
         std::span<const Sample> samples, Reading& reading) {
  SeriesRow key{.name = std::string(metric), .unit = std::string(unit)};
  key.host = reading.host_of(line.line.prefix);
  key.clock = samples.front().time.clock;
  SeriesBook& book = reading.keep<SeriesBook>();
  const SeriesBook::Index index = book.series(key);
  if (index == SeriesBook::kFull) return;
  for (const auto& [time, value] : samples)
    book.add(index, kNoValue, time.clock == Clock::none ? kNoValue : time.ns, value, line.place,
             reading);
}

void put_use(const TextLine& line, std::string_view metric, double percent, Reading& reading) {
  const Sample one{{}, percent};
  put(line, metric, "%", {&one, 1}, reading);
}

void put_load(const TextLine& line, const Timestamp& time, double of_1, double of_5, double of_15,
              Reading& reading) {
  std::vector<Sample> samples;
  for (int ago = time.clock == Clock::none ? 0 : 15; ago >= 0; --ago) {
    Timestamp then = time;
    then.ns -= ago * kMinute;
    samples.push_back({then, ago > 5 ? of_15 : ago > 1 ? of_5 : of_1});
  }
  put(line, "load_average", "", samples, reading);
}

Outcome read_load(const TextLine& line, Reading& reading) {
  static const re2::RE2 kLoad(
      R"((?:^|\s)(?:(\d\d:\d\d:\d\d)\s+)?up\s+[^|]*\bload average: (\d+\.\d+), (\d+\.\d+), (\d+\.\d+))");
  static const re2::RE2 kCpus(
      R"(^%?Cpu\(s\):\s*[\d.]+[ %]us,\s*([\d.]+)[ %]sy,.*?([\d.]+)[ %]id,\s*([\d.]+)[ %]wa)");
  const re2::StringPiece text(line.raw.data(), std::min<std::size_t>(line.raw.size(), 512));
  std::string clock;
  double load = 0, of_5 = 0, of_15 = 0, system = 0, idle = 0, waiting = 0;
  if (re2::RE2::PartialMatch(text, kLoad, &clock, &load, &of_5, &of_15)) {
    Timestamp time;
    if (!clock.empty()) line::parse_time_of_day(clock, time);
    put_load(line, time, load, of_5, of_15, reading);
    return {true};
  }
  if (!re2::RE2::PartialMatch(text, kCpus, &system, &idle, &waiting)) return {};
  put_use(line, "cpu_utilization", 100 - idle, reading);
  put_use(line, "cpu_system", system, reading);
  put_use(line, "cpu_iowait", waiting, reading);
  return {true};
}

constexpr std::string_view kLoadWords[] = {"load average: ", "Cpu(s):"};

}  // namespace

extern constinit const Recogniser kLoadLines{
    "load-words", "load and use of the CPUs, as uptime and top print them", kLoadWords, read_load};

}  // namespace culprit::ingest
