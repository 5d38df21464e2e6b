#include "store/query.hpp"

#include <array>
#include <algorithm>

#include <fmt/format.h>
#include <sqlite3.h>

#include "model/contains.hpp"
#include "store/utf8.hpp"

namespace culprit::store {

namespace {

using Steady = std::chrono::steady_clock;

constexpr int kStepsBetweenLooks = 1'000;  // of SQLite's machine: some microseconds
constexpr int kMostSqlBytes = 100'000;
constexpr int kMostValueBytes = 20'000'000;  // within a query: group_concat, zeroblob

// Functions that reach files, load code, or tell what is not of the incident.
constexpr std::string_view kRefused[] = {"load_extension", "readfile",       "writefile", "edit",
                                         "lsdir",          "fts3_tokenizer", "fts5",      "zipfile",
                                         "sqlite_dbpage",  "sqlite_log"};

int permitted(void*, int action, const char*, const char* second, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
      return second == nullptr || contains(kRefused, std::string_view(second)) ? SQLITE_DENY
                                                                               : SQLITE_OK;
    default: return SQLITE_DENY;
  }
}

int late(void* until) { return Steady::now() > *static_cast<Steady::time_point*>(until) ? 1 : 0; }

// The connection is ours again when this ends.
class Guard {
 public:
  Guard(sqlite3* db, Steady::time_point& until) : db_(db) {
    sqlite3_set_authorizer(db, permitted, nullptr);
    sqlite3_progress_handler(db, kStepsBetweenLooks, late, &until);
    for (auto& [what, value] : limits_) value = sqlite3_limit(db, what, value);
  }
  ~Guard() {
    for (const auto& [what, value] : limits_) sqlite3_limit(db_, what, value);
    sqlite3_progress_handler(db_, 0, nullptr, nullptr);
    sqlite3_set_authorizer(db_, nullptr, nullptr);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  sqlite3* db_;
  std::array<std::pair<int, int>, 6> limits_{{{SQLITE_LIMIT_LENGTH, kMostValueBytes},
                                              {SQLITE_LIMIT_SQL_LENGTH, kMostSqlBytes},
                                              {SQLITE_LIMIT_EXPR_DEPTH, 100},
                                              {SQLITE_LIMIT_COMPOUND_SELECT, 50},
                                              {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1'000},
                                              {SQLITE_LIMIT_ATTACHED, 0}}};
};

struct Finalize {
  void operator()(sqlite3_stmt* s) const noexcept { sqlite3_finalize(s); }
};
using Prepared = std::unique_ptr<sqlite3_stmt, Finalize>;

QueryCell cell(sqlite3_stmt* s, int column, const QueryLimits& limits, bool& cut) {
  switch (sqlite3_column_type(s, column)) {
    case SQLITE_INTEGER: return sqlite3_column_int64(s, column);
    case SQLITE_FLOAT: return sqlite3_column_double(s, column);
    case SQLITE_BLOB: return fmt::format("({} bytes)", sqlite3_column_bytes(s, column));
    case SQLITE_TEXT: break;
    default: return std::monostate{};
  }
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(s, column));
  std::string text(
      bytes == nullptr ? "" : bytes,
      bytes == nullptr ? 0 : static_cast<std::size_t>(sqlite3_column_bytes(s, column)));
  if (text.size() > limits.cell_bytes) {
    text.resize(limits.cell_bytes);
    text += "…";
    cut = true;
  }
  return valid_utf8(text);
}

Error refused(sqlite3* db, int code) {
  if (code == SQLITE_AUTH)
    return usage_error("this query does more than read the tables of the incident")
        .hint("one SELECT; `culprit schema store.sql` describes the tables");
  if (code == SQLITE_INTERRUPT)
    return usage_error("this query takes too long")
        .hint("name a member, a class or a time in WHERE, or ask for less");
  return usage_error(std::string("SQL: ") + sqlite3_errmsg(db))
      .hint("`culprit schema store.sql` describes the tables");
}

}  // namespace

bool complete_statement(const std::string& sql) { return sqlite3_complete(sql.c_str()) != 0; }

Result<QueryAnswer> query(sqlite3* db, std::string_view sql, const QueryLimits& limits) {
  if (sql.size() > static_cast<std::size_t>(kMostSqlBytes))
    return usage_error("this query is longer than 100 kB");
  if (sql.find('\0') != std::string_view::npos)
    return usage_error("there is a NUL byte in this query");
  Steady::time_point until = Steady::now() + limits.time;
  const Guard guard(db, until);
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  int code = sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &raw, &rest);
  const Prepared statement(raw);
  if (code != SQLITE_OK) return refused(db, code);
  if (!statement) return usage_error("there is no SQL in this query").hint("SELECT * FROM event");
  if (sqlite3_stmt_readonly(raw) == 0) return refused(db, SQLITE_AUTH);
  // Behind it only comments may stand; a second statement would not be run, and nobody told.
  sqlite3_stmt* second = nullptr;
  code = sqlite3_prepare_v2(db, rest, static_cast<int>(sql.data() + sql.size() - rest), &second,
                            nullptr);
  const Prepared another(second);
  if (code != SQLITE_OK || another) return usage_error("one statement at a time");
  QueryAnswer out;
  std::size_t bytes = 0;
  for (int i = 0; i < sqlite3_column_count(raw); ++i)
    out.columns.push_back(valid_utf8(sqlite3_column_name(raw, i)));
  while ((code = sqlite3_step(raw)) == SQLITE_ROW) {
    if (out.rows.size() >= limits.rows || bytes > limits.answer_bytes) {
      out.cut = true;
      return out;
    }
    auto& row = out.rows.emplace_back();
    for (int i = 0; i < static_cast<int>(out.columns.size()); ++i) {
      row.push_back(cell(raw, i, limits, out.cut));
      const auto* text = std::get_if<std::string>(&row.back());
      bytes += text == nullptr ? 8 : text->size();
    }
  }
  if (code != SQLITE_DONE) return refused(db, code);
  return out;
}

}  // namespace culprit::store
