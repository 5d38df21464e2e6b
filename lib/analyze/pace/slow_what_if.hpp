// How much of each slow interval every worker, stage and kind of work explains, from the parts of
// their steps that ranks report (what_if.hpp). It names shares, it accuses nobody: that takes a
// second source (slow.hpp).
#pragma once

#include <span>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/pace/fail_slow.hpp"
#include "analyze/pace/job_steps.hpp"
#include "analyze/pace/slow_rank_parts.hpp"
#include "analyze/facts/topology.hpp"
#include "analyze/pace/what_if.hpp"
#include "model/finding.hpp"

namespace culprit::analyze {

struct SlowWhatIfParams {
  std::size_t steps = 64;  // of an interval, evenly taken: shares of medians need no more
  double worth = 0.10;     // smaller shares are not told
  WhatIfParams simulation;
};

// One finding an interval, "what_if/FIRST-ITERATION"; none where no rank reports parts. iterations,
// parts: as of slow_rank_parts.
std::vector<Finding> what_if_findings(const Facts& facts, const Topology& topology,
                                      const JobSteps& steps, const FailSlow& report,
                                      std::span<const std::int64_t> iterations,
                                      std::span<const PartSeries> parts,
                                      const SlowWhatIfParams& params = {});

}  // namespace culprit::analyze
