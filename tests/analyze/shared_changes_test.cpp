// What around a job was worse for just as long as its steps took longer: hand-made series.
#include "analyze/metrics/shared_changes.hpp"

#include <gtest/gtest.h>

#include "report/phrases.hpp"

namespace culprit::analyze {
namespace {

// A sample a minute for three hours; steps are slow in the second one.
struct Around {
  Facts facts;
  std::vector<SeriesPoints> points;
  std::vector<Finding> slow;

  explicit Around(bool over = true) {
    MemberRow member;
    member.id = 1;
    member.path = "cloudwatch/fs-0a91c27f.csv";
    facts.members.push_back(member);
    Finding f;
    f.analysis = Analysis::slow;
    f.subject = {SubjectKind::job, "job"};
    f.start = 60 * kMinute;
    f.end = 120 * kMinute;
    SlowFacts stretch;
    stretch.over = over;
    f.facts = stretch;
    slow.push_back(f);
  }
  template <class Value>
  void add(const char* metric, const char* labels, Value value, const char* host = nullptr) {
    SeriesRow s;
    s.id = static_cast<SeriesId>(points.size() + 1);
    s.member = 1;
    s.name = metric;
    s.labels = labels;
    s.clock = Clock::utc;
    if (host != nullptr) s.host = Host(host);
    facts.series.push_back(s);
    SeriesPoints p;
    for (int minute = 0; minute < 180; ++minute) {
      p.times.push_back(minute * kMinute);
      p.values.push_back(value(minute));
    }
    points.push_back(std::move(p));
  }
  std::vector<Finding> found() const {
    return shared_changes(facts, slow,
                          [&](SeriesId id) { return points[static_cast<std::size_t>(id) - 1]; });
  }
};

bool slow_at(int minute) { return minute >= 60 && minute <= 120; }

TEST(SharedChanges, ACreditThatRanOutWhenTheStepsBecameSlow) {
  Around a(false);
  a.add("BurstCreditBalance (bytes)", "", [](int m) { return m < 60 ? 6e9 - 1e8 * m : 0; });
  const auto found = a.found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, (Subject{SubjectKind::storage, "fs-0a91c27f"}));
  EXPECT_EQ(found[0].cause, CauseKind::shared);
  EXPECT_TRUE(found[0].hosts.empty());
  EXPECT_EQ(found[0].evidence.size(), 2u);
}

TEST(SharedChanges, ACreditThatLastsExplainsNothing) {
  Around a(false);
  a.add("BurstCreditBalance (bytes)", "", [](int m) { return 6e9 - 1e7 * m; });
  EXPECT_TRUE(a.found().empty());
}

TEST(SharedChanges, LinksThatWereFullThenAndNotBeforeOrAfter) {
  Around a;
  for (const char* port : {"switch=agg-1,port=Eth1", "switch=agg-1,port=Eth2"})
    a.add("out_util_pct", port, [](int m) { return slow_at(m) ? 98.0 : 40.0 + m % 7; });
  const auto found = a.found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, (Subject{SubjectKind::network_switch, "agg-1"}));
  EXPECT_EQ(found[0].count, 2u);
}

TEST(SharedChanges, LinksThatWereFullAtOtherTimesToo) {
  Around always, half, other;
  always.add("out_util_pct", "port=Eth1", [](int m) { return 96.0 + m % 3; });
  half.add("out_util_pct", "port=Eth1", [](int m) { return slow_at(m) ? 60.0 : 40.0; });
  other.add("out_util_pct", "port=Eth1", [](int m) { return m < 60 ? 98.0 : 40.0; });
  EXPECT_TRUE(always.found().empty());
  EXPECT_TRUE(half.found().empty()) << "not full";
  EXPECT_TRUE(other.found().empty()) << "before it was slow";
}

TEST(SharedChanges, WhatOneMachineOfSeveralCountsIsItsOwn) {
  const auto congested = [](int m) { return slow_at(m) ? 40'000.0 : 100.0; };
  const auto quiet = [](int) { return 100.0; };
  Around one, all;
  one.add("np_cnp_sent", "", congested, "node-1");
  one.add("np_cnp_sent", "", quiet, "node-2");
  one.add("np_cnp_sent", "", quiet, "node-3");
  EXPECT_TRUE(one.found().empty());
  for (const char* host : {"node-1", "node-2", "node-3"})
    all.add("np_cnp_sent", "", congested, host);
  const auto found = all.found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject.id, "network of the job");
  EXPECT_TRUE(found[0].hosts.empty());
}

TEST(SharedChanges, NumbersAreWrittenAsAPersonReadsThem) {
  Around a;
  a.add("rx_prio3_pause", "", [](int m) { return slow_at(m) ? 5673.0 : 0.0; });
  a.add("np_cnp_sent_rate", "", [](int m) { return slow_at(m) ? 44'784.0 : 9.5; });
  std::string titles;
  for (const Finding& f : a.found()) titles += report::words(f.title) + "\n";
  EXPECT_NE(titles.find(" 5673 while"), std::string::npos) << titles;
  EXPECT_NE(titles.find(" 44.8 k while"), std::string::npos) << titles;
}

TEST(SharedChanges, OneTargetThatIsFullWhereOthersAreIdle) {
  Around a(false);
  for (const char* target : {"target=ost-1", "target=ost-2", "target=ost-3", "target=ost-4"})
    a.add("disk_util_pct", target,
          [&](int) { return std::string_view(target) == "target=ost-3" ? 99.0 : 12.0; });
  const auto found = a.found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, (Subject{SubjectKind::storage, "ost-3"}));
}

TEST(SharedChanges, NothingWithoutSlowStepsOfTheWholeJob) {
  Around a;
  a.add("out_util_pct", "port=Eth1", [](int m) { return slow_at(m) ? 98.0 : 40.0; });
  a.slow[0].subject = {SubjectKind::host, "node-1"};
  EXPECT_TRUE(a.found().empty());
  a.slow.clear();
  EXPECT_TRUE(a.found().empty());
}

}  // namespace
}  // namespace culprit::analyze
