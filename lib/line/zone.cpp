#include "line/zone.hpp"

#include <chrono>
#include <limits>

#ifdef CULPRIT_CCTZ_OF_ABSEIL
#include <absl/time/internal/cctz/include/cctz/time_zone.h>
namespace cctz = absl::time_internal::cctz;
#else
#include <cctz/time_zone.h>
#endif

#include "line/digit.hpp"
#include "model/contains.hpp"

namespace culprit::line {

struct Zone::Rules {
  cctz::time_zone zone;
};

namespace {

using Seconds = std::chrono::duration<std::int64_t>;
using Moment = cctz::time_point<cctz::seconds>;

// "+08:00", "-0330", "+8", "+08"
std::optional<Nanoseconds> offset_of(std::string_view text) {
  if (text.size() < 2 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  int numbers[2] = {0, 0};
  std::size_t digits[2] = {0, 0};
  std::size_t part = 0;
  for (const char c : text.substr(1)) {
    if (c == ':' && part == 0 && digits[0] > 0) {
      part = 1;
      continue;
    }
    if (!digit(c)) return std::nullopt;
    if (part == 0 && digits[0] == 2) part = 1;  // 0330
    if (++digits[part] > 2) return std::nullopt;
    numbers[part] = numbers[part] * 10 + (c - '0');
  }
  if (digits[0] == 0 || (part == 1 && digits[1] != 2) || numbers[0] > 15 || numbers[1] > 59)
    return std::nullopt;
  const Nanoseconds value = (numbers[0] * 60 + numbers[1]) * kMinute;
  return text[0] == '-' ? -value : value;
}

// A name only: the text may come from a bundle, and the library would open any path.
bool name_of_zone(std::string_view text) {
  if (text.empty() || text.size() > 64 || text.front() == '/' || contains(text, "..")) return false;
  for (const char c : text)
    if (!digit(c) && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') && c != '/' && c != '_' &&
        c != '-' && c != '+')
      return false;
  return (text.front() >= 'A' && text.front() <= 'Z') && text.back() != '/';
}

Nanoseconds floor_second(Nanoseconds ns) {
  const Nanoseconds rest = ns % kSecond;
  return ns - (rest < 0 ? rest + kSecond : rest);
}

}  // namespace

Zone Zone::fixed(Nanoseconds offset) {
  Zone zone;
  zone.offset_ = offset;
  return zone;
}

std::optional<Zone> Zone::named(std::string_view text) {
  if (text == "UTC" || text == "utc" || text == "Z" || text == "GMT") return Zone();
  if (const auto offset = offset_of(text)) return fixed(*offset);
  // As people mean it; the database's own Etc/GMT+8 lies west.
  if (text.starts_with("UTC") || text.starts_with("GMT"))
    if (const auto offset = offset_of(text.substr(3))) return fixed(*offset);
  if (!name_of_zone(text)) return std::nullopt;
  auto rules = std::make_shared<Rules>();
  if (!cctz::load_time_zone(std::string(text), &rules->zone)) return std::nullopt;
  Zone zone;
  zone.rules_ = std::move(rules);
  return zone;
}

namespace {

// So near to what 64 bits hold that an offset would leave it: no clock shows such a time.
bool at_the_edge(Nanoseconds t) {
  constexpr Nanoseconds kMargin = 3 * 86'400 * kSecond;
  return t < std::numeric_limits<Nanoseconds>::min() + kMargin ||
         t > std::numeric_limits<Nanoseconds>::max() - kMargin;
}

}  // namespace

Nanoseconds Zone::utc(Nanoseconds local, Nanoseconds& uncertainty) const {
  if (at_the_edge(local)) return local;
  if (rules_ == nullptr) return local - offset_;
  const Nanoseconds whole = floor_second(local);
  // A civil time is told as seconds since 1970 as if it were UTC.
  const cctz::civil_second civil = cctz::civil_second() + whole / kSecond;
  const auto found = rules_->zone.lookup(civil);
  const auto ns = [](const Moment& t) { return t.time_since_epoch().count() * kSecond; };
  if (found.kind == cctz::time_zone::civil_lookup::REPEATED)
    uncertainty += ns(found.post) - ns(found.pre);
  return ns(found.pre) + (local - whole);
}

Nanoseconds Zone::utc(Nanoseconds local) const {
  Nanoseconds ignored = 0;
  return utc(local, ignored);
}

Nanoseconds Zone::offset(Nanoseconds utc_ns) const {
  if (rules_ == nullptr) return offset_;
  const Moment t{Seconds(floor_second(utc_ns) / kSecond)};
  return rules_->zone.lookup(t).offset * kSecond;
}

}  // namespace culprit::line
