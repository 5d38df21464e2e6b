// Which ranks change places when some GPUs are slow or a link is congested (GREYHOUND §5.2,
// strategy S3). Slow ones go into the fewest pipeline stages, interior ones first and the slowest
// together, since a stage is as slow as its slowest; a link that carries rings of data parallelism
// is taken out of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/result.hpp"
#include "plan/backup.hpp"

namespace culprit::plan {

struct SlowRank {
  Rank rank{};
  double slowdown = 1;  // 1.5: takes one and a half times as long
};

struct CongestedLink {
  std::int32_t a = 0, b = 0;  // hosts, as Shape numbers them (ranks, when it has no hosts)
};

struct TopologyParams {
  std::int64_t micro_batches = 8;  // of one replica in a step
  double end_load =
      1;  // time of the first and last stage against the others; embeddings make it more (§5.2)
  double dp_mb = 10'000;  // a GPU sends in a step for data parallelism; "tens of GBs" (§5.2)
  double pp_mb = 100;     // to the next stage: "tens to hundreds of MBs" (§5.2)
};

struct Move {
  Rank rank{}, place{};  // this rank's process takes the coordinates of rank `place`
};

struct LinkTraffic {
  double dp_mb = 0, pp_mb = 0;  // a step, both directions
};

struct TopologyPlan {
  std::vector<Move> moves;  // sorted by rank; a permutation; empty: leave it
  std::vector<std::int64_t> stages_before, stages_after;  // with slow ranks
  std::int64_t least_stages = 0;   // ceil(slow ranks / GPUs of a stage), the paper's bound
  std::int64_t needed_stages = 0;  // the same of whole tensor-parallel groups, which stay together
  // Time of a step against one without slow ranks: (sum of stages + (micro-batches - 1) x slowest
  // stage). `stage`: every replica waits for the slowest of each stage (figure 12); `replica`:
  // replicas meet at the end of the step only. The truth lies between.
  double stage_before = 1, stage_after = 1, replica_before = 1, replica_after = 1;
  std::optional<LinkTraffic> link_before, link_after;
  std::string why;
};

// Tensor-parallel groups move as wholes, so they stay on their hosts. Errors (usage): ranks or
// hosts that the job does not have, slowdowns below 1 or no numbers, no pipeline stages (slow ranks
// then have nowhere to go).
Result<TopologyPlan> plan_topology(const Shape& shape, std::span<const SlowRank> slow,
                                   const std::optional<CongestedLink>& link,
                                   const TopologyParams& params = {});

}  // namespace culprit::plan
