#include "store/rewrite.hpp"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <sqlite3.h>

#include "store/database.hpp"
#include "store/statement.hpp"

namespace culprit::store {

namespace {

struct CloseRewritten {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
using RewrittenHandle = std::unique_ptr<sqlite3, CloseRewritten>;

Result<RewrittenHandle> open_raw(const std::string& path, int flags) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  RewrittenHandle db(raw);
  if (code != SQLITE_OK)
    return fail(fmt::format("cannot open this database: {}", sqlite3_errstr(code))).at({path, 0});
  return db;
}

struct Table {
  std::string name;
  std::vector<std::string> columns;  // with texts
};

// Names come out of our own schema: Database::open has looked at the file before.
std::vector<Table> tables_of(sqlite3* db) {
  std::vector<Table> out;
  Statement names(db,
                  "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%' "
                  "ORDER BY name");
  while (names.next()) out.push_back({names.text(), {}});
  for (Table& table : out) {
    Statement columns(
        db, fmt::format("SELECT name FROM pragma_table_info('{}') WHERE type='TEXT' ORDER BY cid",
                        table.name));
    while (columns.next()) table.columns.push_back(columns.text());
  }
  return out;
}

// A setting says by its name what its value is.
std::string name_beside(const Table& table, const std::string& column) {
  return table.name == "config_item" && (column == "value" || column == "before") ? "name" : "''";
}

struct Change {
  const std::function<std::string(const StoredText&)>* change = nullptr;
  bool failed = false;
};

std::string_view text_of(sqlite3_value* value) {
  const auto* bytes = static_cast<const char*>(sqlite3_value_blob(value));
  return bytes == nullptr
             ? std::string_view{}
             : std::string_view(bytes, static_cast<std::size_t>(sqlite3_value_bytes(value)));
}

// changed(table, column, name, text)
void changed(sqlite3_context* context, int, sqlite3_value** values) {
  auto* change = static_cast<Change*>(sqlite3_user_data(context));
  if (sqlite3_value_type(values[3]) == SQLITE_NULL) return sqlite3_result_null(context);
  try {
    const std::string out = (*change->change)(
        {text_of(values[0]), text_of(values[1]), text_of(values[2]), text_of(values[3])});
    sqlite3_result_text64(context, out.data(), out.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  } catch (const std::exception&) { sqlite3_result_error_nomem(context); }
}

Result<> run(sqlite3* db, const std::string& sql, const std::string& path) {
  char* message = nullptr;
  const int code = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &message);
  const std::string said = message == nullptr ? "" : message;
  sqlite3_free(message);
  if (code != SQLITE_OK)
    return fail(fmt::format("cannot write this database: {}", said))
        .at({path, 0})
        .hint("is the disk full, the folder writable?");
  return {};
}

}  // namespace

Result<> visit_texts(const std::string& path, const std::function<void(const StoredText&)>& visit) {
  CULPRIT_CHECK(Database::open(path, Access::read));  // is it one of ours?
  CULPRIT_TRY(db, open_raw(path, SQLITE_OPEN_READONLY));
  for (const Table& table : tables_of(db.get()))
    for (const std::string& column : table.columns) {
      Statement rows(
          db.get(),
          fmt::format(
              "SELECT DISTINCT {}, \"{}\" FROM \"{}\" WHERE \"{}\" IS NOT NULL AND \"{}\" <> ''",
              name_beside(table, column), column, table.name, column, column));
      last_failure = {};
      while (rows.next()) {
        const std::string name = rows.text(), text = rows.text();
        visit({table.name, column, name, text});
      }
      if (last_failure.code != SQLITE_OK)
        return fail("cannot read this database: " + last_failure.text).at({path, 0});
    }
  return {};
}

Result<> copy_changed(const std::string& from, const std::string& to,
                      const std::function<std::string(const StoredText&)>& change) {
  CULPRIT_CHECK(Database::open(from, Access::read));
  CULPRIT_TRY(source, open_raw(from, SQLITE_OPEN_READONLY));
  const std::string work = to + ".work", part = to + ".part";
  std::error_code ignored;
  const auto clean = [&] {
    for (const std::string& file : {work, part, work + "-journal", part + "-journal"})
      std::filesystem::remove(file, ignored);
  };
  clean();
  const auto copied = [&]() -> Result<> {
    CULPRIT_TRY(db, open_raw(work, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
    sqlite3_backup* backup = sqlite3_backup_init(db.get(), "main", source.get(), "main");
    if (backup == nullptr || sqlite3_backup_step(backup, -1) != SQLITE_DONE) {
      sqlite3_backup_finish(backup);
      return fail(fmt::format("cannot write this database: {}", sqlite3_errmsg(db.get())))
          .at({to, 0})
          .hint("is the disk full, the folder writable?");
    }
    sqlite3_backup_finish(backup);
    Change state{&change, false};
    sqlite3_create_function_v2(db.get(), "changed", 4, SQLITE_UTF8, &state, changed, nullptr,
                               nullptr, nullptr);
    CULPRIT_CHECK(run(db.get(), "PRAGMA journal_mode=DELETE; PRAGMA foreign_keys=OFF; BEGIN", to));
    for (const Table& table : tables_of(db.get())) {
      std::string sets;
      for (const std::string& column : table.columns)
        sets += fmt::format("{}\"{}\"=changed('{}','{}',{},\"{}\")", sets.empty() ? "" : ", ",
                            column, table.name, column, name_beside(table, column), column);
      if (!sets.empty())
        CULPRIT_CHECK(run(db.get(), fmt::format("UPDATE \"{}\" SET {}", table.name, sets), to));
    }
    CULPRIT_CHECK(run(db.get(), "COMMIT", to));
    // Free pages and the slack of others still hold the old texts: only what is copied anew is free
    // of them.
    Statement vacuum(db.get(), "VACUUM INTO ?1");
    if (!vacuum.run(part))
      return fail("cannot write this database: " + last_failure.text)
          .at({to, 0})
          .hint("is the disk full, the folder writable?");
    return {};
  };
  auto done = copied();
  if (!done) {
    clean();
    return done;
  }
  std::error_code error;
  std::filesystem::rename(part, to, error);
  clean();
  if (error) return fail("cannot write this database: " + error.message()).at({to, 0});
  return {};
}

}  // namespace culprit::store
