// What failures leave of the time of a job: everything stops and restarts together, or replicas go
// on while one is rebuilt (FT-HSDP section 6.1). The paper's figures, one failure every 18 minutes,
// 10 minutes to rebuild: synchronous (18-10)/18 = 44 %; with 12 replicas and a stall of 3 minutes
// (8 + 7 * 11/12)/18 = 80 %.
#pragma once

#include <cstdint>

#include "model/time.hpp"

namespace culprit::analyze {

struct FailureModel {
  Nanoseconds between = 0;  // mean time between failures of the whole job
  Nanoseconds rebuild = 0;  // until what failed works again
  Nanoseconds stall = 0;    // of which everybody stands still; at most `rebuild`
  std::int64_t replicas = 1;
};

struct EffectiveTime {
  bool valid = false;      // false: a time or a number of replicas that cannot be
  double synchronous = 0;  // share of the time, [0, 1]
  double replicated = 0;
  double down = 0;  // replicas that are being rebuilt, on average
  // More failures than can be repaired one after the other: stalls overlap and the shares are too
  // low by what they share.
  bool overlapping = false;
};

EffectiveTime effective_time(const FailureModel& model);

// From a rate as operators give it: 2.3 interruptions a day and 1,000 servers (FT-HSDP section 2).
// 0 when it never fails.
Nanoseconds time_between_failures(double a_day_and_1000_servers, double servers);

}  // namespace culprit::analyze
