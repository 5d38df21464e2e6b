// What the tests of readers of metrics share.
#pragma once

#include "kit.hpp"

namespace culprit::ingest::test {

// The rows must not depend on where blocks are cut, and no prefix of the text may do harm: its
// ledger still adds up, and it tells nothing that the whole does not tell.
inline void check_cuts(std::string_view text, const std::string& path) {
  const std::string whole = read_records(text, path).log;
  for (std::size_t cut = 1; cut < text.size(); ++cut)
    EXPECT_EQ(read_records(text, path, {cut}).log, whole) << "cut at " << cut;
  std::vector<std::size_t> every(text.size());
  for (std::size_t i = 0; i < every.size(); ++i) every[i] = i;
  EXPECT_EQ(read_records(text, path, every).log, whole);
}

// Every prefix of the text, through the reader of the whole: each sample of a prefix is one of the
// whole at the same line.
inline void check_prefixes(std::string_view text, const std::string& path) {
  const auto samples = [&](std::string_view part) {
    std::multiset<std::string> out;
    Rows rows;
    const Detected detected = detect({path, text, true});
    if (detected.records == nullptr) return out;
    const MemberId member = rows.begin_member({});
    RecordTextReader reader(detected.records->make({path, text, true}),
                            Reading{rows, pack(), "data", {}, {}, path}, member);
    reader.block(part);
    reader.finish();
    EXPECT_LE(reader.used() + reader.rejected(), reader.lines());
    for (const ChunkRow& chunk : rows.chunks) {
      SeriesPoints points;
      EXPECT_TRUE(unpack(chunk.data, points));
      if (chunk.axis) points = along(rows.axis_of(chunk), points);
      const SeriesRow& key = rows.series_rows[static_cast<std::size_t>(chunk.series - 1)];
      for (std::size_t i = 0; i < points.size(); ++i)
        out.insert(
            fmt::format("{} {} {}: {}", key.name, key.labels, points.lines[i], points.values[i]));
    }
    return out;
  };
  const auto whole = samples(text);
  for (std::size_t end = 0; end < text.size(); ++end) {
    const auto part = samples(text.substr(0, end));
    EXPECT_TRUE(std::includes(whole.begin(), whole.end(), part.begin(), part.end()))
        << "prefix of " << end << " bytes tells what the whole does not";
  }
}

inline Rows read_as_document(std::string_view bytes, const std::string& path) {
  Rows rows;
  const Detected detected = detect({path, bytes.substr(0, 65536), bytes.size() <= 65536});
  if (detected.document == nullptr) {
    ADD_FAILURE() << path << " is read as " << detected.format << ", not as a document";
    return rows;
  }
  MemberRow member;
  member.path = path;
  member.id = rows.begin_member(member);
  Reading reading{rows, pack(), "", {}, {}, path};
  const std::string reason = detected.document->read(bytes, member, reading);
  for (const auto& kept : reading.kept) kept->finish(reading);
  if (!reason.empty()) rows.put(RejectRow{{1, 0, 0, 0}, reason, ""});
  return rows;
}

// Name, unit, kind, host, gpu, nic, rank, local rank, labels; what is not said is left out.
inline std::string told(const SeriesRow& row) {
  std::string out = row.name;
  const auto add = [&](const char* what, const std::string& value) {
    if (!value.empty()) out += fmt::format(" {}={}", what, value);
  };
  add("unit", row.unit);
  add("kind", row.kind);
  add("host", name_of(row.host));
  add("gpu", row.gpu.value_or(""));
  add("nic", row.nic.value_or(""));
  if (row.rank) add("rank", std::to_string(number_of(*row.rank)));
  if (row.local_rank) add("local_rank", std::to_string(number_of(*row.local_rank)));
  if (!row.labels.empty()) out += " {" + row.labels + "}";
  return out;
}
inline std::vector<std::string> told(const Rows& rows) {
  std::vector<std::string> out;
  for (const SeriesRow& row : rows.series_rows) out.push_back(told(row));
  return out;
}

}  // namespace culprit::ingest::test
