// What the pictures of a report are drawn from: small, whatever the size of the job.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/time.hpp"

namespace culprit {

// What became of a rank, the worst first; a rank has the first that holds for it.
enum class RankState {
  failed,   // the verdict rests on a failure of this rank or its GPU
  stopped,  // stands where the others do not: all wait for it
  silent,   // never reported what the others report
  slow,     // works while the others wait
  error,    // another error of its own
  waiting,  // a consequence: lost its peer, timed out
  ended,    // was stopped with the rest
  quiet,    // there is output, and nothing was found in it
  unseen,   // nothing of it was collected
};
std::string_view name(RankState state);
inline constexpr std::size_t kRankStates = 9;

struct RankMap {
  std::int64_t total = 0;               // ranks of the job; 0: not known
  std::int64_t tp = 0, pp = 0, dp = 0;  // 0: not known
  std::vector<std::pair<std::string, std::vector<std::int64_t>>>
      hosts;  // in the order of their first ranks
  std::vector<std::vector<std::int64_t>>
      ranks;  // of each RankState, sorted; empty, or kRankStates of them
};

// Step times of the job, thinned: a point is the median of `bucket` rows.
struct StepChart {
  struct Slow {
    std::size_t begin = 0, end = 0;    // points; end is exclusive
    std::int64_t first = 0, last = 0;  // iterations
    double factor = 1;                 // to the baseline
    bool open = false;                 // lasts to the end of the attempt
  };
  std::vector<std::int64_t> iteration;  // of the first row of each point
  std::vector<double> ms;               // median
  std::vector<double> high;             // the largest; empty when a point is one row
  std::vector<std::size_t> restarts;    // points at which an attempt begins
  std::vector<Slow> slow;
  double baseline = 0;  // ms; 0: not known
  std::size_t rows = 0, bucket = 1;
};

struct TimePart {
  std::string name;
  Nanoseconds time = 0;
};

}  // namespace culprit
