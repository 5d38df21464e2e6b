// The sources of wait-for evidence (CollectiveSource), each a reader of its own: the rows it has,
// and what they mean. What follows from them is worked out in one place for all (wait_members.cpp).
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/terms.hpp"

namespace culprit::analyze {

// What the rows of a source mean. The sources differ in this and in nothing else.
struct WaitTraits {
  bool names_groups = false;      // groups bear torch's names: no two names of one communicator
  bool lists_unfinished = false;  // all of it, sends told apart: counts need no reading between
  bool launches_only = false;     // whether a call is over is not told; sends count like the rest
  bool is_log = false;            // runs through restarts: the last word counts, not the highest
  bool of_a_stall = false;    // printed when an operation was unfinished for minutes: none moves
  bool exceptions = false;    // ranks that are like all others are counted and not named
  bool compared = false;      // torch compared the arguments: what differs differs
  bool by_each_rank = false;  // each rank's own word, which is not the case where one speaks of all
};

struct WaitRows {
  std::vector<const FrontierRow*> frontiers;
  std::vector<const CollectiveSample*> launches;
  std::vector<const RecorderRow*> dumps;
  std::deque<FrontierRow> made;  // frontiers that follow from other rows
  std::int64_t last_attempt = 0;
};

// One communicator under the names that processes have for it: NCCL's id joins what pointers keep
// apart.
class Communicators {
 public:
  explicit Communicators(const Facts& facts) : facts_(facts) {}
  GroupId canonical(GroupId id) const;

 private:
  const Facts& facts_;
  mutable std::vector<GroupId> canonical_;  // by id; made when first asked
};

struct WaitSource {
  CollectiveSource id;
  WaitTraits traits;
  WaitRows (*read)(CollectiveSource id, const Facts& facts, const Communicators& communicators);
};

// In the order in which they are asked: the first that tells why ranks wait is believed.
std::span<const WaitSource> wait_sources();

}  // namespace culprit::analyze
