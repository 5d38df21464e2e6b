// Which memory grows as a leak does, and which is only loaded: hand-made series.
#include "analyze/metrics/memory_growth.hpp"

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

TEST(MemoryGrowth, ALeakRisesToTheEnd) {
  std::vector<double> leak;
  for (int i = 0; i < 40; ++i) leak.push_back(60 + 12.5 * i + (i % 3));
  EXPECT_TRUE(keeps_rising(leak));
}

TEST(MemoryGrowth, WhatIsLoadedAtTheStartStays) {
  std::vector<double> loaded;
  for (int i = 0; i < 40; ++i) loaded.push_back(i < 10 ? 60 + 40.0 * i : 460 + (i % 3));
  EXPECT_FALSE(keeps_rising(loaded));
}

TEST(MemoryGrowth, ATenthMoreIsNone) {
  std::vector<double> steady;
  for (int i = 0; i < 40; ++i) steady.push_back(400 + i);
  EXPECT_FALSE(keeps_rising(steady));
  EXPECT_FALSE(keeps_rising(std::vector<double>{60, 200, 400, 800}));  // too few to tell
}

// A host a series; each has its samples every ten minutes.
struct Measured {
  Facts facts;
  std::vector<SeriesPoints> points;

  explicit Measured(const char* metric) {
    MemberRow member;
    member.id = 1;
    member.path = "metrics.csv";
    facts.members.push_back(member);
    name_ = metric;
  }
  void add(const char* host, std::vector<double> values) {
    SeriesRow s;
    s.id = static_cast<SeriesId>(points.size() + 1);
    s.member = 1;
    s.name = name_;
    s.clock = Clock::utc;
    s.host = Host(host);
    facts.series.push_back(s);
    SeriesPoints p;
    for (std::size_t i = 0; i < values.size(); ++i)
      p.times.push_back(static_cast<Nanoseconds>(i) * 10 * kMinute);
    p.values = std::move(values);
    points.push_back(std::move(p));
  }
  std::vector<Finding> found() {
    return memory_growth(facts, rules::Catalogue::built_in(),
                         [&](SeriesId id) { return points[static_cast<std::size_t>(id) - 1]; });
  }

 private:
  std::string name_;
};

std::vector<double> rising(double from, double by) {
  std::vector<double> out;
  for (int i = 0; i < 24; ++i) out.push_back(from + by * i);
  return out;
}

TEST(MemoryGrowth, OfMostMachinesItIsTheProgram) {
  Measured m("container_memory_working_set_bytes");
  m.add("n1", rising(60e9, 20e9));
  m.add("n2", rising(61e9, 20e9));
  m.add("n3", rising(60e9, 0));
  const auto found = m.found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].hosts, (std::vector<Host>{Host("n1"), Host("n2")}));
  EXPECT_EQ(found[0].role, Role::advice);
  EXPECT_FALSE(found[0].evidence.empty());
}

TEST(MemoryGrowth, OfOneMachineAmongSeveralItIsNot) {
  Measured m("container_memory_working_set_bytes");
  m.add("n1", rising(60e9, 20e9));
  m.add("n2", rising(61e9, 0));
  m.add("n3", rising(60e9, 0));
  EXPECT_TRUE(m.found().empty());
}

TEST(MemoryGrowth, MemoryThatIsLeftFalls) {
  Measured m("mem_available_gib");
  m.add("n1", rising(1800, -75));
  EXPECT_TRUE(m.found().empty()) << "of one machine a foreign process may do it";
  m.add("n2", rising(1800, -75));
  EXPECT_EQ(m.found().size(), 1u);
}

TEST(MemoryGrowth, MonitorsMayLeakMegabytes) {
  Measured m("agent_rss_mb");
  m.add("n1", rising(50, 2));
  m.add("n2", rising(50, 2));
  EXPECT_TRUE(m.found().empty());
}

TEST(MemoryGrowth, HalfOfTheMemoryIsNotAllOfIt) {
  Measured m("mem_used_percent");
  m.add("n1", rising(10, 1));
  m.add("n2", rising(10, 1));
  EXPECT_TRUE(m.found().empty());
  Measured full("mem_used_percent");
  full.add("n1", rising(20, 3.3));
  full.add("n2", rising(20, 3.3));
  EXPECT_EQ(full.found().size(), 1u);
}

TEST(MemoryGrowth, AnotherRunBeginsAnew) {
  Measured m("mem_used_gb");
  std::vector<double> two = rising(60, 40);
  for (const double v : rising(60, 0)) two.push_back(v);  // the second one does not leak
  m.add("n1", two);
  m.add("n2", two);
  EXPECT_TRUE(m.found().empty());
  Measured again("mem_used_gb");
  std::vector<double> both = rising(60, 40);
  for (const double v : rising(60, 40)) both.push_back(v);
  again.add("n1", both);
  again.add("n2", both);
  EXPECT_EQ(again.found().size(), 1u);
}

}  // namespace
}  // namespace culprit::analyze
