#include "analyze/hang/citation.hpp"

#include <fmt/format.h>

#include "analyze/hang/collectives.hpp"
#include "analyze/hang/stack_stage.hpp"

namespace culprit::analyze {

namespace {

// Of a row that names no rank, the one whose file it stands in.
std::string whose(const Facts& facts, const Place& place, std::optional<Rank> rank) {
  const MemberRow* m = facts.member(place.member);
  if (!rank && m != nullptr) rank = m->rank;
  return rank ? fmt::format("rank {}", number_of(*rank)) : std::string();
}

}  // namespace

std::string launched_at(const Facts& facts, const CollectiveSample& sample) {
  if (sample.stack < 0) return {};
  for (const std::uint32_t f : facts.stacks.stacks[static_cast<std::size_t>(sample.stack)]) {
    const Frame& frame = facts.stacks.frames[f];
    if (frame.native || frame.file.empty() || rules::library_file(frame.file)) continue;
    return place_of(frame.file, frame.line);
  }
  return {};
}

Citation cited(const Facts& facts, const CollectiveSample& sample) {
  const CollectiveRow& row = sample.row;
  std::string reading = row.operation;
  if (const std::string rank = whose(facts, row.place, row.rank); !rank.empty())
    reading = rank + ": " + reading;
  if (row.sequence != kUnknownSequence) reading += fmt::format(" {}", row.sequence);
  if (facts.group(row.group) != nullptr) reading += " of " + group_name(facts, row.group);
  if (!row.state.empty()) reading += ", " + row.state;
  if (!row.sizes.empty()) reading += ", " + row.sizes;
  if (const std::string code = launched_at(facts, sample); !code.empty()) reading += ", at " + code;
  return {row.place, std::move(reading)};
}

Citation cited(const Facts& facts, const RecorderRow& dump) {
  const std::string rank = whose(facts, dump.place, dump.rank);
  const std::string state =
      dump.pending == 0 ? "all completed" : fmt::format("{} not completed", dump.pending);
  return {dump.place, fmt::format("dump{}{}: {} operation{}, {}", rank.empty() ? "" : " of ", rank,
                                  dump.entries, dump.entries == 1 ? "" : "s", state)};
}

Citation cited(const Facts& facts, const FrontierRow& counters) {
  if (counters.enqueued == kUnknownSequence) return {counters.place};
  std::string reading = whose(facts, counters.place, counters.rank);
  if (facts.group(counters.group) != nullptr)
    reading += (reading.empty() ? "" : " on ") + group_name(facts, counters.group);
  if (!reading.empty()) reading += ": ";
  if (!counters.operation.empty()) reading += counters.operation + " ";
  reading += fmt::format("{} enqueued", counters.enqueued);
  if (counters.completed != kUnknownSequence)
    reading += fmt::format(", {} completed", counters.completed);
  return {counters.place, std::move(reading)};
}

Evidence evidence_of(const Facts& facts, const Citation& citation) {
  Evidence out = facts.evidence(citation.place);
  out.reading = citation.reading;
  return out;
}

}  // namespace culprit::analyze
