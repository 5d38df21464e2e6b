// The connection to a database: opened wherever it lies, transactions on it, and what its failures
// mean to the user.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "model/result.hpp"
#include "store/statement.hpp"

namespace culprit::store {

inline constexpr char kIngestAgain[] = "ingest the bundle again into a new database";

struct Connection {
  struct Close {
    void operator()(sqlite3* open) const noexcept { sqlite3_close_v2(open); }
  };

  ~Connection();

  // Of `path`; create: makes it where there is none.
  Result<> connect(bool create);
  // The same content in a temporary database: there it can be worked on.
  Result<> copy_into_memory();

  bool temporary() const { return path.empty(); }
  bool execute(const char* sql) const;
  // Of the last failure, or of another one.
  Error trouble(const std::string& what) const { return trouble(what, last_failure); }
  Error trouble(const std::string& what, const Failure& failure) const;

  bool in_transaction() const { return sqlite3_get_autocommit(db.get()) == 0; }
  // Small members share transactions, those of a temporary database more than those of a file: at
  // the end of each, SQLite walks all pages that the database has, and nobody can open it after a
  // kill. What is open is ended here.
  bool settle() {
    members_wait = false;
    return !in_transaction() || execute("COMMIT");
  }

  // Runs `body` in one transaction.
  Result<> transaction(const std::string& what, auto body) {
    // Rows that could not be read before must not become an answer.
    if (last_failure.code != SQLITE_OK) return trouble("cannot read the database");
    if (!settle() || !execute("BEGIN IMMEDIATE")) return trouble(what);
    if (!body() || !execute("COMMIT")) {
      Error error = trouble(what);  // before anything else is executed
      execute("ROLLBACK");
      return error;
    }
    return {};
  }

  std::string path;
  bool read_only = false;
  bool fresh = false;               // made by this process
  std::atomic<bool> failed{false};  // the writer has trouble; asked by other threads
  bool member_open = false;         // in a file: begun, and not ended
  bool members_wait = false;        // others, ended, for the end of their transaction
  std::unique_ptr<sqlite3, Close> db;
};

}  // namespace culprit::store
