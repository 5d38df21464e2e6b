// How long an iteration takes, from nothing but the log of the communication calls of one rank
// (GREYHOUND section 4.2).
//
// Three methods:
//   anchor      the default. Find a call that comes once in an iteration (or a burst of them that
//   begins once) and
//               measure the time between its occurrences. Nothing has to line up between two such
//               calls, so lost records, micro-batches, evaluation and other communicators do no
//               harm.
//   match-rate  when no call recurs evenly: the smallest lag k (in calls) at which far more calls
//   than chance makes equal
//               the one k later.
//   acf         as GREYHOUND prints it: autocorrelation of operation codes, first lag of at most
//   200 with 0.95. Biased
//               by (L-k)/L and fooled by micro-batches; it is here to be compared with.
//
// A log alone cannot tell "m micro-batches, then one small call" from "m iterations, then one small
// call for the log": A A A .. g is both. Then the answer says `ambiguous`, and
// CallPeriodParams::anchor lets the user say which call ends a step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/time.hpp"
#include "model/text.hpp"

namespace culprit::analyze {

// One call, in the order of the log of one rank. The numbers of operations and communicators are
// names, nothing else.
struct Call {
  Nanoseconds time = 0;  // when it was launched
  std::uint32_t operation = 0;
  std::uint64_t communicator = 0;
  std::uint64_t elements = 0;  // or bytes: the same unit in the whole log
};

enum class PeriodMethod { none, anchor, match_rate, acf };
const char* name(PeriodMethod method);  // "anchor", "match-rate" ...

// A kind of call. Without `elements`: of any size, as an all-to-all whose size depends on the data.
struct CallSymbol {
  std::uint32_t operation = 0;
  std::uint64_t communicator = 0;
  std::optional<std::uint64_t> elements;
  bool operator==(const CallSymbol&) const = default;
};

struct CallPeriodParams {
  PeriodMethod method = PeriodMethod::anchor;  // acf: as published; match_rate: skip the anchors
  std::optional<CallSymbol>
      anchor;  // the user's word: this call comes once an iteration, alone or in a burst
  // Found on simulated logs; the benchmark call_period_accuracy prints what they reach on seeds not
  // used for that.
  double even = 0.70;    // share of the distances (in calls) that must agree with their median
  double agree = 0.02;   // how well
  double cover = 0.60;   // share of the log between the first and last anchor
  double chance = 0.01;  // kinds of calls that may recur so evenly by chance, of all in the log
  double large = 1e-4;  // share of all elements from which a call counts as gradients or parameters
  std::size_t least_iterations = 4;  // fewer is no period
  double match = 0.50;  // least share of matching calls beyond those that match by chance
  // GREYHOUND section 4.2.
  double acf_threshold = 0.95;
  std::size_t acf_most_lag = 200;
};

struct CallPeriod {
  PeriodMethod method =
      PeriodMethod::none;  // which one spoke; none: not enough evidence, see `why`
  std::size_t period = 0;  // calls in an iteration (median)
  std::vector<std::size_t>
      starts;  // index of the call that begins each iteration (a fixed place in it)
  std::vector<Nanoseconds> times;  // from a start to the next: one less than starts
  // 1: an ordinary iteration lies between the starts. 0: more or fewer calls than that, as where
  // records are lost or an evaluation or a checkpoint came between: the time is that of the whole
  // gap.
  std::vector<std::uint8_t> ordinary;
  Nanoseconds median = 0;  // of the ordinary ones
  std::optional<CallSymbol> anchor;
  bool burst = false;      // the anchor begins a burst of such calls
  bool ambiguous = false;  // micro-batches and iterations look alike in this log
  double confidence = 0;   // [0, 1]
  Text why;                // a sentence: what the answer rests on, or what is missing
};

// Times need not rise: a clock that went back makes a negative distance, which is left out of the
// median.
CallPeriod call_period(std::span<const Call> calls, const CallPeriodParams& params = {});

}  // namespace culprit::analyze
