// Dual-phase replay (ByteRobust §4.2, algorithm 1): which machines replay the job together, twice,
// so that the two groups in which the fault shows share one machine. TP and PP stay as they are,
// only the data-parallel size shrinks.
//
// With z machines, groups of m = k x (machines of one replica) and n = z/m groups, machine x is in
// horizontal group floor(x/m) and vertical group x mod n. The answer is unique when m <= n, else at
// most ceil(m/n) machines are left. The paper has a stage on a machine, so a replica is PP
// machines; here it is what TP, PP, CP and the GPUs make it.
//
// When m does not divide z, the paper is silent. Groups are filled with spares (machines known to
// be good), else they are shorter as long as whole replicas fit, else they borrow suspects of other
// groups and run after them, in another wave: a machine is in one replay at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/result.hpp"

namespace culprit::plan {

using MachineIndex = std::uint32_t;

inline constexpr std::int64_t kMostMachines = 1 << 17;

struct ReplayParams {
  std::int64_t machines = 0;  // z: the suspects, numbered from 0
  std::int64_t spares = 0;    // machines known to be good, numbered from z
  std::int64_t gpus_per_machine = 8;
  std::int64_t tp = 0;  // 0: gpus_per_machine, so that a stage fills a machine as in the paper
  std::int64_t pp = 1, cp = 1;
  std::int64_t dp = 0;       // of the job, to hold against the machines; 0: not known
  std::int64_t k = 0;        // 0: chosen
  std::int64_t min_dp = 1;   // smallest data-parallel size of a replay, for the choice of k
  double shows = 1;          // how often a replay with the faulty machine in it shows the fault
  double confidence = 0.95;  // wanted, that both phases show it
  std::int64_t repeats = 0;  // of each replay; 0: what `shows` and `confidence` need
  double minutes = 30;       // of one replay; the user's to say
};

struct ReplayGroup {
  std::string name;                   // H0.., V0..; T0.. of the third phase
  int phase = 1;                      // 1 horizontal, 2 vertical, 3 what solve_replay() asks for
  int wave = 0;                       // groups of one wave run at the same time
  std::vector<MachineIndex> members;  // sorted
  std::vector<MachineIndex>
      borrowed;  // suspects of other groups that fill this one; its outcome counts for them too
  std::vector<MachineIndex> spares;  // fillers that are known to be good
  std::int64_t dp = 1;               // of this replay

  std::size_t size() const { return members.size() + borrowed.size() + spares.size(); }
};

// What a way of searching takes until one machine is left, at the wanted confidence, at worst.
struct ReplayCost {
  std::string method;        // dual-phase, bisection, one-by-one
  std::int64_t rounds = 0;   // replays one after the other, repeats included
  std::int64_t repeats = 1;  // of each replay, among them
  double hours = 0;          // wall time
  double gpu_hours = 0;      // of replays
  double held_gpu_hours =
      0;  // of suspects that do no work meanwhile; bisection returns those that passed
};

struct ReplayPlan {
  ReplayParams params;                 // tp and k filled in
  std::int64_t replica_machines = 1;   // the smallest number of machines that whole replicas fill
  std::int64_t group = 1, groups = 1;  // m, n
  std::int64_t repeats = 1;
  std::int64_t most_candidates =
      1;  // 1: the answer is unique; else ceil(m/n), or more where groups borrow
  bool unique() const { return most_candidates == 1; }
  std::vector<ReplayGroup> tests;  // by phase, then by number
  std::vector<std::vector<std::uint32_t>>
      tests_of;  // by machine: indexes of `tests`, ascending; made by index_tests()
  std::vector<ReplayCost> costs;   // dual-phase, bisection, one-by-one
  std::vector<std::string> notes;  // what is not as in the paper, and what that costs
};

// Errors (usage): sizes that fit no machine, fewer machines than a replica, numbers out of range.
Result<ReplayPlan> plan_replay(const ReplayParams& params);

void index_tests(ReplayPlan& plan);

// Runs of each of `tests` so that all of them show a fault that each run shows with probability
// `shows`, with the wanted confidence: the least r with (1 - (1 - shows)^r)^tests >= confidence. At
// most 1000.
std::int64_t repeats_for(double shows, double confidence, std::int64_t tests);

}  // namespace culprit::plan
