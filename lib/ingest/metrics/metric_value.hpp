// Numbers as exporters of metrics print them.
#pragma once

#include <string_view>
#include <vector>

#include "ingest/engine/series_book.hpp"
#include "line/trimmed.hpp"
#include "model/time.hpp"

namespace culprit::ingest {

// The number at the start of text, as Go and C print it: 12 -3.5 1e+09 NaN +Inf. Returns the bytes
// taken; 0: no number. More digits than a double holds are rounded to the nearest; what does not
// fit is infinite or 0.
std::size_t read_number(std::string_view text, double& value);

// DCGM's codes for "blank", "not found", "not supported", "no permission", which dcgm-exporter and
// dcgmi print as if they were values: from 0x7ffffffffffffff0 (it equals 2^63 as a double), from
// 0x7ffffff0, from 140737488355328 (dcgm_structs.h).
bool dcgm_blank(double value);

// A number of seconds since the epoch with its decimals, exactly. Returns the bytes taken; 0: no
// number, or out of range.
std::size_t read_epoch_seconds(std::string_view text, Nanoseconds& ns);

// A moment written by whoever collected the file, alone on a line or in a short comment: 1732190000
// · 1732190000.25 · 1732190000123 (ms) · 2026-11-21T03:19:38Z · Sat Nov 21 03:19:38 UTC 2026 ·
// "collected 2026-...". False when the text says anything more.
bool moment_alone(std::string_view text, Timestamp& stamp);

// 2024/09/08 13:03:31.000 and the ISO forms, with the day of the last call kept: a file has one.
class DayCache {
 public:
  bool read(std::string_view text, Timestamp& stamp);

 private:
  char day_[10] = {};
  Nanoseconds day_ns_ = 0;
};

// "node017: 54 %", as pdsh, clush and dsh print what a host says: takes the host away; "" if none
// stands there.
std::string_view take_host(std::string_view& text);

// The next word and the rest; "" when there is none.
inline std::string_view next_word(std::string_view& rest) {
  std::size_t at = 0;
  while (at < rest.size() && (rest[at] == ' ' || rest[at] == '\t')) ++at;
  std::size_t end = at;
  while (end < rest.size() && rest[end] != ' ' && rest[end] != '\t') ++end;
  const std::string_view word = rest.substr(at, end - at);
  rest.remove_prefix(end);
  return word;
}

// Of a row of a table; of a longer one the first, and one more.
inline constexpr std::size_t kMostMetricWords = 256;
inline void metric_words(std::string_view row, std::vector<std::string_view>& words) {
  words.clear();
  for (std::string_view word = next_word(row); !word.empty() && words.size() <= kMostMetricWords;
       word = next_word(row))
    words.push_back(word);
}

}  // namespace culprit::ingest
