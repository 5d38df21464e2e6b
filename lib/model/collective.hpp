// What ranks have enqueued and completed on their process groups, from whatever told: flight
// recorder, watchdog lines, NCCL call logs, RAS, Inspector. One struct per fact table of
// schemas/store.sql.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/rows.hpp"
#include "model/stack.hpp"
#include "model/terms.hpp"

namespace culprit {

// A process group, or communicator, of the incident. A type of its own: ranks, sequence numbers and
// ranks within a group are numbers, too, and a mix-up would accuse somebody.
enum class GroupId : std::int64_t { none = 0 };
// Groups are counted from 1 without gaps: of the group at an index of all groups, and back.
constexpr GroupId group_at(std::size_t index) {
  return static_cast<GroupId>(static_cast<std::int64_t>(index) + 1);
}
constexpr std::size_t index_of(GroupId id) {  // beyond all groups for none
  return static_cast<std::size_t>(static_cast<std::int64_t>(id)) - 1;
}

// A sequence number that a source does not give, and "nothing yet" (as PyTorch writes it).
inline constexpr std::int64_t kUnknownSequence = -2;
inline constexpr std::int64_t kNoSequence = -1;
inline constexpr Rank kUnknownRank{kUnknownSequence};

// The description of a group whose counters are sums over several communicators, which do not
// compare between ranks.
inline constexpr std::string_view kSumOfCommunicators = "sum of communicators";

// A process group or communicator. The same name can stand for different ranks: (name, ranks) is
// the key. The name "" with a description is a group that a log speaks of without naming it.
struct GroupRow {
  std::string name;  // of torch ("43"), commId, "0x55d0c0de8000@31446" for a pointer of one process
  std::string description;  // TENSOR_MODEL_PARALLEL_GROUP, default_pg, mesh_dp_shard ...
  std::vector<Rank> ranks;  // global, sorted; empty = not known
  std::int64_t size = 0;    // 0 = not known
  auto operator<=>(const GroupRow&) const = default;
};

// How far one rank has come on one group: what it has launched and what has finished. Sequence
// numbers compare within a group only. Point-to-point launches of a rank are counted in their own
// row (p2p): they do not compare between ranks at all (culprit-algorithms(7)).
struct FrontierRow {
  Place place;
  Timestamp time;  // when the source looked
  CollectiveSource source = CollectiveSource::none;
  std::optional<Host> host;
  std::optional<Rank> rank;  // global
  std::optional<LocalRank> local_rank;
  std::optional<std::int64_t> pid;
  std::int64_t group_rank =
      kUnknownSequence;  // rank within the group, where the source gives only that
  GroupId group = GroupId::none;
  bool p2p = false;
  std::int64_t enqueued = kUnknownSequence;
  std::int64_t started = kUnknownSequence;
  std::int64_t completed = kUnknownSequence;
  std::string operation;  // what it counts, when counters are kept per operation (RAS): all_reduce
                          // ...; "" = all
  // Of collective libraries that count what they hand to the network (Aegis section 4.2.2):
  // requests launched and finished, to whom (kNoRank: not told), and what the last few of them
  // carried and how long that took (section 5.2; 0: not told).
  std::int64_t requests = kUnknownSequence, completions = kUnknownSequence;
  Rank peer = kNoRank;
  std::int64_t recent_bytes = 0;
  double recent_ms = 0;
};

// One operation on a group: those not known to be completed, and the last few that are.
struct CollectiveRow {
  Place place;
  Timestamp time;  // when the host enqueued it (recorder), or when the line was printed
  CollectiveSource source = CollectiveSource::none;
  std::optional<Host> host;
  std::optional<Rank> rank;
  std::optional<LocalRank> local_rank;
  std::optional<std::int64_t> pid;
  GroupId group = GroupId::none;
  std::int64_t record =
      kUnknownSequence;  // order of launch within one process; never compares across processes
  std::int64_t sequence =
      kUnknownSequence;   // within the group: of the collective, or of the p2p launch when p2p
  std::string operation;  // lower case, without backend: all_reduce, _all_gather_base, send, recv,
                          // all_to_all, coalesced
  std::string backend;    // nccl gloo ncclx xccl ...
  bool p2p = false;
  Rank peer = kUnknownRank;  // the other end of send and receive; not known when the members of the
                             // group are not
  std::string state;         // scheduled started completed; timeout for a line that says so
  bool retired = false;      // the watchdog let go of it: retired and not completed = timed out
  std::string sizes;         // "in [[4096, 1, 5120]] out [[8192, 1, 5120]]"; "" not known
  std::string types;         // "BFloat16 -> BFloat16"; "" not known
  std::optional<std::int64_t> bytes;                    // of the input, when sizes and types say so
  std::optional<Nanoseconds> started_ns, completed_ns;  // UTC; when the watchdog noticed: late
  std::optional<double> duration_ms;
  std::optional<std::int64_t> timeout_ms;
  std::string thread;
  std::vector<Frame> frames;  // innermost first, of the launch
};

// All operations of one rank on one group, packed: what `collectives` needs to compare the past, at
// 40 bytes each.
struct HistoryEntry {
  std::int64_t sequence = 0;
  Nanoseconds created_ns = 0, completed_ns = 0;  // 0 = not known; on `clock`
  float duration_ms = -1;                        // < 0 = not known
  std::uint32_t signature = 0;  // hash of operation, sizes and types: equal on all ranks, mostly
  std::uint32_t operation = 0;  // hash of the operation's name
  std::uint8_t state = 0;       // 0 scheduled, 1 started, 2 completed
  std::uint8_t p2p = 0;
  std::uint8_t size_class =
      0;  // 1 + 4 log2(bytes, or elements where types are not told), rounded; 0 = not known
  std::uint8_t clock = 0;  // 0 = UTC; else a Clock of the member's
};
// Sizes 19 % apart are one class: enough to tell gradients from scalars.
std::uint8_t size_class(std::int64_t bytes);
double size_of_class(std::uint8_t size_class);  // 0 for 0

struct HistoryRow {
  MemberId member = 0;
  std::optional<Rank> rank;
  GroupId group = GroupId::none;
  std::vector<HistoryEntry> entries;  // in order of launch
};

// One flight-recorder dump (or RAS snapshot of one process), so that a rank without one, or with an
// empty one, shows.
struct RecorderRow {
  Place place;
  Timestamp time;                                    // collection, when known
  CollectiveSource source = CollectiveSource::none;  // recorder ras inspector
  std::string encoding;                              // pickle json
  std::string version;                               // "2.9"
  std::string library;                               // NCCL version
  std::optional<Host> host;
  std::optional<Rank> rank;
  std::optional<std::int64_t> pid;
  std::int64_t entries = 0;   // read
  std::int64_t pending = 0;   // of which not completed
  bool has_status = false;    // pg_status stood in it
  bool only_active = false;   // holds what is not completed, and nothing else
  bool truncated = false;     // cut: what parses was kept
  bool unresponsive = false;  // RAS: this rank does not answer
};

// A node of the network as a file describes it: a switch, a block, a pod.
struct NetworkRow {
  Place place;
  std::string source;  // slurm hostfile table manifest
  std::string kind;    // switch block pod rail
  std::string name;
  std::int64_t level = 0;             // 0 = hosts hang on it
  std::vector<Host> hosts;            // expanded
  std::vector<std::string> children;  // switches below
};

}  // namespace culprit
