#include "ingest/logs/exported_records.hpp"

#include <algorithm>

#include "ingest/engine/text_reader.hpp"
#include "model/sort.hpp"

namespace culprit::ingest {

namespace {

// Records of one moment keep the order in which they were written: a store that begins with the
// newest turned it round.
void sort_by_time(std::vector<ExportedRecord>& records) {
  std::size_t later = 0, earlier = 0;
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].group != records[i - 1].group) continue;
    later += records[i - 1].prefix.time.ns < records[i].prefix.time.ns;
    earlier += records[i - 1].prefix.time.ns > records[i].prefix.time.ns;
  }
  if (earlier > later) std::ranges::reverse(records);
  sort_by(records, [](const ExportedRecord& a) { return a.prefix.time.ns; });
}

}  // namespace

void put_records(std::string_view bytes, std::vector<ExportedRecord> records,
                 const MemberRow& member, Reading& reading) {
  sort_by_time(records);
  // What the lines are is told by the first of them, as for a file of the same lines.
  std::string head;
  for (const ExportedRecord& record : records) {
    if (head.size() > (32u << 10)) break;
    head += record.message + "\n";
  }
  const line::Habit habit = line::habit_of(head);
  const Scanner scanner(reading.pack);
  TextReader reader(scanner, reading.sink, member.id, {}, habit, true, member.path);
  // Offsets do not rise any more after the sorting: lines are counted once, from the front.
  std::vector<std::size_t> ends;
  for (std::size_t at = bytes.find('\n'); at != std::string_view::npos;
       at = bytes.find('\n', at + 1))
    ends.push_back(at);
  for (const ExportedRecord& record : records) {
    const auto line =
        static_cast<std::uint64_t>(std::ranges::lower_bound(ends, record.offset) - ends.begin()) +
        1;
    reader.record({member.id, line, record.offset,
                   static_cast<std::uint32_t>(std::min<std::size_t>(record.length, 1u << 20))},
                  record.message, record.prefix);
  }
  reader.finish();
  for (const auto* edge : {&records.front(), &records.back()})
    reading.sink.put(ClockRow{{member.id, 1, edge->offset, 0},
                              edge->prefix.time,
                              {},
                              0,
                              {},
                              edge == &records.front() ? "first" : "last"});
}

}  // namespace culprit::ingest
