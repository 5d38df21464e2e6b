// From outcomes of checks to machines: who is at fault survives whatever the tests were.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "plan/check_outcomes.hpp"

namespace culprit::plan {
namespace {

using Hosts = std::vector<std::size_t>;
using Kind = CheckContradiction::Kind;

bool has(const Hosts& hosts, std::size_t host) {
  return std::binary_search(hosts.begin(), hosts.end(), host);
}

TEST(CheckOutcomes, ATestOfOneMachineNamesIt) {
  const CheckOutcome outcomes[] = {{"EUD", {0}, true}, {"EUD", {1}, false}, {"EUD", {2}, true}};
  const CheckSolution s = solve_checks(outcomes, 4);
  EXPECT_EQ(s.failed, Hosts{1});
  EXPECT_TRUE(s.candidates.empty());
  EXPECT_EQ(s.passed, (Hosts{0, 2}));
  EXPECT_EQ(s.untested, Hosts{3});
  EXPECT_TRUE(s.contradictions.empty());
}

// Neighbours of a ring of five: 0-1 passed, 1-2 and 2-3 failed, 3-4 and 4-0 passed. By hand: 1 and
// 3 passed with others, so it is 2.
TEST(CheckOutcomes, NeighboursLeaveOne) {
  const CheckOutcome outcomes[] = {{"all-gather", {0, 1}, true},
                                   {"all-gather", {1, 2}, false},
                                   {"all-gather", {2, 3}, false},
                                   {"all-gather", {3, 4}, true},
                                   {"all-gather", {0, 4}, true}};
  const CheckSolution s = solve_checks(outcomes, 5);
  EXPECT_EQ(s.failed, Hosts{2});
  EXPECT_TRUE(s.open.empty());
}

TEST(CheckOutcomes, WithoutAPassBothStayAndTheOneInAllIsTold) {
  const CheckOutcome outcomes[] = {{"all-gather", {0, 1}, false}, {"all-gather", {1, 2}, false}};
  const CheckSolution s = solve_checks(outcomes, 3);
  EXPECT_TRUE(s.failed.empty());
  EXPECT_EQ(s.candidates, (Hosts{0, 1, 2}));
  EXPECT_EQ(s.in_all, Hosts{1});
}

TEST(CheckOutcomes, ALinkBetweenIsNoMachine) {
  const CheckOutcome outcomes[] = {
      {"all-gather", {0, 1}, true}, {"all-gather", {1, 2}, false}, {"all-gather", {2, 3}, true}};
  const CheckSolution s = solve_checks(outcomes, 4);
  EXPECT_TRUE(s.failed.empty());
  ASSERT_EQ(s.contradictions.size(), 1u);
  EXPECT_EQ(s.contradictions[0].kind, Kind::between);
  EXPECT_EQ(s.contradictions[0].hosts, (Hosts{1, 2}));
  EXPECT_EQ(s.candidates, (Hosts{1, 2}));
}

TEST(CheckOutcomes, BothOutcomesAreNamed) {
  const CheckOutcome outcomes[] = {{"EUD", {0}, true}, {"EUD", {0}, false}};
  const CheckSolution s = solve_checks(outcomes, 1);
  EXPECT_EQ(s.failed, Hosts{0}) << "a fault that shows now and then is one";
  ASSERT_EQ(s.contradictions.size(), 1u);
  EXPECT_EQ(s.contradictions[0].kind, Kind::both);
}

// Whatever groups are tested: machines that fail every test they take part in are never cleared.
RC_GTEST_PROP(CheckOutcomes, TheCulpritsSurvive, ()) {
  const auto hosts = *rc::gen::inRange<std::size_t>(2, 12);
  const auto bad = *rc::gen::unique<Hosts>(*rc::gen::inRange<std::size_t>(1, 3),
                                           rc::gen::inRange<std::size_t>(0, hosts));
  const auto tests = *rc::gen::inRange(1, 20);
  std::vector<CheckOutcome> outcomes;
  std::set<std::size_t> seen_failing;
  for (int t = 0; t < tests; ++t) {
    CheckOutcome o;
    o.task = *rc::gen::element<std::string>("a", "b");
    for (std::size_t h = 0; h < hosts; ++h)
      if (*rc::gen::inRange(0, 3) == 0) o.hosts.push_back(h);
    if (o.hosts.empty()) continue;
    o.passed = std::none_of(o.hosts.begin(), o.hosts.end(), [&](std::size_t h) {
      return std::find(bad.begin(), bad.end(), h) != bad.end();
    });
    outcomes.push_back(o);
  }
  const CheckSolution s = solve_checks(outcomes, hosts);
  for (const CheckOutcome& o : outcomes) {
    if (o.passed) continue;
    // Of each failed test a culprit is still named or among the candidates.
    RC_ASSERT(std::any_of(o.hosts.begin(), o.hosts.end(), [&](std::size_t h) {
      const bool guilty = std::find(bad.begin(), bad.end(), h) != bad.end();
      return guilty && (has(s.failed, h) || has(s.candidates, h));
    }));
  }
  // Nobody is named who is not at fault, and what is consistent is no contradiction.
  for (const std::size_t h : s.failed) RC_ASSERT(std::find(bad.begin(), bad.end(), h) != bad.end());
  RC_ASSERT(s.contradictions.empty());
  if (bad.size() == 1 && !s.open.empty()) RC_ASSERT(has(s.in_all, bad[0]));
}

// One link fails whenever both its ends take part: its ends are named as such, or are candidates.
RC_GTEST_PROP(CheckOutcomes, ALinkSurvives, ()) {
  const auto hosts = *rc::gen::inRange<std::size_t>(3, 10);
  const auto a = *rc::gen::inRange<std::size_t>(0, hosts - 1);
  const auto b = a + 1;
  std::vector<CheckOutcome> outcomes;
  for (std::size_t x = 0; x < hosts; ++x)
    for (std::size_t y = x + 1; y < hosts; ++y)
      if (*rc::gen::inRange(0, 2) == 0 || (x == a && y == b))
        outcomes.push_back({"pair", {x, y}, !(x == a && y == b)});
  const CheckSolution s = solve_checks(outcomes, hosts);
  const bool named = has(s.failed, a) || has(s.failed, b);
  RC_ASSERT(named || (has(s.candidates, a) && has(s.candidates, b)));
}

}  // namespace
// Aegis section 6: many hosts that fail the same test have something in common, such as an update.
TEST(CheckOutcomes, ManyHostsThatFailATestAreNoFaultOfEach) {
  std::vector<CheckOutcome> outcomes;
  for (std::size_t host = 0; host < 100; ++host) {
    outcomes.push_back({"NVLink", {host}, host % 10 != 0});  // 10 of 100
    outcomes.push_back({"HBM", {host}, host >= 4});          // 4 of 100: chance gives it 14 %
  }
  const CheckSolution answer = solve_checks(outcomes, 100);
  ASSERT_EQ(answer.widespread.size(), 1u);
  EXPECT_EQ(answer.widespread[0].task, "NVLink");
  EXPECT_EQ(answer.widespread[0].failed, 10u);
  EXPECT_EQ(answer.widespread[0].tested, 100u);
  // Four suspects that all fail are suspects.
  outcomes.clear();
  for (std::size_t host = 0; host < 4; ++host) outcomes.push_back({"NVLink", {host}, false});
  EXPECT_TRUE(solve_checks(outcomes, 4).widespread.empty());
}

}  // namespace culprit::plan
