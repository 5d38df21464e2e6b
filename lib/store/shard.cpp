// Writes shards: their listing, and the tape of the order in which facts came.
#include "store/shard.hpp"

#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <sqlite3.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "schema/schema.hpp"
#include "store/raw_sink.hpp"
#include "store/tape.hpp"
#include "store/utf8.hpp"

namespace culprit::store {

Result<> make_way(const std::string& path) {
  sqlite3* raw = nullptr;
  int code = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                             nullptr);  // missing: fails, and nothing is in the way
  if (code == SQLITE_OK)
    code =
        sqlite3_exec(raw, "SELECT COUNT(*) FROM sqlite_master", nullptr, nullptr, nullptr) & 0xff;
  sqlite3_close(raw);
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
    return fail("another process is writing this database")
        .at({path, 0})
        .hint("wait until it has ended, or name another file with -d");
  std::error_code error;
  for (const char* ending : {"", "-wal", "-shm", "-journal"})
    std::filesystem::remove(path + ending, error);
  return {};
}

Result<> lay_out_shard(Database& db, std::span<const ListedUnit> units) {
  sqlite3* handle = ShardSink::handle_of(db);
  const std::string sql(schema::text("shard.sql"));
  const auto good = [&] {
    if (sqlite3_exec(handle, ("BEGIN IMMEDIATE;" + sql).c_str(), nullptr, nullptr, nullptr) !=
        SQLITE_OK)
      return false;
    Statement insert(handle, "INSERT INTO shard_unit VALUES (?,?,?,?,?,?)");
    std::int64_t n = 0;
    for (const ListedUnit& one : units)
      if (!insert.run(++n, one.source + 1, valid_utf8(one.unit.path), one.unit.size,
                      one.unit.mtime_s, one.shard + 1))
        return false;
    return sqlite3_exec(handle, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK;
  };
  if (good()) return {};
  return fail(fmt::format("cannot write to the database: {}", sqlite3_errmsg(handle)))
      .at({db.path(), 0})
      .hint("is the disk full, the folder writable?");
}

struct ShardSink::Tape {
  Tape(Database& db, bool with_folders)
      : behind(db.raw_sink()), of_folders(with_folders), hash(XXH3_createState(), &XXH3_freeState) {
    if (hash == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(hash.get());
  }
  void note(std::uint8_t code) {
    if (code != last) end_run();
    last = code;
    ++count;
  }
  void end_run() {
    if (count == 0) return;
    entries += static_cast<char>(last);
    tape::put_number(entries, count);
    count = 0;
    if (entries.size() >= kEntryBytes) flush();
  }
  void flush() {
    if (entries.empty()) return;
    behind.put_tape(place, entries);
    mix(entries);
    entries.clear();
  }
  void mix(std::string_view bytes) {
    std::string sized;
    tape::put_text(sized, bytes);
    XXH3_128bits_update(hash.get(), sized.data(), sized.size());
  }
  static constexpr std::size_t kEntryBytes = 32 << 10;
  RawSink& behind;
  const bool of_folders;
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> hash;
  std::string entries;
  std::uint64_t place = 0, count = 0;
  std::uint8_t last = 0;
  std::uint64_t folder_problems = 0;
  GroupId groups{};  // the last one that was new
};

ShardSink::ShardSink(Database& db, bool of_folders)
    : tape_(std::make_unique<Tape>(db, of_folders)) {}
ShardSink::~ShardSink() = default;

sqlite3* ShardSink::handle_of(const Database& db) { return db.handle(); }

void ShardSink::begin_place(std::uint64_t place) {
  if (place == tape_->place) return;
  tape_->end_run();
  tape_->flush();
  tape_->place = place;
}

#define CULPRIT_PUT(Row, name)          \
  void ShardSink::put(const Row& row) { \
    tape_->note(tape::code_of<Row>());  \
    tape_->behind.put(row);             \
  }
CULPRIT_ROWS(CULPRIT_PUT)
#undef CULPRIT_PUT

void ShardSink::put(const Manifest& manifest, const Place& place) {
  tape_->note(tape::kManifest);
  tape_->behind.put(manifest, place);
}

GroupId ShardSink::group(const GroupRow& row) {
  const GroupId id = tape_->behind.group(row);
  if (id > tape_->groups) {  // ids are counted: this one is new
    tape_->groups = id;
    tape_->note(tape::kGroup);
  }
  return id;
}

SeriesId ShardSink::series(const SeriesRow& row) {
  tape_->note(tape::kSeries);
  return tape_->behind.series(row);
}

MemberId ShardSink::begin_member(const MemberRow& row) {
  tape_->note(tape::kBegin);
  return tape_->behind.begin_member(row);
}

void ShardSink::end_member(const MemberRow& row) {
  tape_->note(tape::kEnd);
  tape_->mix(row.path);
  tape_->mix(row.digest);
  tape_->behind.end_member(row);
}

void ShardSink::problem(const std::string& path, const std::string& code,
                        const std::string& reason) {
  if (tape_->place % 2 == 0) {
    ++tape_->folder_problems;
    if (!tape_->of_folders) return;
  }
  tape_->end_run();
  tape_->entries += static_cast<char>(tape::kProblem);
  for (const std::string_view text :
       {std::string_view(path), std::string_view(code), std::string_view(reason)})
    tape::put_text(tape_->entries, text);
  tape_->behind.problem(path, code, reason);
}

std::uint64_t ShardSink::folder_problems() const { return tape_->folder_problems; }

std::string ShardSink::finish() {
  tape_->end_run();
  tape_->flush();
  const XXH128_hash_t hash = XXH3_128bits_digest(tape_->hash.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace culprit::store
