#include "ingest/engine/series_book.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace culprit::ingest {

namespace {

constexpr std::size_t kChunkSamples = 4'096;
constexpr std::size_t kMostBookSeries = 1'000'000;  // of one member
constexpr std::size_t kSeriesWithRoom = 256;        // about 40 MB
constexpr std::size_t kMostBuffered = 2'000'000;    // samples of all series together: about 80 MB

bool blank_or_return(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool equal_letters(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

// from_chars for what most numbers are: up to fifteen digits, with a point or without. They are a
// quotient of two exact doubles, which one division rounds as from_chars does. Null: it is none of
// those.
const char* short_decimal(const char* at, const char* end, double& value) {
  constexpr double kPower[] = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                               1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const auto digit = [&] { return at < end && *at >= '0' && *at <= '9'; };
  const bool negative = at < end && *at == '-';
  if (negative) ++at;
  std::int64_t digits = 0;
  std::size_t count = 0, decimals = 0;
  for (; digit() && count < 16; ++at, ++count) digits = digits * 10 + (*at - '0');
  if (count == 0) return nullptr;
  if (at < end && *at == '.') {
    for (++at; digit() && count < 16; ++at, ++count, ++decimals) digits = digits * 10 + (*at - '0');
    if (decimals == 0) return nullptr;
  }
  if (count > 15 || digit() || (at < end && (*at == '.' || *at == 'e' || *at == 'E')))
    return nullptr;
  value = static_cast<double>(digits) / kPower[decimals];
  if (negative) value = -value;
  return at;
}

// A time of day behind another: half a day back is the next day. Both count from the midnight
// before the first one.
Nanoseconds after(const std::optional<Nanoseconds>& last, Nanoseconds time_of_day) {
  if (!last) return time_of_day;
  const Nanoseconds today = *last / kDay * kDay + time_of_day;
  return today + 12 * kHour < *last ? today + kDay : today;
}

}  // namespace

SeriesBook::Index SeriesBook::series(const SeriesRow& key) {
  const auto found = index_.find(key);
  if (found != index_.end()) return found->second;
  if (open_.size() >= kMostBookSeries) return kFull;
  const auto index = static_cast<Index>(open_.size());
  index_.emplace(key, index);
  open_.push_back({key, 0, {}, {}});
  return index;
}

void SeriesBook::add(Index index, std::int64_t step, std::int64_t time_ns, double value,
                     const Place& place, Reading& reading) {
  if (index >= open_.size()) return;
  Open& open = open_[index];
  if (open.samples.empty()) open.first = place;
  // Metrics print whole dates: they tell the year of logs beside them that print none.
  if (!dated_ && time_ns != kNoValue &&
      (open.key.clock == Clock::utc || open.key.clock == Clock::local)) {
    dated_ = true;
    reading.sink.put(
        ClockRow{place, Timestamp{open.key.clock, time_ns, kSecond}, {}, 0, {}, "sample"});
  }
  if (open.key.clock == Clock::local_no_date && time_ns != kNoValue) {
    time_ns = after(open.last_of_day, time_ns);
    open.last_of_day = time_ns;
    last_of_day_ = {place,   Timestamp{Clock::local_no_date, time_ns % kDay, kSecond}, {}, 0, {},
                    "sample"};
    if (!dated_) reading.sink.put(*last_of_day_);
    dated_ = true;
  }
  open.samples.push_back({step, time_ns, static_cast<std::int64_t>(place.line),
                          static_cast<std::int64_t>(place.offset), value});
  if (open.samples.size() >= kChunkSamples)
    flush(open, reading);
  else if (++buffered_ > kMostBuffered)
    for (Open& one : open_) flush(one, reading);
}

void SeriesBook::flush(Open& open, Reading& reading) {
  const std::size_t n = open.samples.size();
  if (n == 0) return;
  if (open.id == 0) {
    open.key.member = open.first.member;
    open.id = reading.sink.series(open.key);
  }
  // Columns of which no sample has anything stay empty.
  SeriesPoints& p = points_;
  for (auto* column : {&p.steps, &p.times, &p.lines, &p.offsets}) column->resize(n);
  p.values.resize(n);
  bool stepped = false, timed = false, placed = false;
  for (std::size_t i = 0; i < n; ++i) {
    const Sample& sample = open.samples[i];
    p.steps[i] = sample.step;
    p.times[i] = sample.time;
    p.lines[i] = sample.line;
    p.offsets[i] = sample.offset;
    p.values[i] = sample.value;
    stepped |= sample.step != kNoValue;
    timed |= sample.time != kNoValue;
    placed |= sample.line != 0 || sample.offset != 0;
  }
  if (!stepped) p.steps.clear();
  if (!timed) p.times.clear();
  if (!placed) p.lines.clear(), p.offsets.clear();
  ChunkRow row;
  row.series = open.id;
  row.place = open.first;
  row.samples = static_cast<std::int64_t>(n);
  const auto ends = [](const std::vector<std::int64_t>& column, std::int64_t& first,
                       std::int64_t& last) {
    for (const std::int64_t v : column)
      if (v != kNoValue) {
        if (first == kNoValue) first = v;
        last = v;
      }
  };
  ends(p.steps, row.first_step, row.last_step);
  ends(p.times, row.first_time, row.last_time);
  row.axis = share_axis(open);
  row.data = pack(p);
  reading.sink.put(row);
  if (!row.axis) {  // the columns are filled anew for the next series
    Axis& axis = axes_[next_axis_++ % axes_.size()];
    axis.series = open.id;
    axis.chunk = open.chunks;
    std::swap(axis.points, p);
  }
  ++open.chunks;
  buffered_ -= std::min(buffered_, n);
  // Room for a whole chunk is kept where there are few series only.
  if (open_.size() <= kSeriesWithRoom)
    open.samples.clear();
  else
    open.samples = {};
}

// Whose columns are those of the series being written, which then has none of its own.
std::optional<SeriesId> SeriesBook::share_axis(const Open& open) {
  SeriesPoints& p = points_;
  for (const Axis& axis : axes_) {
    const SeriesPoints& a = axis.points;
    if (axis.series == 0 || axis.chunk != open.chunks || p.size() != a.size() ||
        p.lines != a.lines || p.offsets != a.offsets || p.steps != a.steps || p.times != a.times)
      continue;
    for (auto* column : {&p.steps, &p.times, &p.lines, &p.offsets}) column->clear();
    return axis.series;
  }
  return std::nullopt;
}

void SeriesBook::finish(Reading& reading) {
  for (Open& open : open_) flush(open, reading);
  if (last_of_day_) reading.sink.put(*last_of_day_);
  open_.clear();
  index_.clear();
  buffered_ = 0;
}

bool metric_number(std::string_view cell, double& value, std::string_view& rest) {
  while (!cell.empty() && blank_or_return(cell.front())) cell.remove_prefix(1);
  while (!cell.empty() && blank_or_return(cell.back())) cell.remove_suffix(1);
  if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
    cell = cell.substr(1, cell.size() - 2);
  rest = {};
  if (cell.empty()) return false;
  if (cell.starts_with("0x")) {  // a mask of reasons
    std::uint64_t mask = 0;
    const auto [stop, error] =
        std::from_chars(cell.data() + 2, cell.data() + cell.size(), mask, 16);
    value = static_cast<double>(mask);
    return error == std::errc() && stop == cell.data() + cell.size();
  }
  const char* begin = cell.data() + (cell.front() == '+' ? 1 : 0);
  const char* const end = cell.data() + cell.size();
  const char* at = short_decimal(begin, end, value);
  if (at == nullptr) {
    const auto [stopped, error] = std::from_chars(begin, end, value);
    at = stopped;
    if (error == std::errc::result_out_of_range) {
      value = *begin == '-' ? -std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::infinity();
    } else if (error != std::errc()) {
      // Spellings that from_chars does not know are words for "nothing here".
      return false;
    }
  }
  rest = std::string_view(at, static_cast<std::size_t>(end - at));
  // "NaN" and "inf" end a word; "nana" or "infra" is a word of its own.
  if (!std::isfinite(value) && !rest.empty() && !blank_or_return(rest.front()) &&
      !equal_letters(std::string_view(begin, static_cast<std::size_t>(end - begin)), "infinity"))
    return false;
  while (!rest.empty() && blank_or_return(rest.front())) rest.remove_prefix(1);
  // dcgm-exporter writes DCGM's codes for "blank", "not found", "not supported", "no permission" as
  // if they were values: 0x7ffffffffffffff0 and up, 0x7ffffff0 and up, 140737488355328 for floating
  // point (dcgm_structs.h).
  if (value == 9223372036854775808.0 || (value >= 2147483632.0 && value <= 2147483647.0) ||
      (value >= 140737488355328.0 && value <= 140737488355332.0))
    return false;
  return true;
}

}  // namespace culprit::ingest
