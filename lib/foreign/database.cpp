#include "foreign/database.hpp"

#include <algorithm>

#include <sqlite3.h>

namespace culprit::foreign {

namespace {

constexpr int kMostValueBytes = 16 << 20;
constexpr int kStepsBetweenLooks = 1'000'000;  // of SQLite's machine
constexpr int kMostLooks = 1'000;              // for one table: a row of it takes some ten steps

int read_only(void*, int action, const char*, const char*, const char*, const char*) {
  return action == SQLITE_SELECT || action == SQLITE_READ ? SQLITE_OK : SQLITE_DENY;
}

int too_long(void* looks) { return ++*static_cast<int*>(looks) > kMostLooks ? 1 : 0; }

struct Finalize {
  void operator()(sqlite3_stmt* s) const noexcept { sqlite3_finalize(s); }
};
using Prepared = std::unique_ptr<sqlite3_stmt, Finalize>;

Prepared prepared(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
  return Prepared(raw);
}

std::string sql_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

// SQLite stores the statement that made a table with these words in front.
bool plain_table(sqlite3* db, std::string_view table) {
  const Prepared find =
      prepared(db, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1");
  if (!find) return false;
  sqlite3_bind_text(find.get(), 1, table.data(), static_cast<int>(table.size()), SQLITE_STATIC);
  return sqlite3_step(find.get()) == SQLITE_ROW &&
         Row(find.get()).text(0).starts_with("CREATE TABLE ");
}

// Which journal the file is written with: 1 is the rollback journal, 2 the write-ahead log.
constexpr std::size_t kWriteVersion = 18, kReadVersion = 19;
constexpr char kRollback = 1, kLog = 2;

// SQLite opens no image in memory whose changes go to a log. Of one that says so a copy is read,
// as the last checkpoint left it; any other is read in place: what is read-only is not written.
int image(sqlite3* db, std::string_view bytes) {
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
  unsigned flags = SQLITE_DESERIALIZE_READONLY;
  if (bytes.size() > kReadVersion && bytes[kReadVersion] == kLog) {
    data = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
    if (data == nullptr) return SQLITE_NOMEM;
    std::ranges::copy(bytes, data);
    data[kWriteVersion] = data[kReadVersion] = kRollback;
    flags |= SQLITE_DESERIALIZE_FREEONCLOSE;
  }
  return sqlite3_deserialize(db, "main", data, size, size, flags);
}

}  // namespace

std::optional<std::int64_t> Row::number(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_, column);
}

std::string_view Row::text(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_TEXT) return {};
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

void Database::Close::operator()(sqlite3* db) const noexcept { sqlite3_close(db); }

std::optional<Database> Database::open(std::string_view bytes) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE, nullptr);
  std::unique_ptr<sqlite3, Close> db(raw);
  if (code != SQLITE_OK) return std::nullopt;
  if (image(raw, bytes) != SQLITE_OK) return std::nullopt;
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_exec(raw, "PRAGMA cell_size_check = ON", nullptr, nullptr, nullptr);
  sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, kMostValueBytes);
  sqlite3_limit(raw, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_set_authorizer(raw, read_only, nullptr);
  Database out(std::move(db));
  if (!prepared(raw, "SELECT name FROM sqlite_schema")) return std::nullopt;
  return out;
}

std::vector<std::string> Database::columns(std::string_view table) const {
  std::vector<std::string> out;
  if (!plain_table(db_.get(), table)) return out;
  const Prepared all = prepared(db_.get(), "SELECT * FROM " + sql_name(table));
  for (int i = 0; i < sqlite3_column_count(all.get()); ++i)
    out.emplace_back(sqlite3_column_name(all.get(), i));
  return out;
}

bool Database::each(std::string_view table, const std::vector<std::string>& columns,
                    const std::function<bool(const Row&)>& visit) const {
  if (!plain_table(db_.get(), table)) return false;
  std::string sql = "SELECT ";
  for (const std::string& column : columns)
    sql += (&column == &columns.front() ? "" : ", ") + sql_name(column);
  int looks = 0;
  sqlite3_progress_handler(db_.get(), kStepsBetweenLooks, too_long, &looks);
  int code = SQLITE_ERROR;
  {
    const Prepared rows = prepared(db_.get(), sql + " FROM " + sql_name(table));
    if (rows)
      while ((code = sqlite3_step(rows.get())) == SQLITE_ROW)
        if (!visit(Row(rows.get()))) break;
  }
  sqlite3_progress_handler(db_.get(), 0, nullptr, nullptr);
  return code == SQLITE_ROW || code == SQLITE_DONE;
}

}  // namespace culprit::foreign
