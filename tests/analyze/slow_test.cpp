#include "analyze/pace/slow.hpp"
#include "report/phrases.hpp"
#include "support/ranks.hpp"
#include "support/hosts.hpp"
#include "support/steps.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

constexpr Nanoseconds kBegin = 1'700'000'000 * kSecond;

Facts job(int hosts, int per) {
  Facts facts;
  MemberRow m;
  m.id = 1;
  m.path = "rank0.log";
  facts.members.push_back(m);
  facts.world_size = hosts * per;
  for (int h = 0; h < hosts; ++h) {
    HostRow host;
    host.host = Host("node-" + std::to_string(h));
    facts.hosts.push_back(host);
    for (int l = 0; l < per; ++l) {
      RankRow r;
      r.rank = Rank(h * per + l);
      r.host = Host(host.host);
      r.local_rank = LocalRank(l);
      facts.ranks.push_back(r);
    }
  }
  return facts;
}

// 1 s a step, 1.5 s from `from` to `to`.
JobSteps steps(std::size_t n, std::size_t from, std::size_t to) {
  JobSteps out;
  Nanoseconds now = kBegin;
  for (std::size_t i = 0; i < n; ++i) {
    const double ms = (i >= from && i < to ? 1500 : 1000) + static_cast<double>(i * 7 % 11);
    add_step(out, ms, now);
  }
  return out;
}

FailSlow pace(const JobSteps& s) { return find_fail_slow({s.ms}); }

const rules::Metric& metric(const std::string& name) {
  for (const rules::Metric& m : rules::Catalogue::built_in().metrics())
    if (m.name == name) return m;
  ADD_FAILURE() << name;
  return rules::Catalogue::built_in().metrics().front();
}

MetricOutlier outlier(const std::string& name, const std::string& entity, const std::string& host,
                      Nanoseconds start, Nanoseconds end) {
  MetricOutlier o;
  o.metric = name;
  o.known = &metric(name);
  o.host = Host(host);
  o.outlier.entity = entity;
  o.outlier.start = start;
  o.outlier.end = end;
  o.outlier.value = 1000;
  o.outlier.crowd = 1900;
  o.outlier.size = 32;
  return o;
}

OwnWork own(std::int64_t rank) {
  OwnWork o;
  o.parts.answer = SlowPartsAnswer::ranks;
  o.parts.ranks = Ranks({rank});
  o.parts.part = "compute_ms";
  o.parts.excess_ms = 480;
  o.parts.explains = 0.96;
  o.parts.against_outside = true;
  return o;
}

OutlierReport metrics(std::vector<MetricOutlier> outliers) {
  OutlierReport out;
  out.outliers = std::move(outliers);
  out.judged = 32;
  return out;
}

std::string number(const Finding& f, const std::string& key) {
  const auto all = numbers_of(f, report::words);
  const auto it = all.find(key);
  return it == all.end() ? "" : it->second;
}

TEST(Slow, AnAttemptThatBeganSlowDidNotBeginInTheOneBefore) {
  JobSteps s = steps(240, 120, 240);
  for (std::size_t i = 120; i < 240; ++i) {
    s.attempt[i] = 1;
    s.time[i] += 600 * kSecond;  // ten minutes until the restart
    s.iteration[i] -= 20;
  }
  std::vector<double> numbers(s.iteration.begin(), s.iteration.end());
  const auto found = slow_findings(job(4, 8), s, find_fail_slow({s.ms, numbers}), {}, {}, {});
  ASSERT_EQ(found.size(), 1u);
  ASSERT_TRUE(found[0].start);
  EXPECT_EQ(*found[0].start, s.time[120] - static_cast<Nanoseconds>(s.ms[120] * 1e6));
}

TEST(Slow, TheMetricOfAMachineAndTheOwnWorkOfItsRankMakeOneSureSuspect) {
  const Facts facts = job(4, 8);
  const JobSteps s = steps(600, 200, 600);
  const auto found = slow_findings(
      facts, s, pace(s), std::vector{own(11)},
      metrics({outlier("gpu_sm_clock", "node-1/gpu3", "node-1", s.time[205], s.time[599])}), {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, (Subject{SubjectKind::rank, "11"}));
  EXPECT_EQ(found[0].host, "node-1");
  EXPECT_GE(found[0].confidence, 0.9);
  EXPECT_EQ(number(found[0], "hardware"), "1");
  EXPECT_EQ(number(found[0], "relieved"), "0");
  EXPECT_EQ(number(found[0], "first_iteration"), "201");
}

// Rounds of stacks that were taken while it was slow point to a parallel group.
TEST(Slow, StacksThatAreTheExceptionInMostLooksAreALead) {
  Finding group;
  group.analysis = Analysis::stacks;
  group.id = "stacks/slow/tp/2";
  group.outcome = Outcome::fired;
  group.event_class = "slow_group";
  group.subject = {SubjectKind::group, "tp/2"};
  group.ranks = Ranks({10, 11});
  group.hosts = Hosts({"node-1"});
  group.facts = OddStackFacts{4, 5};
  const Facts facts = job(4, 8);
  const JobSteps s = steps(600, 200, 600);
  const auto alone = slow_findings(facts, s, pace(s), {}, {}, std::vector{group});
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].subject, (Subject{SubjectKind::host, "node-1"}));
  EXPECT_EQ(alone[0].ranks, Ranks({10, 11}));
  EXPECT_LT(alone[0].confidence, 0.7) << "one source";
  const auto both = slow_findings(facts, s, pace(s), std::vector{own(11)}, {}, std::vector{group});
  EXPECT_EQ(both.at(0).subject, (Subject{SubjectKind::rank, "11"}));
  EXPECT_GE(both.at(0).confidence, 0.9);
  const JobSteps over = steps(600, 200, 300);
  EXPECT_EQ(slow_findings(facts, over, pace(over), {}, {}, std::vector{group}).at(0).subject.kind,
            SubjectKind::job)
      << "they were taken when it was over";
}

TEST(Slow, AMetricThatWasOddAllTheTimeExplainsNoInterval) {
  const Facts facts = job(4, 8);
  const JobSteps s = steps(2000, 1000, 1300);
  const auto found = slow_findings(
      facts, s, pace(s), {},
      metrics({outlier("gpu_temperature", "node-2/gpu0", "node-2", s.time[0], s.time[1999])}), {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject.kind, SubjectKind::job);
  EXPECT_FALSE(found[0].host);
}

// The log prints local times and the metrics count from the epoch: what holds one machine down
// began at that minute in some zone, and lasts.
TEST(Slow, WhereNobodyNamesTheZoneItBeganAtThatMinute) {
  Facts facts = job(4, 8);
  const JobSteps s = steps(600, 200, 600);
  const auto found = [&](Nanoseconds apart, bool at_work = true) {
    MetricOutlier held = outlier("gpu_hw_power_brake", "node-1/gpu3", "node-1", s.time[200] + apart,
                                 s.time[599] + apart);
    held.covered = held.outlier.end;
    MetricOutlier idle =
        outlier("gpu_utilization", "node-1/gpu3", "node-1", held.outlier.start, held.outlier.end);
    idle.outlier.side = rules::MetricSide::low;
    idle.outlier.value = 0;
    idle.outlier.crowd = 98;
    OutlierReport report = at_work ? metrics({held}) : metrics({held, idle});
    report.start = s.time[0] + apart;
    report.end = s.time[599] + apart;
    return slow_findings(facts, s, pace(s), {}, report, {}).at(0);
  };
  EXPECT_EQ(found(-8 * kHour).host, std::nullopt) << "the zone is known";
  facts.zone_known = false;
  EXPECT_EQ(found(-8 * kHour).host, "node-1");
  EXPECT_EQ(found(-8 * kHour + 12 * kMinute).host, std::nullopt);
  EXPECT_EQ(found(-20 * kHour).host, std::nullopt);
  EXPECT_EQ(found(-8 * kHour, false).host, std::nullopt) << "without work clocks are low";
  EXPECT_EQ(found(-8 * kHour + 30 * kMinute).host, std::nullopt) << "zones are whole hours apart";
  EXPECT_EQ(found(0).host, "node-1");
  EXPECT_EQ(found(-3 * kMinute - 30 * kSecond).host, std::nullopt) << "one clock, another minute";
}

TEST(Slow, AnotherGpuOfTheMachineIsAnotherSuspect) {
  const Facts facts = job(4, 8);
  const JobSteps s = steps(600, 200, 600);
  const auto found = slow_findings(
      facts, s, pace(s), std::vector{own(11)},
      metrics({outlier("gpu_sm_clock", "node-1/gpu5", "node-1", s.time[205], s.time[599])}), {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, (Subject{SubjectKind::rank, "11"}));
  EXPECT_LT(found[0].confidence, 0.9);
}

TEST(Slow, TwoMachinesThatStandOutAlikeAreNotAccused) {
  const Facts facts = job(16, 8);
  const JobSteps s = steps(600, 200, 600);
  const auto found = slow_findings(
      facts, s, pace(s), {},
      metrics({outlier("gpu_sm_clock", "node-1/gpu5", "node-1", s.time[205], s.time[599]),
               outlier("gpu_sm_clock", "node-9/gpu5", "node-9", s.time[205], s.time[599])}),
      {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject.kind, SubjectKind::job);
  EXPECT_NE(report::words(found[0].why).find("node-9/gpu5"), std::string::npos);
}

TEST(Slow, AThermalEventInsideTheIntervalNamesTheMachineAndOneBeforeDoesNot) {
  const Facts facts = job(4, 8);
  const JobSteps s = steps(600, 200, 600);
  Finding event;
  event.id = "classify/thermal/node-3";
  event.analysis = Analysis::classify;
  event.subject = {SubjectKind::host, "node-3"};
  event.host = Host("node-3");
  event.symptom = Symptom::thermal;
  event.severity = Severity::warning;
  event.title = Text(std::string("a GPU slowed down by heat"));
  event.start = s.time[198];
  auto found = slow_findings(facts, s, pace(s), {}, {}, std::vector{event});
  EXPECT_EQ(found[0].host, "node-3");
  event.start = s.time[20];
  found = slow_findings(facts, s, pace(s), {}, {}, std::vector{event});
  EXPECT_FALSE(found[0].host);
}

TEST(Slow, WhatIsShortAndOverIsTransient) {
  const Facts facts = job(4, 8);
  const JobSteps s = steps(3000, 1000, 1030);
  const auto found = slow_findings(facts, s, pace(s), std::vector{own(11)}, {}, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(number(found[0], "transient"), "1");
  EXPECT_EQ(number(found[0], "relieved"), "1");
}

TEST(Slow, AnEvenJobRulesItOutAndAShortLogProvesNothing) {
  const Facts facts = job(4, 8);
  JobSteps s = steps(600, 600, 600);
  auto found = slow_findings(facts, s, pace(s), {}, {}, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].outcome, Outcome::ruled_out);
  s = steps(12, 12, 12);
  found = slow_findings(facts, s, pace(s), {}, {}, {});
  EXPECT_EQ(found[0].outcome, Outcome::not_enough_evidence);
}

// A kernel's word for errors that were repaired, `count` lines a minute of one machine.
Finding repaired(Facts& facts, const std::string& host, Nanoseconds from, Nanoseconds to,
                 std::uint64_t count) {
  Finding f;
  f.id = "classify/host_mem_correctable/host/" + host;
  f.analysis = Analysis::classify;
  f.event_class = "host_mem_correctable";
  f.role = Role::confirmation;
  f.symptom = Symptom::none;
  f.host = Host(host);
  f.hosts = {Host(host)};
  f.start = from;
  f.end = to;
  f.traits.add(Trait::in_storms);
  // The kernel logs of two machines.
  for (const MemberId id : {MemberId(2), MemberId(3)}) {
    MemberRow m;
    m.id = id;
    m.path = "dmesg/" + std::to_string(id);
    m.text_kind = "kernel";
    m.host = Host(id == 2 ? host : "node-7");
    facts.members.push_back(m);
  }
  f.evidence.push_back({.member = 2, .line = 1});
  for (Nanoseconds t = from; t < to; t += kMinute) {
    EventRow e;
    e.event_class = f.event_class;
    e.host = Host(host);
    e.time_ns = t;
    e.count = count;
    facts.events.push_back(e);
  }
  return f;
}

TEST(SlowJob, AStormOfRepairedErrorsNamesItsMachine) {
  Facts facts = job(8, 1);
  const JobSteps s = steps(2000, 1000, 2000);
  const Nanoseconds begin = kBegin + 1000 * kSecond;
  std::vector<Finding> storm{repaired(facts, "node-3", begin, begin + 20 * kMinute, 12)};
  const auto found = slow_findings(facts, s, pace(s), {}, {}, storm, {});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().host, Host("node-3"));
  Facts quiet = job(8, 1);
  const std::vector<Finding> few{repaired(quiet, "node-3", begin, begin + 20 * kMinute, 1)};
  EXPECT_FALSE(slow_findings(quiet, s, pace(s), {}, {}, few, {}).front().host);
}

}  // namespace
}  // namespace culprit::analyze
