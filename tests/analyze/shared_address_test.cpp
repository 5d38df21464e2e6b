#include "analyze/faults/shared_address.hpp"

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

void lists(Facts& facts, const char* host, const char* address, const char* source = "ip addr") {
  MemberRow m;
  m.id = static_cast<MemberId>(facts.members.size()) + 1;
  m.path = std::string("addresses/") + host;
  facts.members.push_back(m);
  IdentityRow row;
  row.place = {m.id, 3, 0, 0};
  row.source = source;
  row.host = Host(host);
  row.address = address;
  facts.identities.push_back(row);
}

void runs_rank(Facts& facts, std::int64_t rank, const char* host) {
  RankRow row;
  row.rank = Rank(rank);
  row.host = Host(host);
  facts.ranks.push_back(row);
}

void broke(Facts& facts, const char* message) {
  EventRow e;
  e.role = Role::cascade;
  e.message = message;
  facts.events.push_back(e);
}

TEST(SharedAddress, WhoHasNoPartInTheJobHasItWrongly) {
  Facts facts;
  lists(facts, "rl-3", "10.4.7.23");
  lists(facts, "rl-9", "10.4.7.23");
  lists(facts, "rl-9", "10.4.8.59");
  lists(facts, "rl-3", "10.4.8.23");
  runs_rank(facts, 0, "rl-3");
  broke(facts, "Call to recv from 10.4.7.233<37413> failed : Connection reset by peer");
  EXPECT_TRUE(shared_addresses(facts).empty()) << "nothing broke there";
  broke(facts, "Call to recv from 10.4.7.23<37413> failed : Connection reset by peer");
  const auto found = shared_addresses(facts);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, (Subject{SubjectKind::host, "rl-9"}));
  EXPECT_EQ(std::get<AddressFacts>(found[0].facts).owner, Host("rl-3"));
  // Both of the job: nothing tells which of them.
  runs_rank(facts, 1, "rl-9");
  EXPECT_EQ(shared_addresses(facts).at(0).subject,
            (Subject{SubjectKind::config, "address 10.4.7.23"}));
}

TEST(SharedAddress, OneMachineByTwoNames) {
  Facts facts;
  for (const char* host : {"n1", "trainer-0"})
    for (const char* address : {"10.4.7.23", "10.4.8.23"}) lists(facts, host, address);
  broke(facts, "Call to recv from 10.4.7.23<37413> failed : Connection reset by peer");
  EXPECT_TRUE(shared_addresses(facts).empty());
}

TEST(SharedAddress, BridgesLoopsAndAddressesThatMoveAreNone) {
  Facts facts;
  for (const char* host : {"a1", "a2"})
    for (const char* address : {"172.17.0.1", "127.0.0.1", "169.254.3.1", "fe80::1"})
      lists(facts, host, address);
  for (const char* host : {"a1", "a2", "a3"}) lists(facts, host, "10.9.9.9");
  lists(facts, "a1", "10.1.1.1");
  lists(facts, "a2", "10.1.1.1", "inventory");
  EXPECT_TRUE(shared_addresses(facts).empty());
}

}  // namespace
}  // namespace culprit::analyze
