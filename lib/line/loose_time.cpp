// Forms of time that only home-made loggers print, put into the one form that timestamp.cpp reads.
#include "line/loose_time.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "line/digit.hpp"
#include "line/timestamp.hpp"
#include "model/contains.hpp"

namespace culprit::line {

namespace {

constexpr std::size_t kLongestTime = 48;

struct LooseDate {
  std::size_t used = 0;
  int year = 0, month = 0, day = 0;  // year 0: not printed
  bool sure = true;
  bool either = false;  // day and month may be the other way round
};

bool is_date(const LooseDate& date) {
  constexpr int kEarliest = 2012, kLatest = 2040;
  return date.month >= 1 && date.month <= 12 && date.day >= 1 && date.day <= 31 &&
         (date.year == 0 || (date.year >= kEarliest && date.year <= kLatest));
}

// The date that the text begins with.
LooseDate date_of(std::string_view t) {
  std::size_t digits = 0;
  while (digits < t.size() && digit(t[digits])) ++digits;
  const auto cut = [&](std::size_t at, char c) { return t.size() > at && t[at] == c; };
  if (digits == 8) return {8, fixed(t, 0, 4), fixed(t, 4, 2), fixed(t, 6, 2)};
  if (digits == 6) return {6, 2000 + fixed(t, 0, 2), fixed(t, 2, 2), fixed(t, 4, 2), false};
  if (digits == 4)
    for (const char c : {'-', '/', '.'})
      if (cut(4, c) && cut(7, c)) return {10, fixed(t, 0, 4), fixed(t, 5, 2), fixed(t, 8, 2)};
  if (digits != 2) return {};
  if (cut(2, '.') && cut(5, '.')) {  // who writes dots puts the day first
    if (cut(6, ' ')) return {6, 0, fixed(t, 3, 2), fixed(t, 0, 2), false};
    return {10, fixed(t, 6, 4), fixed(t, 3, 2), fixed(t, 0, 2)};
  }
  // With a hyphen the month stands first; with a stroke it may be either.
  const bool short_date = (cut(2, '/') || cut(2, '-')) && t.size() > 5 && !digit(t[5]);
  const int first = fixed(t, 0, 2), second = fixed(t, 3, 2);
  if (!short_date || t[5] == t[2]) return {};
  const bool either = t[2] == '/' && first <= 12 && second <= 12 && first != second;
  return first > 12 ? LooseDate{5, 0, second, first, false}
                    : LooseDate{5, 0, first, second, false, either};
}

// A date, and a time of day behind it: 10:11:12.1+01:00 · 10-11-12 · 101112.
LooseTime by_date(std::string_view text, Timestamp& stamp) {
  const LooseDate date = date_of(text);
  if (date.used == 0 || !is_date(date)) return {};
  std::size_t at = date.used;
  for (const std::string_view between : {" at ", ", ", " ", "T", "_", "-", ","})
    if (text.substr(at).starts_with(between)) {
      at += between.size();
      break;
    }
  if (at == date.used) return {};
  std::string time(text.substr(at, kLongestTime));
  std::size_t added = 0;
  if (fixed(time, 0, 6) >= 0 && (time.size() == 6 || !digit(time[6]))) {
    time.insert(4, ":").insert(2, ":");
    added = 2;
  } else if (time.size() >= 8 && time[2] == '-' && time[5] == '-') {
    time[2] = time[5] = ':';
  }
  constexpr int kAnyYear = 2000;  // as all times without one: with_year puts it in
  constexpr std::size_t kDate = 11;
  const std::size_t used =
      parse_iso(fmt::format("{:04}-{:02}-{:02} {}", date.year == 0 ? kAnyYear : date.year,
                            date.month, date.day, time),
                stamp);
  if (used == 0) return {};
  if (date.either)
    stamp = {Clock::local_no_date, stamp.ns % kDay, stamp.precision};
  else if (date.year == 0)
    stamp.clock = Clock::local_no_year;
  return {at + used - kDate - added, date.sure};
}

bool comma_or_dot(char c) { return c == ',' || c == '.'; }

// "Tue, 03 Feb 2026 10:11:12 GMT", "Feb 3, 2026, 10:11:12": what other calendars print, with
// commas and dots.
LooseTime by_month_name(std::string_view text, Timestamp& stamp) {
  constexpr std::size_t kMonthAndDay = 12;
  if (std::ranges::none_of(text.substr(0, kMonthAndDay), comma_or_dot)) return {};
  std::string plain;
  std::array<std::size_t, kLongestTime + 1> place{};  // in the text, of each byte of `plain`
  for (std::size_t i = 0; i < std::min(text.size(), kLongestTime); ++i)
    if (!comma_or_dot(text[i]) ||
        (i > 0 && digit(text[i - 1]) && i + 1 < text.size() && digit(text[i + 1]))) {
      place[plain.size()] = i;
      plain += text[i];
    }
  if (plain.size() == std::min(text.size(), kLongestTime)) return {};  // line.cpp peels it
  const std::size_t used = parse_calendar(plain, stamp);
  if (used == 0 || (stamp.clock != Clock::local && stamp.clock != Clock::utc)) return {};
  return {place[used - 1] + 1, true};
}

// Seconds or milliseconds since 1970, of this century's first half.
LooseTime by_seconds(std::string_view text, Timestamp& stamp) {
  std::size_t digits = 0;
  std::int64_t value = 0;
  constexpr std::int64_t kFrom = 1'300'000'000, kTo = 2'200'000'000;
  if (!parse_digits(text.substr(0, 14), digits, value)) return {};
  if (digits == 13 && value / 1000 > kFrom && value / 1000 < kTo) {
    stamp = {Clock::utc, value * 1'000'000, 1'000'000};
    return {digits, false};
  }
  if (digits != 10 || value < kFrom || value > kTo) return {};
  Nanoseconds ns = value * kSecond, precision = kSecond;
  std::size_t at = digits;
  if (at + 1 < text.size() && text[at] == '.' && digit(text[at + 1]))
    for (++at; at < text.size() && digit(text[at]); ++at)
      if (precision > 1) {
        precision /= 10;
        ns += (text[at] - '0') * precision;
      }
  stamp = {Clock::utc, ns, precision};
  return {at, false};
}

LooseTime bare(std::string_view text, Timestamp& stamp, bool wrapped) {
  if (text.empty()) return {};
  if (wrapped)
    if (const std::size_t used = parse_iso(text, stamp); used > 0) return {used, true};
  if (digit(text[0])) {
    if (const LooseTime found = by_date(text, stamp); found.used > 0) return found;
    if (const std::size_t used = parse_time_of_day(text, stamp); used > 0) return {used, false};
    return by_seconds(text, stamp);
  }
  return by_month_name(text, stamp);
}

}  // namespace

LooseTime parse_loose(std::string_view text, Timestamp& stamp) {
  // A word in small letters begins none of these, but for the keys.
  if (text.empty() || (text[0] >= 'a' && text[0] <= 'z' && text[0] != 't')) return {};
  std::size_t begin = 0;
  char close = '\0';
  for (const std::string_view key : {"time=", "ts=", "timestamp="})
    if (text.starts_with(key)) begin = key.size();
  const std::size_t open = std::string_view("[(<\"").find(text.substr(begin, 1));
  if (begin < text.size() && open != std::string_view::npos) {
    close = "])>\""[open];
    ++begin;
  }
  Timestamp found;
  LooseTime out = bare(text.substr(begin), found, begin > 0);
  if (out.used == 0) return {};
  std::size_t end = begin + out.used;
  if (close != '\0') {  // what a logger adds: "[02/03 10:11:12 name]"
    constexpr std::size_t kMostNamed = 60;
    const std::size_t at = text.find(close, end);
    if (at == std::string_view::npos || at - end > kMostNamed || (at > end && text[end] != ' '))
      return {};
    end = at + 1;
  }
  const bool next_field = close == ']' && end < text.size() && text[end] == '[';
  if (end < text.size() && !next_field && !contains(std::string_view(" \t:,|-"), text[end]))
    return {};
  while (end < text.size() && contains(std::string_view(" \t:,|"), text[end])) ++end;
  stamp = found;
  return {end, out.sure};
}

}  // namespace culprit::line
