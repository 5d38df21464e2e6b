// Files that cannot be written, media that are full, databases in use.
#include "store/connection.hpp"

#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace culprit::store {

namespace {

std::string uri_escaped(const std::string& path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::strchr("/._-", c) != nullptr;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace

Connection::~Connection() {
  if (db == nullptr || path.empty() || read_only) return;
  // A member that was begun and not ended is undone. What stays is one plain file, that media
  // which cannot be written hold as well.
  sqlite3_busy_timeout(db.get(), 0);
  if (in_transaction() && members_wait && !failed &&
      (!member_open || execute("ROLLBACK TO member; RELEASE member")))
    execute("COMMIT");
  if (in_transaction()) execute("ROLLBACK");
  execute("PRAGMA journal_mode=DELETE");
}

bool Connection::execute(const char* sql) const {
  const int code = sqlite3_exec(db.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) last_failure = {code, sqlite3_errmsg(db.get())};
  return code == SQLITE_OK;
}

Error Connection::trouble(const std::string& what, const Failure& failure) const {
  Error error = fail(fmt::format("{}: {}", what, failure.text))
                    .at({path.empty() ? "(temporary database)" : path, 0});
  switch (failure.code & 0xff) {
    case SQLITE_FULL:
      error.help = path.empty()
                       ? "the disk is full: free space, or name a folder on another disk in TMPDIR"
                       : "the disk is full: free space, or name another place with -d";
      break;
    case SQLITE_IOERR:
      error.help =
          "reading or writing the disk failed: is it full, or broken? Another place can be named "
          "with -d";
      break;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN: error.help = "name a place you may write to with -d"; break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      error.what = what + ": another process is using this database";
      error.help = "wait until it has ended, or name another file with -d";
      break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: error.help = kIngestAgain; break;
    case SQLITE_NOMEM: error.help = "there is not enough memory"; break;
    // What we write breaks a promise that we made to ourselves: the user can do nothing about it.
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_MISUSE:
    case SQLITE_RANGE: error.kind = ErrorKind::internal; break;
    default: break;
  }
  return error;
}

Result<> Connection::connect(bool create) {
  sqlite3* raw = nullptr;
  const auto opened = [&](const std::string& name, int flags) {
    const int code = sqlite3_open_v2(name.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    db.reset(raw);
    if (code != SQLITE_OK) last_failure = {code, sqlite3_errmsg(raw)};
    if (code == SQLITE_OK) sqlite3_busy_timeout(raw, 2000);
    return code == SQLITE_OK;
  };
  if (!opened(path, read_only ? SQLITE_OPEN_READONLY
                    : create  ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                              : SQLITE_OPEN_READWRITE))
    return trouble("cannot open the database");
  if (!read_only) return {};
  // SQLite reads a database in WAL mode only where it may make files beside it, or is promised
  // that nothing changes.
  if (Statement first(raw, "SELECT COUNT(*) FROM sqlite_master"); first.next()) return {};
  if (const int code = last_failure.code & 0xff; code != SQLITE_CANTOPEN && code != SQLITE_READONLY)
    return {};  // told by whoever reads it
  std::error_code error;
  for (const char* ending : {"-wal", "-journal"})
    if (std::filesystem::file_size(path + ending, error) > 0 && !error)
      return fail(
                 "this database was cut off while it was written, and cannot be mended where it "
                 "is")
          .at({path, 0})
          .hint("copy it with its " + std::string(ending) + " file to a place you may write to");
  if (!opened("file:" + uri_escaped(path) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI))
    return trouble("cannot open the database");
  return {};
}

Result<> Connection::copy_into_memory() {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(
      "", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<sqlite3, Close> copy(raw);
  sqlite3_backup* backup =
      code == SQLITE_OK ? sqlite3_backup_init(raw, "main", db.get(), "main") : nullptr;
  const int copied = backup == nullptr ? sqlite3_errcode(raw) : sqlite3_backup_step(backup, -1);
  sqlite3_backup_finish(backup);
  if (copied != SQLITE_DONE) {
    last_failure = {copied, sqlite3_errstr(copied)};
    return (copied & 0xff) == SQLITE_NOTADB
               ? fail("this file is not a database")
                     .at({path, 0})
                     .hint("-d takes a file that `culprit ingest` made")
               : trouble("cannot read the database");
  }
  db = std::move(copy);
  execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF");
  return {};
}

}  // namespace culprit::store
