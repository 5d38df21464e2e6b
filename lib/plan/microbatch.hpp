// How to spread the micro-batches of a step over data-parallel groups of unequal speed (GREYHOUND
// §5.2, strategy S2): minimise max m_i * t_i with the sum of m_i = M and m_i >= 1. The paper takes
// it to a solver for quadratic programs, 36 s at 512 groups (its table 5); the problem is
// separable, so giving the next micro-batch to the group that would finish it first is exact.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/result.hpp"

namespace culprit::plan {

struct MicrobatchPlan {
  std::vector<std::int64_t>
      even;  // M / D each, the first groups one unit more; what training frameworks do
  std::vector<std::int64_t> counts;  // the answer
  double even_ms = 0, best_ms = 0;   // the slowest group, before and after
  double bound_ms = 0;               // no distribution, not even one of fractions, is below
};

// t: time of one micro-batch for each group, any unit, positive and finite. unit: every m_i is a
// multiple of it, as 1F1B pipelines need with their number of stages (GREYHOUND §5.2, footnote 4);
// micro_batches then must be one too. Errors (usage): numbers out of range, fewer micro-batches
// than groups, no multiple. Of groups that are as good, the first gets more.
Result<MicrobatchPlan> plan_microbatches(std::span<const double> t, std::int64_t micro_batches,
                                         std::int64_t unit = 1);

}  // namespace culprit::plan
