// What the analyses look at: the facts of one incident, loaded once. Resolved in place by
// resolve_identity() and resolve_clocks(); read-only for everybody after them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyze/facts/run_places.hpp"
#include "model/collective.hpp"
#include "model/finding.hpp"
#include "model/row_list.hpp"
#include "model/rows.hpp"
#include "model/series.hpp"
#include "model/stack.hpp"
#include "model/text.hpp"

namespace culprit::analyze {

// Distinct stacks, each once: a hang has a handful of them on ten thousand ranks.
struct StackTable {
  std::vector<Frame> frames;
  std::vector<std::vector<std::uint32_t>> stacks;  // indexes of frames, innermost first
};

// StackRow without its frames; `stack` is an index into the table, -1 for a dump that failed.
struct StackSample {
  StackRow row;  // row.frames is empty
  std::int32_t stack = -1;
  std::string role;  // of the process: agent trainer dataloader checkpoint noise; "" = not known
};

// CollectiveRow without its frames.
struct CollectiveSample {
  CollectiveRow row;
  std::int32_t stack = -1;
};

// Besides the rows that stay as they were read (FactRows: events, tracebacks, exits ...):
struct Facts : FactRows {
  std::vector<MemberRow> members;
  std::vector<ProgressSpan> progress;
  std::vector<ProgressSpan> progress_elsewhere;  // of logs that tell of other runs and programs
  std::optional<Manifest> manifest;
  StackTable stacks;
  std::vector<StackSample> samples;
  std::vector<GroupRow> groups;  // of id i at index i - 1
  std::vector<CollectiveSample> collectives;
  std::vector<SeriesRow> series;  // of id i at index i - 1; their samples stay in the store

  // Made by the resolution.
  std::vector<HostRow> hosts;
  std::vector<RankRow> ranks;
  RunPlaces run_places;
  std::vector<MemberClock> member_clocks;  // by member and clock
  // Of logs whose steps print no times: the byte at which the first line stands that has one, and
  // when it was, UTC.
  std::map<MemberId, std::pair<std::uint64_t, Nanoseconds>> log_starts;
  std::int64_t world_size = 0;  // 0: not known
  bool world_counted = false;   // by the ranks that were seen: there may be more
  std::optional<Nanoseconds> job_start,
      job_end;  // of the attempt in question, from the training's own output
  // When machines were looked at for the last time, as snapshots of them print it; "": of a machine
  // that nothing names.
  std::map<Host, Nanoseconds> looked_at;
  bool start_is_known = false;        // job_start is the manifest's or the scheduler's word
  bool end_is_known = false;          // the same of job_end
  std::set<MemberId> earlier_output;  // of runs before the one in question
  bool zone_known = true;             // false: times without a zone were taken for UTC
  bool day_assumed = false;  // steps print times of day: their day is the nearest to a date
  bool zone_moved = false;   // or so that they end with those that have one
  std::vector<Text> notes;   // what a reader should know about names and times

  // True for output of another job than the manifest's, by the number in the file's name.
  bool foreign(const MemberRow& member) const;
  // Of this job, and not the copy of another member. False for nullptr.
  bool counts(const MemberRow* member) const {
    return member != nullptr && member->duplicate_of == 0 && !foreign(*member) &&
           member->belonging != Belonging::another;
  }

  // Index of a member by id, or -1. Ids are dense from 1 unless members were left out.
  const MemberRow* member(MemberId id) const;
  // A process group by its id, or null.
  const GroupRow* group(GroupId id) const {
    return index_of(id) < groups.size() ? &groups[index_of(id)] : nullptr;
  }
  // A place as a claim quotes it, with text that stands there.
  Evidence evidence(const Place& place, std::string excerpt = {}) const;

  // What to add to times of this member's own clock to get UTC; nothing when that is not known.
  std::optional<Nanoseconds> clock_offset(MemberId id, Clock clock) const;

  // Where it stands among all members by path; made by resolve_identity().
  std::int64_t order(MemberId id) const {
    const MemberRow* m = member(id);
    return m == nullptr ? 0 : m->order;
  }
};

// "gpu-a17.cluster.local" -> "gpu-a17"; addresses stay whole.
Host short_host(const std::string& name);
// True for names that say nothing about which machine it is: localhost, 127.0.0.1, (none), "".
bool nameless_host(const std::string& name);

// One "name=value" of its detail; empty where there is none of that name.
std::string detail_of(const EventRow& e, std::string_view name);

// What a machine of another cluster than the job's is called: names recur there.
Host in_cluster(const Host& host, std::string_view cluster);
bool in_another_cluster(const Host& host);

// The kernel says so in a machine's log; the kernel or any daemon does.
bool said_by_kernel(const EventRow& e);
bool said_by_unit(const EventRow& e);

// False for what machines, host files and schedulers say of machines: it is no output of the job.
bool tells_of_job(const IdentityRow& row);

}  // namespace culprit::analyze
