// Work that is unequal by what there is to do: sequences of other lengths, experts with more
// tokens, a collector that runs now here, now there. In a synchronous step all wait for the rank
// with most to do; where that is another one each time, or does as much more as it was given, no
// machine is slow (ByteRobust section 2.2 and GREYHOUND section 3.3 tell such imbalance from
// faults).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "analyze/pace/slow_rank_parts.hpp"

namespace culprit::analyze {

struct UnequalLoad {
  double excess_ms = 0;  // of the rank with most to do above the middle one; median of iterations
  double iteration_ms = 0;  // median
  std::string part;         // the own part in which it works most
  std::string load;         // what the work follows: "tokens"; "" nothing that is told
  double correlation = 0;   // with that, of differences from the middle rank; at most 1
  double leads = 0;         // share of the iterations in which the same rank has most to do
};

struct UnequalLoadParams {
  std::size_t ranks = 8, readings = 32;  // at least, of ranks and iterations together
  double effect = 0.1;                   // of an iteration, where it follows a load
  // ... or of the middle work of a rank, of which a profile may tell a part. Only where the
  // iterations are known to be longer than others: 0 asks for the effect.
  double effect_of_work = 0;
  double follows = 0.8;  // correlation with a load at least
  // Nothing that is told explains it:
  std::size_t many = 10;      // iterations at least
  double clear_effect = 0.2;  // of an iteration
  double wanders = 0.25;      // the same rank has most to do in no larger share of them
};

// Inside of the interval. loads: what each rank was given, an amount an iteration.
std::optional<UnequalLoad> unequal_load(const SlowPartsInput& input,
                                        std::span<const PartSeries> loads,
                                        const UnequalLoadParams& params = {});

}  // namespace culprit::analyze
