// One state a rank: the worst that the findings say of it.
#include <gtest/gtest.h>

#include "analyze/facts/rank_map.hpp"
#include "support/ranks.hpp"

namespace {

using namespace culprit;

Finding finding(const char* id, Analysis analysis, Role role, Ranks ranks) {
  Finding f;
  f.id = id;
  f.analysis = analysis;
  f.role = role;
  f.severity = Severity::critical;
  f.subject = {SubjectKind::job, "job"};
  f.ranks = std::move(ranks);
  return f;
}

std::vector<Rank> of(const RankMap& map, RankState state) {
  return map.ranks.at(static_cast<std::size_t>(state));
}

analyze::Facts eight_ranks() {
  analyze::Facts facts;
  facts.world_size = 8;
  for (std::int64_t r = 0; r < 6; ++r) {
    RankRow row;
    row.rank = Rank(r);
    row.host = Host(r < 4 ? "b" : "a");
    facts.ranks.push_back(row);
  }
  return facts;
}

TEST(RankMap, TakesTheWorst) {
  Verdict verdict;
  verdict.targets.push_back({{SubjectKind::host, "b"}, 0.9, {"xid"}});
  const std::vector<Finding> findings = {
      finding("xid", Analysis::classify, Role::root, {2}),
      finding("oom", Analysis::classify, Role::root, {3}),
      finding("lost", Analysis::classify, Role::cascade, {0, 1, 2, 3, 4}),
      finding("end", Analysis::classify, Role::teardown, {0, 5, -1, 99})};
  const RankMap map = analyze::rank_map(eight_ranks(), {}, findings, verdict);
  EXPECT_EQ(map.total, 8);
  EXPECT_EQ(of(map, RankState::failed), Ranks({2}));
  EXPECT_EQ(of(map, RankState::error), Ranks({3}));
  EXPECT_EQ(of(map, RankState::waiting), Ranks({0, 1, 4}));
  EXPECT_EQ(of(map, RankState::ended), Ranks({5}));
  EXPECT_EQ(of(map, RankState::unseen), Ranks({6, 7}));
  ASSERT_EQ(map.hosts.size(), 2u);
  EXPECT_EQ(map.hosts[0].first, "b");
  EXPECT_EQ(map.hosts[1].second, Ranks({4, 5}));
}

TEST(RankMap, NamesWhoStoppedAndWhoIsSlow) {
  Verdict verdict;
  verdict.targets.push_back({{SubjectKind::rank, "5"}, 0.9, {"hang/rank/5", "slow/1"}});
  Finding hang = finding("hang/rank/5", Analysis::hang, Role::root, {});
  hang.subject = {SubjectKind::rank, "5"};
  Finding ruled_out = finding("hang/rank/1", Analysis::hang, Role::root, {1});
  ruled_out.outcome = Outcome::ruled_out;
  const std::vector<Finding> findings = {hang, ruled_out,
                                         finding("slow/1", Analysis::slow, Role::confirmation, {4}),
                                         finding("silence/3", Analysis::silence, Role::root, {3})};
  const RankMap map = analyze::rank_map(eight_ranks(), {}, findings, verdict);
  EXPECT_EQ(of(map, RankState::stopped), Ranks({5}));
  EXPECT_EQ(of(map, RankState::slow), Ranks({4}));
  EXPECT_EQ(of(map, RankState::silent), Ranks({3}));
  EXPECT_EQ(of(map, RankState::quiet), Ranks({0, 1, 2}));
}

TEST(RankMap, OfNobodyOrTooManyIsEmpty) {
  EXPECT_EQ(analyze::rank_map({}, {}, {}, {}).total, 0);
  analyze::Facts facts;
  facts.world_size = 1000;
  EXPECT_EQ(analyze::rank_map(facts, {}, {}, {}, 100).total, 0);
}

}  // namespace
