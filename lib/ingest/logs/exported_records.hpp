// Records of a log store, once its export is taken apart: put into the order of time and read like
// any other log, each line with the time and the host of its record.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/engine/recogniser.hpp"
#include "line/line.hpp"

namespace culprit::ingest {

inline constexpr std::size_t kMostExported = 4u << 20;         // records of one export
inline constexpr std::size_t kMostExportedBytes = 256u << 20;  // and its size

struct ExportedRecord {
  std::size_t offset = 0, length = 0;  // in the document
  line::Prefix prefix;
  std::string message;
  std::size_t group = 0;  // of a stream that has an order of its own
};

// bytes: the whole document. There is at least one record.
void put_records(std::string_view bytes, std::vector<ExportedRecord> records,
                 const MemberRow& member, Reading& reading);

}  // namespace culprit::ingest
