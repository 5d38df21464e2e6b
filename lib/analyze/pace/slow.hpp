// The joined answer to "the job was slow": since which step, until when, who made it so, what did
// it cost. Intervals come from iteration times (fail_slow.hpp, GREYHOUND §4.2). Who: in a
// synchronous job all ranks' iterations grow alike, so the one to blame is the one that works more
// and waits less (slow_rank_parts.hpp; Aegis §5.2), or the machine of which a metric left the crowd
// when the slow stretch began and came back when it ended (outliers.hpp; Aegis §5.1), or that
// reports a throttled GPU, a lost link or a hot chip in between. Two that agree make a suspect
// sure; alone each is a lead.
#pragma once

#include <span>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/pace/fail_slow.hpp"
#include "analyze/pace/job_steps.hpp"
#include "analyze/metrics/outlier_search.hpp"
#include "analyze/pace/grown_part.hpp"
#include "analyze/pace/named_slowest.hpp"
#include "analyze/pace/slow_kernels.hpp"
#include "analyze/pace/slow_rank_parts.hpp"
#include "analyze/pace/unequal_load.hpp"

namespace culprit::analyze {

// What the ranks' own parts of a slow interval say, and where the accused say it.
struct OwnWork {
  SlowParts parts;
  std::vector<Host> tellers;       // where hosts tell of their steps: a "rank" is its place here
  std::optional<GrownPart> grown;  // of all ranks, or of the one whose log reports the steps
  std::vector<Evidence> evidence;
  std::optional<SlowKernels> kernels;  // of the one rank that works longer
  std::optional<UnequalLoad> load;     // where the ranks were given unequal work
  std::optional<NamedSlowest> named;   // whom the program names as its slowest
};

struct SlowJobParams {
  double transient_share = 0.05;  // of the job's time: what cost less and is over accuses nobody
  double matching =
      0.5;  // overlap of a metric's interval with the slow one, intersection over union
  double matching_begin = 0.8;  // the same, where the metric is not known to the interval's end
  std::size_t most = 8;         // suspects told
};

// What the interval cost, ms: the excess of its rows, each for the iterations it stands for (a log
// may print every tenth).
double interval_cost_ms(const JobSteps& steps, const SlowInterval& interval);

// parts: for each of report.intervals, in that order; empty when no rank reports the parts of its
// steps.
std::vector<Finding> slow_findings(const Facts& facts, const JobSteps& steps,
                                   const FailSlow& report, std::span<const OwnWork> own,
                                   const OutlierReport& metrics,
                                   std::span<const Finding> classified,
                                   const SlowJobParams& params = {});

}  // namespace culprit::analyze
