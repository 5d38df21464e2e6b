// Who made the iterations of an interval long, from what every rank says it did in them
// ("compute_ms", "grad_sync_ms"...). In a synchronous step all ranks take equally long; the slow
// one works while the others wait. So the culprit has the most own work and the least waiting
// (Aegis section 5.2 sees the same from the side of the collectives: the rank that computes slowly
// spends the least time in them).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/text.hpp"

namespace culprit::analyze {

// What a part of an iteration is. `mixed` holds both, as Megatron's forward-backward time of a
// pipeline stage, which waits for its neighbours, or the whole iteration: it says nothing about who
// is to blame.
enum class PartKind { own, waiting, mixed };

// By the words of the name, whatever its unit ("grad_sync_ms", "forward-compute-time"). Unknown
// names are mixed, until the numbers show what they are. A synchronising word outweighs any other:
// "backward_allreduce" waits.
PartKind part_kind(std::string_view name);

// One part of one rank, a value an iteration, in the order of `iterations`; NaN: not told.
struct PartSeries {
  Rank rank{};
  std::string name;
  std::vector<double> ms;
};

struct SlowPartsInput {
  std::span<const std::int64_t> iterations;
  std::span<const PartSeries> parts;
  std::span<const double> iteration_ms;  // where nothing is told: the largest sum of a rank's parts
  std::int64_t first = 0, last = 0;  // the interval, both included; everything else is "outside"
};

// Medians of the finite values inside of the interval and outside, and how many these are.
struct Halves {
  double inside = 0, outside = 0;
  std::size_t within = 0, without = 0;
};
Halves halves(std::span<const double> values, const SlowPartsInput& input);

struct SlowPartsParams {
  PartKind (*kind)(std::string_view) = part_kind;
  // Iterations inside; outside as many, or the interval stands for itself. Where at least so many
  // ranks tell, fewer do if as many readings are of ranks that stand out together: timers are
  // printed every hundredth step, of all ranks.
  std::size_t least = 5;
  std::size_t many = 8;
  // Clear of the others: this many robust deviations (1.4826 MAD) of the ranks that are not
  // accused. Iglewicz and Hoaglin take 3.5 for one sample; here the highest of many ranks is tried.
  double clear = 6.0;
  // ... and by at least this share of an iteration: GREYHOUND section 4.2 calls less than 10 %
  // jitter. An iteration can be 10 % longer because of half as much more work of one rank, where
  // work and communication overlap.
  double effect = 0.05;
  // A part of unknown kind is work where part and waiting together differ between the ranks by at
  // most this share of what the part alone does.
  double complement = 0.25;
  double least_explained = 0.3;  // of the iteration's excess
  double few_explain = 0.7;      // ... of fewer readings than `least`
  double unseen_wait = 0.25;     // of an iteration: so much more work of one leaves others waiting
  double most_accused = 0.34;    // share of the ranks: above, nobody stands out
};

enum class SlowPartsAnswer { not_enough, nobody, shared, ranks };
const char* name(SlowPartsAnswer answer);

struct RankExcess {
  Rank rank{};
  double own_inside = 0, own_outside = 0;  // medians, ms
  double excess = 0;                       // inside less outside
  double waiting_inside = 0, waiting_outside = 0;
};

struct SlowParts {
  SlowPartsAnswer answer = SlowPartsAnswer::not_enough;
  std::vector<Rank> ranks;  // the accused
  std::string part;         // the own part that rose most for them
  double excess_ms = 0;  // own work of the accused above that of the others (median of the accused)
  double iteration_ms = 0;         // inside
  double iteration_excess_ms = 0;  // inside less outside; 0 without an outside
  double explains = 0;       // excess over the iteration's excess, at most 1; 0 = cannot be said
  double clear = 0;          // robust deviations between the least accused and the others
  std::size_t readings = 0;  // inside, of the rank that tells least
  bool against_outside = false;  // false: too little outside, ranks are compared inside only
  std::vector<RankExcess> all;   // by rank
  Text why;                      // a sentence
};

// Own work of the ranks that tell of any, iteration by iteration; NaN where one of its parts is not
// told. largest: the own part of which most time is told.
struct OwnParts {
  std::map<Rank, std::vector<double>> sums;
  std::string largest;
};
OwnParts own_parts(const SlowPartsInput& input, const SlowPartsParams& params = {});

SlowParts slow_rank_parts(const SlowPartsInput& input, const SlowPartsParams& params = {});

}  // namespace culprit::analyze
