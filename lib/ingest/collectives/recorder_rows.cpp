// Frontiers, operations and histories of the groups of one rank.
#include "ingest/collectives/recorder_rows.hpp"

#include <algorithm>

#include "ingest/engine/name_moment.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kLastCompleted = 4;  // of each group: what went well, to compare with
constexpr std::size_t kMostFrames = 256;

bool of_pipeline(std::string_view description) {
  return description.starts_with("PIPELINE_") || description == "pp" || description == "pipeline" ||
         description.ends_with("_pp");
}

struct RecorderRows {
  const RecorderPart& part;
  RecorderValues& values;
  RecorderGroups& groups;
  const std::vector<RecorderEntry>& entries;
  const std::vector<RecorderOperation>& operations;
  const std::optional<Rank> rank;

  void put(RecorderRow row) {
    row.place = {part.member.id, part.json ? part.lines + 1 : 0, part.offset,
                 static_cast<std::uint32_t>(std::min<std::size_t>(part.bytes.size(), 1u << 30))};
    row.source = CollectiveSource::recorder;
    row.encoding = part.json ? "json" : "pickle";
    row.entries = static_cast<std::int64_t>(entries.size());
    row.pending =
        std::ranges::count_if(entries, [](const RecorderEntry& e) { return e.progress != 2; });
    row.has_status = !groups.status.empty();
    // Something completed, says the status or the count, and nothing of it is here.
    const bool past =
        std::ranges::any_of(groups.status,
                            [](const RecorderStatus& s) { return s.completed >= 0; }) ||
        (!entries.empty() && entries.front().record > 0);
    row.only_active = row.pending == row.entries && past && !values.tree.truncated;
    row.truncated = values.tree.truncated;
    // A dump does not say when it was made; a collector's name for it may.
    if (Timestamp made; moment_of_name(part.member.path, made)) row.time = made;
    part.sink.put(row);
    // The two encodings list groups in different orders.
    std::vector<RecorderGroup*> order;
    for (RecorderGroup& group : groups.all) order.push_back(&group);
    std::ranges::sort(order, {}, [](const RecorderGroup* a) { return a->row; });
    for (RecorderGroup* group : order) group->id = part.sink.group(group->row);
    for (const RecorderGroup* group : order) put_frontiers(*group);
    std::vector<char> wanted(entries.size(), 0);
    for (const RecorderGroup& group : groups.all) {
      std::size_t completed = 0;
      for (auto i = group.entries.rbegin(); i != group.entries.rend(); ++i)
        wanted[*i] = entries[*i].progress != 2 || completed++ < kLastCompleted;
    }
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (wanted[i]) put_collective(entries[i]);
    for (const RecorderGroup* group : order) put_history(*group);
    if (values.spent())
      part.reject("recorder.too_much", 0, "values refer to each other without end");
  }

  struct Reach {
    bool any = false;
    std::int64_t seen = kUnknownSequence, started = kUnknownSequence, completed = kUnknownSequence,
                 pending = -1;
    std::uint32_t last = 0;
  };

  Reach reach(const RecorderGroup& group, bool p2p) const {
    Reach out;
    for (const std::uint32_t i : group.entries) {
      const RecorderEntry& e = entries[i];
      if (e.p2p != p2p || e.sequence < 0) continue;
      out.any = true;
      out.last = i;
      out.seen = std::max(out.seen, e.sequence);
      if (e.progress == 2)
        out.completed = std::max(out.completed, e.sequence);
      else if (out.pending < 0 || e.sequence < out.pending)
        out.pending = e.sequence;
      if (e.progress == 1 || e.started != 0) out.started = std::max(out.started, e.sequence);
    }
    if (out.any && out.pending >= 0) {
      // Completed counts up to what still runs; a ring, or a dump of active operations, need not
      // hold the one before it.
      out.completed = kUnknownSequence;
      for (const std::uint32_t i : group.entries)
        if (const RecorderEntry& e = entries[i];
            e.p2p == p2p && e.progress == 2 && e.sequence < out.pending)
          out.completed = std::max(out.completed, e.sequence);
      if (out.completed == kUnknownSequence)
        out.completed = out.pending <= 1 ? kNoSequence : out.pending - 1;
    }
    if (out.started != kUnknownSequence) out.started = std::max(out.started, out.completed);
    return out;
  }

  Place place_of(std::uint32_t node, std::uint64_t line) const {
    return part.place_of(values.tree.nodes[node], line);
  }

  void put_frontiers(const RecorderGroup& group) const {
    const Reach collective = reach(group, false);
    const Reach p2p = reach(group, true);
    const RecorderStatus* status =
        group.status == std::string::npos ? nullptr : &groups.status[group.status];
    // The status counts whatever was launched last: where a group is used for send and recv, their
    // number.
    bool status_is_p2p = false;
    if (status != nullptr && p2p.any)
      status_is_p2p = !collective.any
                          ? status->enqueued >= p2p.seen
                          : entries[group.entries.back()].p2p && status->enqueued == p2p.seen &&
                                status->enqueued != collective.seen;
    // No entry tells, as in a dump of active operations: stages of a pipeline send and receive, and
    // to take that for collectives would accuse every stage but the one with the highest count.
    if (status != nullptr && group.entries.empty())
      status_is_p2p = of_pipeline(group.row.description);
    const auto put = [&](bool of_p2p, const Reach& seen) {
      const RecorderStatus* told =
          status != nullptr && status_is_p2p == of_p2p && (of_p2p || collective.any || !p2p.any)
              ? status
              : nullptr;
      if (told == nullptr && (!seen.any || values.tree.truncated))
        return;  // what is cut off would look like not launched
      FrontierRow row{
          .source = CollectiveSource::recorder, .rank = rank, .group = group.id, .p2p = of_p2p};
      if (told != nullptr) {
        row.place = place_of(told->node, part.json ? part.lines + 1 : 0);
        row.enqueued = std::max(told->enqueued, seen.any ? seen.seen : kUnknownSequence);
        row.started = told->started;
        row.completed = told->completed;
        // In a group with both kinds the last that completed may be of the other kind.
        if (seen.any && p2p.any &&
            (collective.any || told->completed > row.enqueued ||
             (seen.pending >= 0 && told->completed >= seen.pending)))
          row.completed = seen.completed;
        if (row.started != kUnknownSequence && row.started < row.completed)
          row.started = kUnknownSequence;
      } else {
        row.place = place_of(entries[seen.last].node, entries[seen.last].line);
        row.enqueued = seen.seen;
        row.started = seen.started;
        row.completed = seen.completed;
      }
      part.sink.put(row);
    };
    put(false, collective);
    if (p2p.any || status_is_p2p) put(true, p2p);
  }

  void put_collective(const RecorderEntry& e) {
    const RecorderOperation& operation = operations[e.operation];
    const RecorderGroup& group = groups.all[e.group];
    CollectiveRow row;
    row.place = place_of(e.node, e.line);
    if (e.created != 0) row.time = {Clock::utc, e.created, 1};
    row.source = CollectiveSource::recorder;
    row.rank = rank;
    row.group = group.id;
    row.record = e.record;
    row.sequence = e.sequence;
    row.operation = operation.name;
    row.backend = operation.backend;
    row.p2p = e.p2p;
    // Printed within the group: without its members, only the group of all ranks says who that is.
    row.peer = group.row.description == "default_pg" ? Rank(operation.peer) : kUnknownRank;
    if (operation.peer >= 0 && !group.row.ranks.empty())
      row.peer = operation.peer < static_cast<std::int64_t>(group.row.ranks.size())
                     ? group.row.ranks[static_cast<std::size_t>(operation.peer)]
                     : kUnknownRank;
    static constexpr std::string_view kStates[] = {"scheduled", "started", "completed"};
    row.state = e.progress != 0 || e.borrowed || e.state.text().empty()
                    ? std::string(kStates[e.progress])
                    : RecorderValues::clip(e.state.text(), 32);
    row.retired = e.retired;
    values.put_tensors(e.input_sizes, e.output_sizes, e.input_types, e.output_types, row);
    if (e.started != 0) row.started_ns = e.started;
    if (e.completed != 0) row.completed_ns = e.completed;
    if (e.duration >= 0) row.duration_ms = e.duration;
    row.timeout_ms = e.timeout_ms;
    row.thread = RecorderValues::spelt(e.thread);
    values.tree.each(e.frames, [&](const Value& v) {
      row.frames.push_back(values.frame(v));
      return values.spend() && row.frames.size() < kMostFrames;
    });
    part.sink.put(row);
  }

  void put_history(const RecorderGroup& group) {
    if (group.entries.empty()) return;
    HistoryRow row{.member = part.member.id, .rank = rank, .group = group.id};
    row.entries.reserve(group.entries.size());
    for (const std::uint32_t i : group.entries) {
      const RecorderEntry& e = entries[i];
      HistoryEntry h{.sequence = e.sequence,
                     .created_ns = e.created,
                     .completed_ns = e.completed,
                     .duration_ms = static_cast<float>(e.duration),
                     .operation = operations[e.operation].hash};
      h.signature = values.signature(
          h.operation, {&e.input_sizes, &e.output_sizes, &e.input_types, &e.output_types});
      h.state = e.progress;
      h.p2p = e.p2p;
      row.entries.push_back(h);
    }
    part.sink.put(row);
  }
};

}  // namespace

void put_recorder_rows(const RecorderPart& part, RecorderValues& values, RecorderGroups& groups,
                       const RecorderEntries& entries, RecorderRow dump) {
  RecorderRows{part, values, groups, entries.all, entries.operations, dump.rank}.put(
      std::move(dump));
}

}  // namespace culprit::ingest
