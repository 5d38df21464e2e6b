// Halving along pods and ToR groups: how fast, what halves share, and what is left when no half
// fails.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "plan/isolate.hpp"

namespace {

using namespace culprit::plan;

std::vector<IsolateHost> network(
    const std::vector<std::vector<std::size_t>>& pods) {  // hosts a ToR
  std::vector<IsolateHost> out;
  for (std::size_t p = 0; p < pods.size(); ++p)
    for (std::size_t t = 0; t < pods[p].size(); ++t)
      for (std::size_t h = 0; h < pods[p][t]; ++h)
        out.push_back({"n" + std::to_string(out.size()),
                       "t" + std::to_string(p) + "." + std::to_string(t), "p" + std::to_string(p)});
  return out;
}

struct Walk {
  IsolateState state;
  std::int64_t rounds = 0;
};

// Tests fail when they hold one of these.
Walk walk(std::vector<IsolateHost> hosts, const std::set<std::size_t>& faulty,
          std::size_t smallest = 1) {
  auto state = start_isolation(std::move(hosts), smallest);
  EXPECT_TRUE(state);
  Walk out{*state, 0};
  while (!out.state.done() && out.rounds < 100) {
    std::map<std::string, bool> failed;
    std::set<std::pair<int, std::size_t>> busy;
    std::map<int, std::vector<std::vector<std::string>>> links;
    for (const IsolateTest& test : tests_of(out.state)) {
      failed[test.name] = std::any_of(test.hosts.begin(), test.hosts.end(),
                                      [&](std::size_t h) { return faulty.count(h) > 0; });
      HostSet all = test.hosts;
      all.insert(all.end(), test.fillers.begin(), test.fillers.end());
      for (const std::size_t h : all) EXPECT_TRUE(busy.emplace(test.wave, h).second);
      links[test.wave].push_back(links_used(out.state.hosts, all));
    }
    for (const auto& [wave, of] : links) {
      std::multiset<std::string> once;
      for (const auto& one : of) once.insert(one.begin(), one.end());
      EXPECT_EQ(once.size(), std::set<std::string>(once.begin(), once.end()).size())
          << "tests of one wave share a link";
    }
    auto next = step(out.state, failed);
    EXPECT_TRUE(next);
    out.state = *next;
    ++out.rounds;
  }
  return out;
}

TEST(Isolate, CutsBetweenPodsFirst) {
  const auto hosts = network({{2, 2}, {2, 2}});
  const Cut cut = cut_in_half(hosts, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(cut.border, "pod");
  EXPECT_EQ(cut.first, (HostSet{0, 1, 2, 3}));
  EXPECT_EQ(cut.between, (std::vector<std::string>{"core switches"}));
  const Cut within = cut_in_half(hosts, {0, 1, 2, 3});
  EXPECT_EQ(within.border, "tor");
  EXPECT_EQ(within.between, (std::vector<std::string>{"aggregation switches of pod p0"}));
  const Cut inside = cut_in_half(hosts, {0, 1});
  EXPECT_EQ(inside.border, "host");
  EXPECT_EQ(inside.between,
            (std::vector<std::string>{"aggregation switches of pod p0", "switches of tor t0.0"}));
}

TEST(Isolate, FindsWholePodsThatAddUp) {  // 3 + 1 against 4, although 3 | 5 comes first
  const Cut cut = cut_in_half(network({{3}, {4}, {1}}), {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(cut.border, "pod");
  EXPECT_EQ(cut.first, (HostSet{0, 1, 2, 7}));
}

TEST(Isolate, GoesThroughAPodWhenTheBorderIsTooUneven) {  // 14 | 2 would need 5 rounds for 16 hosts
  const auto hosts = network({{7, 7}, {2}});
  HostSet all;
  for (std::size_t i = 0; i < hosts.size(); ++i) all.push_back(i);
  const Cut cut = cut_in_half(hosts, all);
  EXPECT_LE(std::max(cut.first.size(), cut.second.size()), 8u);
}

RC_GTEST_PROP(Isolate, AnyFaultyHostIsFoundInTime, ()) {
  std::vector<std::vector<std::size_t>> pods(*rc::gen::inRange<std::size_t>(1, 6));
  for (auto& tors : pods)
    tors = *rc::gen::container<std::vector<std::size_t>>(*rc::gen::inRange<std::size_t>(1, 6),
                                                         rc::gen::inRange<std::size_t>(1, 9));
  const auto hosts = network(pods);
  const auto bad = *rc::gen::inRange<std::size_t>(0, hosts.size());
  const auto smallest = *rc::gen::inRange<std::size_t>(1, 4);
  const Walk out = walk(hosts, {bad}, smallest);
  RC_ASSERT(out.state.faulty == HostSet{bad});
  RC_ASSERT(out.state.cleared.size() == hosts.size() - 1);
  RC_ASSERT(out.rounds <= halving_rounds(hosts.size()) + 1);
  RC_ASSERT(out.state.clues.empty());
}

// Every number of hosts up to 128, every faulty one of them: without a topology, and below switches
// of 8 in pods of 32. In eighths, so that each is quick.
class EveryHost : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryHost, IsFoundAmongEveryNumberOfHosts) {
  for (std::size_t n = 2 + GetParam(); n <= 128; n += 8) {
    std::vector<IsolateHost> bare, wired;
    for (std::size_t i = 0; i < n; ++i) {
      bare.push_back({"h" + std::to_string(i), "", ""});
      wired.push_back(
          {"h" + std::to_string(i), "t" + std::to_string(i / 8), "p" + std::to_string(i / 32)});
    }
    for (const auto& hosts : {bare, wired})
      for (std::size_t bad = 0; bad < n; ++bad) {
        const Walk out = walk(hosts, {bad});
        ASSERT_EQ(out.state.faulty, HostSet{bad}) << n << " hosts";
        ASSERT_EQ(out.state.cleared.size(), n - 1) << n << " hosts, " << bad;
        ASSERT_LE(out.rounds, halving_rounds(n) + 1) << n << " hosts, " << bad;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Isolate, EveryHost, testing::Range<std::size_t>(0, 8));

RC_GTEST_PROP(Isolate, TwoFaultyHostsAreBothFound, ()) {
  const auto tors = *rc::gen::container<std::vector<std::size_t>>(
      *rc::gen::inRange<std::size_t>(1, 8), rc::gen::inRange<std::size_t>(1, 9));
  const auto hosts = network({tors, tors});
  const auto a = *rc::gen::inRange<std::size_t>(0, hosts.size()),
             b = *rc::gen::inRange<std::size_t>(0, hosts.size());
  RC_PRE(a != b);
  const Walk out = walk(hosts, {a, b});
  RC_ASSERT((out.state.faulty == HostSet{std::min(a, b), std::max(a, b)}));
  RC_ASSERT(out.rounds <= halving_rounds(hosts.size()) + 1);
}

TEST(Isolate, SuspectsCoreSwitchesWhenNoHalfFails) {  // Aegis §4.1.2, "transforming the missing
                                                      // piece into a new clue"
  const Walk out = walk(network({{4, 4}, {4, 4}}), {});
  EXPECT_EQ(out.rounds, 1);
  EXPECT_TRUE(out.state.faulty.empty());
  ASSERT_EQ(out.state.clues.size(), 1u);
  EXPECT_EQ(out.state.clues[0].suspects, (std::vector<std::string>{"core switches"}));
  EXPECT_TRUE(out.state.cleared.empty()) << "nobody is sent back to service on such a result";
}

TEST(Isolate, WorksWithoutAnyTopology) {
  std::vector<IsolateHost> hosts;
  for (int i = 0; i < 13; ++i) hosts.push_back({"h" + std::to_string(i), "", ""});
  const Walk out = walk(hosts, {7});
  EXPECT_EQ(out.state.faulty, (HostSet{7}));
  EXPECT_LE(out.rounds, 5);
}

TEST(Isolate, NamesAreOfTheRoundAndAllAreNeeded) {
  const auto state = start_isolation(network({{2, 2}}));
  ASSERT_TRUE(state);
  EXPECT_FALSE(step(*state, {{"A", true}}));
  EXPECT_FALSE(step(*state, {{"A", true}, {"B", false}, {"AA", false}}));
  EXPECT_TRUE(step(*state, {{"A", true}, {"B", false}}));
  EXPECT_FALSE(start_isolation({}));
  EXPECT_FALSE(start_isolation({{"a", "", ""}, {"a", "", ""}}));
}

TEST(Isolate, ALoneHostIsConfirmedWithOneThatPassed) {
  auto state = start_isolation(network({{1, 1}}));
  state = step(*state, {{"A", true}, {"B", false}});
  ASSERT_TRUE(state);
  const auto tests = tests_of(*state);
  ASSERT_EQ(tests.size(), 1u);
  EXPECT_EQ(tests[0].name, "A.confirm");
  EXPECT_EQ(tests[0].fillers, (HostSet{1}));
  const auto calm = step(*state, {{"A.confirm", false}});
  ASSERT_TRUE(calm);
  EXPECT_TRUE(calm->faulty.empty());
  EXPECT_EQ(calm->clues.size(), 1u);
}

// A third layer: halves that lie in one data center each share no link.
TEST(Isolate, HalvesAreCutBetweenDataCentersFirst) {
  std::vector<IsolateHost> hosts;
  for (int h = 0; h < 8; ++h)
    hosts.push_back({"n" + std::to_string(h), "t" + std::to_string(h),
                     "p" + std::to_string(h % 2 * 2 + h / 4), h % 2 == 0 ? "east" : "west"});
  HostSet all;
  for (std::size_t h = 0; h < hosts.size(); ++h) all.push_back(h);
  const Cut cut = cut_in_half(hosts, all);
  EXPECT_EQ(cut.border, "datacenter");
  EXPECT_EQ(cut.first, (HostSet{0, 2, 4, 6}));
  EXPECT_EQ(cut.between, (std::vector<std::string>{"links between data centers"}));
  // Within one of them everything is as without that layer.
  EXPECT_EQ(cut_in_half(hosts, cut.first).border, "pod");
}

}  // namespace
