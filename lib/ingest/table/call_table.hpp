// A log of communication calls in a bare table: a row a call, with its time and operation; also
// rank (or pid), communicator and size. CSV and JSON lines, as profilers and wrappers of NCCL write
// them.
#pragma once

#include <string>
#include <vector>

#include "ingest/table/bare_table.hpp"
#include "model/time.hpp"

namespace culprit::ingest {

struct CallTable {
  struct Row {
    Nanoseconds time = 0;
    std::uint32_t operation = 0;     // index
    std::uint32_t communicator = 0;  // index
    std::uint64_t size = 0;          // elements or bytes; 0: not told
  };
  struct Caller {
    std::string name;        // "rank 3"; "" when the table has no column of callers
    std::vector<Row> calls;  // in the order of the table
  };
  std::vector<std::string> operations,
      communicators;  // in order of appearance; one communicator "" when there is no such column
  std::vector<Caller> callers;  // by rank, then name
  bool since_start = false;     // times count from some start
  std::size_t left_out = 0;     // rows without a time or an operation
};

// Does it look like one: a column of operations and one of times, and none of iterations.
bool is_call_table(const BareTable& table);

// unit: of its times, as of table_times. Errors: no column of times or operations, no usable row.
Result<CallTable> read_call_table(const BareTable& table, const std::string& path, double unit = 0);

}  // namespace culprit::ingest
