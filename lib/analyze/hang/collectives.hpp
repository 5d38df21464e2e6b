// Who waits for whom, from what every rank has launched and finished on its process groups:
// wait-for graphs over collectives, then ranks (FT-HSDP section 2.3; culprit-algorithms(7)), with
// two frontiers a rank and group. The last enqueued and the last completed operation tell how a
// rank stopped:
//   completed equal, enqueued behind: the host stopped, it never launched what its peers wait in
//   completed behind, enqueued equal: the device stopped, peers finished an operation it did not
//   both equal, operations differ:    a mismatch, which is code
//   both equal, nothing differs:      the operation itself makes no progress, network
// No rank is the reference, records are never aligned across processes, counters of sends and
// receives do not compare between ranks, and the answer does not depend on the order of files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/hang/citation.hpp"
#include "analyze/hang/slow_ranks.hpp"
#include "analyze/facts/topology.hpp"
#include "model/finding.hpp"
#include "model/text.hpp"

namespace culprit::analyze {

// One side of a wait: `from` cannot go on before `to` does something.
struct Wait {
  Rank from{}, to{};
  GroupId group = GroupId::none;
  std::int64_t sequence = 0;
  std::string operation;  // what `from` is in
  std::string because;    // "never launched", "holds up", "left no dump of"
  Citation place;         // of the operation in the dump or log of `from`
};

// Ranks that the job waits for in the end, and that wait for nobody.
struct Leaf {
  StopKind kind = StopKind::host_stopped;
  std::vector<Rank>
      ranks;  // the culprits; network: the members of the group; mismatch: the minority
  std::vector<Rank> against;      // mismatch: the others
  GroupId group = GroupId::none;  // where the wait was seen
  std::int64_t sequence = 0;
  std::string operation;
  std::int64_t waiting = 0;  // ranks that wait for it, directly or not
  bool tie = false;          // mismatch without a majority
  bool requests = false;     // network: the ranks are the ends of work requests that are not over
  Host within;  // network: the one machine that all members of what is stuck run on; "" =
                // several, or some are not known
  double confidence = 0;
  Text why;
  std::vector<Citation> places;  // dumps and lines that show it
};

struct GroupFrontier {
  GroupId group = GroupId::none;
  std::int64_t enqueued_low = 0, enqueued_high = 0, completed_low = 0, completed_high = 0;
  std::vector<Rank> pending;  // ranks inside its first unfinished operation
  std::vector<Rank> missing;  // members that never launched it
  std::vector<Rank> behind;   // members that have not finished what a peer has
  std::int64_t sequence = 0;  // that operation
  std::string operation;
};

struct CollectiveReport {
  CollectiveSource source = CollectiveSource::none;  // none: nothing of the kind in the bundle
  std::vector<GroupFrontier>
      groups;                 // those with something unfinished, by description and first rank
  std::vector<Wait> chain;    // from a rank that waits to a leaf, one hop after the other
  std::vector<Leaf> leaves;   // by the number of ranks that wait, then by rank
  std::vector<Rank> seen;     // ranks with a dump or counters
  std::vector<Rank> unseen;   // members of groups without
  std::vector<Rank> cut;      // ranks whose dump is truncated
  std::size_t pending = 0;    // unfinished operations
  std::size_t timed_out = 0;  // of which the watchdog gave up on
  // A collective was finished on one rank before another launched it: the dumps are not of one
  // moment, the job was moving while they were taken.
  bool moving = false;
  Text moving_why;
  bool scattered = false;  // many leaves, and for none of them does half of the job wait: a
                           // snapshot of a job that ran looks like this
  std::vector<Text> notes;
};

// "TENSOR_MODEL_PARALLEL_GROUP 41", as reports call a group.
std::string group_name(const Facts& facts, GroupId id);

// Looks at one source at a time and returns the report of the best one that says something
// (recorder first).
CollectiveReport wait_for(const Facts& facts, const Topology& topology);

// Findings of analysis "collectives": one a leaf, or one that says why there is none.
std::vector<Finding> collective_findings(const CollectiveReport& report,
                                         const std::vector<SlowRank>& slow, const Facts& facts,
                                         const Topology& topology);

}  // namespace culprit::analyze
