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

// Parts that tables share.

template <class V>
void line_of(V& v, Place& place) {
  v.reference("member_id", place.member, "member");
  v("line", place.line);
  v("byte_offset", place.offset);
}
template <class V>
void place_of(V& v, Place& place) {
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
template <class V>
void precise_time_of(V& v, Timestamp& time) {
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

template <class V>
void columns(V& v, MemberRow& r) {
  v.key("member_id", r.id);
  v("path", r.path);
  v("stored_path", r.stored_path);
  v("in_archive", r.in_archive);
  v("kind", r.kind);
  v("format", r.format);
  v("text_kind", r.text_kind);
  v("container", r.container);
  v("origin_offset", r.origin_offset);
  v("origin_line", r.origin_line);
  v("link_target", r.link_target);
  v("size", r.size);
  v("digest", r.digest);
  v("mtime_s", r.mtime_s);
  v("complete", r.complete);
  v("tail_truncated", r.tail_truncated);
  v("lines", r.lines);
  v("used", r.used);
  v("skipped", r.skipped);
  v("rejected", r.rejected);
  bool done = false;  // set when the member has ended
  v("done", done);
  v("host", r.host);
  v("rank", r.rank);
  v("local_rank", r.local_rank);
  v("attempt", r.attempt);
  v("attribution", r.attribution);
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
  v("severity", r.severity);
  v("role", r.role);
  v("scope", r.scope);
  v("host", r.host);
  v("rank", r.rank);
  v("local_rank", r.local_rank);
  v("pid", r.pid);
  v("task", r.task);
  v("gpu", r.gpu);
  v("nic", r.nic);
  v("peer", r.peer);
  v("peer_host", r.peer_host);
  v("code", r.code);
  v("detail", r.detail);
  v("count", r.count);
  v("last_line", r.last_line);
  v("last_raw", r.last_time.ns);
  if constexpr (V::kReads) r.last_time = {r.time.clock, r.last_time.ns, r.time.precision};
  v("last_ns", r.last_time_ns);
  v("message", r.message);
  printed_of(v, r);
}

template <class V>
void columns(V& v, TracebackRow& r) {
  v.key("traceback_id", r.id);
  place_of(v, r.place);
  precise_time_of(v, r.time);
  v("time_ns", r.time_ns);
  v("uncertainty_ns", r.uncertainty);
  v("source", r.source);
  v("type", r.type);
  v("message", r.message);
  v("file", r.file);
  v("file_line", r.file_line);
  v("function", r.function);
  v("class", r.event_class);
  v("rule", r.rule);
  v("host", r.host);
  v("rank", r.rank);
  v("local_rank", r.local_rank);
  v("task", r.task);
  v("pid", r.pid);
  v("last_line", r.last_line);
  printed_of(v, r);
}

template <class V>
void columns(V& v, ExitRow& r) {
  v.rowid(r.id);
  place_of(v, r.place);
  time_of(v, r.time, kSecond);
  v("time_ns", r.time_ns);
  v("source", r.source);
  v("code", r.code);
  v("host", r.host);
  v("rank", r.rank);
  v("local_rank", r.local_rank);
  v("pid", r.pid);
  v("blamed", r.blamed);
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
  v("framework", r.framework);
  v("iteration", r.iteration);
  v("total", r.total);
  v("iteration_ms", r.iteration_ms);
  v("loss", r.loss);
  v("loss_nan", r.loss_nan);
  v("grad_norm", r.grad_norm);
  v("grad_norm_nan", r.grad_norm_nan);
}

template <class V>
void columns(V& v, CheckpointRow& r) {
  line_of(v, r.place);
  time_of(v, r.time);
  v("time_ns", r.time_ns);
  v("event", r.event);
  v("iteration", r.iteration);
}

template <class V>
void columns(V& v, StartMarkRow& r) {
  line_of(v, r.place);
  time_of(v, r.time);
  v("part", r.part);
  v("edge", r.edge);
  v("who", r.who);
  v("about", r.about);
  v("seconds", r.seconds);
}

template <class V>
void columns(V& v, OutcomeRow& r) {
  line_of(v, r.place);
  v("task", r.task);
  v("hosts", r.hosts);
  v("passed", r.passed);
}

template <class V>
void columns(V& v, LastLineRow& r) {
  place_of(v, r.place);
  v("before_line", r.before);
  v("text", r.text);
}

template <class V>
void columns(V& v, IdentityRow& r) {
  place_of(v, r.place);
  v("source", r.source);
  v("host", r.host);
  v("address", r.address);
  v("pid", r.pid);
  v("task", r.task);
  v("local_rank", r.local_rank);
  v("rank", r.rank);
  v("world_size", r.world_size);
  v("node_rank", r.node_rank);
  v("gpu", r.gpu);
  v("device", r.device);
  v("nic", r.nic);
  v("communicator", r.communicator);
}

template <class V>
void columns(V& v, ConfigRow& r) {
  place_of(v, r.place);
  v("name", r.name);
  v("value", r.value);
  v("host", r.host);
  v("rank", r.rank);
  v("before", r.before);
}

template <class V>
void columns(V& v, ClockRow& r) {
  line_of(v, r.place);
  precise_time_of(v, r.time);
  boot_of(v, r.boot);
  v("text_hash", r.text_hash);
  v("host", r.host);
  v("kind", r.kind);
}

template <class V>
void columns(V& v, RejectRow& r) {
  line_of(v, r.place);
  v("reason", r.reason);
  v("excerpt", r.excerpt);
}

template <class V>
void columns(V& v, ProcessRow& r) {
  v.rowid(r.id);
  place_of(v, r.place);
  time_of(v, r.time);
  v("source", r.source);
  v("host", r.host);
  v("rank", r.rank);
  v("local_rank", r.local_rank);
  v("pid", r.pid);
  v("parent", r.parent);
  v("state", r.state);
  v("wait", r.wait);
  v("kernel_stack", r.kernel_stack);
  v("name", r.name);
  v("command", r.command);
  v("threads", r.threads);
  v("role", r.role);
}

template <class V>
void columns(V& v, StackRow& r) {
  place_of(v, r.place);
  time_of(v, r.time);
  v("source", r.source);
  v("host", r.host);
  v("rank", r.rank);
  v("local_rank", r.local_rank);
  v("pid", r.pid);
  v("tid", r.tid);
  v("thread_id", r.thread_id);
  v("thread", r.thread);
  v("state", r.state);
  v("command", r.command);
  v("main", r.main);
  v("ranks", r.ranks);
  v("problem", r.problem);
  v.stack("stack_id", r.frames);
}

// Its id is its place: the table is written without gaps.
template <class V>
void columns(V& v, GroupRow& r) {
  v("name", r.name);
  v("description", r.description);
  v("ranks", r.ranks);
  v("size", r.size);
}

template <class V>
void columns(V& v, FrontierRow& r) {
  place_of(v, r.place);
  time_of(v, r.time);
  v("source", r.source);
  v("host", r.host);
  v("rank", r.rank);
  v("local_rank", r.local_rank);
  v("pid", r.pid);
  v("group_rank", r.group_rank);
  v.reference("group_id", r.group, "process_group");
  v("p2p", r.p2p);
  v("enqueued", r.enqueued);
  v("started", r.started);
  v("completed", r.completed);
  v("operation", r.operation);
  v("requests", r.requests);
  v("completions", r.completions);
  v("peer", r.peer);
  v("recent_bytes", r.recent_bytes);
  v("recent_ms", r.recent_ms);
}

template <class V>
void columns(V& v, CollectiveRow& r) {
  place_of(v, r.place);
  time_of(v, r.time);
  v("source", r.source);
  v("host", r.host);
  v("rank", r.rank);
  v("local_rank", r.local_rank);
  v("pid", r.pid);
  v.reference("group_id", r.group, "process_group");
  v("record", r.record);
  v("sequence", r.sequence);
  v("operation", r.operation);
  v("backend", r.backend);
  v("p2p", r.p2p);
  v("peer", r.peer);
  v("state", r.state);
  v("retired", r.retired);
  v("sizes", r.sizes);
  v("types", r.types);
  v("bytes", r.bytes);
  v("started_ns", r.started_ns);
  v("completed_ns", r.completed_ns);
  v("duration_ms", r.duration_ms);
  v("timeout_ms", r.timeout_ms);
  v("thread", r.thread);
  v.stack("stack_id", r.frames);
}

template <class V>
void columns(V& v, HistoryRow& r) {
  static_assert(sizeof(HistoryEntry) == 40);
  v.reference("member_id", r.member, "member");
  v("rank", r.rank);
  v.reference("group_id", r.group, "process_group");
  auto entries = static_cast<std::int64_t>(r.entries.size());
  v("entries", entries);
  v("data", r.entries);
}

template <class V>
void columns(V& v, RecorderRow& r) {
  place_of(v, r.place);
  time_of(v, r.time);
  v("source", r.source);
  v("encoding", r.encoding);
  v("version", r.version);
  v("library", r.library);
  v("host", r.host);
  v("rank", r.rank);
  v("pid", r.pid);
  v("entries", r.entries);
  v("pending", r.pending);
  v("has_status", r.has_status);
  v("only_active", r.only_active);
  v("truncated", r.truncated);
  v("unresponsive", r.unresponsive);
}

template <class V>
void columns(V& v, NetworkRow& r) {
  place_of(v, r.place);
  v("source", r.source);
  v("kind", r.kind);
  v("name", r.name);
  v("level", r.level);
  v("hosts", r.hosts);
  v("children", r.children);
}

template <class V>
void columns(V& v, SeriesRow& r) {
  v.key("series_id", r.id);
  v.reference("member_id", r.member, "member");
  v("name", r.name);
  v("unit", r.unit);
  v("kind", r.kind);
  v("host", r.host);
  v("gpu", r.gpu);
  v("nic", r.nic);
  v("rank", r.rank);
  v("local_rank", r.local_rank);
  v("labels", r.labels);
  v("clock", r.clock);
}

template <class V>
void columns(V& v, ChunkRow& r) {
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

template <class V>
void columns(V& v, RankRow& r) {
  v("rank", r.rank);
  v("host", r.host);
  v("local_rank", r.local_rank);
  v("pid", r.pid);
  v("gpu", r.gpu);
  v("source", r.source);
}

}  // namespace culprit::store
