#include "store/database.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <limits>
#include <map>
#include <system_error>
#include <unordered_map>

#include <fmt/format.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "model/figure.hpp"
#include "model/finding_ids.hpp"
#include "model/json.hpp"
#include "model/ranges.hpp"
#include "schema/schema.hpp"
#include "store/check.hpp"
#include "store/raw_sink.hpp"
#include "store/statement.hpp"
#include "store/tables.hpp"
#include "store/utf8.hpp"

namespace culprit::store {

namespace {

constexpr char kIngestAgain[] = "ingest the bundle again into a new database";

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

std::optional<std::string> clean(const std::optional<std::string>& text) {
  return text ? std::optional(valid_utf8(*text)) : std::nullopt;
}

Frame read_frame(Statement& s) {
  Frame f;
  s.read(f.function, f.file, f.line, f.module, f.native);
  return f;
}

// Rows of a table, by default all in order of their ids.
template <class Row>
class Select {
 public:
  explicit Select(sqlite3* db, std::string_view tail = "ORDER BY rowid")
      : statement_(db, fmt::format("SELECT rowid,{} FROM {} {}", column_names<Row>().joined(),
                                   TableOf<Row>::name, tail)),
        reader_(statement_) {}

  // For the `?` of the tail.
  template <class... Values>
  void bind(const Values&... values) {
    statement_.reset();
    statement_.bind(values...);
  }
  std::optional<Row> next() {
    if (!statement_.next()) return std::nullopt;
    std::optional<Row> row(std::in_place);
    reader_.read(*row);
    return row;
  }
  void reset() { statement_.reset(); }
  // Of the row that was read last.
  std::int64_t rowid() const { return reader_.row(); }
  std::optional<std::int64_t> stack_id() const { return reader_.stack_id; }

 private:
  Statement statement_;
  RowReader reader_;
};

// Room for the rows of a table: growing would move large rows many times. What the file says of
// itself is believed up to a bound.
template <class Row>
std::size_t room_for(sqlite3* db) {
  constexpr std::int64_t kMost = (64 << 20) / sizeof(Row);
  Statement last(db, fmt::format("SELECT MAX(rowid) FROM {}", TableOf<Row>::name));
  return last.next() ? static_cast<std::size_t>(std::clamp<std::int64_t>(last.integer(), 0, kMost))
                     : 0;
}

template <class Row>
std::vector<Row> all_rows(sqlite3* db) {
  std::vector<Row> out;
  out.reserve(room_for<Row>(db));
  Select<Row> select(db);
  while (auto row = select.next()) out.push_back(std::move(*row));
  return out;
}

template <class Row>
std::vector<Database::WithStack<Row>> all_with_stacks(sqlite3* db) {
  std::vector<Database::WithStack<Row>> out;
  out.reserve(room_for<Row>(db));
  Select<Row> select(db);
  while (auto row = select.next()) out.push_back({std::move(*row), select.stack_id()});
  return out;
}

template <class Row>
std::string insertion() {
  const ColumnNames names = column_names<Row>();
  std::string marks;
  for (std::size_t i = 0; i < names.columns.size(); ++i) marks += i == 0 ? "?" : ",?";
  return fmt::format("INSERT INTO {} ({}) VALUES ({})", TableOf<Row>::name, names.joined(), marks);
}

template <class Row>
std::vector<Refers> references_of_row() {
  constexpr std::pair<std::string_view, Refers> kTables[] = {{"member", Refers::member},
                                                             {"process_group", Refers::group},
                                                             {"stack", Refers::stack},
                                                             {"series", Refers::series}};
  std::vector<Refers> out;
  for (const Column& column : column_names<Row>().columns) {
    out.push_back(column.key ? Refers::key : Refers::nothing);
    for (const auto& [table, refers] : kTables)
      if (column.references == table) out.back() = refers;
  }
  return out;
}

std::vector<std::vector<Refers>> all_references() {
  std::vector<std::vector<Refers>> out;
#define CULPRIT_REFERENCES_OF(Row, name) out.push_back(references_of_row<Row>());
  CULPRIT_ROWS(CULPRIT_REFERENCES_OF)
#undef CULPRIT_REFERENCES_OF
  return out;
}

bool may_be_written(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return access(path.c_str(), W_OK) == 0 &&
         access(folder.empty() ? "." : folder.c_str(), W_OK) == 0;
}

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

struct Database::Impl {
  struct Close {
    void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
  };

  class Writer final : public RawSink {
   public:
    explicit Writer(Impl& impl) : impl_(impl) {}

    void prepare() {
      last_failure = {};
      impl_.steps_known = -1;
      sqlite3* db = impl_.db.get();
      member_ = Statement(db, insertion<MemberRow>());
      member_end_ =
          Statement(db,
                    "UPDATE member SET format=?, size=?, digest=?, complete=?, tail_truncated=?, "
                    "lines=?, used=?, skipped=?, rejected=?, done=1 WHERE member_id=?");
      problem_ = Statement(db, "INSERT OR IGNORE INTO problem VALUES (?,?,?)");
      savepoint_ = Statement(db, "SAVEPOINT member");
      release_ = Statement(db, "RELEASE member");
      manifest_ = Statement(db, "INSERT INTO manifest VALUES (?,?)");
      group_ = Statement(db, insertion<GroupRow>());
      series_ = Statement(db, insertion<SeriesRow>());
      stack_ = Statement(db, "INSERT INTO stack VALUES (?,?,?)");
      frame_ = Statement(db, "INSERT INTO frame VALUES (?,?,?,?,?,?)");
      stack_frame_ = Statement(db, "INSERT INTO stack_frame VALUES (?,?,?)");
      Select<GroupRow> groups(db);
      while (auto row = groups.next())
        groups_.emplace(std::move(*row), static_cast<GroupId>(groups.rowid()));
      Statement frames(db, "SELECT frame_id, function, file, line, module, native FROM frame");
      while (frames.next()) {
        const std::int64_t id = frames.integer();
        frames_.emplace(read_frame(frames), id);
      }
      Statement stacks(db, "SELECT stack_id, digest FROM stack");
      while (stacks.next()) {
        const std::int64_t id = stacks.integer();
        stacks_.emplace(stacks.text(), id);
      }
      Statement known(db, "SELECT stored_path, digest FROM member WHERE done=1 ORDER BY member_id");
      while (known.next()) {
        const std::string path = known.text();
        finished_[path].push_back(known.text());
      }
      Statement last(db, "SELECT COALESCE(MAX(member_id), 0) FROM member");
      if (last.next()) next_id_ = last.integer() + 1;
      Statement last_series(db, "SELECT COALESCE(MAX(series_id), 0) FROM series");
      if (last_series.next()) next_series_ = last_series.integer() + 1;
      // Rows are written on another thread, which does not see why a statement is missing.
      if (last_failure.code != SQLITE_OK) fail_with(last_failure);
    }

    std::optional<std::string> finished(const std::string& path) override {
      const auto it = finished_.find(valid_utf8(path));
      if (it == finished_.end() || it->second.empty()) return std::nullopt;
      std::string digest = std::move(it->second.front());
      it->second.pop_front();
      return digest;
    }

    MemberId begin_member(const MemberRow& m) override {
      const MemberId id = next_id_++;
      if (trouble.code == SQLITE_OK && !impl_.in_transaction() && !impl_.execute("BEGIN IMMEDIATE"))
        fail_with(last_failure);
      // Closing undoes the member that is open, and not those before it in the transaction.
      if (!impl_.path.empty()) {
        write(savepoint_);
        impl_.member_open = true;
      }
      // What end_member() tells is left out: the pages then lie the same however much of it was
      // known already, and a merge of shards writes the bytes of a single ingest.
      MemberRow first = m;
      first.id = id;
      first.stored_path = m.path;
      first.format.clear();
      first.digest.clear();
      first.size = first.lines = first.used = first.skipped = first.rejected = 0;
      first.complete = true;
      first.tail_truncated = false;
      insert(member_, first);
      return id;
    }

    void end_member(const MemberRow& m) override {
      write(member_end_, m.format, m.size, m.digest, m.complete, m.tail_truncated, m.lines, m.used,
            m.skipped, m.rejected, m.id);
      const bool temporary = impl_.path.empty();
      if (!temporary) {
        write(release_);
        impl_.member_open = false;
      }
      impl_.members_wait = true;
      if (++members_ < (temporary ? kTogether : kTogetherInFile) &&
          (temporary || rows_ < kRowsTogether))
        return;
      members_ = rows_ = 0;
      impl_.members_wait = false;
      if (trouble.code == SQLITE_OK && !impl_.execute("COMMIT")) fail_with(last_failure);
    }

    void problem(const std::string& path, const std::string& code,
                 const std::string& reason) override {
      write(problem_, valid_utf8(path), code, valid_utf8(reason));
    }

#define CULPRIT_PUT(Row, name) \
  void put(const Row& row) override { insert(prepared<Row>(insert_##name), row); }
    CULPRIT_ROWS(CULPRIT_PUT)
#undef CULPRIT_PUT
    // As it will be read again: names that differ in bytes that are no text are one.
    GroupId group(const GroupRow& given) override {
      GroupRow cleaned;
      const bool plain = is_plain(given.name) && is_plain(given.description);
      if (!plain) {
        cleaned = given;
        cleaned.name = valid_utf8(given.name);
        cleaned.description = valid_utf8(given.description);
      }
      const GroupRow& r = plain ? given : cleaned;
      const auto known = groups_.find(r);
      if (known != groups_.end()) return known->second;
      const GroupId id = group_at(groups_.size());
      insert(group_, r);
      groups_.emplace(r, id);
      return id;
    }
    SeriesId series(const SeriesRow& r) override {
      SeriesRow row = r;
      row.id = next_series_++;
      insert(series_, row);
      return row.id;
    }
    void put(const Manifest& m, const Place& place) override {
      write(manifest_, place.member, valid_utf8(m.document));
    }
    bool put(std::size_t table, Statement& from, RowIds& ids) override {
      using Insertion = Statement& (*)(Writer&);
#define CULPRIT_INSERT(Row, name) \
  [](Writer& w) -> Statement& { return w.prepared<Row>(w.insert_##name); },
      static constexpr Insertion kInsertions[] = {CULPRIT_ROWS(CULPRIT_INSERT)};
#undef CULPRIT_INSERT
      Statement& insert = kInsertions[table](*this);
      if (trouble.code != SQLITE_OK) return true;
      insert.start();
      int column = -1;
      for (const Refers to : references_[table]) {
        ++column;
        if (to == Refers::nothing) {
          insert.put_column(from, column);
        } else if (to == Refers::key || from.is_null(column)) {
          insert.put(std::optional<std::int64_t>{});
        } else {
          const auto id = ids.id(to, from.integer_at(column));
          if (!id) return false;
          insert.put(*id);
        }
      }
      if (!insert.step()) fail_with(last_failure);
      return true;
    }
    void put_tape(std::uint64_t place, std::string_view entries) override {
      if (!tape_)
        tape_ = Statement(impl_.db.get(), "INSERT INTO shard_tape (place, entries) VALUES (?,?)");
      write(tape_, place, Blob{entries.data(), entries.size()});
    }

    Failure trouble;

    // Equal stacks are stored once: a hang has a handful of them on ten thousand ranks.
    std::optional<std::int64_t> stack(const std::vector<Frame>& frames) override {
      if (frames.empty()) return std::nullopt;
      frames_as_key(frames);
      if (const auto known = stacks_met_.find(key_); known != stacks_met_.end())
        return known->second;
      ids_.clear();
      for (const Frame& f : frames) {
        Frame cleaned = f;
        cleaned.function = valid_utf8(f.function);
        cleaned.file = valid_utf8(f.file);
        cleaned.module = valid_utf8(f.module);
        const auto [it, fresh] =
            frames_.try_emplace(std::move(cleaned), static_cast<std::int64_t>(frames_.size()) + 1);
        if (fresh)
          write(frame_, it->second, it->first.function, it->first.file, it->first.line,
                it->first.module, it->first.native);
        ids_.push_back(it->second);
      }
      const XXH128_hash_t hash = XXH3_128bits(ids_.data(), ids_.size() * sizeof(std::int64_t));
      const auto [it, fresh] =
          stacks_.try_emplace(fmt::format("{:016x}{:016x}", hash.high64, hash.low64),
                              static_cast<std::int64_t>(stacks_.size()) + 1);
      if (fresh) {
        write(stack_, it->second, static_cast<std::int64_t>(ids_.size()), it->first);
        for (std::size_t i = 0; i < ids_.size(); ++i)
          write(stack_frame_, it->second, static_cast<std::int64_t>(i), ids_[i]);
      }
      if (met_bytes_ + key_.size() <= kMostMetBytes) {
        met_bytes_ += key_.size();
        stacks_met_.emplace(key_, it->second);
      }
      return it->second;
    }

   private:
    // The bytes of the frames as they are given: a stack that was met is not taken apart again.
    void frames_as_key(const std::vector<Frame>& frames) {
      key_.clear();
      const auto add = [&](const auto& number) {
        key_.append(reinterpret_cast<const char*>(&number), sizeof number);
      };
      for (const Frame& f : frames) {
        for (const std::string* text : {&f.function, &f.file, &f.module}) {
          add(text->size());
          key_ += *text;
        }
        add(f.line);
        add(f.native);
      }
    }

    // After the first failure nothing more is written. SQLite may have undone the transaction then,
    // and rows would go in one by one that belong to no member; and a member of which a row is
    // missing must not be committed.
    template <class... Values>
    void write(Statement& statement, const Values&... values) {
      ++rows_;
      if (trouble.code == SQLITE_OK && !statement.run(values...)) fail_with(last_failure);
    }
    void insert(Statement& statement, const auto& row) {
      ++rows_;
      if (trouble.code == SQLITE_OK && !binder_.run(statement, row)) fail_with(last_failure);
    }
    // Made for the first row of its table: most bundles fill few tables.
    template <class Row>
    Statement& prepared(Statement& insertion_of) {
      if (!insertion_of) {
        insertion_of = Statement(impl_.db.get(), insertion<Row>());
        if (!insertion_of && trouble.code == SQLITE_OK) fail_with(last_failure);
      }
      return insertion_of;
    }
    void fail_with(const Failure& failure) {
      trouble = failure;
      impl_.failed = true;
    }
    Impl& impl_;
#define CULPRIT_STATEMENT(Row, name) Statement insert_##name;
    CULPRIT_ROWS(CULPRIT_STATEMENT)
#undef CULPRIT_STATEMENT
    Statement savepoint_, release_, member_, member_end_, problem_, manifest_, group_, series_;
    Statement stack_, frame_, stack_frame_, tape_;
    std::vector<std::vector<Refers>> references_ = all_references();
    RowBinder binder_{[this](const std::vector<Frame>& frames) { return stack(frames); }};
    std::map<GroupRow, GroupId> groups_;
    std::map<Frame, std::int64_t> frames_;
    std::unordered_map<std::string, std::int64_t> stacks_;
    std::vector<std::int64_t> ids_;
    static constexpr std::size_t kMostMetBytes = 4 << 20;
    std::unordered_map<std::string, std::int64_t> stacks_met_;  // by frames_as_key()
    std::string key_;
    std::size_t met_bytes_ = 0;
    std::unordered_map<std::string, std::deque<std::string>> finished_;
    // Members of one transaction, see Impl::settle(). In a file a kill may undo so many small ones.
    static constexpr std::size_t kTogether = 1024, kTogetherInFile = 64, kRowsTogether = 1024;
    std::size_t members_ = 0, rows_ = 0;
    MemberId next_id_ = 1;
    SeriesId next_series_ = 1;
  };

  ~Impl() {
    writer.reset();  // its statements hold the connection
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

  bool execute(const char* sql) const {
    const int code = sqlite3_exec(db.get(), sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) last_failure = {code, sqlite3_errmsg(db.get())};
    return code == SQLITE_OK;
  }
  // Of the last failure.
  Error trouble(const std::string& what) const { return trouble(what, last_failure); }
  Error trouble(const std::string& what, const Failure& failure) const {
    Error error = fail(fmt::format("{}: {}", what, failure.text))
                      .at({path.empty() ? "(temporary database)" : path, 0});
    switch (failure.code & 0xff) {
      case SQLITE_FULL:
        error.help =
            path.empty()
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

  Result<> connect(bool create) {
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
    if (const int code = last_failure.code & 0xff;
        code != SQLITE_CANTOPEN && code != SQLITE_READONLY)
      return {};  // told by whoever reads it
    std::error_code error;
    for (const char* ending : {"-wal", "-journal"})
      if (std::filesystem::file_size(path + ending, error) > 0 && !error)
        return fail(
                   "this database was cut off while it was written, and cannot be mended where it "
                   "is")
            .at({path, 0})
            .hint("copy it with its " + std::string(ending) + " file to a place you may write to");
    if (!opened("file:" + uri_escaped(path) + "?immutable=1",
                SQLITE_OPEN_READONLY | SQLITE_OPEN_URI))
      return trouble("cannot open the database");
    return {};
  }

  // The same content in a temporary database: there it can be worked on.
  Result<> copy_into_memory() {
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
  std::unique_ptr<Writer> writer;
  // The first and last rowid of each stretch of a member's steps, as of so many steps in all: asked
  // for each of thousands of logs, and found for all of them at once.
  using Stretches = std::vector<std::pair<std::int64_t, std::int64_t>>;
  std::map<MemberId, Stretches> stretches_of;
  std::int64_t steps_known = -1;
  StepTable steps_read;  // the last one: several analyses ask for the steps of the one log of them
  Statement points_of;   // prepared once: thousands of series are asked for
  Statement axis_of;
  SeriesId axis_series = 0;     // whose chunks it reads
  std::uint32_t axis_next = 0;  // after so many
  SeriesPoints axis_points;     // the last of them
  const SeriesPoints& axis(SeriesId series, std::uint32_t n);
  const Stretches& steps_of(MemberId member);
};

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
    impl_->writer = std::make_unique<Impl::Writer>(*impl_);
    impl_->writer->prepare();
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

template <class Row>
std::vector<Row> Database::rows() const {
  return all_rows<Row>(impl_->db.get());
}
#define CULPRIT_INSTANTIATE(Row, name) template std::vector<Row> Database::rows<Row>() const;
CULPRIT_FACT_ROWS(CULPRIT_INSTANTIATE)
CULPRIT_INSTANTIATE(RejectRow, rejects)
CULPRIT_INSTANTIATE(MemberRow, members)
CULPRIT_INSTANTIATE(GroupRow, groups)
CULPRIT_INSTANTIATE(SeriesRow, series)
#undef CULPRIT_INSTANTIATE

void Database::load(FactRows& facts) const {
#define CULPRIT_LOAD(Row, name) facts.name = rows<Row>();
  CULPRIT_FACT_ROWS(CULPRIT_LOAD)
#undef CULPRIT_LOAD
}

namespace {

// The rows of one member.
struct Range {
  MemberId member = 0;
  std::int64_t first = 0, last = 0;  // rowids
};

// Rows of a table by member. Members are written one after another and nothing is deleted, so their
// rows stand together and in order: an index over millions of rows would say no more. The ends are
// found by ever longer steps.
std::vector<Range> ranges(sqlite3* db, const std::string& table) {
  std::vector<Range> out;
  // Two questions: each is a look at one end, and both in one would walk the table.
  Statement ends(
      db, "SELECT (SELECT MIN(rowid) FROM " + table + "), (SELECT MAX(rowid) FROM " + table + ")");
  if (!ends.next()) return out;
  std::int64_t at = ends.integer();
  const std::int64_t last = ends.integer();
  Statement owner(db, "SELECT member_id FROM " + table + " WHERE rowid=?");
  const auto member_of = [&](std::int64_t row) {
    owner.bind(row);
    const MemberId member = owner.next() ? owner.integer() : 0;
    owner.reset();
    return member;
  };
  while (at > 0 && at <= last) {
    Range range{member_of(at), at, at};
    std::int64_t step = 1;
    while (range.last + step <= last && member_of(range.last + step) == range.member) {
      range.last += step;
      step *= 2;
    }
    for (; step > 0; step /= 2)
      if (range.last + step <= last && member_of(range.last + step) == range.member)
        range.last += step;
    out.push_back(range);
    at = range.last + 1;
  }
  return out;
}

}  // namespace

std::vector<ProgressSpan> Database::progress() const {
  std::vector<ProgressSpan> out;
  sqlite3* db = impl_->db.get();
  Statement span_of(db,
                    "SELECT MIN(framework), COUNT(*), MIN(CASE WHEN loss_nan OR grad_norm_nan THEN "
                    "rowid END), AVG(CASE WHEN iteration_ms > 0 THEN iteration_ms END) "
                    "FROM iteration WHERE rowid BETWEEN ? AND ?");
  Select<ProgressRow> one(db, "WHERE rowid=?");
  Select<ProgressRow> good(db,
                           "WHERE rowid>=? AND rowid<? AND NOT loss_nan AND NOT grad_norm_nan "
                           "ORDER BY rowid DESC LIMIT 1");
  const auto row = [&](std::int64_t id) {
    one.bind(id);
    ProgressRow p = one.next().value_or(ProgressRow{});
    one.reset();
    return p;
  };
  for (const Range& range : ranges(db, "iteration")) {
    ProgressSpan span;
    span.member = range.member;
    span_of.bind(range.first, range.last);
    if (!span_of.next()) continue;
    span_of.read(span.framework, span.rows);
    span.first = row(range.first);
    span.last = row(range.last);
    const auto nan = span_of.maybe_integer();
    span.mean_ms = span_of.maybe_real();
    if (nan) {
      span.first_nan = row(*nan);
      good.bind(range.first, *nan);
      span.last_good = good.next();
      good.reset();
    }
    span_of.reset();
    out.push_back(std::move(span));
  }
  return out;
}

std::vector<ProblemRow> Database::problems() const {
  std::vector<ProblemRow> out;
  Statement s(impl_->db.get(),
              "SELECT path, code, reason FROM problem ORDER BY path, code, reason");
  while (s.next()) {
    ProblemRow& p = out.emplace_back();
    s.read(p.path, p.code, p.reason);
  }
  return out;
}

std::vector<HostRow> Database::hosts() const {
  std::vector<HostRow> out;
  Statement s(impl_->db.get(), "SELECT * FROM host ORDER BY host");
  while (s.next()) {
    HostRow& h = out.emplace_back();
    s.read(h.host, h.node_rank);
    h.addresses = split_commas(s.text());
    s.read(h.boot_ns, h.boot_source, h.boot_uncertainty, h.driver, h.has_log);
  }
  return out;
}

std::vector<RankRow> Database::ranks() const { return all_rows<RankRow>(impl_->db.get()); }

std::vector<StoredManifest> Database::manifests() const {
  Statement s(impl_->db.get(),
              "SELECT path, document FROM manifest JOIN member USING (member_id) ORDER BY path");
  std::vector<StoredManifest> out;
  // What was given beside the bundle counts first.
  if (auto given = meta("manifest"))
    out.push_back({meta("manifest_path").value_or("job.json"), std::move(*given)});
  while (s.next()) {
    StoredManifest& m = out.emplace_back();
    s.read(m.path, m.document);
  }
  return out;
}

std::vector<Frame> Database::frames() const {
  std::vector<Frame> out;
  Statement s(impl_->db.get(),
              "SELECT function, file, line, module, native FROM frame ORDER BY frame_id");
  while (s.next()) out.push_back(read_frame(s));
  return out;
}

std::vector<std::vector<std::uint32_t>> Database::stack_frames() const {
  std::vector<std::vector<std::uint32_t>> out;
  Statement s(impl_->db.get(),
              "SELECT stack_id, frame_id FROM stack_frame ORDER BY stack_id, depth");
  while (s.next()) {
    out.resize(std::max(out.size(), static_cast<std::size_t>(s.integer())));
    out.back().push_back(static_cast<std::uint32_t>(s.integer() - 1));
  }
  return out;
}

std::vector<Database::WithStack<StackRow>> Database::samples() const {
  return all_with_stacks<StackRow>(impl_->db.get());
}

std::vector<Database::WithStack<CollectiveRow>> Database::launches() const {
  return all_with_stacks<CollectiveRow>(impl_->db.get());
}

std::vector<HistoryRow> Database::histories(GroupId group) const {
  std::vector<HistoryRow> out;
  Select<HistoryRow> select(impl_->db.get(), "WHERE group_id=? ORDER BY rowid");
  select.bind(static_cast<std::int64_t>(group));
  while (auto row = select.next()) out.push_back(std::move(*row));
  return out;
}

void Database::each_checkpoint(const std::function<void(const CheckpointRow&)>& take) const {
  Select<CheckpointRow> select(impl_->db.get(), "ORDER BY rowid");
  while (const auto row = select.next()) take(*row);
}

std::vector<StartMarkRow> Database::start_marks() const {
  return all_rows<StartMarkRow>(impl_->db.get());
}

std::vector<LastLineRow> Database::last_lines() const {
  return all_rows<LastLineRow>(impl_->db.get());
}

const Database::Impl::Stretches& Database::Impl::steps_of(MemberId member) {
  Statement last(db.get(), "SELECT COALESCE(MAX(rowid), 0) FROM iteration");
  if (const std::int64_t now = last.next() ? last.integer() : 0; now != steps_known) {
    stretches_of.clear();
    steps_read = {};
    for (const Range& range : ranges(db.get(), "iteration"))
      stretches_of[range.member].emplace_back(range.first, range.last);
    steps_known = now;
  }
  return stretches_of[member];
}

StepTable Database::steps(MemberId member) const {
  const Impl::Stretches& stretches = impl_->steps_of(member);
  if (impl_->steps_read.member == member) return impl_->steps_read;
  StepTable out;
  out.member = member;
  Statement s(impl_->db.get(),
              "SELECT line, byte_offset, time_raw, clock, framework, iteration, iteration_ms, "
              "loss, loss_nan, grad_norm, grad_norm_nan FROM iteration WHERE rowid BETWEEN ? AND ? "
              "ORDER BY rowid");
  for (const auto& [first_row, last_row] : stretches) {
    s.bind(first_row, last_row);
    while (s.next()) {
      const double missing = std::numeric_limits<double>::quiet_NaN();
      out.lines.push_back(s.integer());
      out.offsets.push_back(s.integer());
      const std::int64_t raw = s.integer();
      const Clock clock = clock_named(s.text());
      if (out.clock == Clock::none) out.clock = clock;
      out.times.push_back(clock == Clock::none || clock != out.clock ? kNoValue : raw);
      std::string framework = s.text();
      if (out.framework.empty()) out.framework = std::move(framework);
      out.iteration.push_back(s.maybe_integer().value_or(kNoValue));
      out.iteration_ms.push_back(s.maybe_real().value_or(missing));
      out.loss.push_back(s.maybe_real().value_or(missing));
      const bool loss_nan = s.integer() != 0;
      out.grad_norm.push_back(s.maybe_real().value_or(missing));
      out.not_a_number.push_back(
          static_cast<std::uint8_t>((loss_nan ? 1 : 0) | (s.integer() != 0 ? 2 : 0)));
    }
    s.reset();
  }
  return impl_->steps_read = std::move(out);
}

SeriesPoints Database::points(SeriesId series) const {
  SeriesPoints out;
  Statement& s = impl_->points_of;
  if (!s)
    s = Statement(impl_->db.get(),
                  "SELECT data, axis_id FROM sample_chunk WHERE series_id=? ORDER BY rowid");
  s.bind(series);
  for (std::uint32_t n = 0; s.next(); ++n) {
    SeriesPoints chunk;
    if (!unpack(s.text(), chunk)) continue;
    if (const auto axis = s.maybe_integer()) {
      const SeriesPoints& columns = impl_->axis(*axis, n);
      if (columns.size() != chunk.size()) continue;  // a damaged database
      chunk = along(columns, std::move(chunk));
    }
    append(out, chunk);
  }
  s.reset();
  return out;
}

// The n-th chunk of a series, for those that share its columns. They are asked for in order, and
// for small series all after one another.
const SeriesPoints& Database::Impl::axis(SeriesId series, std::uint32_t n) {
  if (!axis_of)
    axis_of = Statement(db.get(), "SELECT data FROM sample_chunk WHERE series_id=? ORDER BY rowid");
  if (axis_series == series && axis_next == n + 1) return axis_points;
  if (axis_series != series || axis_next > n) {
    axis_of.reset();
    axis_of.bind(series);
    axis_series = series;
    axis_next = 0;
  }
  axis_points = {};
  while (axis_next <= n && axis_of.next()) ++axis_next;
  if (axis_next <= n || !unpack(axis_of.text(), axis_points)) axis_series = 0, axis_points = {};
  return axis_points;
}

Result<> Database::save_resolution(const Resolution& resolution) {
  sqlite3* db = impl_->db.get();
  return impl_->transaction("cannot store whose files these are", [&] {
    bool good = impl_->execute("DELETE FROM host; DELETE FROM rank");
    Statement m(db,
                "UPDATE member SET path=?, container=?, host=?, rank=?, local_rank=?, attempt=?, "
                "attribution=?, duplicate_of=? WHERE member_id=?");
    for (const MemberRow& r : resolution.members)
      good =
          good &&
          m.run(r.path, r.container, clean(r.host), r.rank, r.local_rank, r.attempt, r.attribution,
                r.duplicate_of == 0 ? std::nullopt : std::optional(r.duplicate_of), r.id);
    Statement e(db,
                "UPDATE event SET time_ns=?, uncertainty_ns=?, severity=?, role=?, host=?, rank=?, "
                "gpu=?, peer_host=?, last_ns=? WHERE event_id=?");
    for (const EventRow& r : resolution.events)
      good = good && e.run(r.time_ns, r.uncertainty, name(r.severity), name(r.role), clean(r.host),
                           r.rank, clean(r.gpu), clean(r.peer_host), r.last_time_ns, r.id);
    Statement t(
        db,
        "UPDATE traceback SET time_ns=?, uncertainty_ns=?, host=?, rank=? WHERE traceback_id=?");
    for (const TracebackRow& r : resolution.tracebacks)
      good = good && t.run(r.time_ns, r.uncertainty, clean(r.host), r.rank, r.id);
    Statement x(db, "UPDATE exit_status SET time_ns=?, host=?, rank=? WHERE rowid=?");
    for (const ExitRow& r : resolution.exits)
      good = good && x.run(r.time_ns, clean(r.host), r.rank, r.id);
    Statement p(db, "UPDATE process SET role=? WHERE rowid=? AND role IS NOT ?1");
    for (const ProcessRow& r : resolution.processes) good = good && p.run(r.role, r.id);
    std::map<MemberId, const MemberClock*> clock_of;
    for (const MemberClock& c : resolution.clocks) clock_of[c.member] = &c;
    for (const char* table : {"iteration", "checkpoint"}) {
      // Rows are millions: those that have their time already are not written again.
      Statement i(db, fmt::format("UPDATE {} SET time_ns=CASE WHEN clock=?3 THEN time_raw+?4 END "
                                  "WHERE rowid BETWEEN ?1 AND ?2 AND time_ns IS NOT CASE WHEN "
                                  "clock=?3 THEN time_raw+?4 END",
                                  table));
      for (const Range& range : ranges(db, table)) {
        const auto clock = clock_of.find(range.member);
        good = good &&
               (clock != clock_of.end() ? i.run(range.first, range.last, name(clock->second->clock),
                                                clock->second->offset)
                                        : i.run(range.first, range.last, "", 0));
      }
    }
    Statement h(db, "INSERT INTO host VALUES (?,?,?,?,?,?,?,?)");
    for (const HostRow& r : resolution.hosts)
      good = good &&
             h.run(valid_utf8(r.host), r.node_rank, fmt::format("{}", fmt::join(r.addresses, ",")),
                   r.boot_ns, r.boot_source, r.boot_uncertainty, r.driver, r.has_log);
    Statement k(db, insertion<RankRow>());
    RowBinder rank;
    for (const RankRow& r : resolution.ranks) good = good && rank.run(k, r);
    good = good && impl_->execute(
                       "DELETE FROM meta WHERE key IN ('job', 'job_id', 'world_size', "
                       "'job_start_ns', 'job_end_ns')");
    Statement j(db, "INSERT INTO meta VALUES (?,?)");
    for (const auto& [key, value] : resolution.job) good = good && j.run(key, valid_utf8(value));
    return good;
  });
}

Result<> Database::save_findings(Analysis analysis, std::vector<Finding>& findings, Wording words) {
  make_ids_unique(findings);
  sqlite3* db = impl_->db.get();
  return impl_->transaction("cannot store the findings", [&] {
    Statement forget(db,
                     "DELETE FROM evidence WHERE finding_id IN (SELECT finding_id FROM finding "
                     "WHERE analysis=?)");
    Statement forget2(db, "DELETE FROM finding WHERE analysis=?");
    bool good = forget.run(name(analysis)) && forget2.run(name(analysis));
    if (findings.empty())
      return good;  // of most analyses; the statements below take longer to make
    Statement f(db, "INSERT INTO finding VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    Statement v(db, "INSERT INTO evidence VALUES (?,?,?,?,?,?,?,?,?)");
    // In a damaged database a row of this id may belong to anybody.
    Statement clear(db, "DELETE FROM finding WHERE finding_id=?"),
        clear2(db, "DELETE FROM evidence WHERE finding_id=?");
    std::int64_t position = 0;
    for (const Finding& r : findings) {
      good = good && clear.run(r.id) && clear2.run(r.id);
      nlohmann::json numbers = nlohmann::json::object();
      for (const auto& [key, value] : numbers_of(r, words))
        numbers[key] = figure(r.analysis, key, value);
      good =
          good && f.run(r.id, ++position, name(r.analysis), name(r.outcome), name(r.subject.kind),
                        r.subject.id, r.event_class, name(r.symptom), name(r.severity),
                        name(r.role), name(r.scope), r.confidence, words(r.why), words(r.title),
                        words(r.advice), r.remedy, r.start, r.end, r.uncertainty, r.count,
                        numbers.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      std::int64_t n = 0;
      for (const Evidence& one : r.evidence)
        good = good && v.run(r.id, ++n, one.member, valid_utf8(one.path), one.line, one.offset,
                             one.length, valid_utf8(one.excerpt), valid_utf8(one.reading));
    }
    return good;
  });
}

Result<> Database::save_verdict(Action action, const std::string& summary,
                                const std::string& document) {
  return impl_->transaction("cannot store the verdict", [&] {
    Statement s(impl_->db.get(), "INSERT OR REPLACE INTO verdict VALUES (1,?,?,?)");
    // Nobody opens a temporary database again: the document, which grows with the bundle, would be
    // there twice.
    return s.run(name(action), valid_utf8(summary), impl_->path.empty() ? std::string() : document);
  });
}

std::vector<Finding> Database::findings() const {
  std::vector<Finding> out;
  sqlite3* db = impl_->db.get();
  Statement s(db,
              "SELECT finding_id, analysis, outcome, subject_kind, subject, class, symptom, "
              "severity, role, scope, confidence, why, title, advice, action, start_ns, end_ns, "
              "uncertainty_ns, count, numbers FROM finding ORDER BY position");
  Statement v(
      db,
      "SELECT member_id, path, line, byte_offset, length, excerpt, reading FROM evidence WHERE "
      "finding_id=? ORDER BY position");
  while (s.next()) {
    Finding f;
    f.id = s.text();
    f.analysis = term_named<Analysis>(s.text()).value_or(Analysis::none);
    const std::string outcome = s.text();
    f.outcome = outcome == name(Outcome::fired)       ? Outcome::fired
                : outcome == name(Outcome::ruled_out) ? Outcome::ruled_out
                                                      : Outcome::not_enough_evidence;
    f.subject.kind = term_named<SubjectKind>(s.text()).value_or(SubjectKind::job);
    s.read(f.subject.id, f.event_class);
    f.symptom = term_named<Symptom>(s.text()).value_or(Symptom::none);
    f.severity = severity_named(s.text()).value_or(Severity::info);
    f.role = role_named(s.text()).value_or(Role::advice);
    f.scope = scope_named(s.text()).value_or(Scope::host_local);
    s.read(f.confidence, f.why, f.title, f.advice, f.remedy, f.start, f.end, f.uncertainty,
           f.count);
    std::map<std::string, std::string> words;
    const auto numbers = parse_json(s.text());
    if (numbers.is_object())
      for (const auto& [key, value] : numbers.items())
        words.emplace(key, value.is_string() ? value.get<std::string>() : value.dump());
    f.facts = facts_named(f.analysis, words);
    f.figures.assign(words.begin(), words.end());
    v.bind(f.id);
    while (v.next()) {
      Evidence& e = f.evidence.emplace_back();
      v.read(e.member, e.path, e.line, e.offset, e.length, e.excerpt, e.reading);
    }
    v.reset();
    out.push_back(std::move(f));
  }
  return out;
}

std::optional<Action> Database::verdict_action() const {
  Statement s(impl_->db.get(), "SELECT action FROM verdict");
  return s.next() ? term_named<Action>(s.text()) : std::nullopt;
}

std::optional<std::string> Database::verdict() const {
  Statement s(impl_->db.get(), "SELECT document FROM verdict");
  return s.next() ? std::optional(s.text()) : std::nullopt;
}

}  // namespace culprit::store
