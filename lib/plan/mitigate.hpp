// When to do something about a slowdown that may end by itself (GREYHOUND §5.1): bear it until the
// time lost equals the price of the next strategy, then take that one, as one rents skis until the
// rent equals their price.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/result.hpp"

namespace culprit::plan {

// Iterations [start, end) took slow_ms instead of healthy_ms.
struct SlowInterval {
  std::int64_t start = 0, end = 0;
  double slow_ms = 0, healthy_ms = 0;
};

enum class SlowCause { computation, communication, unknown };

struct Strategy {
  std::string name;
  double cost_ms = 0;            // the job stands still that long
  double helps_computation = 0;  // the share of the excess time that is gone, 0 to 1
  double helps_communication = 0;
  double helps(SlowCause cause) const;  // unknown: what is sure, the lesser of both
};

// S1 to S4 of GREYHOUND table 2. Costs: S2 a few seconds (table 5), S3 one minute (§5.2, figure
// 19), S4 ten minutes (FT-HSDP §1). Effects: S2 from 1.7 to 1.2 times the healthy time (figure 14),
// S3 from 1.65 to 1.3 (figure 15); for communication by S3 1.6 to 1.3 (the same figure has
// congested links).
std::vector<Strategy> default_strategies();

struct Taken {
  std::string strategy;
  std::int64_t iteration = 0;  // before this iteration
  double lost_ms = 0;          // until then
};

struct Outcome {  // of one way to treat an interval
  std::string name;
  double lost_ms = 0;  // excess time and prices
};

struct IntervalReplay {
  SlowInterval interval;
  double ignored_ms = 0;       // what the slowdown costs when nothing is done
  std::vector<Taken> taken;    // by the rule, in order
  double rule_ms = 0;          // its excess time and prices
  std::vector<Outcome> alone;  // each strategy at once; the first is to ignore it
  std::string best;            // what somebody who knew the length would have done
  double best_ms = 0;
};

struct MitigationReplay {
  std::vector<IntervalReplay> intervals;  // in the order given
  std::vector<std::string> ladder;        // strategies that the rule climbs, by price
  std::vector<std::string> passed_over;   // no better against this cause than a cheaper one
  double ignored_ms = 0, rule_ms = 0, best_ms = 0;
  std::vector<Outcome> alone;  // summed
  // rule_ms <= bound * (best_ms + one slow iteration for each interval), whatever the intervals
  // are. Proof: until strategy s would be taken the rule has lost no more than its price and one
  // iteration, and afterwards no more per iteration than s leaves, so excess <= best + one
  // iteration; and the prices paid add up to at most (bound - 1) times the last of them, which the
  // excess has reached. Prices that double each time give a bound of 3, one strategy gives 2.
  double bound = 1;
};

// Errors (usage): an interval that ends before it starts or is faster than healthy, a price or
// share out of range, names that are empty or doubled.
Result<MitigationReplay> replay_mitigation(std::span<const SlowInterval> intervals,
                                           std::span<const Strategy> strategies, SlowCause cause);

}  // namespace culprit::plan
