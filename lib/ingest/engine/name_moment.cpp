#include "ingest/engine/name_moment.hpp"

#include <charconv>
#include <string>

#include "line/digit.hpp"
#include "line/timestamp.hpp"

namespace culprit::ingest {

namespace {

using line::digit;

// Digits of the pattern's length at `at`, "dddd-dd-dd": d is a digit, '-' one separator or none.
std::size_t take_digits(std::string_view text, std::size_t at, std::string_view widths,
                        std::string_view separators, std::string& digits) {
  std::size_t i = at;
  for (std::size_t part = 0; part < widths.size(); ++part) {
    if (part > 0 && i < text.size() && separators.find(text[i]) != std::string_view::npos) ++i;
    for (int n = widths[part] - '0'; n > 0; --n, ++i) {
      if (i >= text.size() || !digit(text[i])) return 0;
      digits += text[i];
    }
  }
  return i - at;
}

std::size_t calendar_at(std::string_view text, std::size_t at, Timestamp& stamp) {
  std::string date, hour;
  const std::size_t of_date = take_digits(text, at, "422", "-_.", date);
  if (of_date == 0) return 0;
  std::size_t i = at + of_date;
  if (i < text.size() &&
      (text[i] == 'T' || text[i] == 't' || text[i] == '_' || text[i] == '-' || text[i] == '.'))
    ++i;
  const std::size_t of_hour = take_digits(text, i, "222", "-_.:", hour);
  if (of_hour == 0) return 0;
  i += of_hour;
  if (i < text.size() && digit(text[i])) return 0;  // a longer number is something else
  const bool zulu = i < text.size() && text[i] == 'Z';
  const std::string iso = date.substr(0, 4) + "-" + date.substr(4, 2) + "-" + date.substr(6, 2) +
                          " " + hour.substr(0, 2) + ":" + hour.substr(2, 2) + ":" +
                          hour.substr(4, 2) + (zulu ? "Z" : "");
  if (line::parse_iso(iso, stamp) != iso.size()) return 0;
  return i + (zulu ? 1 : 0) - at;
}

std::size_t epoch_at(std::string_view text, std::size_t at, Timestamp& stamp) {
  std::size_t n = 0;
  while (at + n < text.size() && digit(text[at + n])) ++n;
  if (n != 10 && n != 13) return 0;
  std::int64_t value = 0;
  std::from_chars(text.data() + at, text.data() + at + n, value);
  const std::int64_t seconds = n == 10 ? value : value / 1000;
  // From 2001 to 2065; job numbers of that size are rare.
  if (seconds < 1'000'000'000 || seconds > 3'000'000'000) return 0;
  stamp = {Clock::utc, n == 10 ? value * kSecond : value * 1'000'000,
           n == 10 ? kSecond : 1'000'000};
  return n;
}

}  // namespace

bool moment_of_name(std::string_view path, Timestamp& stamp) {
  const std::string_view name =
      path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
  bool found = false;
  for (std::size_t i = 0; i < name.size();) {
    if (!digit(name[i]) || (i > 0 && digit(name[i - 1]))) {
      ++i;
      continue;
    }
    Timestamp one;
    std::size_t used = calendar_at(name, i, one);
    if (used == 0) used = epoch_at(name, i, one);
    if (used == 0) {
      while (i < name.size() && digit(name[i])) ++i;
      continue;
    }
    if (found && (one.ns != stamp.ns || one.clock != stamp.clock)) return false;
    found = true;
    stamp = one;
    i += used;
  }
  return found;
}

}  // namespace culprit::ingest
