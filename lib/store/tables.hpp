// The columns of every table of rows (schemas/store.sql), in its order: one list a row type. It
// gives INSERT, SELECT, the check of ids and the test of the schema.
#pragma once

#include "model/collective.hpp"
#include "model/row_list.hpp"
#include "model/rows.hpp"
#include "model/series.hpp"
#include "model/stack.hpp"
#include "store/columns.hpp"

namespace culprit::store {

template <class Row>
struct TableOf;  // name: of the table

#define CULPRIT_TABLE(Row, text)                   \
  template <>                                      \
  struct TableOf<Row> {                            \
    static constexpr std::string_view name = text; \
  }
CULPRIT_TABLE(MemberRow, "member");
CULPRIT_TABLE(EventRow, "event");
CULPRIT_TABLE(TracebackRow, "traceback");
CULPRIT_TABLE(ExitRow, "exit_status");
CULPRIT_TABLE(ProgressRow, "iteration");
CULPRIT_TABLE(CheckpointRow, "checkpoint");
CULPRIT_TABLE(StartMarkRow, "start_mark");
CULPRIT_TABLE(LastLineRow, "last_line");
CULPRIT_TABLE(OutcomeRow, "check_outcome");
CULPRIT_TABLE(IdentityRow, "identity");
CULPRIT_TABLE(ConfigRow, "config_item");
CULPRIT_TABLE(ClockRow, "clock_anchor");
CULPRIT_TABLE(RejectRow, "reject");
CULPRIT_TABLE(ProcessRow, "process");
CULPRIT_TABLE(StackRow, "stack_sample");
CULPRIT_TABLE(GroupRow, "process_group");
CULPRIT_TABLE(FrontierRow, "frontier");
CULPRIT_TABLE(CollectiveRow, "collective");
CULPRIT_TABLE(HistoryRow, "collective_history");
CULPRIT_TABLE(RecorderRow, "recorder");
CULPRIT_TABLE(NetworkRow, "network_node");
CULPRIT_TABLE(SeriesRow, "series");
CULPRIT_TABLE(ChunkRow, "sample_chunk");
CULPRIT_TABLE(RankRow, "rank");
#undef CULPRIT_TABLE

// Columns that are called as the fields of the row `r`, in their order.
#define CULPRIT_COLUMNS(...)                                                              \
  do {                                                                                    \
    static constexpr auto kNames = field_names<count_fields(#__VA_ARGS__)>(#__VA_ARGS__); \
    show_columns(v, kNames, __VA_ARGS__);                                                 \
  } while (false)

// Parts that tables share.

void line_of(auto& v, Place& place) {
  v.reference("member_id", place.member, "member");
  v("line", place.line);
  v("byte_offset", place.offset);
}
void place_of(auto& v, Place& place) {
  line_of(v, place);
  v("length", place.length);
}
// A time as printed, whose digits tell apart what `precision` says.
template <class V>
void time_of(V& v, Timestamp& time, Nanoseconds precision = 1'000'000) {
  v("time_raw", time.ns);
  v("clock", time.clock);
  if constexpr (V::kReads) time.precision = precision;
}
void precise_time_of(auto& v, Timestamp& time) {
  time_of(v, time);
  v("precision_ns", time.precision);
}
template <class V>
void boot_of(V& v, std::optional<Timestamp>& boot) {
  std::optional<Nanoseconds> raw;
  if (!V::kReads && boot) raw = boot->ns;
  v("boot_raw", raw);
  if constexpr (V::kReads)
    if (raw) boot = Timestamp{Clock::boot, *raw, 1'000};
}
// NULL in place of a value that says that there is none.
template <class V>
void unless(V& v, std::string_view name, std::int64_t& value, std::int64_t none) {
  std::optional<std::int64_t> given;
  if (!V::kReads && value != none) given = value;
  v(name, given);
  if constexpr (V::kReads) value = given.value_or(none);
}
// Names are made anew each time out of what was printed, and must come out the same: the printed
// ones stand last and count when a row is read.
template <class V, class Row>
void printed_of(V& v, Row& r) {
  v("printed_host", r.host);
  v("printed_rank", r.rank);
}

void columns(auto& v, MemberRow& r) {
  v.key("member_id", r.id);
  CULPRIT_COLUMNS(r.path, r.stored_path, r.in_archive, r.kind, r.format, r.text_kind, r.container,
                  r.origin_offset, r.origin_line, r.link_target, r.size, r.digest, r.mtime_s,
                  r.complete, r.tail_truncated, r.lines, r.used, r.skipped, r.rejected);
  bool done = false;  // set when the member has ended
  v("done", done);
  CULPRIT_COLUMNS(r.host, r.rank, r.local_rank, r.attempt, r.attribution);
  unless(v, "duplicate_of", r.duplicate_of, 0);
}

template <class V>
void columns(V& v, EventRow& r) {
  v.key("event_id", r.id);
  place_of(v, r.place);
  precise_time_of(v, r.time);
  boot_of(v, r.boot);
  v("time_ns", r.time_ns);
  v("uncertainty_ns", r.uncertainty);
  v("rule", r.rule);
  v("class", r.event_class);
  CULPRIT_COLUMNS(r.severity, r.role, r.scope, r.host, r.rank, r.local_rank, r.pid, r.task, r.gpu,
                  r.nic, r.peer, r.peer_host, r.code, r.detail, r.count, r.last_line);
  v("last_raw", r.last_time.ns);
  if constexpr (V::kReads) r.last_time = {r.time.clock, r.last_time.ns, r.time.precision};
  v("last_ns", r.last_time_ns);
  v("message", r.message);
  printed_of(v, r);
}

void columns(auto& v, TracebackRow& r) {
  v.key("traceback_id", r.id);
  place_of(v, r.place);
  precise_time_of(v, r.time);
  v("time_ns", r.time_ns);
  v("uncertainty_ns", r.uncertainty);
  CULPRIT_COLUMNS(r.source, r.type, r.message, r.file, r.file_line, r.function);
  v("class", r.event_class);
  CULPRIT_COLUMNS(r.rule, r.host, r.rank, r.local_rank, r.task, r.pid, r.last_line);
  printed_of(v, r);
}

void columns(auto& v, ExitRow& r) {
  v.rowid(r.id);
  place_of(v, r.place);
  time_of(v, r.time, kSecond);
  CULPRIT_COLUMNS(r.time_ns, r.source, r.code, r.host, r.rank, r.local_rank, r.pid, r.blamed);
  printed_of(v, r);
}

template <class V>
void columns(V& v, ProgressRow& r) {
  line_of(v, r.place);
  time_of(v, r.time);
  // A time on the calendar is most often UTC or taken for it: there is nothing left to write when
  // that is known.
  const bool calendar = r.time.clock == Clock::utc || r.time.clock == Clock::local;
  std::optional<Nanoseconds> utc;
  if (!V::kReads && calendar) utc = r.time.ns;
  v("time_ns", utc);
  if constexpr (V::kReads) r.time_ns = utc;
  CULPRIT_COLUMNS(r.framework, r.iteration, r.total, r.iteration_ms, r.loss, r.loss_nan,
                  r.grad_norm, r.grad_norm_nan);
}

void columns(auto& v, CheckpointRow& r) {
  line_of(v, r.place);
  time_of(v, r.time);
  CULPRIT_COLUMNS(r.time_ns, r.event, r.iteration);
}

void columns(auto& v, StartMarkRow& r) {
  line_of(v, r.place);
  time_of(v, r.time);
  CULPRIT_COLUMNS(r.part, r.edge, r.who, r.about, r.seconds);
}

void columns(auto& v, OutcomeRow& r) {
  line_of(v, r.place);
  CULPRIT_COLUMNS(r.task, r.hosts, r.passed);
}

void columns(auto& v, LastLineRow& r) {
  place_of(v, r.place);
  v("before_line", r.before);
  v("text", r.text);
}

void columns(auto& v, IdentityRow& r) {
  place_of(v, r.place);
  CULPRIT_COLUMNS(r.source, r.host, r.address, r.pid, r.task, r.local_rank, r.rank, r.world_size,
                  r.node_rank, r.gpu, r.device, r.nic, r.communicator);
}

void columns(auto& v, ConfigRow& r) {
  place_of(v, r.place);
  CULPRIT_COLUMNS(r.name, r.value, r.host, r.rank, r.before);
}

void columns(auto& v, ClockRow& r) {
  line_of(v, r.place);
  precise_time_of(v, r.time);
  boot_of(v, r.boot);
  CULPRIT_COLUMNS(r.text_hash, r.host, r.kind);
}

void columns(auto& v, RejectRow& r) {
  line_of(v, r.place);
  CULPRIT_COLUMNS(r.reason, r.excerpt);
}

void columns(auto& v, ProcessRow& r) {
  v.rowid(r.id);
  place_of(v, r.place);
  time_of(v, r.time);
  CULPRIT_COLUMNS(r.source, r.host, r.rank, r.local_rank, r.pid, r.parent, r.state, r.wait,
                  r.kernel_stack, r.name, r.command, r.threads, r.role);
}

void columns(auto& v, StackRow& r) {
  place_of(v, r.place);
  time_of(v, r.time);
  CULPRIT_COLUMNS(r.source, r.host, r.rank, r.local_rank, r.pid, r.tid, r.thread_id, r.thread,
                  r.state, r.command, r.main, r.ranks, r.problem);
  v.stack("stack_id", r.frames);
}

// Its id is its place: the table is written without gaps.
void columns(auto& v, GroupRow& r) { CULPRIT_COLUMNS(r.name, r.description, r.ranks, r.size); }

void columns(auto& v, FrontierRow& r) {
  place_of(v, r.place);
  time_of(v, r.time);
  CULPRIT_COLUMNS(r.source, r.host, r.rank, r.local_rank, r.pid, r.group_rank);
  v.reference("group_id", r.group, "process_group");
  CULPRIT_COLUMNS(r.p2p, r.enqueued, r.started, r.completed, r.operation, r.requests, r.completions,
                  r.peer, r.recent_bytes, r.recent_ms);
}

void columns(auto& v, CollectiveRow& r) {
  place_of(v, r.place);
  time_of(v, r.time);
  CULPRIT_COLUMNS(r.source, r.host, r.rank, r.local_rank, r.pid);
  v.reference("group_id", r.group, "process_group");
  CULPRIT_COLUMNS(r.record, r.sequence, r.operation, r.backend, r.p2p, r.peer, r.state, r.retired,
                  r.sizes, r.types, r.bytes, r.started_ns, r.completed_ns, r.duration_ms,
                  r.timeout_ms, r.thread);
  v.stack("stack_id", r.frames);
}

void columns(auto& v, HistoryRow& r) {
  static_assert(sizeof(HistoryEntry) == 40);
  v.reference("member_id", r.member, "member");
  v("rank", r.rank);
  v.reference("group_id", r.group, "process_group");
  auto entries = static_cast<std::int64_t>(r.entries.size());
  v("entries", entries);
  v("data", r.entries);
}

void columns(auto& v, RecorderRow& r) {
  place_of(v, r.place);
  time_of(v, r.time);
  CULPRIT_COLUMNS(r.source, r.encoding, r.version, r.library, r.host, r.rank, r.pid, r.entries,
                  r.pending, r.has_status, r.only_active, r.truncated, r.unresponsive);
}

void columns(auto& v, NetworkRow& r) {
  place_of(v, r.place);
  CULPRIT_COLUMNS(r.source, r.kind, r.name, r.level, r.hosts, r.children);
}

void columns(auto& v, SeriesRow& r) {
  v.key("series_id", r.id);
  v.reference("member_id", r.member, "member");
  CULPRIT_COLUMNS(r.name, r.unit, r.kind, r.host, r.gpu, r.nic, r.rank, r.local_rank, r.labels,
                  r.clock);
}

void columns(auto& v, ChunkRow& r) {
  v.reference("series_id", r.series, "series");
  v.reference("axis_id", r.axis, "series");
  place_of(v, r.place);
  v("samples", r.samples);
  unless(v, "first_step", r.first_step, kNoValue);
  unless(v, "last_step", r.last_step, kNoValue);
  unless(v, "first_raw", r.first_time, kNoValue);
  unless(v, "last_raw", r.last_time, kNoValue);
  v.blob("data", r.data);
}

void columns(auto& v, RankRow& r) {
  CULPRIT_COLUMNS(r.rank, r.host, r.local_rank, r.pid, r.gpu, r.source);
}

#undef CULPRIT_COLUMNS

}  // namespace culprit::store
