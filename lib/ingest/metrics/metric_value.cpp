#include "ingest/metrics/metric_value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "line/digit.hpp"
#include "line/timestamp.hpp"

namespace culprit::ingest {

namespace {

using line::alpha;
using line::digit;

constexpr std::array<double, 16> kPower = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                           1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

}  // namespace

std::size_t read_number(std::string_view text, double& value) {
  std::size_t at = 0;
  const bool sign = !text.empty() && (text[0] == '-' || text[0] == '+');
  if (sign) at = 1;
  // Up to fifteen digits, with or without a point, are a quotient of two exact doubles: rounded
  // right by one division.
  std::uint64_t digits = 0;
  std::size_t count = 0;
  const std::size_t begin = at;
  while (at < text.size() && digit(text[at]) && count < 16)
    digits = digits * 10 + static_cast<std::uint64_t>(text[at++] - '0'), ++count;
  std::size_t decimals = 0;
  if (at < text.size() && text[at] == '.' && count > 0) {
    ++at;
    while (at < text.size() && digit(text[at]) && count < 16)
      digits = digits * 10 + static_cast<std::uint64_t>(text[at++] - '0'), ++count, ++decimals;
  }
  if (count > 0 && count <= 15 &&
      (at >= text.size() || !(digit(text[at]) || text[at] == '.' || text[at] == 'e' ||
                              text[at] == 'E' || text[at] == '_' || text[at] == 'x'))) {
    value = static_cast<double>(digits);
    if (decimals > 0) value /= kPower[decimals];
    if (sign && text[0] == '-') value = -value;
    return at;
  }
  if (begin >= text.size() || (sign && (text[begin] == '-' || text[begin] == '+'))) return 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  if (error == std::errc::invalid_argument) return 0;
  std::size_t used = static_cast<std::size_t>(end - text.data());
  if (error == std::errc::result_out_of_range)
    value = std::strtod(std::string(text.substr(begin, used - begin)).c_str(), nullptr);
  // "nan" and "inf" are words: what goes on with a letter is another one.
  if (used < text.size() &&
      (alpha(text[used]) || digit(text[used]) || text[used] == '_' || text[used] == '(') &&
      !digit(text[used - 1]))
    return 0;
  if (text[used - 1] == ')') return 0;
  if (sign && text[0] == '-') value = -value;
  return used;
}

bool dcgm_blank(double value) {
  return value == 9223372036854775808.0 || (value >= 2147483632.0 && value <= 2147483635.0) ||
         (value >= 140737488355328.0 && value <= 140737488355331.0);
}

std::size_t read_epoch_seconds(std::string_view text, Nanoseconds& ns) {
  std::size_t at = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) at = 1;
  std::int64_t seconds = 0;
  std::size_t count = 0;
  for (; at < text.size() && digit(text[at]); ++at, ++count)
    if (count < 11) seconds = seconds * 10 + (text[at] - '0');
  if (count == 0) return 0;
  Nanoseconds fraction = 0;
  if (at + 1 < text.size() && text[at] == '.' && digit(text[at + 1])) {
    ++at;
    for (Nanoseconds scale = kSecond / 10; at < text.size() && digit(text[at]); ++at, scale /= 10)
      fraction += (text[at] - '0') * scale;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    double value = 0;
    const std::size_t used = read_number(text, value);
    if (used == 0 || !(std::abs(value) < 9e9)) return 0;
    ns = static_cast<Nanoseconds>(std::llround(value * 1e3)) * 1'000'000;
    return used;
  }
  if (count > 10 || seconds > 9'000'000'000) return 0;
  ns = seconds * kSecond + fraction;
  if (negative) ns = -ns;
  return at;
}

bool moment_alone(std::string_view text, Timestamp& stamp) {
  const auto decoration = [](char c) {
    return c == ' ' || c == '\t' || c == '#' || c == '=' || c == '-' || c == '*' || c == '[' ||
           c == ']' || c == '<' || c == '>' || c == ':' || c == '\r';
  };
  const auto strip = [&] {
    while (!text.empty() && decoration(text.front())) text.remove_prefix(1);
    while (!text.empty() && decoration(text.back())) text.remove_suffix(1);
  };
  strip();
  if (text.size() > 96) return false;
  // A date may begin with a word ("Sat"), so each place is tried before its word is taken for an
  // introduction.
  for (int words = 0; words <= 3 && !text.empty(); ++words) {
    std::size_t used = 0;
    if (digit(text[0])) {
      std::size_t digits = 0;
      while (digits < text.size() && digit(text[digits])) ++digits;
      std::int64_t value = 0;
      std::size_t taken = 0;
      if (digits == 10 && (used = read_epoch_seconds(text, stamp.ns)) > 0) {
        stamp.clock = Clock::utc;
        stamp.precision = used > 11 ? 1'000'000 : kSecond;
      } else if ((digits == 13 || digits == 19) && line::parse_digits(text, taken, value) &&
                 value <= (digits == 13 ? 9'000'000'000'000 : 9'000'000'000'000'000'000)) {
        stamp = {Clock::utc, digits == 13 ? value * 1'000'000 : value,
                 digits == 13 ? 1'000'000 : 1};
        used = digits;
      } else if (Timestamp iso; (used = line::parse_iso(text, iso)) > 0) {
        stamp = iso;
      }
    } else if (alpha(text[0]) || static_cast<unsigned char>(text[0]) >= 0x80) {
      Timestamp calendar;
      used = line::parse_calendar(text, calendar);
      if (used > 0 && (calendar.clock == Clock::utc || calendar.clock == Clock::local))
        stamp = calendar;
      else
        used = 0;
    }
    if (used > 0) {
      text.remove_prefix(used);
      strip();
      return text.empty();
    }
    while (!text.empty() && !decoration(text.front())) text.remove_prefix(1);
    strip();
  }
  return false;
}

bool DayCache::read(std::string_view text, Timestamp& stamp) {
  const auto two = [&](std::size_t at, std::int64_t& v) {
    if (!digit(text[at]) || !digit(text[at + 1])) return false;
    v = (text[at] - '0') * 10 + (text[at + 1] - '0');
    return true;
  };
  std::int64_t h = 0, m = 0, s = 0;
  if (text.size() == 23 && day_[0] != 0 && std::memcmp(text.data(), day_, sizeof day_) == 0 &&
      text[10] == ' ' && text[13] == ':' && text[16] == ':' && text[19] == '.' && two(11, h) &&
      two(14, m) && two(17, s) && digit(text[20]) && digit(text[21]) && digit(text[22]) && h < 24 &&
      m < 60 && s < 60) {
    const std::int64_t ms = (text[20] - '0') * 100 + (text[21] - '0') * 10 + (text[22] - '0');
    stamp = {Clock::local, day_ns_ + (h * 3600 + m * 60 + s) * kSecond + ms * 1'000'000, 1'000'000};
    return true;
  }
  const std::size_t used = line::parse_iso(text, stamp);
  if (used == 0 || used != text.size()) return false;
  if (stamp.clock == Clock::local && text.size() == 23) {
    std::memcpy(day_, text.data(), sizeof day_);
    day_ns_ = stamp.ns - stamp.ns % (86'400 * kSecond);
  }
  return true;
}

std::string_view take_host(std::string_view& text) {
  constexpr std::size_t kLongestName = 253;  // RFC 1035
  const std::size_t colon = text.find(": ");
  if (colon == 0 || colon > kLongestName) return {};  // npos is greater, too
  const std::string_view host = text.substr(0, colon);
  const bool named = std::ranges::any_of(host, alpha) && std::ranges::all_of(host, [&](char c) {
                       return alpha(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
                     });
  if (!named) return {};
  text = line::trimmed(text.substr(colon + 2));
  return host;
}

}  // namespace culprit::ingest
