// A question of a user or of a program to a database, in SQL: it reads, it ends, its answer is
// bounded.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/result.hpp"

struct sqlite3;

namespace culprit::store {

struct QueryLimits {
  std::size_t rows = 200;
  std::size_t cell_bytes = 4'000;      // of a text; what is longer is cut
  std::size_t answer_bytes = 200'000;  // of all texts
  std::chrono::milliseconds time{5'000};
};

// NULL, INTEGER, REAL, TEXT; a BLOB is shown as its size, "(412 bytes)".
using QueryCell = std::variant<std::monostate, std::int64_t, double, std::string>;

struct QueryAnswer {
  std::vector<std::string> columns;
  std::vector<std::vector<QueryCell>> rows;
  bool cut = false;  // there are more rows, or longer texts
};

// True when a statement ends here: at a ';' that stands in no text, comment or trigger.
bool complete_statement(const std::string& sql);

// One SELECT (or WITH, VALUES, EXPLAIN). Everything else is refused while it is prepared, by
// SQLite's authorizer: writing, ATTACH, PRAGMA, functions that reach files or load code. Errors
// (usage): what SQLite says, in its words; a query that takes too long.
Result<QueryAnswer> query(sqlite3* db, std::string_view sql, const QueryLimits& limits);

}  // namespace culprit::store
