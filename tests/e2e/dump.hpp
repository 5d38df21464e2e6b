// The content of a database, table by table, row by row, as text that two runs can be compared by.
#pragma once

#include <string>
#include <vector>

#include <sqlite3.h>

namespace culprit::test {

inline bool execute(sqlite3* db, const std::string& sql) {
  return sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
}

inline std::vector<std::vector<std::string>> query(sqlite3* db, const std::string& sql) {
  std::vector<std::vector<std::string>> rows;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
    return {{std::string("error: ") + sqlite3_errmsg(db)}};
  while (sqlite3_step(statement) == SQLITE_ROW) {
    std::vector<std::string> row;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const auto* text = sqlite3_column_text(statement, i);
      row.push_back(text == nullptr ? "NULL" : reinterpret_cast<const char*>(text));
    }
    rows.push_back(std::move(row));
  }
  sqlite3_finalize(statement);
  return rows;
}

// Rows in the order in which they stand: the analyses read them so. Empty when the file is no sound
// database.
inline std::string dump(const std::string& path) {
  sqlite3* db = nullptr;
  std::string out;
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK &&
      query(db, "PRAGMA integrity_check") == std::vector<std::vector<std::string>>{{"ok"}}) {
    for (const auto& schema :
         query(db, "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"))
      for (const std::string& part : schema) out += part + "\n";
    for (const auto& table :
         query(db, "SELECT name FROM sqlite_master WHERE type='table' ORDER BY name"))
      for (const auto& row : query(db, "SELECT * FROM \"" + table[0] + "\"")) {
        out += table[0];
        for (const std::string& value : row) out += "\x1f" + value;
        out += "\n";
      }
  }
  sqlite3_close(db);
  return out;
}

}  // namespace culprit::test
