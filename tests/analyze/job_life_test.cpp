// Which machines the job ran on, as far as its output and the scheduler tell.
#include "analyze/facts/job_life.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {
namespace {

MemberId log_named(Facts& facts, const std::string& path) {
  MemberRow m;
  m.id = static_cast<MemberId>(facts.members.size()) + 1;
  m.path = path;
  m.format = "text";
  facts.members.push_back(m);
  return m.id;
}

// Ranks 0 .. hosts * each - 1, `each` on a machine, as one file says it.
void say_ranks(Facts& facts, MemberId member, int hosts, int each) {
  for (int rank = 0; rank < hosts * each; ++rank) {
    IdentityRow row;
    row.place.member = member;
    row.source = "rank line";
    row.host = Host(fmt::format("cx-{}", rank / each));
    row.rank = rank;
    facts.identities.push_back(row);
    facts.ranks.push_back({.rank = Rank(rank), .host = row.host});
  }
  facts.world_size = hosts * each;
  facts.world_counted = true;
}

TEST(HostsOfJob, AConsoleInWhichEachRankSaysWhereItRuns) {
  Facts facts;
  say_ranks(facts, log_named(facts, "console.log"), 3, 8);
  EXPECT_EQ(hosts_of_job(facts).size(), 3u);
}

TEST(HostsOfJob, LogsOfNodesMayLackOne) {
  Facts facts;
  say_ranks(facts, log_named(facts, "console.log"), 3, 8);
  const MemberId other = log_named(facts, "cx-1.log");
  for (IdentityRow& row : facts.identities)
    if (*row.rank >= 8) row.place.member = other;
  EXPECT_TRUE(hosts_of_job(facts).empty());
}

TEST(HostsOfJob, AMachineWithFewerRanksMayNotBeTheLast) {
  Facts facts;
  say_ranks(facts, log_named(facts, "console.log"), 3, 8);
  facts.identities.pop_back();
  facts.ranks.pop_back();
  EXPECT_TRUE(hosts_of_job(facts).empty());
}

}  // namespace
}  // namespace culprit::analyze
