// Opening incident.db, and the life of an ingest into it.
#include "store/database.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "schema/schema.hpp"
#include "store/check.hpp"
#include "store/database_impl.hpp"
#include "store/utf8.hpp"

namespace culprit::store {

namespace {

// "PRAGMA name = number;" of schemas/store.sql.
std::int64_t pragma_of_schema(std::string_view name) {
  const std::string_view sql = schema::text("store.sql");
  const std::string head = fmt::format("PRAGMA {} = ", name);
  const std::size_t at = sql.find(head);
  std::int64_t out = 0;
  if (at != std::string_view::npos)
    std::from_chars(sql.data() + at + head.size(), sql.data() + sql.size(), out);
  return out;
}

bool may_be_written(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return access(path.c_str(), W_OK) == 0 &&
         access(folder.empty() ? "." : folder.c_str(), W_OK) == 0;
}

}  // namespace

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

const std::string& Database::path() const { return impl_->path; }
bool Database::read_only() const { return impl_->read_only; }

Result<> Database::check() const {
  last_failure = {};
  if (impl_->fresh) return {};
  if (const auto broken = broken_reference(impl_->db.get()))
    return fail(fmt::format("this database is damaged ({})", *broken))
        .at({impl_->path, 0})
        .hint(kIngestAgain);
  return {};
}

Result<> Database::read_to_the_end() const {
  if (last_failure.code == SQLITE_OK) return {};
  return impl_->trouble("cannot read the database");
}

bool Database::partial() const {
  const std::string state = meta("state").value_or("");
  return state == "ingesting" || state == "shard";
}

Result<Database> Database::open(const std::string& path, Access mode) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  // SQLite says "disk I/O error" of a folder.
  std::error_code no_folder;
  if (!path.empty() && std::filesystem::is_directory(path, no_folder))
    return usage_error("this is a folder, not a database")
        .at({path, 0})
        .hint(std::filesystem::exists(std::filesystem::path(path) / "incident.db", no_folder)
                  ? "-d " + (std::filesystem::path(path) / "incident.db").string()
                  : "-d takes a file; `culprit ingest " + path +
                        " -d incident.db` makes one of a folder of logs");
  if (mode != Access::create) {
    // SQLite would take a missing file for an empty database.
    if (std::FILE* file = std::fopen(path.c_str(), "rb"))
      std::fclose(file);
    else
      return fail(errno == ENOENT
                      ? "there is no such database"
                      : "cannot open this database: " + std::generic_category().message(errno))
          .at({path, 0})
          .hint("`culprit ingest BUNDLE -d FILE` makes one");
  }
  impl->read_only = mode == Access::read || (mode == Access::write && !may_be_written(path));
  CULPRIT_CHECK(impl->connect(mode == Access::create));
  if (mode == Access::write && impl->read_only) CULPRIT_CHECK(impl->copy_into_memory());
  sqlite3* raw = impl->db.get();
  const auto number = [&](const char* sql) {
    if (last_failure.code != SQLITE_OK)
      return std::optional<std::int64_t>{};  // each would wait for a lock anew
    Statement s(raw, sql);
    return s.next() ? std::optional(s.integer()) : std::nullopt;
  };
  last_failure = {};
  const auto application = number("PRAGMA application_id"), version = number("PRAGMA user_version"),
             tables = number("SELECT COUNT(*) FROM sqlite_master");
  if (!application || !version || !tables) {
    if ((last_failure.code & 0xff) != SQLITE_NOTADB)
      return impl->trouble("cannot read the database");
    return fail("this is not a database")
        .at({path, 0})
        .hint("-d takes a file that `culprit ingest` made");
  }
  if (mode == Access::create && *tables == 0) {
    impl->fresh = true;
    if (path.empty())
      impl->execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-8192");
    const std::string sql(schema::text("store.sql"));
    if (!impl->execute(("BEGIN IMMEDIATE;" + sql + ";COMMIT").c_str()))
      return impl->trouble("cannot lay out the database");
  } else if (*application != pragma_of_schema("application_id")) {
    return fail("this database was not made by culprit")
        .at({path, 0})
        .hint("-d takes a file that `culprit ingest` made, or one that does not exist yet");
  } else if (*version != layout_version()) {
    return fail(fmt::format("this database has layout {}, this program reads layout {}", *version,
                            layout_version()))
        .at({path, 0})
        .hint("it is derived from the bundle: ingest again into a new file");
  }
  return Database(std::move(impl));
}

std::string sqlite_version() { return sqlite3_libversion(); }
std::int64_t layout_version() { return pragma_of_schema("user_version"); }

std::optional<Error> unread() {
  if (last_failure.code == SQLITE_OK) return std::nullopt;
  return fail(fmt::format("cannot read the database: {}", last_failure.text))
      .hint(
          "is the disk full, or broken? A copy of the database, or the bundle read anew, may help");
}

// What the disk refused last time it may give now: nothing of a run that met it is kept.
Result<> Database::forget_unreadable() {
  {
    Statement any(impl_->db.get(), "SELECT 1 FROM problem WHERE code='bundle.unreadable' LIMIT 1");
    if (!any.next()) return read_to_the_end();
  }
  return impl_->transaction("cannot empty the database", [&] {
    std::vector<std::string> tables;
    for (Statement table(impl_->db.get(),
                         "SELECT name FROM sqlite_master WHERE type='table' AND name<>'meta' AND "
                         "name NOT LIKE 'sqlite_%'");
         table.next();)
      tables.push_back(table.text());
    return impl_->execute("PRAGMA defer_foreign_keys=ON") &&
           std::ranges::all_of(tables, [&](const std::string& name) {
             return impl_->execute(fmt::format("DELETE FROM \"{}\"", name).c_str());
           });
  });
}

Result<> Database::begin_ingest() {
  CULPRIT_CHECK(forget_unreadable());
  // The lock is kept: two that read bundles into one database would number each other's members. A
  // log ahead of the file spares a write to the disk for each member.
  if (!impl_->path.empty() &&
      !impl_->execute(
          "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"))
    return impl_->trouble("cannot write to the database");
  return set_meta("state", "ingesting");
}

sqlite3* Database::handle() const { return impl_->db.get(); }

MemberSink& Database::sink() { return raw_sink(); }

RawSink& Database::raw_sink() {
  if (impl_->writer == nullptr) {
    impl_->steps.known = -1;
    impl_->writer = make_writer(*impl_);
  }
  return *impl_->writer;
}

const std::atomic<bool>& Database::failed() const { return impl_->failed; }

Result<> Database::health() const {
  if (impl_->writer == nullptr || impl_->writer->trouble.code == SQLITE_OK) return {};
  Error error = impl_->trouble("cannot write to the database", impl_->writer->trouble);
  if (error.kind == ErrorKind::input && !impl_->path.empty())
    error.help += (error.help.empty() ? "" : "; ") +
                  std::string("the same command then goes on where it stopped");
  return error;
}

Result<> Database::finish_ingest() {
  CULPRIT_CHECK(health());
  if (!impl_->settle()) return impl_->trouble("cannot write to the database");
  // Indexes after the rows: making them while loading costs a third of the speed.
  if (!impl_->execute("CREATE INDEX IF NOT EXISTS event_by_class ON event(class);"
                      "CREATE INDEX IF NOT EXISTS event_by_member ON event(member_id);"
                      "CREATE INDEX IF NOT EXISTS event_by_time ON event(time_ns);"
                      "CREATE INDEX IF NOT EXISTS history_by_group ON collective_history(group_id);"
                      "CREATE INDEX IF NOT EXISTS chunk_by_series ON sample_chunk(series_id);"))
    return impl_->trouble("cannot index the database");
  return close_ingest("ingested");
}

Result<> Database::finish_shard() {
  CULPRIT_CHECK(health());
  if (!impl_->settle()) return impl_->trouble("cannot write to the database");
  return close_ingest("shard");
}

Result<> Database::close_ingest(const std::string& state) {
  CULPRIT_CHECK(set_meta("state", state));
  // Back into the one file, while a failure can still be told: what was left in a log beside it is
  // not carried along.
  if (!impl_->path.empty() && !impl_->execute("PRAGMA journal_mode=DELETE"))
    return impl_->trouble("cannot write to the database");
  return {};
}

Result<QueryAnswer> Database::query(std::string_view sql, const QueryLimits& limits) const {
  return store::query(impl_->db.get(), sql, limits);
}

Result<> Database::set_meta(const std::string& key, const std::string& value) {
  Statement s(impl_->db.get(),
              "INSERT INTO meta VALUES (?,?) ON CONFLICT(key) DO UPDATE SET value=excluded.value");
  if (!s || !s.run(key, valid_utf8(value))) return impl_->trouble("cannot write to the database");
  return {};
}

std::optional<std::string> Database::meta(const std::string& key) const {
  Statement s(impl_->db.get(), "SELECT value FROM meta WHERE key=?");
  s.bind(key);
  return s.next() ? std::optional(s.text()) : std::nullopt;
}

}  // namespace culprit::store
