#include "store/check.hpp"

#include <map>

#include <fmt/format.h>

#include "store/statement.hpp"

namespace culprit::store {

namespace {

struct Key {
  const char* table;
  const char* column;
};
// Each is counted from 1 without a gap.
constexpr Key kKeys[] = {{"member", "member_id"},
                         {"process_group", "group_id"},
                         {"frame", "frame_id"},
                         {"stack", "stack_id"},
                         {"series", "series_id"}};

struct Reference {
  const char* table;
  const char* column;
  const char* to;
};
constexpr Reference kReferences[] = {
    {"event", "member_id", "member"},
    {"traceback", "member_id", "member"},
    {"exit_status", "member_id", "member"},
    {"iteration", "member_id", "member"},
    {"identity", "member_id", "member"},
    {"config_item", "member_id", "member"},
    {"clock_anchor", "member_id", "member"},
    {"reject", "member_id", "member"},
    {"process", "member_id", "member"},
    {"stack_sample", "member_id", "member"},
    {"stack_sample", "stack_id", "stack"},
    {"stack_frame", "stack_id", "stack"},
    {"stack_frame", "frame_id", "frame"},
    {"frontier", "member_id", "member"},
    {"frontier", "group_id", "process_group"},
    {"collective", "member_id", "member"},
    {"collective", "group_id", "process_group"},
    {"collective", "stack_id", "stack"},
    {"collective_history", "member_id", "member"},
    {"collective_history", "group_id", "process_group"},
    {"recorder", "member_id", "member"},
    {"network_node", "member_id", "member"},
    {"series", "member_id", "member"},
    {"sample_chunk", "series_id", "series"},
    {"sample_chunk", "member_id", "member"},
    {"manifest", "member_id", "member"},
};

}  // namespace

std::optional<std::string> broken_reference(sqlite3* db) {
  std::map<std::string, std::int64_t> rows;
  for (const Key& key : kKeys) {
    Statement s(
        db, fmt::format("SELECT COUNT(*), COALESCE(MIN({0}), 1), COALESCE(MAX({0}), 0) FROM {1}",
                        key.column, key.table));
    if (!s.next()) return fmt::format("{}.{}", key.table, key.column);
    const std::int64_t count = s.integer(), first = s.integer(), last = s.integer();
    if (first != 1 || last != count) return fmt::format("{}.{}", key.table, key.column);
    rows[key.table] = count;
  }
  for (const Reference& reference : kReferences) {
    // A value that is no integer sorts behind all integers; typeof tells.
    Statement s(db, fmt::format("SELECT COALESCE(MIN({0}), 1), COALESCE(MAX({0}), 1), "
                                "typeof(COALESCE(MAX({0}), 1)), COUNT({0}) FROM {1}",
                                reference.column, reference.table));
    if (!s.next()) return fmt::format("{}.{}", reference.table, reference.column);
    const std::int64_t first = s.integer(), last = s.integer();
    const bool integers = s.text() == "integer";
    if (s.integer() == 0) continue;
    if (!integers || first < 1 || last > rows[reference.to])
      return fmt::format("{}.{}", reference.table, reference.column);
  }
  Statement s(db, "SELECT COUNT(DISTINCT stack_id) FROM stack_frame");
  if (!s.next() || s.integer() != rows["stack"]) return "stack_frame.stack_id";
  return std::nullopt;
}

}  // namespace culprit::store
