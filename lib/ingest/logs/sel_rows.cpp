// The event log of a machine's controller with commas between its columns (ipmitool -c sel list,
// and what scripts make of it): told as ipmitool prints it, which is what rules know.
//
//   201,09/03/2025,17:18:21,Memory #0x87,Uncorrectable ECC,Asserted
#include <string>
#include <vector>

#include <re2/re2.h>

#include "ingest/engine/events.hpp"
#include "ingest/engine/recogniser.hpp"
#include "line/timestamp.hpp"
#include "line/trimmed.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

std::vector<std::string_view> cells(std::string_view text) {
  std::vector<std::string_view> out;
  constexpr std::size_t kMost = 16;
  for (std::size_t at = 0; at <= text.size() && out.size() < kMost;) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    out.push_back(line::trimmed(text.substr(at, end - at)));
    at = end + 1;
  }
  return out;
}

// A date that may have its time of day in the next cell; how many cells it takes.
std::size_t moment(const std::vector<std::string_view>& of, std::size_t at, Timestamp& stamp) {
  static const re2::RE2 kDate(R"((\d\d)/(\d\d)/(\d{4}))");
  std::string month, day, year;
  const std::string_view cell = of[at];
  if (line::parse_iso(cell, stamp) == cell.size() && !cell.empty()) return 1;
  if (at + 1 < of.size() &&
      re2::RE2::FullMatch({cell.data(), cell.size()}, kDate, &month, &day, &year) &&
      line::parse_iso(year + "-" + month + "-" + day + " " + std::string(of[at + 1]), stamp) > 0) {
    const Nanoseconds hour = stamp.ns / kHour % 24;
    if (contains(of[at + 1], " PM") && hour < 12) stamp.ns += 12 * kHour;
    if (contains(of[at + 1], " AM") && hour == 12) stamp.ns -= 12 * kHour;
    return 2;
  }
  return 0;
}

Outcome read_sel_row(const TextLine& line, Reading& reading) {
  constexpr std::size_t kLongest = 512;
  const std::string_view text = line::trimmed(line.raw);
  if (text.size() > kLongest || !(text.ends_with("sserted") || contains(text, "sserted,")))
    return {};
  line::Line said;
  said.prefix = line.line.prefix;
  const std::vector<std::string_view> columns = cells(text);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    Timestamp stamp;
    if (const std::size_t taken = moment(columns, i, stamp); taken > 0) {
      said.prefix.time = stamp;
      i += taken - 1;
      continue;
    }
    // The number of the record says nothing.
    if (columns[i].empty() || columns[i].find_first_not_of("0123456789abcdef") == std::string::npos)
      continue;
    said.message += (said.message.empty() ? "| " : " | ") + std::string(columns[i]);
  }
  put_said(line.place, said, "bmc", reading);
  return {true};
}

constexpr std::string_view kSelWords[] = {",Asserted", ",Deasserted"};

}  // namespace

extern constinit const Recogniser kSelRows{
    "sel-rows", "event log of a machine's controller with commas between its columns", kSelWords,
    read_sel_row};

}  // namespace culprit::ingest
