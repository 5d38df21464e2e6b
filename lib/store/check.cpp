#include "store/check.hpp"

#include <map>

#include <fmt/format.h>

#include "store/statement.hpp"
#include "store/tables.hpp"

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
  std::string table, column, to;
  bool required = true;  // NULL refers to nothing, and where it may not stand it would read as 0
};

template <class Row>
void add_references(std::vector<Reference>& out) {
  for (const Column& column : column_names<Row>().columns)
    if (!column.references.empty())
      out.push_back({std::string(TableOf<Row>::name), std::string(column.name),
                     std::string(column.references), column.not_null});
}

std::vector<Reference> references() {
  std::vector<Reference> out{{"stack_frame", "stack_id", "stack", true},
                             {"stack_frame", "frame_id", "frame", true},
                             {"manifest", "member_id", "member", true}};
#define CULPRIT_REFERENCES(Row, name) add_references<Row>(out);
  CULPRIT_ROWS(CULPRIT_REFERENCES)
#undef CULPRIT_REFERENCES
  add_references<SeriesRow>(out);
  return out;
}

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
  for (const Reference& reference : references()) {
    // A value that is no integer sorts behind all integers; typeof tells.
    Statement s(db, fmt::format("SELECT COALESCE(MIN({0}), 1), COALESCE(MAX({0}), 1), "
                                "typeof(COALESCE(MAX({0}), 1)), COUNT({0}), COUNT(*) FROM {1}",
                                reference.column, reference.table));
    if (!s.next()) return fmt::format("{}.{}", reference.table, reference.column);
    const std::int64_t first = s.integer(), last = s.integer();
    const bool integers = s.text() == "integer";
    const std::int64_t values = s.integer(), all = s.integer();
    if (reference.required && values != all)
      return fmt::format("{}.{}", reference.table, reference.column);
    if (values == 0) continue;
    if (!integers || first < 1 || last > rows[reference.to])
      return fmt::format("{}.{}", reference.table, reference.column);
  }
  Statement s(db, "SELECT COUNT(DISTINCT stack_id) FROM stack_frame");
  if (!s.next() || s.integer() != rows["stack"]) return "stack_frame.stack_id";
  return std::nullopt;
}

}  // namespace culprit::store
