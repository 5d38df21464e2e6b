#include "model/time.hpp"

#include <array>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace culprit {

namespace {
constexpr std::array<std::string_view, 6> kClockNames{"none",          "utc",           "local",
                                                      "local-no-year", "local-no-date", "boot"};
}

std::string_view name(Clock clock) { return kClockNames[static_cast<std::size_t>(clock)]; }

Clock clock_named(std::string_view text) {
  for (std::size_t i = 0; i < kClockNames.size(); ++i)
    if (kClockNames[i] == text) return static_cast<Clock>(i);
  return Clock::none;
}

std::int64_t days_from_civil(std::int64_t year, unsigned month, unsigned day) {
  year -= month <= 2;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const auto yoe = static_cast<unsigned>(year - era * 400);
  const unsigned doy = (153 * (month + (month > 2 ? -3u : 9u)) + 2) / 5 + day - 1;
  const unsigned doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return era * 146097 + static_cast<std::int64_t>(doe) - 719468;
}

CivilDate civil_from_days(std::int64_t z) {
  z += 719468;
  const std::int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  const auto doe = static_cast<unsigned>(z - era * 146097);
  const unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  const std::int64_t y = static_cast<std::int64_t>(yoe) + era * 400;
  const unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const unsigned mp = (5 * doy + 2) / 153;
  const unsigned d = doy - (153 * mp + 2) / 5 + 1;
  const unsigned m = mp + (mp < 10 ? 3u : static_cast<unsigned>(-9));
  return {y + (m <= 2), m, d};
}

Nanoseconds with_year(Nanoseconds in_2000, std::int64_t year) {
  const CivilDate date = civil_from_days(in_2000 / kDay);
  return days_from_civil(year, date.month, date.day) * kDay + in_2000 % kDay;
}

bool zones_apart(Nanoseconds a, Nanoseconds b) {
  const Nanoseconds rest = std::abs(a - b) % (30 * kMinute);
  return std::abs(a - b) > 20 * kMinute && std::min(rest, 30 * kMinute - rest) < 2 * kMinute;
}

std::int64_t nearest_year(Nanoseconds in_2000, Nanoseconds moment) {
  const std::int64_t year = civil_from_days(moment / kDay).year;
  std::int64_t best = year - 1;
  for (const std::int64_t y : {year, year + 1})  // December next to January
    if (std::abs(with_year(in_2000, y) - moment) < std::abs(with_year(in_2000, best) - moment))
      best = y;
  return best;
}

std::string iso_utc(Nanoseconds ns) {
  std::int64_t seconds = ns / kSecond;
  std::int64_t fraction = ns % kSecond;
  if (fraction < 0) {
    fraction += kSecond;
    --seconds;
  }
  std::int64_t days = seconds / 86400;
  std::int64_t of_day = seconds % 86400;
  if (of_day < 0) {
    of_day += 86400;
    --days;
  }
  const CivilDate date = civil_from_days(days);
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", date.year, date.month,
                                 date.day, of_day / 3600, of_day / 60 % 60, of_day % 60);
  if (fraction % 1'000'000 == 0) {
    if (fraction != 0) text += fmt::format(".{:03}", fraction / 1'000'000);
  } else if (fraction % 1'000 == 0) {
    text += fmt::format(".{:06}", fraction / 1'000);
  } else {
    text += fmt::format(".{:09}", fraction);
  }
  return text + "Z";
}

std::string human_duration(Nanoseconds ns) {
  const double s = std::abs(static_cast<double>(ns)) / 1e9;
  const char* sign = ns < 0 ? "-" : "";
  if (s < 0.0995) return fmt::format("{}{:.0f} ms", sign, s * 1e3);
  if (s < 9.95) return fmt::format("{}{:.1f} s", sign, s);
  if (s < 180) return fmt::format("{}{:.0f} s", sign, s);
  if (s < 3 * 3600) return fmt::format("{}{:.0f} min", sign, s / 60);
  if (s < 3 * 86400) return fmt::format("{}{:.1f} h", sign, s / 3600);
  return fmt::format("{}{:.1f} days", sign, s / 86400);
}

}  // namespace culprit
