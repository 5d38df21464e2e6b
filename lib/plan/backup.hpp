// Whose memory keeps a second copy of each rank's shard of the checkpoint (ByteRobust §6.3): a rank
// that shares no tensor-, pipeline- or data-parallel group with it, since over-eviction takes whole
// groups, and not the same host. And the question afterwards: is every shard still on a machine
// that is left?
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/enum_name.hpp"
#include "model/rank.hpp"
#include "model/result.hpp"

namespace culprit::plan {

struct Dimension {
  std::string name;  // "tp", "pp", "dp", "cp"
  std::int64_t size = 1;
};

// A job of prod(size) ranks. The first dimension runs fastest, as in Megatron's "tp-dp-pp". Two
// ranks share a group of a dimension when all their other coordinates are equal.
struct Shape {
  std::vector<Dimension> dimensions;
  std::vector<std::int32_t>
      host;  // of each rank, any numbers; empty: every rank is on a host of its own
  std::int64_t ranks() const;
  std::int64_t coordinate(Rank rank, std::size_t dimension) const;
};

// "tp-dp-pp" and sizes; dimensions the order does not name must have size 1. Errors (usage):
// unknown, doubled or missing names, sizes out of range, more than 16,777,216 ranks.
Result<Shape> make_shape(const std::string& order, const std::vector<Dimension>& sizes,
                         std::int64_t ranks_per_host);

enum class Placement {
  cross_group,  // no rank shares a group with the one that keeps its copy
  neighbours,   // the job is one group: the next machine (§6.3)
  none,         // one rank only
};
constexpr std::string_view name(Placement placement) { return enum_name(placement); }

struct BackupPlan {
  Placement placement = Placement::none;
  std::vector<std::int32_t> keeper;  // by rank: who keeps its copy; each rank keeps one
  std::vector<Rank>
      same_host;    // ranks whose keeper is on their own host, sorted; empty when one can avoid it
  std::string why;  // how it was placed, or why it is no better
};

// Errors (usage): a host list that is not one per rank, a job beyond make_shape's limits.
Result<BackupPlan> plan_backup(const Shape& shape);

struct Survival {
  std::vector<Rank> evicted;    // ranks, those that share a host with an evicted one too
  std::vector<Rank> lost;       // shards without a copy that is left
  std::vector<Rank> from_copy;  // shards of evicted ranks that their keepers still have
};

// After the hosts of these ranks are evicted. Requires ranks within the shape, and a plan made for
// it.
Survival after_eviction(const Shape& shape, const BackupPlan& plan, std::span<const Rank> evicted);

// Whether every shard survives when the machines of any one group of a dimension are evicted
// together.
struct GroupRisk {
  std::string dimension;
  std::int64_t groups = 0;
  std::int64_t losing = 0;  // groups whose eviction loses a shard
};
std::vector<GroupRisk> group_risks(const Shape& shape, const BackupPlan& plan);

}  // namespace culprit::plan
