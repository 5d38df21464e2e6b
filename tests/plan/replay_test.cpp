// Dual-phase replay: the paper's example, every small plan with every faulty machine, flaky faults,
// contradictions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "plan/replay.hpp"
#include "plan/replay_solve.hpp"

namespace {

using namespace culprit::plan;
using culprit::Result;

ReplayParams params(std::int64_t machines, std::int64_t pp, std::int64_t k = 0,
                    std::int64_t spares = 0) {
  ReplayParams p;
  p.machines = machines;
  p.pp = pp;
  p.k = k;
  p.spares = spares;
  return p;
}

bool holds(const ReplayGroup& g, MachineIndex x) {
  return std::binary_search(g.members.begin(), g.members.end(), x) ||
         std::binary_search(g.borrowed.begin(), g.borrowed.end(), x);
}

// What replays of a fault that always shows give.
std::vector<ReplayOutcome> outcomes(const ReplayPlan& plan,
                                    std::initializer_list<MachineIndex> faulty) {
  std::vector<ReplayOutcome> out(plan.tests.size(), ReplayOutcome{1, 0});
  for (const MachineIndex x : faulty)
    for (const std::uint32_t t : plan.tests_of[x]) out[t].failures = 1;
  return out;
}

std::vector<ReplayOutcome> told(const ReplayPlan& plan,
                                std::initializer_list<std::pair<const char*, ReplayOutcome>> said,
                                bool rest_pass = false) {
  std::vector<ReplayOutcome> out(plan.tests.size(),
                                 rest_pass ? ReplayOutcome{1, 0} : ReplayOutcome{});
  for (const auto& [name, outcome] : said) {
    const auto it =
        std::find_if(plan.tests.begin(), plan.tests.end(),
                     [&, wanted = name](const ReplayGroup& g) { return g.name == wanted; });
    EXPECT_NE(it, plan.tests.end()) << name;
    out[static_cast<std::size_t>(it - plan.tests.begin())] = outcome;
  }
  return out;
}

std::vector<MachineIndex> machines(const ReplaySolution& s) {
  std::vector<MachineIndex> out;
  for (const auto& c : s.candidates) out.push_back(c.machine);
  return out;
}

TEST(Replay, FindsThePapersMachine) {  // ByteRobust figure 6: m = 4, n = 6, a = 3, b = 1
  const auto plan = plan_replay(params(24, 4));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->group, 4);
  EXPECT_EQ(plan->groups, 6);
  EXPECT_TRUE(plan->unique());
  EXPECT_EQ(plan->tests[3].members, (std::vector<MachineIndex>{12, 13, 14, 15}));
  EXPECT_EQ(plan->tests[7].members, (std::vector<MachineIndex>{1, 7, 13, 19}));
  const auto solution = solve_replay(*plan, told(*plan, {{"H3", {1, 1}}, {"V1", {1, 1}}}));
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->answer, ReplayAnswer::found);
  ASSERT_EQ(solution->found, 1u);
  EXPECT_EQ(solution->candidates[0].machine, 13u);
  EXPECT_GT(solution->candidates[0].probability, 0.95);
}

TEST(Replay, LeavesCandidatesWhenGroupsAreLargerThanMany) {  // m = 6, n = 4: ceil(6/4) = 2
  const auto plan = plan_replay(params(24, 6, 1));
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->unique());
  EXPECT_EQ(plan->most_candidates, 2);
  const auto solution = solve_replay(*plan, outcomes(*plan, {13}));
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->answer, ReplayAnswer::candidates);
  EXPECT_EQ(machines(*solution), (std::vector<MachineIndex>{13, 17}));
  EXPECT_NEAR(solution->candidates[0].probability, 0.5, 0.001);  // a little more, for both at once
  ASSERT_EQ(solution->third_phase.size(), 2u);
  EXPECT_EQ(solution->third_phase[0].members, (std::vector<MachineIndex>{13}));
  EXPECT_EQ(solution->third_phase[0].size(), 6u);
  EXPECT_FALSE(holds(solution->third_phase[0], 17));
}

TEST(Replay, WhatIsKnownOfTheMachinesOrdersCandidates) {
  const auto plan = plan_replay(params(24, 6, 1));
  ASSERT_TRUE(plan);
  SolveParams solve;
  solve.priors.assign(24, 1);
  const auto even = solve_replay(*plan, outcomes(*plan, {13}), solve);
  ASSERT_TRUE(even);
  EXPECT_NEAR(even->candidates[0].probability, 0.5, 0.001) << "all alike is no knowledge";
  solve.priors[17] = 3;
  const auto known = solve_replay(*plan, outcomes(*plan, {13}), solve);
  ASSERT_TRUE(known);
  EXPECT_EQ(machines(*known), (std::vector<MachineIndex>{17, 13}));
  EXPECT_NEAR(known->candidates[0].probability, 0.75, 0.01);
  solve.priors.assign(24, 1);
  solve.priors[2] = 1000;
  const auto cleared = solve_replay(*plan, outcomes(*plan, {13}), solve);
  ASSERT_TRUE(cleared);
  EXPECT_EQ(machines(*cleared), (std::vector<MachineIndex>{13, 17})) << "its groups passed";
}

TEST(Replay, ThirdPhaseEndsTheSearch) {
  auto plan = plan_replay(params(24, 6, 1));
  ASSERT_TRUE(plan);
  const auto solution = solve_replay(*plan, outcomes(*plan, {17}));
  ASSERT_TRUE(solution);
  for (const auto& g : solution->third_phase) plan->tests.push_back(g);
  index_tests(*plan);
  const auto last = solve_replay(*plan, outcomes(*plan, {17}));
  ASSERT_TRUE(last);
  EXPECT_EQ(last->answer, ReplayAnswer::found);
  EXPECT_EQ(last->candidates[0].machine, 17u);
}

// Every plan of up to 400 machines: any PP, any k, any faulty machine. A fault that always shows
// makes exactly the groups of its machine fail, so the candidates are the machines that are in the
// same groups and in no other. In parts, so that each is quick.
class EveryPlan : public testing::TestWithParam<int> {};

TEST_P(EveryPlan, LeavesNoMoreCandidatesThanItSays) {
  for (std::int64_t z = 2 + GetParam(); z <= CULPRIT_MOST_MACHINES; z += 40)
    for (std::int64_t pp = 1; pp <= z; ++pp)
      for (std::int64_t k = 1; k * pp <= z; ++k) {
        const std::int64_t m = k * pp;
        // Groups of the same size are the same groups, but for how they are filled: not all pairs
        // are needed of the large ones.
        if (pp > 1 && k > 1 && z > 60 && pp != 2 && pp != 4) continue;
        const auto plan = plan_replay(params(z, pp, k));
        ASSERT_TRUE(plan) << z << ' ' << pp << ' ' << k;
        if (plan->groups == 1) continue;  // one group for all tells nothing
        std::map<std::vector<std::uint32_t>, std::int64_t> alike;
        for (MachineIndex x = 0; x < z; ++x) {
          ASSERT_GE(plan->tests_of[x].size(), 2u) << z << ' ' << pp << ' ' << k << ' ' << x;
          ++alike[plan->tests_of[x]];
        }
        for (const auto& [tests, machines] : alike)
          ASSERT_LE(machines, plan->most_candidates) << z << ' ' << pp << ' ' << k;
        if (z % m == 0) {
          ASSERT_EQ(plan->most_candidates, std::max<std::int64_t>(1, (m + z / m - 1) / (z / m)))
              << z << ' ' << pp << ' ' << k;
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Replay, EveryPlan, testing::Range(0, 40));

// The solution of each: PP, k, and a quarter of the sizes up to 400; every faulty machine.
class EveryMachine : public testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(EveryMachine, IsFound) {
  const auto [pp, k, quarter] = GetParam();
  for (std::int64_t z = pp * k + quarter; z <= CULPRIT_MOST_MACHINES; z += 4) {
    const auto plan = plan_replay(params(z, pp, k));
    ASSERT_TRUE(plan) << z << ' ' << pp << ' ' << k;
    if (plan->groups == 1) continue;
    for (MachineIndex x = 0; x < z; ++x) {
      // Two uneven groups a phase can both borrow a machine: with it everything fails, and nobody
      // is accused.
      if (plan->groups == 2 && plan->tests_of[x].size() == plan->tests.size()) continue;
      const auto solution = solve_replay(*plan, outcomes(*plan, {x}));
      ASSERT_TRUE(solution);
      const auto& c = solution->candidates;
      ASSERT_FALSE(c.empty()) << "z " << z << " pp " << pp << " k " << k << " x " << x;
      if (plan->unique()) {
        ASSERT_EQ(solution->answer, ReplayAnswer::found)
            << "z " << z << " pp " << pp << " k " << k << " x " << x;
        ASSERT_EQ(solution->found, 1u);
        ASSERT_EQ(c[0].machine, x) << "z " << z << " pp " << pp << " k " << k;
      } else {
        // As likely as any other, among ceil(m/n) at most.
        const auto mine =
            std::find_if(c.begin(), c.end(), [&](const auto& one) { return one.machine == x; });
        ASSERT_NE(mine, c.end()) << "z " << z << " pp " << pp << " k " << k << " x " << x;
        ASSERT_NEAR(mine->probability, c[0].probability, 1e-9);
        ASSERT_LE(std::count_if(
                      c.begin(), c.end(),
                      [&](const auto& one) { return one.probability > c[0].probability - 1e-9; }),
                  plan->most_candidates)
            << "z " << z << " pp " << pp << " k " << k << " x " << x;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Replay, EveryMachine,
                         testing::Combine(testing::Values(1, 2, 3, 4, 8, 16),
                                          testing::Values(1, 2, 3, 4), testing::Range(0, 4)));

TEST(Replay, TwoFaultyMachinesAreAmongTheCandidates) {
  SolveParams keep;
  keep.most_shown = 400;
  for (const std::int64_t pp : {1, 2, 4})
    for (const std::int64_t z : {8, 13, 24, 30, 61, 96})
      for (const std::int64_t k : {1, 2}) {
        const auto plan = plan_replay(params(z, pp, k));
        ASSERT_TRUE(plan);
        if (plan->groups < 3) continue;
        for (MachineIndex x = 0; x < z; ++x)
          for (MachineIndex y = x + 1; y < z; ++y) {
            const auto solution = solve_replay(*plan, outcomes(*plan, {x, y}), keep);
            ASSERT_TRUE(solution);
            const auto found = machines(*solution);
            ASSERT_TRUE(std::count(found.begin(), found.end(), x) == 1 &&
                        std::count(found.begin(), found.end(), y) == 1)
                << "z " << z << " pp " << pp << " k " << k << ": " << x << ' ' << y << ' '
                << name(solution->answer);
          }
      }
}

TEST(Replay, TwoFaultyMachinesEndInAThirdPhaseThatFindsBoth) {
  auto plan = plan_replay(params(24, 4));
  ASSERT_TRUE(plan);
  const auto solution = solve_replay(*plan, outcomes(*plan, {2, 13}));
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->answer, ReplayAnswer::candidates);
  EXPECT_EQ(machines(*solution), (std::vector<MachineIndex>{1, 2, 13, 14}));  // the set product
  ASSERT_EQ(solution->third_phase.size(), 4u);
  for (const auto& g : solution->third_phase) plan->tests.push_back(g);
  index_tests(*plan);
  const auto last = solve_replay(*plan, outcomes(*plan, {2, 13}));
  ASSERT_TRUE(last);
  EXPECT_EQ(last->answer, ReplayAnswer::found);
  EXPECT_EQ(last->found, 2u);
  EXPECT_EQ(machines(*last), (std::vector<MachineIndex>{2, 13}));
}

TEST(Replay, EveryGroupRunsWholeReplicasAndEveryMachineOnceAWave) {
  for (const std::int64_t pp : {1, 2, 3, 4, 8})
    for (std::int64_t k = 1; k <= 3; ++k)
      for (std::int64_t z = pp * k; z <= 130; ++z)
        for (const std::int64_t spares : {0, 1, 5}) {
          const auto plan = plan_replay(params(z, pp, k, spares));
          ASSERT_TRUE(plan);
          std::set<std::tuple<int, int, MachineIndex>> busy;
          std::vector<int> member(static_cast<std::size_t>(z), 0);
          for (const auto& g : plan->tests) {
            ASSERT_EQ(static_cast<std::int64_t>(g.size()) % plan->replica_machines, 0)
                << z << ' ' << pp << ' ' << k << ' ' << g.name;
            ASSERT_GE(g.dp, 1);
            for (const auto* part : {&g.members, &g.borrowed, &g.spares})
              for (const MachineIndex x : *part)
                ASSERT_TRUE(busy.emplace(g.phase, g.wave, x).second)
                    << z << ' ' << pp << ' ' << k << ' ' << g.name << ' ' << x;
            for (const MachineIndex x : g.members) ++member[x];
          }
          for (const int times : member) ASSERT_EQ(times, 2);
        }
}

TEST(Replay, SparesFillUpTheLastGroup) {
  const auto plan = plan_replay(params(22, 4, 1, 2));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->tests[5].members.size(), 2u);
  EXPECT_EQ(plan->tests[5].spares, (std::vector<MachineIndex>{22, 23}));
  for (const auto& g : plan->tests) EXPECT_EQ(g.size(), 4u) << g.name;
}

TEST(Replay, ChoosesTheSmallestKThatIsUnique) {
  EXPECT_EQ(plan_replay(params(1200, 8))->params.k, 1);
  EXPECT_EQ(plan_replay(params(64, 1))->group, 2)
      << "a machine alone shows no fault of communication";
  ReplayParams wide = params(1200, 8);
  wide.min_dp = 3;
  EXPECT_EQ(plan_replay(wide)->params.k, 3);
  ReplayParams small = params(16, 4);  // TP 2 of 8 GPUs: a replica of 8 GPUs is one machine
  small.tp = 2;
  EXPECT_EQ(plan_replay(small)->replica_machines, 1);
}

TEST(Replay, RepeatsAFlakyFaultUntilBothPhasesShowIt) {
  // (1 - 0.3^3)^2 = 0.947, (1 - 0.3^4)^2 = 0.984
  EXPECT_EQ(repeats_for(0.7, 0.95, 2), 4);
  EXPECT_EQ(repeats_for(0.7, 0.9467, 2), 3);
  EXPECT_EQ(repeats_for(1, 0.999, 2), 1);
  EXPECT_EQ(repeats_for(0.7, 0.95, 1), 3);
}

TEST(Replay, FlakyOutcomesRankTheRightMachineFirst) {
  ReplayParams p = params(24, 4);
  p.shows = 0.7;
  const auto plan = plan_replay(p);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->repeats, 4);
  auto said = told(*plan, {{"H3", {4, 3}}, {"V1", {4, 2}}});
  for (auto& o : said)
    if (o.runs == 0) o.runs = 4;
  const auto solution = solve_replay(*plan, said);
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->answer, ReplayAnswer::found);
  EXPECT_EQ(solution->candidates[0].machine, 13u);
  // The vertical phase missed it once: one run is no proof, four are.
  auto missed = told(*plan, {{"H3", {1, 1}}}, true);
  const auto open = solve_replay(*plan, missed);
  ASSERT_TRUE(open);
  EXPECT_EQ(open->answer, ReplayAnswer::candidates);
  EXPECT_EQ(open->candidates.size(), 4u);
}

TEST(Replay, BayesByHand) {  // 4 machines, groups {0,1} {2,3} and {0,2} {1,3}; H0 failed, V0 passed
                             // once, V1 is not told
  ReplayParams p = params(4, 2);
  p.shows = 0.5;
  const auto plan = plan_replay(p);
  ASSERT_TRUE(plan);
  SolveParams alone;
  alone.pair_prior = 0;
  const auto solution = solve_replay(*plan, told(*plan, {{"H0", {1, 1}}, {"V0", {1, 0}}}), alone);
  ASSERT_TRUE(solution);
  ASSERT_EQ(solution->candidates.size(), 2u);  // 0: 0.5 x 0.5; 1: 0.5
  EXPECT_EQ(solution->candidates[0].machine, 1u);
  EXPECT_NEAR(solution->candidates[0].probability, 2.0 / 3, 1e-12);
  EXPECT_EQ(solution->answer, ReplayAnswer::more_runs);
  ASSERT_EQ(solution->run_next.size(), 1u);
  EXPECT_EQ(plan->tests[solution->run_next[0]].name, "V1");
}

TEST(Replay, OnlyGroupsWithACandidateAreRunNext) {
  const auto plan = plan_replay(params(48, 4));
  ASSERT_TRUE(plan);
  auto said = told(*plan, {});
  for (std::size_t i = 0; i < 12; ++i) said[i] = {1, i == 3};
  const auto solution = solve_replay(*plan, said);
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->answer, ReplayAnswer::more_runs);
  EXPECT_EQ(solution->run_next.size(), 4u);
  for (const auto t : solution->run_next) EXPECT_EQ(plan->tests[t].phase, 2);
}

TEST(Replay, ExplainsAPhaseThatStaysSilent) {
  const auto plan = plan_replay(params(24, 4));
  ASSERT_TRUE(plan);
  const auto solution = solve_replay(*plan, told(*plan, {{"H3", {1, 1}}}, true));
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->answer, ReplayAnswer::contradiction);
  EXPECT_EQ(solution->found, 0u) << "nobody is accused";
  EXPECT_EQ(machines(*solution), (std::vector<MachineIndex>{12, 13, 14, 15}));
  EXPECT_EQ(solution->run_next.size(), 5u);
  EXPECT_TRUE(solution->shows_from_outcomes);
}

TEST(Replay, AccusesNobodyWhenEverythingFailsOrNothing) {
  const auto plan = plan_replay(params(24, 4));
  ASSERT_TRUE(plan);
  std::vector<ReplayOutcome> all(plan->tests.size(), ReplayOutcome{1, 1});
  EXPECT_EQ(solve_replay(*plan, all)->answer, ReplayAnswer::no_machine);
  EXPECT_TRUE(solve_replay(*plan, all)->candidates.size() == 0 ||
              solve_replay(*plan, all)->found == 0);
  std::vector<ReplayOutcome> none(plan->tests.size(), ReplayOutcome{1, 0});
  EXPECT_EQ(solve_replay(*plan, none)->answer, ReplayAnswer::not_reproduced);
  EXPECT_TRUE(solve_replay(*plan, none)->candidates.empty());
  std::vector<ReplayOutcome> untold(plan->tests.size());
  EXPECT_EQ(solve_replay(*plan, untold)->answer, ReplayAnswer::more_runs);
}

TEST(Replay, AccusesNobodyWithoutAGroupThatPasses) {
  const auto one = plan_replay(params(1, 1));
  ASSERT_TRUE(one);
  EXPECT_EQ(solve_replay(*one, outcomes(*one, {0}))->answer, ReplayAnswer::no_machine);
  const auto two = plan_replay(params(4, 2));
  ASSERT_TRUE(two);
  std::vector<ReplayOutcome> all(two->tests.size(), ReplayOutcome{1, 1});
  EXPECT_EQ(solve_replay(*two, all)->answer, ReplayAnswer::no_machine);
}

TEST(Replay, CostsByHand) {  // 24 machines of 8 GPUs, 30 minutes a replay
  const auto plan = plan_replay(params(24, 4));
  ASSERT_TRUE(plan);
  const auto& dual = plan->costs[0];
  EXPECT_EQ(dual.rounds, 2);
  EXPECT_DOUBLE_EQ(dual.hours, 1);
  EXPECT_DOUBLE_EQ(dual.gpu_hours, 192);
  const auto& halving = plan->costs[1];
  EXPECT_EQ(halving.rounds, 5);
  EXPECT_DOUBLE_EQ(halving.held_gpu_hours, (24 + 12 + 6 + 3 + 2) * 8 * 0.5);
  const auto& single = plan->costs[2];
  EXPECT_EQ(single.rounds, 23);
  EXPECT_DOUBLE_EQ(single.gpu_hours, 23 * 4 * 8 * 0.5);
}

TEST(Replay, RefusesWhatCannotRun) {
  EXPECT_FALSE(plan_replay(params(0, 1)));
  EXPECT_FALSE(plan_replay(params(3, 4)));
  EXPECT_TRUE(plan_replay(params(3, 4, 0, 1)));
  EXPECT_FALSE(plan_replay(params(24, 4, 7)));
  EXPECT_FALSE(plan_replay(params(24, 1 << 20)));
  EXPECT_FALSE(plan_replay(params(kMostMachines + 1, 4)));
  ReplayParams nan = params(24, 4);
  nan.shows = std::nan("");
  EXPECT_FALSE(plan_replay(nan));
  const auto plan = plan_replay(params(24, 4));
  EXPECT_FALSE(solve_replay(*plan, {}));
  EXPECT_FALSE(
      solve_replay(*plan, std::vector<ReplayOutcome>(plan->tests.size(), ReplayOutcome{1, 2})));
}

}  // namespace
