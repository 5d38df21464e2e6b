// Would the job have survived this: with a spare machine, with the last checkpoint in the memory of
// other machines (ByteRobust section 6.3), with a layer of replicas that goes on without the one
// that failed (FT-HSDP section 4.2), with torchft.
#pragma once

#include <string>
#include <vector>

#include "model/enum_name.hpp"
#include "model/rank.hpp"
#include "model/result.hpp"
#include "plan/backup.hpp"

namespace culprit::plan {

// What the failure is: of machines that are evicted, of the program, transient, or not known.
enum class FailureCause { machines, program, transient, unknown };

// What a rank reported that was not evicted.
struct SurvivorError {
  Rank rank{};
  std::string error;
  bool recoverable = false;
};

struct SurvivalQuestion {
  FailureCause cause = FailureCause::unknown;
  std::vector<Rank> evicted;          // ranks at fault; empty: not known
  std::size_t machines = 0;           // that they run on
  std::int64_t spares = 0;            // machines that stand by
  std::vector<SurvivorError> errors;  // of the others
  std::string replicas = "dp";        // the dimension whose groups are the replicas
  std::int64_t min_replicas = 1;      // torchft: with fewer it waits (min_replica_size)
};

enum class Survived { yes, no, unknown };
constexpr std::string_view name(Survived survived) { return enum_name(survived); }

struct SurvivalAnswer {
  Survived survived = Survived::unknown;
  enum class Why {
    cause_unknown,  // nobody knows what failed
    program,        // it would fail again
    nothing_to_do,  // transient: any restart does
    spares_enough,  // spare: as many stand by as are evicted
    spares_short,
    copies_left,  // memory: every shard has a copy that is left
    copies_lost,
    one_replica,   // replicas: there is one only
    all_replicas,  // each replica lost a rank
    fatal_error,   // a healthy replica's process quits
    replicas_left,
    from_next_step,    // torchft: these go on, and compute the step again
    too_few_replicas,  // torchft
  } why = Why::cause_unknown;
  std::size_t count = 0;  // machines short; shards lost or copied; replicas that are left
  std::size_t of = 0;     // replicas in all
  std::vector<SurvivorError> fatal;  // of ranks in replicas that lost none
};

struct SurvivalReport {
  // torchft takes any error of a collective for the end of a step, not of the process, and asks who
  // is there before the next one. A replica whose process quits by a fatal error is lost to it, and
  // the others go on; what all replicas share ends all of them.
  SurvivalAnswer spare, memory, replicas, torchft;
};

// shape: of the job; its dimension `replicas` may be missing. Errors (usage): ranks outside of it.
Result<SurvivalReport> would_survive(const Shape& shape, const SurvivalQuestion& question);

}  // namespace culprit::plan
