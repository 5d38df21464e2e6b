// incident.db (schemas/store.sql). The only room that knows SQLite.
//
// Safety: facts are written one transaction a member, or one for a few dozen small ones; a kill at
// any moment leaves a database that opens, holding whole members, and the same command continues
// after them. Member ids follow the order of reading, so a continued ingest ends with the same
// content as one that was never interrupted. Results (attribution, findings, verdict) are derived:
// they are replaced as a whole, in one transaction.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/finding.hpp"
#include "model/result.hpp"
#include "model/rows.hpp"
#include "model/sink.hpp"
#include "model/steps.hpp"
#include "store/query.hpp"

struct sqlite3;

namespace culprit::store {

class RawSink;

// create: makes the file when it is missing. write: of a file that cannot be written, a copy in
// memory.
enum class Access { create, read, write };

struct StoredManifest {
  std::string path, document;
};

// What was worked out about rows that ingest wrote: whose they are, when they were, what for.
struct Resolution {
  std::span<const MemberRow> members;
  std::span<const EventRow> events;
  std::span<const TracebackRow> tracebacks;
  std::span<const ExitRow> exits;
  std::span<const ProcessRow> processes;
  std::span<const MemberClock> clocks;
  std::span<const HostRow> hosts;
  std::span<const RankRow> ranks;
  std::vector<std::pair<std::string, std::string>> job =
      {};  // rows of meta; what is not known is not there
};

// Of the library that is linked in, and of the tables.
std::string sqlite_version();
std::int64_t layout_version();

// Why rows could not be read since a database was opened, on this thread: then no answer may be
// given.
std::optional<Error> unread();

class Database {
 public:
  // path "" is a temporary database of this process: SQLite keeps it in memory while it is small,
  // on disk beyond.
  static Result<Database> open(const std::string& path, Access access);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  const std::string& path() const;  // "" of a temporary one
  // True while an ingest was begun and not finished, and of a shard: members are missing.
  bool partial() const;

  // True when the file cannot be written: what is stored meanwhile is kept in memory and lost with
  // this object.
  bool read_only() const;
  // Whether the ids of the rows lead somewhere. The rows of a database that somebody handed over
  // come after this.
  Result<> check() const;
  // The first failure of reading rows since check(), if any: what was read before it is not all.
  Result<> read_to_the_end() const;

  // Facts in. begin_ingest() comes first: from then on nobody else can use the database until it is
  // closed. The sink lives as long as the database.
  Result<> begin_ingest();
  MemberSink& sink();
  RawSink& raw_sink();  // the same
  // The first failure of the sink (a full disk), if any. Nothing is written after it. failed() may
  // be asked by any thread.
  Result<> health() const;
  const std::atomic<bool>& failed() const;
  // Makes the indexes: all members are in.
  Result<> finish_ingest();
  // Of a shard, which is read from its begin to its end alone: no indexes.
  Result<> finish_shard();

  Result<> set_meta(const std::string& key, const std::string& value);
  std::optional<std::string> meta(const std::string& key) const;

  // Facts out, in order of id (member by member, line by line). Hosts and ranks of rows as they
  // were printed.
  // rows: of CULPRIT_FACT_ROWS (model/row_list.hpp), RejectRow, MemberRow, RankRow, StartMarkRow,
  // LastLineRow, GroupRow and SeriesRow (of id i at index i - 1; series without their samples).
  // load: all of the first.
  template <class Row>
  std::vector<Row> rows() const;
  void load(FactRows& facts) const;
  std::vector<MemberRow> members() const { return rows<MemberRow>(); }
  // Never all iterations at once: a long job has tens of millions.
  std::vector<ProgressSpan> progress() const;
  std::vector<ProblemRow> problems() const;
  std::vector<HostRow> hosts() const;
  std::vector<RankRow> ranks() const { return rows<RankRow>(); }
  std::vector<StoredManifest> manifests() const;  // the one given with --manifest, then by path
  // Stacks and frames are stored once: a row's `frames` are indexes, through `stack_id`, into what
  // frames() and stack_frames() give (ids count from 1).
  std::vector<Frame> frames() const;  // of id i at index i - 1
  std::vector<std::vector<std::uint32_t>> stack_frames()
      const;  // of stack id i at index i - 1; indexes into frames()
  // Row by row: of large jobs these are the bulk of what is in memory.
  template <class Row>
  using TakeStacked = std::function<void(Row&& row, std::optional<std::int64_t> stack_id)>;
  void each_sample(const TakeStacked<StackRow>& take) const;
  void each_launch(const TakeStacked<CollectiveRow>& take) const;
  std::vector<HistoryRow> histories(GroupId group) const;  // large: one group at a time

  // Checkpoints in the order of the members: every rank of a large job may print each of them.
  void each_checkpoint(const std::function<void(const CheckpointRow&)>& take) const;
  // In the order of reading.
  std::vector<StartMarkRow> start_marks() const { return rows<StartMarkRow>(); }
  std::vector<LastLineRow> last_lines() const { return rows<LastLineRow>(); }
  StepTable steps(MemberId member) const;      // all completed steps that one log reports
  SeriesPoints points(SeriesId series) const;  // all samples of one, in the order of the member

  // A question in SQL to what is stored, with the limits of store/query.hpp.
  Result<QueryAnswer> query(std::string_view sql, const QueryLimits& limits = {}) const;

  // Results in.
  Result<> save_resolution(const Resolution& resolution);
  // Ids that repeat are made unique first. What findings say is stored in these words.
  Result<> save_findings(Analysis analysis, std::vector<Finding>& findings, Wording words);
  Result<> save_verdict(Action action, const std::string& summary, const std::string& document);
  // Results out.
  std::vector<Finding> findings() const;
  std::optional<std::string> verdict() const;
  std::optional<Action> verdict_action() const;

 private:
  struct Impl;
  explicit Database(std::unique_ptr<Impl> impl);
  Result<> forget_unreadable();
  Result<> close_ingest(const std::string& state);
  friend class ShardSink;
  friend class ShardReader;
  sqlite3* handle() const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace culprit::store
