// Exports of Nsight Systems, made with SQLite: the bytes of a file that has their tables.
#pragma once

#include <string>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "support/nsys_tables.hpp"

namespace culprit::test {

// A file with these tables, as bytes.
inline std::string database_of(const std::string& sql) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK)
      << (error == nullptr ? "" : error);
  sqlite3_free(error);
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(db, "main", &size, 0);
  std::string out(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(db);
  return out;
}

// The same, as a program leaves it that writes changes to a log beside the file.
inline std::string with_log(std::string bytes) {
  bytes[18] = bytes[19] = 2;
  return bytes;
}

}  // namespace culprit::test
