// What isolating machines costs, and whether the job can go on without them: the price of an
// over-eviction (ByteRobust §5), to be weighed against looking longer for the one machine at fault.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/enum_name.hpp"
#include "model/result.hpp"
#include "plan/backup.hpp"

namespace culprit::plan {

struct BlastParams {
  std::int64_t spares = 0;  // machines that are warm (plan standby)
  double out_h =
      24;  // hours until an isolated machine is back; a day, as standbys are reckoned (§6.2)
  double wake_s =
      54;  // the job stands still when spares suffice, and when they do not; as in StandbyParams
  double reschedule_s = 300;
};

enum class GoingOn {
  untouched,  // nothing is isolated
  on_spares,  // at once, at full size
  smaller,    // at once, with the replicas that are left whole; or at full size when machines are
              // found
  stopped,    // no replica is whole: it waits for machines
};
constexpr std::string_view name(GoingOn going_on) { return enum_name(going_on); }

struct BlastRadius {
  std::vector<std::int32_t> hosts;  // isolated, as Shape numbers them, sorted
  std::int64_t gpus = 0;            // their ranks
  GoingOn going_on = GoingOn::untouched;
  std::int64_t spares_missing = 0;  // machines beyond the spares
  std::int64_t replicas = 1,
               whole_replicas = 1;  // data-parallel ones: in all, and without an isolated machine
  std::vector<Rank> lost_shards;  // ranks; not empty: only a checkpoint on storage brings them back
  double out_gpu_h = 0;           // GPU-hours of the isolated machines
  double standstill_gpu_h = 0;    // GPU-hours of the whole job while it restarts
  std::vector<std::int32_t> needless;  // isolated and not guilty, when the guilty are known
  double needless_gpu_h = 0;           // their part of out_gpu_h
  std::string why;                     // of going_on and of the shards, one sentence
};

// isolated, guilty: ranks, which stand for their machines; guilty may be empty (not known). backup:
// of this shape, or without keepers: every shard of an isolated machine is then lost, unless
// another replica has it: nobody knows that here. Errors (usage): ranks that the job does not have,
// numbers out of range.
Result<BlastRadius> blast_radius(const Shape& shape, const BackupPlan& backup,
                                 std::span<const Rank> isolated, std::span<const Rank> guilty,
                                 const BlastParams& params = {});

}  // namespace culprit::plan
