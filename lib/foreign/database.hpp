// A SQLite database that another program wrote, read as plain tables without trust: nothing that
// its schema holds is run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace culprit::foreign {

// The columns that were asked for, from 0.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  std::optional<std::int64_t> number(int column) const;  // of an integer
  std::string_view text(int column) const;  // "" of anything else; valid during the visit

 private:
  sqlite3_stmt* statement_;
};

class Database {
 public:
  // bytes: the whole file, which outlives this; it is not changed. What is in a write-ahead log
  // beside it is not seen. nullopt: it cannot be opened.
  static std::optional<Database> open(std::string_view bytes);

  // The columns of a table; none where there is no plain table of this name: views and virtual
  // tables would run what the file says.
  std::vector<std::string> columns(std::string_view table) const;
  // These columns of each row, in the order of the table, until `visit` says that it is enough.
  // False: the file is damaged there, or asks for more work than its size explains.
  bool each(std::string_view table, const std::vector<std::string>& columns,
            const std::function<bool(const Row&)>& visit) const;

 private:
  struct Close {
    void operator()(sqlite3* db) const noexcept;
  };
  explicit Database(std::unique_ptr<sqlite3, Close> db) : db_(std::move(db)) {}
  std::unique_ptr<sqlite3, Close> db_;
};

}  // namespace culprit::foreign
