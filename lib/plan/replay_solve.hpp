// From the outcomes of a dual-phase replay to the machine (ByteRobust §4.2, algorithm 1, line 13),
// to candidates with probabilities and the third phase that tells them apart, or to the reason why
// the outcomes fit no machine.
//
// The paper has one machine and a fault that always shows. Here: Bayes over every single machine
// (equally likely, or by what is known of them) and, with little prior weight, every pair; a run
// without the fault in it never fails, a run with it fails with probability `shows`. The reason for
// no false alarms: a failing replay without its machine would be another fault, and is one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/enum_name.hpp"
#include "plan/replay.hpp"

namespace culprit::plan {

// Of the test of the same index in the plan. No runs: not told.
struct ReplayOutcome {
  std::int64_t runs = 0, failures = 0;
};

struct SolveParams {
  double pair_prior = 0.01;  // that two machines are faulty rather than one; "typically only a
                             // single" (ByteRobust §4.2)
  // How likely each machine is to be faulty before any test, against the others; empty: all alike.
  std::vector<double> priors;
  double flaky_shows = 0.7;     // assumed when outcomes contradict a fault that always shows: EUD's
                                // recall (ByteRobust §9)
  std::size_t most_shown = 64;  // candidates kept; the least likely go
};

struct ReplayCandidate {
  MachineIndex machine = 0;
  double probability = 0;  // that it is faulty; of two faulty machines both may be near 1
};

enum class ReplayAnswer {
  found,       // candidates at the front reach the confidence, the rest together less than what is
               // missing to 1
  candidates,  // a third phase tells them apart
  more_runs,   // groups are not told that could decide
  contradiction,   // groups of one phase fail and none of the other
  not_reproduced,  // everything passed
  no_machine,      // everything fails, in the whole phase: code, data, configuration, or a shared
                   // service
};
constexpr std::string_view name(ReplayAnswer answer) { return enum_name(answer); }

struct ReplaySolution {
  ReplayAnswer answer = ReplayAnswer::more_runs;
  std::vector<ReplayCandidate> candidates;  // likeliest first, then by number
  std::size_t found = 0;                    // how many of them are the answer
  std::size_t left_out = 0;                 // candidates beyond most_shown
  double shows = 1;                         // what was reckoned with
  bool shows_from_outcomes =
      false;  // because a group both passed and failed, or the phases contradict
  std::vector<std::uint32_t> run_next;   // tests of the plan to run, or to run again
  std::int64_t run_times = 1;            // each of them
  std::vector<ReplayGroup> third_phase;  // new tests, T0.. (numbers go on when the plan has some)
  std::vector<std::string> why, advice;  // sentences
};

// `outcomes` has one entry a test of the plan. Errors (usage): another number of them, failures
// beyond runs.
Result<ReplaySolution> solve_replay(const ReplayPlan& plan,
                                    const std::vector<ReplayOutcome>& outcomes,
                                    const SolveParams& params = {});

}  // namespace culprit::plan
