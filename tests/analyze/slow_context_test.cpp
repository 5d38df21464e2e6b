// What is told beside a slow interval and accuses nobody: shares of the loss, slow process groups,
// machines that stood still.
#include <cmath>

#include <gtest/gtest.h>

#include "analyze/metrics/metric_stalls.hpp"
#include "analyze/pace/slow.hpp"
#include "analyze/pace/slow_groups.hpp"
#include "analyze/pace/slow_what_if.hpp"
#include "report/phrases.hpp"
#include "support/ranks.hpp"

namespace culprit::analyze {
namespace {

constexpr Nanoseconds kBegin = 1'700'000'000 * kSecond;

std::string number(const Finding& f, const std::string& key) {
  const auto all = numbers_of(f, report::words);
  const auto it = all.find(key);
  return it == all.end() ? "" : it->second;
}

struct Job {
  JobSteps steps;
  std::vector<std::int64_t> iterations;
  std::vector<PartSeries> parts;
  FailSlow report;
};

// Rank `slow` computes 400 ms longer from iteration 100 on; nobody: -1.
Job job(std::int64_t ranks, std::int64_t slow) {
  Job out;
  for (std::int64_t r = 0; r < ranks; ++r)
    for (const char* part : {"compute_ms", "grad_sync_ms"})
      out.parts.push_back({Rank(r), part, {}});
  for (std::int64_t i = 0; i < 200; ++i) {
    const bool late = i >= 100;
    out.iterations.push_back(i);
    out.steps.iteration.push_back(i);
    out.steps.ms.push_back((late ? 1300 : 900) + static_cast<double>(i * 7 % 11));
    out.steps.time.push_back(kBegin + i * kSecond);
    out.steps.attempt.push_back(0);
    out.steps.place.push_back({1, static_cast<std::uint64_t>(i) + 1, 0, 0});
    for (std::int64_t r = 0; r < ranks; ++r) {
      const double own = late && (r == slow || slow < 0) ? 1200 : 800;
      out.parts[static_cast<std::size_t>(2 * r)].ms.push_back(
          own + static_cast<double>((i * 31 + r * 17) % 13));
      out.parts[static_cast<std::size_t>(2 * r + 1)].ms.push_back((late ? 1300 : 900) - own);
    }
  }
  out.report = find_fail_slow({out.steps.ms});
  return out;
}

TEST(WhatIfFindings, SayWhoExplainsHowMuch) {
  const Job j = job(8, 5);
  ASSERT_EQ(j.report.intervals.size(), 1u);
  const auto found = what_if_findings({}, {}, j.steps, j.report, j.iterations, j.parts);
  ASSERT_EQ(found.size(), 1u);
  const Finding& f = found[0];
  EXPECT_EQ(f.outcome, Outcome::fired);
  EXPECT_EQ(f.role, Role::advice);
  EXPECT_EQ(f.severity, Severity::info) << "shares accuse nobody";
  EXPECT_EQ(f.subject.kind, SubjectKind::job);
  EXPECT_GT(std::strtod(number(f, "rank_5").c_str(), nullptr), 0.9);
  EXPECT_EQ(number(f, "rank_3"), "");
  EXPECT_GT(std::strtod(number(f, "kind_compute").c_str(), nullptr), 0.9);
  EXPECT_NE(report::words(f.title).find("rank 5"), std::string::npos) << report::words(f.title);
}

TEST(WhatIfFindings, AllSlowTogetherIsNobodysShare) {
  const Job j = job(8, -1);
  const auto found = what_if_findings({}, {}, j.steps, j.report, j.iterations, j.parts);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].outcome, Outcome::fired) << report::words(found[0].title);
  EXPECT_TRUE(what_if_findings({}, {}, j.steps, j.report, j.iterations, {}).empty());
}

// One group of two ranks: 20 operations of `ms`, and the waiting of the rank that comes early.
std::vector<HistoryRow> group(GroupId id, double ms) {
  std::vector<HistoryRow> out(2);
  for (std::size_t r = 0; r < 2; ++r) {
    out[r].group = id;
    out[r].rank = Rank(static_cast<std::int64_t>(r));
    for (int i = 0; i < 20; ++i) {
      HistoryEntry e;
      e.sequence = i;
      e.state = 2;
      e.signature = 7;
      e.duration_ms = static_cast<float>(ms + (r == 0 ? 500 : 0) + i % 3 * 0.01);
      out[r].entries.push_back(e);
    }
  }
  return out;
}

std::vector<Finding> compare(const std::vector<double>& times,
                             const std::vector<std::string>& kinds = {}) {
  Facts facts;
  std::vector<GroupTime> all;
  for (std::size_t g = 0; g < times.size(); ++g)
    facts.groups.push_back(
        {"pg" + std::to_string(g), kinds.empty() ? "mesh_dp" : kinds[g],
         Ranks({static_cast<std::int64_t>(2 * g), static_cast<std::int64_t>(2 * g + 1)}), 2});
  for (std::size_t g = 0; g < times.size(); ++g)
    for (GroupTime& t : group_times(facts, group_at(g), group(group_at(g), times[g])))
      all.push_back(std::move(t));
  return slow_group_findings(facts, all);
}

TEST(SlowGroups, OfThoseThatMoveAsMuch) {
  const auto found = compare({10, 10.1, 14, 10.05, 9.9});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].ranks, Ranks({4, 5}));
  EXPECT_EQ(found[0].role, Role::advice);
  EXPECT_NEAR(std::strtod(number(found[0], "factor").c_str(), nullptr), 1.4, 0.02);
  EXPECT_TRUE(compare({10, 10.1, 10.8, 10.05}).empty()) << "within 10 % of the median";
  EXPECT_TRUE(compare({10, 14}).empty()) << "of two, nobody knows which is odd";
  EXPECT_TRUE(compare({10, 10.1, 14, 10.05}, {"mesh_dp", "mesh_dp", "mesh_tp", "mesh_dp"}).empty())
      << "another kind of group is not its like";
}

IncidentMetrics traffic(int hosts, int standing, const std::string& name, double value) {
  IncidentMetrics out;
  MetricSeries m;
  m.name = name;
  for (int h = 0; h < hosts; ++h) {
    MetricSeries::Entity e;
    e.name = e.host = Host("node-" + std::to_string(h));
    double sum = 1e12;
    for (int t = 0; t < 60; ++t) {
      const bool still = t >= 30 && h < standing;
      e.times.push_back(kBegin + t * 60 * kSecond);
      sum += still ? 0 : 1e9;
      e.values.push_back(value < 0 ? sum : still ? value : 80);
    }
    m.entities.push_back(std::move(e));
  }
  out.metrics.push_back(std::move(m));
  return out;
}

const auto kNoPoints = [](SeriesId) { return SeriesPoints{}; };

TEST(MetricStalls, TrafficAtZeroUntilTheEndIsAHint) {
  const auto& catalogue = rules::Catalogue::built_in();
  Facts facts;
  const auto found =
      stall_findings(facts, traffic(8, 8, "port_xmit_data", -1), catalogue, kNoPoints);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].outcome, Outcome::fired);
  EXPECT_EQ(found[0].role, Role::advice);
  EXPECT_EQ(found[0].subject.kind, SubjectKind::job) << "a hint names nobody";
  EXPECT_NE(report::words(found[0].title).find("8 of 8"), std::string::npos)
      << report::words(found[0].title);
  EXPECT_TRUE(
      stall_findings(facts, traffic(8, 3, "port_xmit_data", -1), catalogue, kNoPoints).empty())
      << "three of eight: no job hangs on three machines";
  EXPECT_TRUE(
      stall_findings(facts, traffic(8, 0, "port_xmit_data", -1), catalogue, kNoPoints).empty());
  EXPECT_TRUE(
      stall_findings(facts, traffic(8, 8, "DCGM_FI_DEV_GPU_TEMP", 0), catalogue, kNoPoints).empty())
      << "a cold GPU is no hint";
  EXPECT_EQ(stall_findings(facts, traffic(8, 8, "tensor_active", 2), catalogue, kNoPoints).size(),
            1u)
      << "nearly idle tensor cores are one";
}

TEST(SampleEvidence, LeadsToTheLinesOfTheInterval) {
  Facts facts;
  MemberRow m;
  m.id = 1;
  m.path = "node-1.prom";
  facts.members.push_back(m);
  SeriesRow s;
  s.id = 1;
  s.member = 1;
  s.name = "gpu_temp";
  s.host = Host("node-1");
  s.gpu = "3";
  s.clock = Clock::utc;
  facts.series.push_back(s);
  s.id = 2;
  s.gpu = "33";  // another GPU whose name begins alike
  facts.series.push_back(s);
  const auto load = [](SeriesId id) {
    SeriesPoints p;
    for (int i = 0; i < 10; ++i)
      p.times.push_back(kBegin + i * kSecond), p.values.push_back(60.5 + i),
          p.lines.push_back(100 * id + i), p.offsets.push_back(10 * i);
    return p;
  };
  const auto found = sample_evidence(facts, load, "gpu_temp", "node-1/gpu3", kBegin + 3 * kSecond,
                                     kBegin + 8 * kSecond, 66);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, "node-1.prom");
  EXPECT_EQ(found[0].line, 105u);  // nearest to what is claimed
  EXPECT_EQ(found[0].excerpt, "65.5");
  EXPECT_EQ(found[0].reading, "gpu_temp of node-1/gpu3 at 2023-11-14T22:13:25Z");
  EXPECT_EQ(found[1].line, 103u);  // the first
  const auto counter = sample_evidence(facts, load, "gpu_temp", "node-1/gpu3", kBegin + 3 * kSecond,
                                       kBegin + 8 * kSecond, std::nan(""));
  EXPECT_EQ(counter[0].line, 108u);  // the last
  EXPECT_TRUE(sample_evidence(facts, load, "gpu_temp", "node-1/gpu3", kBegin + 20 * kSecond,
                              kBegin + 30 * kSecond, 66)
                  .empty());
  EXPECT_TRUE(
      sample_evidence(facts, load, "power", "node-1/gpu3", kBegin, kBegin + 30 * kSecond, 66)
          .empty());
}

TEST(Catalogue, NamesThatCutWordsElsewhere) {
  const auto& catalogue = rules::Catalogue::built_in();
  for (const char* name :
       {"node_netstat_Tcp_RetransSegs", "node_netstat_tcp_retrans_segs", "tcpRetransSegs"}) {
    const auto match = catalogue.find(name);
    ASSERT_TRUE(match) << name;
    EXPECT_EQ(match->metric->name, "tcp_retransmissions") << name;
  }
  EXPECT_FALSE(catalogue.find("node_netstat_tcp_retrans_segs_of_mine"));
}

TEST(MetricStalls, AJobThatWasOverDidNotHang) {
  Facts facts;
  facts.job_end = kBegin + 20 * 60 * kSecond;
  facts.exits.emplace_back();
  const auto found = stall_findings(facts, traffic(8, 8, "port_xmit_data", -1),
                                    rules::Catalogue::built_in(), kNoPoints);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].outcome, Outcome::ruled_out);
}

}  // namespace
}  // namespace culprit::analyze
