// Rows of the tables of incident.db by their types: the statements that read and write them.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "store/statement.hpp"
#include "store/tables.hpp"

namespace culprit::store {

// Rows of a table, by default all in order of their ids.
template <class Row>
class Select {
 public:
  explicit Select(sqlite3* db, std::string_view tail = "ORDER BY rowid")
      : statement_(db, fmt::format("SELECT rowid,{} FROM {} {}", column_names<Row>().joined(),
                                   TableOf<Row>::name, tail)),
        reader_(statement_) {}

  // For the `?` of the tail.
  template <class... Values>
  void bind(const Values&... values) {
    statement_.reset();
    statement_.bind(values...);
  }
  std::optional<Row> next() {
    if (!statement_.next()) return std::nullopt;
    std::optional<Row> row(std::in_place);
    reader_.read(*row);
    return row;
  }
  void reset() { statement_.reset(); }
  // Of the row that was read last.
  std::int64_t rowid() const { return reader_.row(); }
  std::optional<std::int64_t> stack_id() const { return reader_.stack_id; }

 private:
  Statement statement_;
  RowReader reader_;
};

inline Frame read_frame(Statement& s) {
  Frame f;
  s.read(f.function, f.file, f.line, f.module, f.native);
  return f;
}

// Room for the rows of a table: growing would move large rows many times. What the file says of
// itself is believed up to a bound.
template <class Row>
std::size_t room_for(sqlite3* db) {
  constexpr std::int64_t kMost = (64 << 20) / sizeof(Row);
  Statement last(db, fmt::format("SELECT MAX(rowid) FROM {}", TableOf<Row>::name));
  return last.next() ? static_cast<std::size_t>(std::clamp<std::int64_t>(last.integer(), 0, kMost))
                     : 0;
}

template <class Row>
std::vector<Row> all_rows(sqlite3* db) {
  std::vector<Row> out;
  out.reserve(room_for<Row>(db));
  Select<Row> select(db);
  while (auto row = select.next()) out.push_back(std::move(*row));
  return out;
}

template <class Row>
std::string insertion() {
  const ColumnNames names = column_names<Row>();
  std::string marks;
  for (std::size_t i = 0; i < names.columns.size(); ++i) marks += i == 0 ? "?" : ",?";
  return fmt::format("INSERT INTO {} ({}) VALUES ({})", TableOf<Row>::name, names.joined(), marks);
}

// The rows of one member: members are written one after another and nothing is deleted.
struct Range {
  MemberId member = 0;
  std::int64_t first = 0, last = 0;  // rowids
};

// Rows of a table by member, in order.
std::vector<Range> ranges(sqlite3* db, const std::string& table);

}  // namespace culprit::store
