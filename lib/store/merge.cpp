// Repeats the tapes of shards (tape.hpp) into one database. A shard may come from anywhere: what it
// says of itself is followed only as far as its rows go.
#include "store/merge.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

#include <fmt/format.h>
#include <sqlite3.h>

#include "store/raw_sink.hpp"
#include "store/tape.hpp"

namespace culprit::store {

std::string ShardHead::get(const std::string& key) const {
  const auto found = meta.find(key);
  return found == meta.end() ? std::string() : found->second;
}

// One shard, read from its begin to its end. Can be closed in between.
class ShardReader final : public RowIds {
 public:
  explicit ShardReader(std::string path) : path_(std::move(path)) {}

  bool is_open() const { return open_ != nullptr; }
  void close() { open_.reset(); }
  Result<> open() {
    if (is_open()) return {};
    CULPRIT_TRY(db, Database::open(path_, Access::read));
    open_ = std::make_unique<Open>(Open{std::move(db), {}, {}, {}});
    sqlite3_exec(open_->db.handle(), "PRAGMA cache_size=-256", nullptr, nullptr, nullptr);
    return {};
  }

  static Result<ShardHead> head(const std::string& path);
  static Result<std::vector<ListedUnit>> units(const ShardHead& head);

  // Repeats what stands at this place. A string: why that is not possible.
  using TakeMember = std::function<void(const MemberRow&)>;
  std::optional<std::string> replay(std::uint64_t place, RawSink& sink, const TakeMember& take) {
    sink_ = &sink;
    take_ = &take;
    for (; peek() && place_ <= place; entries_.reset()) {
      if (place_ < place) return "shard_tape.place";
      if (!run(*entries_)) return "shard_tape.entries";
    }
    return member_here_ == 0 ? std::nullopt : std::optional<std::string>("shard_tape.entries");
  }
  // Whether all rows were taken.
  bool at_end() {
    if (peek()) return false;
    for (std::size_t table = 0; table < kTables; ++table)
      if (rows(table).next()) return false;
    return true;
  }

  std::optional<std::int64_t> id(Refers to, std::int64_t there) override {
    switch (to) {
      case Refers::member:
        return there == member_there_ ? std::optional(member_here_) : std::nullopt;
      case Refers::group:
        if (there < 1 || there > static_cast<std::int64_t>(groups_.size())) return std::nullopt;
        return static_cast<std::int64_t>(groups_[static_cast<std::size_t>(there) - 1]);
      case Refers::series:
        if (there < series_there_ || there - series_there_ >= series_) return std::nullopt;
        return series_here_ + (there - series_there_);
      case Refers::stack: return stack(there);
      case Refers::nothing:
      case Refers::key: break;
    }
    return std::nullopt;
  }

 private:
  // Tables that are read row by row: those of rows, and those of other codes.
  static constexpr std::size_t kTables = tape::kBegin + 1;
  struct Open {
    Database db;  // outlives the statements
    std::array<Statement, kTables> rows;
    Statement tape, frames;
  };

  // "columns FROM table" of a code.
  static const std::string& selection(std::size_t table) {
    static const std::array<std::string, kTables> all = [] {
      std::array<std::string, kTables> out;
      std::size_t i = 0;
      const auto plain = [](std::string columns, std::string_view name) {
        return fmt::format("SELECT {},rowid FROM {} WHERE rowid>? ORDER BY rowid", columns, name);
      };
#define CULPRIT_SELECT(Row, field) \
  out[i++] = plain(column_names<Row>().joined(), TableOf<Row>::name);
      CULPRIT_ROWS(CULPRIT_SELECT)
#undef CULPRIT_SELECT
      out[tape::kGroup] = typed<GroupRow>();
      out[tape::kSeries] = typed<SeriesRow>();
      out[tape::kManifest] = plain("document", "manifest");
      out[tape::kBegin] = typed<MemberRow>();
      return out;
    }();
    return all[table];
  }
  template <class Row>
  static std::string typed() {
    return fmt::format("SELECT rowid,{} FROM {} WHERE rowid>? ORDER BY rowid",
                       column_names<Row>().joined(), TableOf<Row>::name);
  }

  Statement& rows(std::size_t table) {
    Statement& out = open_->rows[table];
    if (!out) {
      out = Statement(open_->db.handle(), selection(table));
      out.bind(taken_[table]);
    }
    return out;
  }
  bool next(std::size_t table, auto& row) {
    Statement& statement = rows(table);
    if (!statement.next()) return false;
    RowReader reader(statement);
    reader.read(row);
    return advance(table, reader.row());
  }
  // The pages of a damaged table may lead in circles: rows that do not rise end it.
  bool advance(std::size_t table, std::int64_t row) {
    const bool rises = row > taken_[table];
    taken_[table] = row;
    return rises;
  }

  bool peek() {
    if (entries_) return true;
    Statement& next = open_->tape;
    if (over_) return false;  // SQLite would begin anew
    if (!next) {
      next = Statement(open_->db.handle(),
                       "SELECT tape_id, place, entries FROM shard_tape WHERE tape_id>? ORDER BY "
                       "tape_id");
      next.bind(tape_);
    }
    if (!next.next()) return over_ = true, false;
    const std::int64_t before = std::exchange(tape_, next.integer());
    place_ = tape_ > before ? static_cast<std::uint64_t>(next.integer()) : 0;
    entries_ = next.text();
    // What stands at no place is damage.
    if (tape_ <= before) entries_ = std::string(1, '\xff');
    return true;
  }

  bool run(std::string_view entries) {
    tape::Cursor cursor(entries);
    while (!cursor.over()) {
      const std::uint8_t code = cursor.code();
      if (code == tape::kProblem) {
        const std::string path(cursor.text()), what(cursor.text()), reason(cursor.text());
        if (cursor.bad()) return false;
        sink_->problem(path, what, reason);
        continue;
      }
      const std::uint64_t count = cursor.number();
      if (cursor.bad()) return false;
      for (std::uint64_t i = 0; i < count; ++i)
        if (!step(code)) return false;
    }
    return true;
  }

  bool step(std::uint8_t code) {
    if (code == tape::kGroup) {
      GroupRow row;
      if (!next(code, row)) return false;
      groups_.push_back(sink_->group(row));
      return true;
    }
    if (code == tape::kBegin) {
      row_ = {};
      if (member_here_ != 0 || !next(code, row_)) return false;
      member_there_ = row_.id;
      row_.path = row_.stored_path;
      member_here_ = sink_->begin_member(row_);
      series_ = 0;
      return true;
    }
    if (member_here_ == 0) return false;  // all others are of a member
    if (code == tape::kEnd) {
      row_.id = member_here_;
      sink_->end_member(row_);
      (*take_)(row_);
      member_here_ = member_there_ = 0;
      return true;
    }
    if (code == tape::kSeries) {
      SeriesRow row;
      if (!next(code, row)) return false;
      const std::int64_t there = row.id;
      row.member = member_here_;
      const std::int64_t here = sink_->series(row);
      if (series_ == 0) series_there_ = there, series_here_ = here;
      return there == series_there_ + series_++;
    }
    if (code >= kTables) return false;
    Statement& statement = rows(code);
    if (!statement.next()) return false;
    if (code == tape::kManifest) {
      Manifest manifest;
      manifest.document = statement.text();
      sink_->put(manifest, {member_here_, 0, 0, 0});
      return advance(code, statement.integer());
    }
    return advance(code, statement.integer_at(statement.columns() - 1)) &&
           sink_->put(code, statement, *this);
  }

  std::optional<std::int64_t> stack(std::int64_t there) {
    const auto known = stacks_.find(there);
    if (known != stacks_.end()) return known->second;
    if (!open_->frames)
      open_->frames = Statement(open_->db.handle(),
                                "SELECT depth, function, file, line, module, native FROM "
                                "stack_frame JOIN frame USING (frame_id) WHERE stack_id=? ORDER BY "
                                "depth");
    Statement& s = open_->frames;
    s.bind(there);
    std::vector<Frame> frames;
    while (s.next()) {
      if (s.integer() != static_cast<std::int64_t>(frames.size())) return std::nullopt;
      Frame& f = frames.emplace_back();
      s.read(f.function, f.file, f.line, f.module, f.native);
    }
    s.reset();
    const auto here = sink_->stack(frames);
    if (here) stacks_.emplace(there, *here);
    return here;
  }

  std::string path_;
  std::unique_ptr<Open> open_;
  std::int64_t tape_ = 0;  // the last row of it
  bool over_ = false;      // and it was the last
  std::uint64_t place_ = 0;
  std::optional<std::string> entries_;         // of that row, not repeated yet
  std::array<std::int64_t, kTables> taken_{};  // the last rowid of each table
  RawSink* sink_ = nullptr;
  const TakeMember* take_ = nullptr;
  MemberRow row_;
  MemberId member_there_ = 0, member_here_ = 0;  // of the one that is open; 0 none
  std::vector<GroupId> groups_;
  std::unordered_map<std::int64_t, std::int64_t> stacks_;
  std::int64_t series_there_ = 0, series_here_ = 0, series_ = 0;  // of the member
};

Result<ShardHead> ShardReader::head(const std::string& path) {
  CULPRIT_TRY(db, Database::open(path, Access::read));
  ShardHead head;
  head.path = path;
  Statement rows(db.handle(), "SELECT key, value FROM meta ORDER BY key");
  while (rows.next()) {
    std::string key = rows.text();
    if (!head.meta.emplace(std::move(key), rows.text()).second) break;  // pages in a circle
  }
  CULPRIT_CHECK(db.read_to_the_end());
  const std::string shard = head.get("shard");
  if (shard.empty())
    return usage_error("this is an incident as a whole, not a shard of one")
        .at({path, 0})
        .hint("merge takes the databases that `culprit ingest --shard K/N` made");
  const char* const end = shard.data() + shard.size();
  const auto first = std::from_chars(shard.data(), end, head.number);
  const bool good = first.ec == std::errc{} && first.ptr != end && *first.ptr == '/' &&
                    std::from_chars(first.ptr + 1, end, head.count).ptr == end &&
                    head.number >= 1 && head.number <= head.count && head.count <= kMostShards;
  if (!good)
    return fail("this shard is damaged (meta.shard)").at({path, 0}).hint("ingest this shard again");
  if (head.get("state") != "shard")
    return fail(fmt::format("shard {} was cut off while it was being read", shard))
        .at({path, 0})
        .hint("run its `culprit ingest --shard` again: it starts anew");
  return head;
}

Result<std::vector<ListedUnit>> ShardReader::units(const ShardHead& head) {
  CULPRIT_TRY(db, Database::open(head.path, Access::read));
  std::vector<ListedUnit> out;
  Statement rows(db.handle(),
                 "SELECT unit, source, path, size, mtime_s, shard FROM shard_unit ORDER BY unit");
  bool good = true;
  while (good && rows.next()) {
    ListedUnit& one = out.emplace_back();
    const bool next = rows.integer() == static_cast<std::int64_t>(out.size());
    const std::int64_t source = rows.integer();
    rows.read(one.unit.path, one.unit.size, one.unit.mtime_s);
    const std::int64_t shard = rows.integer();
    good = next && source >= 1 && source <= kMostShards && shard >= 1 && shard <= head.count;
    one.source = static_cast<std::uint32_t>(source - 1);
    one.shard = static_cast<std::uint32_t>(shard - 1);
  }
  CULPRIT_CHECK(db.read_to_the_end());
  if (!good)
    return fail("this shard is damaged (shard_unit)")
        .at({head.path, 0})
        .hint("ingest this shard again");
  return out;
}

Result<ShardHead> read_shard_head(const std::string& path) { return ShardReader::head(path); }
Result<std::vector<ListedUnit>> listed_units(const ShardHead& head) {
  return ShardReader::units(head);
}

namespace {

// The readers of all shards, of which a bounded number is open.
class Readers {
 public:
  explicit Readers(std::span<const std::string> paths) {
    for (const std::string& path : paths)
      if (all_.push_back({nullptr, 0}); !path.empty())
        all_.back().reader = std::make_unique<ShardReader>(path);
  }
  // nullptr: missing.
  Result<ShardReader*> get(std::uint32_t shard) {
    One& one = all_[shard];
    if (one.reader == nullptr) return static_cast<ShardReader*>(nullptr);
    one.used = ++now_;
    if (!one.reader->is_open()) {
      if (open_ == kOpenShards) close_oldest();
      CULPRIT_CHECK(one.reader->open());
      ++open_;
    }
    return one.reader.get();
  }

 private:
  struct One {
    std::unique_ptr<ShardReader> reader;
    std::uint64_t used;
  };
  void close_oldest() {
    One* oldest = nullptr;
    for (One& one : all_)
      if (one.reader != nullptr && one.reader->is_open() &&
          (oldest == nullptr || one.used < oldest->used))
        oldest = &one;
    oldest->reader->close();
    --open_;
  }
  std::vector<One> all_;
  std::size_t open_ = 0;
  std::uint64_t now_ = 0;
};

Error damaged(const std::string& path, const std::string& where) {
  return fail(fmt::format("this shard is damaged ({})",
                          last_failure.code == SQLITE_OK ? where : last_failure.text))
      .at({path, 0})
      .hint("ingest this shard again");
}

}  // namespace

Result<Merged> merge_shards(std::span<const std::string> paths, std::span<const MergeStep> steps,
                            const std::function<std::string(std::uint32_t shard)>& missing,
                            Database& into) {
  Merged out;
  Readers readers(paths);
  RawSink& sink = into.raw_sink();
  last_failure = {};
  const auto spoiled = [&](std::uint32_t shard, Error error) {
    out.damaged.emplace(shard, std::move(error));
    return out;
  };
  for (const MergeStep& step : steps) {
    const std::uint32_t source = step.unit == nullptr ? 0 : step.unit->source;
    if (source >= out.bytes.size()) out.bytes.resize(source + 1);
    auto reader = readers.get(step.shard);
    if (!reader) return spoiled(step.shard, std::move(reader).error());
    if (*reader == nullptr) {
      if (step.unit == nullptr) continue;
      MemberRow row;
      row.path = step.unit->unit.path;
      row.format = "unread";
      row.size = step.unit->unit.size;
      row.mtime_s = step.unit->unit.mtime_s;
      row.complete = false;
      row.id = sink.begin_member(row);
      sink.problem(row.path, "shard.missing", missing(step.shard));
      sink.end_member(row);
      continue;
    }
    const auto why = (*reader)->replay(
        step.place, sink, [&](const MemberRow& row) { out.bytes[source] += row.size; });
    if (auto health = into.health(); !health) {
      // Rows that break the layout: the sink's failure, and the shard's fault.
      if (health.error().kind != ErrorKind::internal) return std::move(health).error();
      return spoiled(step.shard, damaged(paths[step.shard], "rows"));
    }
    if (why || last_failure.code != SQLITE_OK)
      return spoiled(step.shard, damaged(paths[step.shard], why.value_or("")));
  }
  for (std::uint32_t shard = 0; shard < paths.size(); ++shard) {
    CULPRIT_TRY(reader, readers.get(shard));
    if (reader != nullptr && (!reader->at_end() || last_failure.code != SQLITE_OK))
      return spoiled(shard, damaged(paths[shard], "shard_tape"));
  }
  return out;
}

}  // namespace culprit::store
