#include "ingest/table/call_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "ingest/table/table_times.hpp"

namespace culprit::ingest {

namespace {

const TableColumn* operation_of(const BareTable& table) {
  return table.named(
      {"operation", "op", "opname", "collective", "coll", "call", "function", "func", "opcode"});
}

const TableColumn* time_of(const BareTable& table) {
  const TableColumn* found =
      table.named({"time",       "timestamp",  "ts",         "timens",   "timeus",    "timems",
                   "tsns",       "tsus",       "tsms",       "start",    "starttime", "startns",
                   "startus",    "launched",   "datetime",   "t",        "calltime",  "calltimens",
                   "calltimeus", "calltimems", "calltimes",  "timesec",  "times",     "timeseconds",
                   "starts",     "startms",    "launchtime", "launchns", "launchus",  "enqueuetime",
                   "enqueuens",  "enqueueus"});
  return found != nullptr ? found : table.first(TableColumn::Use::time);
}

class Names {
 public:
  explicit Names(std::vector<std::string>& names) : names_(names) {}
  std::uint32_t number(std::string_view name) {
    const auto [it, fresh] =
        known_.emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
    if (fresh) names_.emplace_back(name);
    return it->second;
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, std::uint32_t> known_;
};

}  // namespace

bool is_call_table(const BareTable& table) {
  return operation_of(table) != nullptr && time_of(table) != nullptr &&
         table.first(TableColumn::Use::iteration) == nullptr;
}

Result<CallTable> read_call_table(const BareTable& table, const std::string& path, double unit) {
  const TableColumn* operation = operation_of(table);
  const TableColumn* when = time_of(table);
  if (when == nullptr)
    return fail("it has no time column")
        .at({path, 1})
        .hint("name it time or timestamp: when each call was made");
  if (operation == nullptr)
    return fail("it has no operation column")
        .at({path, 1})
        .hint("name it operation: all_reduce, all_gather...");
  const TableColumn* communicator =
      table.named({"communicator", "comm", "commid", "commhash", "group", "groupid", "processgroup",
                   "pg", "pgname", "pgid"});
  const TableColumn* size = table.named(
      {"elements", "count", "numel", "bytes", "size", "sizebytes", "msgsize", "messagesize"});
  const TableColumn* rank = table.named({"rank", "globalrank"});
  const TableColumn* by =
      rank != nullptr ? rank : table.named({"pid", "process", "worker", "host"});
  CallTable out;
  Names operations(out.operations), communicators(out.communicators);
  const TableTimes times = table_times(*when, unit);
  out.since_start = times.since_start;
  std::map<std::tuple<double, std::string>, CallTable::Caller> callers;  // numbers in their order
  for (std::size_t r = 0; r < table.rows; ++r) {
    if (times.times[r] == kNoValue || operation->cells[r].empty() ||
        (by != nullptr && by->cells[r].empty())) {
      ++out.left_out;
      continue;
    }
    CallTable::Row row{.time = times.times[r], .operation = operations.number(operation->cells[r])};
    row.communicator =
        communicators.number(communicator == nullptr ? std::string_view() : communicator->cells[r]);
    if (size != nullptr && size->values[r] > 0 && size->values[r] < 1e18)
      row.size = static_cast<std::uint64_t>(size->values[r]);
    const std::string who = by == nullptr ? "" : std::string(by->cells[r]);
    const double number = by == nullptr || std::isnan(by->values[r]) ? 0 : by->values[r];
    CallTable::Caller& caller = callers[{number, who}];
    if (caller.calls.empty() && by != nullptr)
      caller.name = fmt::format("{} {}", rank != nullptr ? "rank" : by->name, who);
    caller.calls.push_back(row);
  }
  for (auto& [key, caller] : callers) out.callers.push_back(std::move(caller));
  if (out.callers.empty())
    return fail("no row has a time and an operation")
        .at({path, 1})
        .hint(
            "a call log has the columns time and operation, and rank, communicator and elements "
            "where known");
  return out;
}

}  // namespace culprit::ingest
