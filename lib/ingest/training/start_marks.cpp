// Lines that bound the parts of a start: allocation, container, rendezvous, NCCL and what follows.
// The table rules/tables/restart_parts.json knows them.
#include <fmt/format.h>

#include "ingest/engine/recogniser.hpp"
#include "line/timestamp.hpp"
#include "rules/restart_parts.hpp"

namespace culprit::ingest {

namespace {

// A year in seconds: no part of a start is longer, and hostile digits become no overflow.
constexpr double kLongest = 86'400;

Outcome read_start_mark(const TextLine& line, Reading& reading) {
  const auto said = rules::restart_line(line.line.message);
  if (!said || said->seconds.value_or(0) > kLongest) return {};
  const line::Prefix& prefix = line.line.prefix;
  StartMarkRow row{.place = line.place,
                   .time = prefix.time,
                   .part = said->part,
                   .edge = said->edge,
                   .about = said->about.substr(0, 253),
                   .seconds = said->seconds};
  if (!said->time.empty() && line::parse_iso(said->time, row.time) == 0) return {};
  if (prefix.host) row.who = *prefix.host;
  for (const auto& number : {prefix.pid, prefix.task})
    row.who += number ? fmt::format(":{}", *number) : ":";
  reading.sink.put(row);
  return {true};
}

}  // namespace

extern constinit const Recogniser kStartMark{.name = "start-mark",
                                             .summary = "when the parts of a start began and ended",
                                             .words = {},
                                             .read = read_start_mark,
                                             .beside = true,
                                             .table_words = rules::restart_words};

}  // namespace culprit::ingest
