// Members, their rows, and what rows share (groups, stacks, frames), each stored once.
#include "store/writer.hpp"

#include <deque>
#include <map>
#include <unordered_map>

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store/select.hpp"
#include "store/utf8.hpp"

namespace culprit::store {

namespace {

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

class TableWriter final : public Writer {
 public:
  explicit TableWriter(Connection& connection) : connection_(connection) { prepare(); }

  std::optional<std::string> finished(const std::string& path) override {
    const auto it = finished_.find(valid_utf8(path));
    if (it == finished_.end() || it->second.empty()) return std::nullopt;
    std::string digest = std::move(it->second.front());
    it->second.pop_front();
    return digest;
  }

  MemberId begin_member(const MemberRow& m) override {
    const MemberId id = next_id_++;
    if (trouble.code == SQLITE_OK && !connection_.in_transaction() &&
        !connection_.execute("BEGIN IMMEDIATE"))
      fail_with(last_failure);
    // Closing undoes the member that is open, and not those before it in the transaction.
    if (!connection_.temporary()) {
      write(savepoint_);
      connection_.member_open = true;
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
    const bool temporary = connection_.temporary();
    if (!temporary) {
      write(release_);
      connection_.member_open = false;
    }
    connection_.members_wait = true;
    if (++members_ < (temporary ? kTogether : kTogetherInFile) &&
        (temporary || rows_ < kRowsTogether))
      return;
    members_ = rows_ = 0;
    connection_.members_wait = false;
    if (trouble.code == SQLITE_OK && !connection_.execute("COMMIT")) fail_with(last_failure);
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
    using Insertion = Statement& (*)(TableWriter&);
#define CULPRIT_INSERT(Row, name) \
  [](TableWriter& w) -> Statement& { return w.prepared<Row>(w.insert_##name); },
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
      tape_ =
          Statement(connection_.db.get(), "INSERT INTO shard_tape (place, entries) VALUES (?,?)");
    write(tape_, place, Blob{entries.data(), entries.size()});
  }

  // Equal stacks are stored once: a hang has a handful of them on ten thousand ranks.
  std::optional<std::int64_t> stack(const std::vector<Frame>& frames) override {
    if (frames.empty()) return std::nullopt;
    frames_as_key(frames);
    if (const auto known = stacks_met_.find(key_); known != stacks_met_.end()) return known->second;
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
  void prepare() {
    last_failure = {};
    sqlite3* db = connection_.db.get();
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
      insertion_of = Statement(connection_.db.get(), insertion<Row>());
      if (!insertion_of && trouble.code == SQLITE_OK) fail_with(last_failure);
    }
    return insertion_of;
  }
  void fail_with(const Failure& failure) {
    trouble = failure;
    connection_.failed = true;
  }
  Connection& connection_;
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
  // Members of one transaction, see Connection::settle(). In a file a kill may undo so many small
  // ones.
  static constexpr std::size_t kTogether = 1024, kTogetherInFile = 64, kRowsTogether = 1024;
  std::size_t members_ = 0, rows_ = 0;
  MemberId next_id_ = 1;
  SeriesId next_series_ = 1;
};

}  // namespace

std::unique_ptr<Writer> make_writer(Connection& connection) {
  return std::make_unique<TableWriter>(connection);
}

}  // namespace culprit::store
