// What one source of wait-for evidence tells of every rank on every group: the last operation
// launched, the last completed, the first unfinished.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/facts/topology.hpp"
#include "analyze/hang/wait_source.hpp"
#include "model/text.hpp"

namespace culprit::analyze {

struct WaitMembers {
  struct Member {
    Rank rank{};
    std::uint32_t index = 0;  // of the rank
    std::int64_t enqueued = kUnknownSequence, completed = kUnknownSequence;
    std::int64_t head = kUnknownSequence;      // first unfinished collective
    std::int64_t last = kUnknownSequence;      // last unfinished collective
    const CollectiveSample* sample = nullptr;  // of the head
    const FrontierRow* row = nullptr;
  };
  struct Group {
    GroupId id = GroupId::none;
    std::string counter;                             // RAS counts per operation
    std::vector<Member> members;                     // by rank
    std::map<std::int64_t, std::string> operations;  // of sequence numbers near the frontier
    std::int64_t crowd = kUnknownSequence;  // what a source counts for ranks it does not name (RAS
                                            // names the exceptions only)
    bool whole = true;  // so many members speak that the silence of the others tells something
    Member* find(Rank rank);
    const Member* find(Rank rank) const { return const_cast<Group*>(this)->find(rank); }
  };
  struct OfRank {
    Rank rank{};
    bool dumped = false, whole = false, clear = true, device_behind = false, doubtful = false;
    std::int64_t first_record =
        kUnknownSequence;  // of its first unfinished operation that is no send
    std::uint32_t first_op = ~0u;
    std::int64_t first_send_record = kUnknownSequence;
    std::uint32_t first_send = ~0u;  // its first unfinished send
    // Where its dump begins; of a rank without one, the first counters that speak for it.
    const RecorderRow* recorder = nullptr;
    const FrontierRow* counters = nullptr;
  };
  struct Launch {
    std::uint32_t rank, group;
    const CollectiveSample* sample;
  };

  std::vector<OfRank> ranks;
  std::unordered_map<Rank, std::uint32_t> index;  // of a rank in `ranks`
  std::vector<Group> groups;
  std::vector<Launch> sends;    // unfinished
  std::set<Rank> unresponsive;  // do not answer RAS
  std::size_t pending = 0, timed_out = 0;
  std::vector<Rank> seen, unseen, cut;  // ranks
  std::vector<Text> notes;
};

// Without groups when the source says nothing. Rows of `rows` are pointed to by the result.
WaitMembers wait_members(const Facts& facts, const Topology& topology, const WaitSource& source,
                         const WaitRows& rows, const Communicators& communicators);

}  // namespace culprit::analyze
