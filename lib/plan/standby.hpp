// How many machines to keep warm, and what that saves (ByteRobust §6.2, §8.2.1): failures of a day
// are taken as independent, so their number is Binomial(machines, daily failure rate), and its 99th
// percentile is kept warm.
#pragma once

#include <cstdint>
#include <vector>

#include "model/result.hpp"

namespace culprit::plan {

struct StandbyParams {
  std::int64_t machines = 0;
  double failure_rate = 0.0012;  // of one machine, a day; gives all four rows of ByteRobust table 5
  double percentile = 0.99;      // ByteRobust §6.2
  // Seconds from the failure to the job's going on. ByteRobust table 7 (means over its four scales)
  // and the ratios of §8.2.1 for rescheduling, which has no table.
  double wake_s = 54;         // a standby is woken: "hot updates"
  double reschedule_s = 300;  // new pods for the evicted machines only
  double requeue_s = 600;     // the whole job is queued again
  double catastrophe = 0.01;  // the share of failures that take a switch, §8.2.1
  std::int64_t catastrophe_machines = 32;
};

struct StandbyChoice {
  std::int64_t standbys = 0;
  double enough = 0;          // the probability that a day needs no more
  double mean_restart_s = 0;  // weighted average scheduling time, WAS
};

struct StandbyPlan {
  std::int64_t standbys = 0;     // the percentile
  double expected_failures = 0;  // a day
  double requeue_s = 0, reschedule_s = 0,
         oracle_s = 0;  // WAS of the other ways: oracle has standbys without end
  std::vector<StandbyChoice>
      choices;  // from none to one more than planned; the ends and the neighbours when that is many
};

// Errors: a number that is out of range (usage).
Result<StandbyPlan> plan_standby(const StandbyParams& params);

// Binomial(n, p) around its mode, from `first` on: probabilities that add up to one. What is left
// out on either side is below 1e-30 of the largest. Safe for every n: no factorial, no power that
// underflows.
struct Binomial {
  std::int64_t first = 0;
  std::vector<double> mass;
  double cumulative(std::int64_t k) const;          // P(X <= k)
  std::int64_t quantile(double probability) const;  // the least k with P(X <= k) >= probability
};
// Requires n >= 0 and 0 <= p <= 1.
Binomial binomial(std::int64_t n, double p);

}  // namespace culprit::plan
