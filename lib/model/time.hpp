// Times as logs write them, and what is known about them. A source's own clock is not wall time: it
// becomes wall time only through a clock map (analyze/clock.hpp), which carries its uncertainty.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace culprit {

using Nanoseconds = std::int64_t;
inline constexpr Nanoseconds kSecond = 1'000'000'000;
inline constexpr Nanoseconds kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;

enum class Clock {
  none,           // the line has no time
  utc,            // the zone was printed, or the number counts from the epoch
  local,          // date and time without a zone; ns as if it were UTC
  local_no_year,  // month, day, time; ns as if it were UTC in the leap year 2000
  local_no_date,  // time of day only; ns since midnight
  boot,           // since the kernel started
};

std::string_view name(Clock clock);
Clock clock_named(std::string_view name);

struct Timestamp {
  Clock clock = Clock::none;
  Nanoseconds ns = 0;
  Nanoseconds precision = 0;  // what the printed digits can tell apart
};

// Days since 1970-01-01 of a proleptic Gregorian date (Hinnant, "chrono-Compatible Low-Level Date
// Algorithms").
std::int64_t days_from_civil(std::int64_t year, unsigned month, unsigned day);
struct CivilDate {
  std::int64_t year;
  unsigned month;
  unsigned day;
};
CivilDate civil_from_days(std::int64_t days);

// For times without a year, which are kept as ones of 2000: the same in that year (29 February of a
// year that has none is 1 March), and the year that brings it nearest to a moment.
Nanoseconds with_year(Nanoseconds in_2000, std::int64_t year);
std::int64_t nearest_year(Nanoseconds in_2000, Nanoseconds moment);

// Whole half hours apart, to two minutes: as one moment is on clocks of two zones.
bool zones_apart(Nanoseconds a, Nanoseconds b);

// "2026-11-21T03:19:38.601Z"; fractional digits: 0, 3, 6 or 9, as few as lose nothing.
std::string iso_utc(Nanoseconds ns);
// "1.5 s", "240 s", "35 min": for sentences, two significant digits at most where it matters.
std::string human_duration(Nanoseconds ns);

}  // namespace culprit
