#include "line/timestamp.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "line/digit.hpp"
#include "model/contains.hpp"

namespace culprit::line {

namespace {

struct TimeOfDay {
  Nanoseconds ns = 0;
  Nanoseconds precision = kSecond;
  std::size_t used = 0;  // 0: no time of day here
};

TimeOfDay time_of_day(std::string_view text) {
  TimeOfDay out;
  const int h = fixed(text, 0, 2);
  if (h < 0 || h > 24 || text.size() < 8 || text[2] != ':' || text[5] != ':') return out;
  const int m = fixed(text, 3, 2);
  const int s = fixed(text, 6, 2);
  if (m < 0 || m > 59 || s < 0 || s > 60) return out;
  out.ns = (h * 3600LL + m * 60LL + s) * kSecond;
  out.used = 8;
  if (text.size() > 9 && (text[8] == '.' || text[8] == ',') && digit(text[9])) {
    Nanoseconds scale = kSecond;
    std::size_t i = 9;
    for (; i < text.size() && digit(text[i]) && scale > 1; ++i) {
      scale /= 10;
      out.ns += (text[i] - '0') * scale;
    }
    while (i < text.size() && digit(text[i])) ++i;
    out.precision = scale;
    out.used = i;
  }
  return out;
}

}  // namespace

bool names_moment(std::string_view name) {
  static constexpr std::array kMoments = std::to_array<std::string_view>(
      {"ts",       "time",        "timestamp", "epoch",  "unix",   "unixtime",    "date",
       "datetime", "walltime",    "utc",       "tsms",   "tsns",   "timems",      "timens",
       "timeus",   "epochs",      "epochms",   "unixts", "unixms", "timestampms", "timestampns",
       "zeit",     "zeitstempel", "uhrzeit",   "hora",   "fecha",  "heure",       "horodatage"});
  static constexpr std::array kBeside = std::to_array<std::string_view>(
      {"s",   "sec", "secs",  "seconds", "ms",    "us",  "ns",     "wall",     "clock",   "local",
       "iso", "gmt", "start", "call",    "event", "log", "sample", "recorded", "created", "at"});
  constexpr std::size_t kLongest = 48;
  if (name.size() > kLongest) return false;
  bool moment = false;
  std::string word;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    const char c = i < name.size() ? name[i] : ' ';
    if (alpha(c)) {
      word += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      continue;
    }
    if (digit(c)) return false;
    if (word.empty()) continue;
    if (contains(kMoments, std::string_view(word)))
      moment = true;
    else if (!contains(kBeside, std::string_view(word)))
      return false;
    word.clear();
  }
  return moment;
}

std::optional<Nanoseconds> offset_named(std::string_view word) {
  static constexpr std::pair<std::string_view, int> kHours[] = {
      {"UTC", 0},  {"GMT", 0},   {"WET", 0},   {"WEST", 1},  {"CET", 1},   {"CEST", 2},
      {"EET", 2},  {"EEST", 3},  {"MSK", 3},   {"HKT", 8},   {"SGT", 8},   {"AWST", 8},
      {"JST", 9},  {"KST", 9},   {"AEST", 10}, {"AEDT", 11}, {"NZST", 12}, {"NZDT", 13},
      {"EST", -5}, {"EDT", -4},  {"CDT", -5},  {"MST", -7},  {"MDT", -6},  {"PST", -8},
      {"PDT", -7}, {"HST", -10}, {"MEZ", 1},   {"MESZ", 2}};
  for (const auto& [name, hours] : kHours)
    if (name == word) return hours * kHour;
  return std::nullopt;
}

namespace {

// Z, UTC, CET, [CET], (CET), +05:30, +0530, +05 after an optional space. Returns bytes taken.
std::size_t zone(std::string_view text, Nanoseconds& offset) {
  std::size_t at = 0;
  offset = 0;
  if (!text.empty() && text[0] == 'Z') return 1;
  if (text.size() > 3 && text[0] == ' ' && text[1] >= 'A' && text[1] <= 'Z') {
    std::size_t end = 1;
    while (end < text.size() && (alpha(text[end]) || digit(text[end]))) ++end;
    const auto named = offset_named(text.substr(1, end - 1));
    offset = named.value_or(0);
    return named ? end : 0;
  }
  if (text.size() > 4 && text[0] == ' ' && (text[1] == '[' || text[1] == '(')) {
    const std::size_t end = text.find(text[1] == '[' ? ']' : ')', 2);
    const auto named =
        end == std::string_view::npos ? std::nullopt : offset_named(text.substr(2, end - 2));
    offset = named.value_or(0);
    return named ? end + 1 : 0;
  }
  if (text.size() > 1 && text[0] == ' ' && (text[1] == '+' || text[1] == '-')) at = 1;
  if (at >= text.size() || (text[at] != '+' && text[at] != '-')) return 0;
  const int h = fixed(text, at + 1, 2);
  if (h < 0 || h > 15) return 0;
  std::size_t next = at + 3;
  int m = 0;
  if (next < text.size() && text[next] == ':') ++next;
  if (fixed(text, next, 2) >= 0) {
    m = fixed(text, next, 2);
    next += 2;
  } else if (at == 1)
    return 0;
  if (m > 59) return 0;
  offset = (text[at] == '-' ? -1 : 1) * (h * 3600LL + m * 60LL) * kSecond;
  return next;
}

// The zone behind a time that ends at `used`, and the stamp of both. Returns bytes taken.
std::size_t with_zone(std::string_view text, std::size_t used, Nanoseconds local,
                      Nanoseconds precision, Timestamp& stamp) {
  Nanoseconds offset = 0;
  const std::size_t zoned = zone(text.substr(used), offset);
  stamp = {zoned > 0 ? Clock::utc : Clock::local, local - offset, precision};
  return used + zoned;
}

bool valid_date(int month, int day) { return month >= 1 && month <= 12 && day >= 1 && day <= 31; }

Nanoseconds at_date(int year, int month, int day) {
  return days_from_civil(year, static_cast<unsigned>(month), static_cast<unsigned>(day)) * 86400 *
         kSecond;
}

// Years outside this range are numbers that only look like a date; they would also leave int64
// nanoseconds.
bool plausible_year(int year) { return year >= 1970 && year <= 2200; }

constexpr std::pair<std::string_view, int> kMonths[] = {
    {"jan", 1},
    {"feb", 2},
    {"mar", 3},
    {"apr", 4},
    {"may", 5},
    {"jun", 6},
    {"jul", 7},
    {"aug", 8},
    {"sep", 9},
    {"oct", 10},
    {"nov", 11},
    {"dec", 12},
    // What journald and syslog print in other locales (glibc's abmon).
    {"mrz", 3},
    {"m\xc3\xa4r", 3},
    {"mai", 5},
    {"okt", 10},
    {"dez", 12},  // de
    {"janv", 1},
    {"f\xc3\xa9"
     "vr",
     2},
    {"mars", 3},
    {"avril", 4},
    {"juin", 6},
    {"juil", 7},
    {"ao\xc3\xbb"
     "t",
     8},
    {"sept", 9},
    {"d\xc3\xa9"
     "c",
     12},  // fr
    {"ene", 1},
    {"abr", 4},
    {"ago", 8},
    {"dic", 12},
    {"gen", 1},
    {"mag", 5},
    {"giu", 6},
    {"lug", 7},
    {"set", 9},
    {"ott", 10},  // es it
    {"fev", 2},
    {"out", 10},
    {"mrt", 3},
    {"mei", 5},
    {"maj", 5},
    {"avr", 4},
    {"juni", 6},
    {"juli", 7},  // pt nl sv
    {"sty", 1},
    {"lut", 2},
    {"kwi", 4},
    {"cze", 6},
    {"lip", 7},
    {"sie", 8},
    {"wrz", 9},
    {"pa\xc5\xba", 10},
    {"lis", 11},
    {"gru", 12},  // pl
    {"led", 1},
    {"\xc3\xba"
     "no",
     2},
    {"b\xc5\x99"
     "e",
     3},
    {"dub", 4},
    {"kv\xc4\x9b", 5},
    {"\xc4\x8d"
     "en",
     6},
    {"srp", 8},
    {"z\xc3\xa1\xc5\x99", 9},
    {"\xc5\x99\xc3\xadj", 10},
    {"pro", 12},  // cs
    {"\xd1\x8f\xd0\xbd\xd0\xb2", 1},
    {"\xd1\x84\xd0\xb5\xd0\xb2", 2},
    {"\xd0\xbc\xd0\xb0\xd1\x80", 3},
    {"\xd0\xb0\xd0\xbf\xd1\x80", 4},
    {"\xd0\xbc\xd0\xb0\xd1\x8f", 5},
    {"\xd0\xb8\xd1\x8e\xd0\xbd", 6},
    {"\xd0\xb8\xd1\x8e\xd0\xbb", 7},
    {"\xd0\xb0\xd0\xb2\xd0\xb3", 8},
    {"\xd1\x81\xd0\xb5\xd0\xbd", 9},
    {"\xd0\xbe\xd0\xba\xd1\x82", 10},
    {"\xd0\xbd\xd0\xbe\xd1\x8f", 11},
    {"\xd0\xb4\xd0\xb5\xd0\xba", 12},  // ru
};

// 1-12; 0: a word that could be a month of some language; -1: no word of that kind.
int month_of(std::string_view word) {
  if (word.empty() || word.size() > 12) return -1;
  if (word.back() == '.') word.remove_suffix(1);
  std::size_t used = 0;
  std::int64_t number = 0;
  if (parse_digits(word, used, number)) {  // "11月": East Asian locales number their months
    const bool marked = used < word.size() && static_cast<unsigned char>(word[used]) >= 0x80;
    return marked && number >= 1 && number <= 12 ? static_cast<int>(number) : -1;
  }
  std::string lower(word);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c + 32);
    else if (!(c >= 'a' && c <= 'z') && static_cast<unsigned char>(c) < 0x80)
      return -1;
  }
  for (const auto& [text, month] : kMonths)
    if (lower == text) return month;
  static constexpr std::string_view kLong[] = {"january", "february", "march",   "april",
                                               "june",    "july",     "august",  "september",
                                               "october", "november", "december"};
  for (std::string_view full : kLong)
    if (lower == full) return month_of(full.substr(0, 3));
  return lower.size() <= 8 ? 0 : -1;
}

// Whether a colon at or after `colon`, the first one, can be the first of hh:mm:ss.
bool has_time_of_day(std::string_view text, std::size_t colon) {
  for (; colon != std::string_view::npos; colon = text.find(':', colon + 1))
    if (colon + 3 < text.size() && text[colon + 3] == ':' && digit(text[colon + 1]) && colon >= 2 &&
        digit(text[colon - 1]) && digit(text[colon - 2]))
      return true;
  return false;
}

struct Words {
  std::string_view text;
  std::size_t at = 0;
  std::string_view next() {
    while (at < text.size() && text[at] == ' ') ++at;
    const std::size_t begin = at;
    while (at < text.size() && text[at] != ' ' && text[at] != ']') ++at;
    return text.substr(begin, at - begin);
  }
};

int number_of(std::string_view word, std::size_t max_width) {
  if (word.empty() || word.size() > max_width) return -1;
  return fixed(word, 0, word.size());
}

bool weekday(std::string_view word) {
  for (std::string_view day : {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"})
    if (word == day) return true;
  return false;
}

// The year that a word is, or -1.
int year_of(std::string_view word) {
  return word.size() == 4 && number_of(word, 4) > 0 ? number_of(word, 4) : -1;
}

// What the words of a date tell, one after the other.
struct CalendarTime {
  int year = -1;  // -1: none printed
  int month = 0;  // 0: a month of a language we do not know
  int day = 0;
  Nanoseconds time = 0;  // of the day
  bool utc = false;
  Nanoseconds offset = 0;  // of the zone, where utc
  std::size_t end = 0;     // bytes of the text read so far
};

// "Tue Aug 4", "2026 Aug 4", "4 Aug, 2026". Returns the word behind the date; empty: no date.
std::string_view read_date(Words& words, CalendarTime& out) {
  std::string_view word = words.next();
  if (weekday(word)) word = words.next();
  if (const int year = year_of(word); year > 0) {
    out.year = year;
    word = words.next();
  }
  if (const int first = number_of(word, 2); first > 0) {  // 04 Aug, 14:03:32
    out.day = first;
    word = words.next();
    if (!word.empty() && word.back() == ',') word.remove_suffix(1);
    out.month = month_of(word);
  } else {
    out.month = month_of(word);
    if (out.month < 0) return {};
    out.day = number_of(words.next(), 2);
  }
  if (out.month < 0 || out.day < 1 || out.day > 31) return {};
  word = words.next();
  if (const int year = year_of(word); out.year < 0 && year > 0) {
    out.year = year;
    word = words.next();
  }
  return word;
}

// "02:03:32 PM", what `date` prints in the United States: makes 24 hours of it. Returns the word
// behind it.
std::string_view read_half_of_day(Words& words, CalendarTime& out) {
  constexpr Nanoseconds kHour = 3600 * kSecond;
  const std::string_view word = words.next();
  if ((word != "AM" && word != "PM") || out.time / kHour < 1 || out.time / kHour > 12) return word;
  out.time = out.time % (12 * kHour) + (word == "PM" ? 12 * kHour : 0);
  out.end = words.at;
  return words.next();
}

// The next word where it is a year; otherwise nothing, and it is still the next.
std::string_view take_year(Words& words) {
  const std::size_t keep = words.at;
  const std::string_view word = words.next();
  if (year_of(word) > 0) return word;
  words.at = keep;
  return {};
}

// A zone between the time of day and the year: "UTC 2026", "+08 2026", "CET 2026". Returns the word
// that may be the year.
std::string_view read_zone(std::string_view word, Words& words, CalendarTime& out) {
  Nanoseconds offset = 0;
  if (const std::size_t zoned = zone(word, offset);
      zoned > 1 && zoned == word.size() && out.year < 0) {  // "+08 2026": a zone without a name
    const std::string_view year = take_year(words);
    if (year.empty()) return {};
    out.utc = true;
    out.offset = offset;
    return year;
  }
  if (const auto named = offset_named(word)) {
    out.utc = true;
    out.offset = *named;
    out.end = words.at;
    return words.next();
  }
  if (word.size() >= 3 && word.size() <= 5 && word[0] >= 'A' && word[0] <= 'Z')
    return take_year(words);  // CST, IST: a zone we do not resolve
  return word;
}

Timestamp stamp_of(const CalendarTime& seen, Nanoseconds precision) {
  if (seen.month == 0) return {Clock::local_no_date, seen.time, precision};
  if (!plausible_year(seen.year))
    return {Clock::local_no_year, at_date(2000, seen.month, seen.day) + seen.time - seen.offset,
            precision};
  return {seen.utc ? Clock::utc : Clock::local,
          at_date(seen.year, seen.month, seen.day) + seen.time - seen.offset, precision};
}

}  // namespace

bool parse_digits(std::string_view text, std::size_t& used, std::int64_t& value) {
  used = 0;
  value = 0;
  while (used < text.size() && digit(text[used])) {
    if (used == 18) return false;
    value = value * 10 + (text[used] - '0');
    ++used;
  }
  return used > 0;
}

std::size_t parse_iso(std::string_view text, Timestamp& stamp) {
  const int year = fixed(text, 0, 4);
  if (year < 0 || text.size() < 19 || (text[4] != '-' && text[4] != '/') || text[7] != text[4])
    return 0;
  const int month = fixed(text, 5, 2);
  const int day = fixed(text, 8, 2);
  if (!plausible_year(year) || !valid_date(month, day)) return 0;
  if (!contains(std::string_view(" T_,"), text[10])) return 0;
  const TimeOfDay tod = time_of_day(text.substr(11));
  if (tod.used == 0) return 0;
  return with_zone(text, 11 + tod.used, at_date(year, month, day) + tod.ns, tod.precision, stamp);
}

std::size_t parse_calendar(std::string_view text, Timestamp& stamp) {
  if (text.size() < 12) return 0;
  Words words{text.substr(0, 48)};
  // Every form has its time of day within these: two colons, two digits apart. Most words that
  // could be a month are not.
  const std::size_t colon = words.text.find(':');
  if (colon == std::string_view::npos || !has_time_of_day(words.text, colon)) return 0;
  CalendarTime seen;
  std::string_view word = read_date(words, seen);
  const TimeOfDay tod = time_of_day(word);
  if (tod.used == 0) return 0;
  words.at -= word.size() - tod.used;
  seen.time = tod.ns;
  seen.end = words.at;
  word = read_zone(read_half_of_day(words, seen), words, seen);
  if (seen.year < 0 && word.size() == 4 && plausible_year(number_of(word, 4))) {
    seen.year = number_of(word, 4);
    seen.end = words.at;
  }
  if (!seen.utc && seen.year > 0)
    if (const std::size_t zoned = zone(text.substr(seen.end), seen.offset); zoned > 0) {
      seen.utc = true;
      seen.end += zoned;
    }
  stamp = stamp_of(seen, tod.precision);
  return seen.end;
}

// 08/03/2026 03:00[:30] PM: who writes so puts the month first.
static std::size_t parse_half_days(std::string_view text, Timestamp& stamp) {
  if (text.size() < 19 || text[2] != '/' || text[5] != '/' || text[10] != ' ' || text[13] != ':')
    return 0;
  const int year = fixed(text, 6, 4), month = fixed(text, 0, 2), day = fixed(text, 3, 2),
            hour = fixed(text, 11, 2), minute = fixed(text, 14, 2);
  const bool seconds = text[16] == ':';
  const int second = seconds ? fixed(text, 17, 2) : 0;
  const std::string_view half = text.substr(seconds ? 19 : 16, 3);
  const bool afternoon = half == " PM" || half == " pm";
  if (!plausible_year(year) || !valid_date(month, day) || hour < 1 || hour > 12 || minute < 0 ||
      minute > 59 || second < 0 || second > 59 || (!afternoon && half != " AM" && half != " am"))
    return 0;
  stamp = {Clock::local,
           at_date(year, month, day) +
               ((hour % 12 + (afternoon ? 12 : 0)) * 60 + minute) * kMinute + second * kSecond,
           seconds ? kSecond : kMinute};
  return seconds ? 22 : 19;
}

std::size_t parse_sheet(std::string_view text, Timestamp& stamp) {
  if (const std::size_t used = parse_half_days(text, stamp); used > 0) return used;
  if (text.size() < 16 || (text[10] != ' ' && text[10] != 'T') || text[13] != ':') return 0;
  const bool dots = text[2] == '.' && text[5] == '.';
  if (!dots && ((text[4] != '-' && text[4] != '/') || text[7] != text[4])) return 0;
  const int year = fixed(text, dots ? 6 : 0, 4), month = fixed(text, dots ? 3 : 5, 2),
            day = fixed(text, dots ? 0 : 8, 2), hour = fixed(text, 11, 2),
            minute = fixed(text, 14, 2);
  if (!plausible_year(year) || !valid_date(month, day) || hour < 0 || hour > 24 || minute < 0 ||
      minute > 59)
    return 0;
  TimeOfDay tod = time_of_day(text.substr(11));
  if (tod.used == 0) tod = {(hour * 60 + minute) * kMinute, kMinute, 5};
  return with_zone(text, 11 + tod.used, at_date(year, month, day) + tod.ns, tod.precision, stamp);
}

namespace {

struct Date {
  int year = 0, month = 0, day = 0;
};

// The readings of three numbers that are dates of our time: the month first, the day first, and,
// with two digits, the year first.
std::vector<Date> readings(int first, int second, int last, bool two_digits) {
  constexpr int kEarliest = 2012, kLatest = 2040;
  std::vector<Date> out;
  const auto add = [&](Date date) {
    if (date.year < kEarliest || date.year > kLatest || !valid_date(date.month, date.day)) return;
    const bool there = std::ranges::any_of(out, [&](const Date& other) {
      return other.year == date.year && other.month == date.month && other.day == date.day;
    });
    if (!there) out.push_back(date);
  };
  const int year = two_digits ? 2000 + last : last;
  add({year, first, second});
  add({year, second, first});
  if (two_digits) add({2000 + first, second, last});
  return out;
}

}  // namespace

std::size_t parse_short_date(std::string_view text, Timestamp& stamp) {
  if (text.size() < 17 || !digit(text[0]) || !digit(text[1]) || (text[2] != '/' && text[2] != '-'))
    return 0;
  if (const std::size_t used = parse_half_days(text, stamp); used > 0) return used;
  const char separator = text[2];
  const std::size_t second = text.find(separator, 3);  // "22", "Nov"
  if (second != 5 && second != 6) return 0;
  const std::size_t blank = text.find_first_of(" :", second + 1);
  if (blank == std::string_view::npos) return 0;
  const std::size_t width = blank - second - 1;
  if (width != 2 && width != 4) return 0;
  const int first = fixed(text, 0, 2), last = fixed(text, second + 1, width);
  if (last < 0) return 0;
  const TimeOfDay tod = time_of_day(text.substr(blank + 1));
  if (tod.used == 0) return 0;
  const std::size_t used = blank + 1 + tod.used;
  if (second == 6) {
    const int year = width == 2 ? 2000 + last : last, month = month_of(text.substr(3, 3));
    if (month < 1 || !plausible_year(year) || !valid_date(month, first)) return 0;
    return with_zone(text, used, at_date(year, month, first) + tod.ns, tod.precision, stamp);
  }
  if (separator == '-' && width == 4) return 0;  // "12-31-2024" and "31-12-2024" are both written
  const std::vector<Date> dates = readings(first, fixed(text, 3, 2), last, width == 2);
  if (dates.empty()) return 0;
  if (dates.size() > 1) {  // what is sure is the time of the day
    stamp = {Clock::local_no_date, tod.ns, tod.precision};
    return used;
  }
  const Date& date = dates.front();
  return with_zone(text, used, at_date(date.year, date.month, date.day) + tod.ns, tod.precision,
                   stamp);
}

std::size_t parse_time_of_day(std::string_view text, Timestamp& stamp) {
  const TimeOfDay tod = time_of_day(text);
  if (tod.used > 0) stamp = {Clock::local_no_date, tod.ns, tod.precision};
  return tod.used;
}

std::size_t parse_glog(std::string_view text, Timestamp& stamp) {
  std::size_t width = 0;
  while (width < text.size() && digit(text[width])) ++width;
  if (width + 9 > text.size() || text[width] != ' ') return 0;
  int year = 2000;
  int month = 0;
  Clock clock = Clock::local_no_year;
  if (width == 8) {
    year = fixed(text, 0, 4);
    month = fixed(text, 4, 2);
    clock = Clock::local;
  } else if (width == 4)
    month = fixed(text, 0, 2);
  else if (width == 3)
    month = fixed(text, 0, 1);  // torch's C++ logger does not pad the month
  else
    return 0;
  const int day = fixed(text, width - 2, 2);
  if (!plausible_year(year) || !valid_date(month, day)) return 0;
  const TimeOfDay tod = time_of_day(text.substr(width + 1));
  if (tod.used == 0) return 0;
  stamp = {clock, at_date(year, month, day) + tod.ns, tod.precision};
  return width + 1 + tod.used;
}

}  // namespace culprit::line
