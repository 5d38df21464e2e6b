// Any bytes, as an export of Nsight Systems. 'd' and 'w': the file as it is, also with a log beside
// it. 's': statements of SQL that fill the tables, so that the reader is met and not only SQLite's
// own checks. Nothing may crash, two readings give the same rows, and the bytes stay as they are.
#include <sqlite3.h>

#include "any_document.hpp"
#include "tests/support/nsys_tables.hpp"

namespace {

using namespace culprit;
using test::hold;

const ingest::Document& reader() {
  for (const ingest::Document* document : ingest::documents())
    if (document->name == "nsys-export") return *document;
  std::exit(70);
}

std::string read_export(std::string_view bytes) {
  return test::read_document(reader(), "rank_3.sqlite", bytes);
}

// Of the input nothing leaves memory, and a query without end has one.
int within_memory(void*, int action, const char*, const char*, const char*, const char*) {
  return action == SQLITE_ATTACH || action == SQLITE_PRAGMA ? SQLITE_DENY : SQLITE_OK;
}
int too_long(void* looks) { return ++*static_cast<int*>(looks) > 20; }

std::string filled(const std::string& sql) {
  sqlite3* db = nullptr;
  if (sqlite3_open(":memory:", &db) != SQLITE_OK) std::exit(70);
  int looks = 0;
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
  sqlite3_exec(db, test::kNsysTables.c_str(), nullptr, nullptr, nullptr);
  sqlite3_set_authorizer(db, within_memory, nullptr);
  sqlite3_progress_handler(db, 10'000, too_long, &looks);
  sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
  sqlite3_set_authorizer(db, nullptr, nullptr);
  sqlite3_progress_handler(db, 0, nullptr, nullptr);
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(db, "main", &size, 0);
  std::string out;
  if (bytes != nullptr)
    out.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(db);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 's') bytes = filled(bytes);
  if (data[0] == 'w' && bytes.size() > 19) bytes[18] = bytes[19] = 2;
  static_cast<void>(
      reader().sniff({"rank_3.sqlite", std::string_view(bytes).substr(0, 65536), true}));
  const std::string before = bytes;
  hold(read_export(bytes) == read_export(bytes), "the same rows");
  hold(bytes == before, "the bytes of the file");
  return 0;
}
