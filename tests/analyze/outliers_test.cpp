#include "analyze/metrics/outliers.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "analyze/metrics/crowd.hpp"
#include "outlier_scenarios.hpp"
#include "support/hosts.hpp"

namespace culprit::analyze {
namespace {

using rules::MetricSide;
using simulated::Random;

constexpr Nanoseconds kStart = 1'795'000'000 * kSecond;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                 kInf = std::numeric_limits<double>::infinity();

// Hosts with a value each 30 s for an hour: a level, a spread from host to host, noise.
struct Hosts {
  std::vector<simulated::Host> hosts;
  explicit Hosts(std::size_t n, std::size_t samples = 120, double level = 100, double spread = 1,
                 double noise = 0.5, std::uint64_t seed = 7) {
    Random random(seed);
    for (std::size_t h = 0; h < n; ++h) {
      simulated::Host host;
      host.name = "node-" + std::to_string(100 + h);
      const double base = level + spread * random.normal();
      for (std::size_t i = 0; i < samples; ++i) {
        host.times.push_back(kStart + static_cast<Nanoseconds>(i) * 30 * kSecond);
        host.values.push_back(base + noise * random.normal());
      }
      hosts.push_back(std::move(host));
    }
  }
  Hosts& add(std::size_t h, double more, std::size_t from = 0, std::size_t until = 1'000'000) {
    for (std::size_t i = from; i < std::min(until, hosts[h].values.size()); ++i)
      hosts[h].values[i] += more;
    return *this;
  }
  OutlierResult find(const OutlierMetric& metric = {}, const OutlierParams& params = {}) const {
    std::vector<OutlierSeries> series;
    for (const auto& h : hosts) series.push_back({h.name, h.role, h.times, h.values});
    return find_outliers(series, metric, params);
  }
};

OutlierParams published() {
  OutlierParams p;
  p.rule = OutlierRule::published;
  return p;
}
std::set<std::string> names(const OutlierResult& r) { return simulated::named(r); }
bool lacks(const OutlierResult& r, const std::string& code) {
  return std::any_of(r.not_enough.begin(), r.not_enough.end(),
                     [&](const NotEnough& n) { return n.code == code; });
}
using Names = std::set<std::string>;

TEST(Outliers, OneHostThatStandsOutIsNamedWithItsTimes) {
  const auto r = Hosts(16).add(5, 40, 30, 90).find();
  ASSERT_EQ(r.outliers.size(), 1u);
  const Outlier& o = r.outliers[0];
  EXPECT_EQ(o.entity, "node-105");
  EXPECT_EQ(o.side, MetricSide::high);
  EXPECT_EQ(o.method, "robust");
  EXPECT_NEAR(o.value, 140, 4);
  EXPECT_NEAR(o.crowd, 100, 1);
  EXPECT_GT(o.score, o.threshold);
  EXPECT_NEAR(static_cast<double>(o.start - kStart) / 30e9, 30, 1.1);
  EXPECT_NEAR(static_cast<double>(o.end - kStart) / 30e9, 90, 1.1);
  EXPECT_EQ(r.judged, 16u);
  EXPECT_TRUE(r.common.empty());
}

TEST(Outliers, NobodyStandsOutInACrowdOfEquals) {
  const auto r = Hosts(16).find();
  EXPECT_TRUE(r.outliers.empty());
  EXPECT_TRUE(r.not_enough.empty());
}

TEST(Outliers, TheCatalogueSaysWhichSideIsBad) {
  OutlierMetric low, high;
  low.bad = MetricSide::low;
  high.bad = MetricSide::high;
  OutlierMetric none;
  none.bad = MetricSide::none;
  const Hosts slow = Hosts(16).add(3, -40);
  EXPECT_EQ(names(slow.find(low)), Names{"node-103"});
  EXPECT_EQ(names(slow.find()), Names{"node-103"});
  EXPECT_EQ(names(slow.find(high)), Names{});
  EXPECT_EQ(names(slow.find(none)), Names{});
  EXPECT_EQ(names(Hosts(16).add(3, 40).find(low, published())), Names{});
}

// Masking: k equal outliers of n reach z = sqrt((n - k) / k), which is 2 at a fifth.
TEST(Outliers, ThePublishedRuleMasksWhatTheRobustOneFinds) {
  Hosts quarter(20);
  for (const std::size_t h : {1, 2, 3, 4, 5}) quarter.add(h, 40);
  EXPECT_EQ(names(quarter.find({}, published())), Names{});
  EXPECT_EQ(names(quarter.find()).size(), 5u);
  Hosts two(20);
  for (const std::size_t h : {1, 2}) two.add(h, 40);
  const auto r = two.find({}, published());
  EXPECT_EQ(names(r), (Names{"node-101", "node-102"}));
  EXPECT_EQ(r.outliers[0].method, "published");
}

TEST(Outliers, BelowSixHostsThePublishedRuleSaysThatItCannotFire) {
  const auto r = Hosts(5).add(0, 4000).find({}, published());
  EXPECT_TRUE(r.outliers.empty());
  EXPECT_TRUE(lacks(r, "cannot_fire"));
  EXPECT_EQ(r.judged, 0u);
  EXPECT_FALSE(lacks(Hosts(6).add(0, 4000).find({}, published()), "cannot_fire"));
}

TEST(Outliers, TooFewHostsAreNoCrowd) {
  for (const std::size_t n : {1, 2, 3}) {
    const auto r = Hosts(n).add(0, 4000).find();
    EXPECT_TRUE(r.outliers.empty());
    EXPECT_TRUE(lacks(r, "few_entities")) << n;
    EXPECT_EQ(r.judged, 0u);
  }
  EXPECT_EQ(names(Hosts(4).add(0, 4000).find()), Names{"node-100"});
  EXPECT_TRUE(lacks(find_outliers({}, {}), "no_samples"));
}

// Persistent differences between healthy hosts must not flag 2.3 % of them for ever.
TEST(Outliers, HealthySpreadAccusesNobody) {
  const Hosts many(600, 40, 100, 3, 1);
  EXPECT_GT(names(many.find({}, published())).size(), 5u);
  OutlierMetric any_effect;
  any_effect.floor_relative = 0;
  EXPECT_EQ(names(many.find(any_effect)), Names{});
}

TEST(Outliers, TheThresholdGrowsWithHostsAndMetricsAndForSmallCrowds) {
  EXPECT_LT(outlier_threshold(100, 1, 3.5, 0.05), outlier_threshold(100, 100, 3.5, 0.05));
  EXPECT_LT(outlier_threshold(64, 1, 3.5, 0.05), outlier_threshold(6400, 1, 3.5, 0.05));
  EXPECT_GT(outlier_threshold(5, 1, 3.5, 0.05), 1.5 * outlier_threshold(50, 1, 3.5, 0.05));
  EXPECT_NEAR(outlier_threshold(50, 1, 3.5, 0.05), 3.83, 0.01);
}

TEST(Outliers, AnEffectTooSmallToMatterIsNone) {
  const Hosts slightly = Hosts(16, 120, 100, 0.1, 0.1).add(2, 6);  // sixty deviations, six percent
  EXPECT_EQ(names(slightly.find()), Names{});
  OutlierMetric fine;
  fine.floor_relative = 0.02;
  EXPECT_EQ(names(slightly.find(fine)), Names{"node-102"});
  fine.floor_absolute = 8;
  EXPECT_EQ(names(slightly.find(fine)), Names{});
}

TEST(Outliers, SwingsThatAllShareDoNotHideOne) {
  Hosts h = Hosts(16).add(4, 30);
  for (auto& host : h.hosts)
    for (std::size_t i = 0; i < host.values.size(); ++i)
      host.values[i] += i / 10 % 2 == 0 ? 80 : -60;  // five minutes busy, five idle
  OutlierMetric metric;
  metric.floor_relative = 0.05;
  EXPECT_EQ(names(h.find(metric)), Names{"node-104"});
}

TEST(Outliers, ABurstShorterThanTheWindowIsNone) {
  EXPECT_EQ(names(Hosts(16).add(4, 400, 40, 50).find()), Names{});
  EXPECT_EQ(names(Hosts(16).add(4, 400, 40, 57).find()), Names{});
  EXPECT_EQ(names(Hosts(16).add(4, 400, 40, 62).find()), Names{"node-104"});
  EXPECT_EQ(names(Hosts(16).add(4, 400, 0, 9).find()), Names{});  // at the edges, too
  EXPECT_EQ(names(Hosts(16).add(4, 400, 111, 120).find()), Names{});
}

TEST(Outliers, RolesAreComparedWithinThemselves) {
  Hosts h(16, 120, 100, 1, 0.5);
  for (std::size_t i = 0; i < 16; ++i) {
    h.hosts[i].role = i < 8 ? "first stage" : "last stage";
    if (i >= 8) h.add(i, 50);
  }
  h.add(2, 50);  // like the last stage, but is of the first
  const auto r = h.find();
  ASSERT_EQ(names(r), Names{"node-102"});
  EXPECT_EQ(r.outliers[0].group, "first stage");
  EXPECT_FALSE(r.outliers[0].fallback);
  for (auto& host : h.hosts) host.role.clear();
  EXPECT_EQ(names(h.find()), Names{});
}

TEST(Outliers, ARoleOfFewIsComparedWithAllAndMarked) {
  Hosts h(16);
  for (std::size_t i = 0; i < 16; ++i) h.hosts[i].role = i < 2 ? "embedding" : "middle";
  const auto r = h.add(0, 60).find();
  EXPECT_TRUE(lacks(r, "small_group"));
  ASSERT_EQ(names(r), Names{"node-100"});
  EXPECT_TRUE(r.outliers[0].fallback);
}

TEST(Outliers, HalfOfACrowdIsASecondCrowd) {
  Hosts h(20);
  for (std::size_t i = 0; i < 8; ++i) h.add(i, 60);
  const auto r = h.find();
  EXPECT_EQ(names(r), Names{});
  ASSERT_EQ(r.common.size(), 1u);
  EXPECT_EQ(r.common[0].kind, "split");
  EXPECT_EQ(r.common[0].entities, 8u);
  EXPECT_EQ(r.common[0].size, 20u);
}

TEST(Outliers, WhatAllDoIsACommonChange) {
  Hosts h(12);
  for (std::size_t i = 0; i < 12; ++i) h.add(i, 40, 60);
  const auto r = h.find();
  EXPECT_EQ(names(r), Names{});
  ASSERT_EQ(r.common.size(), 1u);
  EXPECT_EQ(r.common[0].kind, "shift");
  EXPECT_NEAR(r.common[0].from, 100, 1.5);
  EXPECT_NEAR(r.common[0].to, 140, 1.5);
  EXPECT_EQ(r.common[0].entities, 12u);
  EXPECT_NEAR(static_cast<double>(r.common[0].start - kStart) / 30e9, 60, 1.1);
}

TEST(Outliers, ADriftOfAllIsOneCommonChange) {
  Hosts h(12);
  for (auto& host : h.hosts)
    for (std::size_t i = 0; i < host.values.size(); ++i)
      host.values[i] += 0.5 * static_cast<double>(i);
  const auto r = h.find();
  EXPECT_EQ(names(r), Names{});
  ASSERT_EQ(r.common.size(), 1u);
  EXPECT_GT(r.common[0].to, r.common[0].from + 30);
  EXPECT_GT(r.common[0].end, r.common[0].start);
}

TEST(Outliers, MoreThanHalfEqualLeavesNoDeviationAndOneIsStillSeen) {
  Hosts h(10, 120, 1980, 0, 0);
  EXPECT_EQ(names(h.find()), Names{});
  h.add(1, -570);
  EXPECT_EQ(names(h.find()), Names{"node-101"});
  h.add(2, -570).add(3, -570);  // the mean absolute deviation of all would hide three of ten
  EXPECT_EQ(names(h.find()).size(), 3u);
}

TEST(Outliers, MissingSamplesAreNoValuesAndTooFewNoVerdict) {
  Hosts h = Hosts(16).add(3, 40).add(7, 400);
  for (std::size_t i = 0; i < 120; ++i) {
    if (i % 3 == 0) h.hosts[3].values[i] = kNan;
    if (i % 10 != 0)
      h.hosts[7].values[i] = kNan;  // one in five minutes: three bins of ten with what is carried
  }
  const auto r = h.find();
  EXPECT_EQ(names(r), Names{"node-103"});
  ASSERT_TRUE(lacks(r, "few_samples"));
  EXPECT_EQ(r.not_enough[0].entities, std::vector<std::string>{"node-107"});
  EXPECT_EQ(r.judged, 15u);
}

TEST(Outliers, ClocksAndPhasesMayDiffer) {
  Hosts h = Hosts(16).add(3, 40);
  Random random(5);
  for (auto& host : h.hosts) {
    const auto skew = static_cast<Nanoseconds>(random.uniform(-25e9, 25e9));
    for (auto& t : host.times) t += skew + static_cast<Nanoseconds>(random.uniform(0, 5e9));
  }
  EXPECT_EQ(names(h.find()), Names{"node-103"});
}

TEST(Outliers, SparseSamplesWidenBinsAndWindowUntilTheyAreTooSparse) {
  Hosts h = Hosts(16).add(3, 40);
  const auto every = [&](Nanoseconds seconds) {
    for (auto& host : h.hosts)
      for (std::size_t i = 0; i < host.times.size(); ++i)
        host.times[i] = kStart + static_cast<Nanoseconds>(i) * seconds * kSecond;
  };
  for (const int seconds : {115, 120, 300}) {  // as Prometheus keeps them
    every(seconds);
    EXPECT_EQ(names(h.find()), Names{"node-103"}) << seconds;
  }
  OutlierParams brief;
  brief.longest = 0;
  for (const auto& [seconds, params] : {std::pair{300, brief}, {7200, OutlierParams{}}}) {
    every(seconds);
    const auto r = h.find({}, params);
    EXPECT_EQ(names(r), Names{});
    EXPECT_TRUE(lacks(r, "few_samples"));
    EXPECT_EQ(r.judged, 0u);
  }
}

TEST(Outliers, LessThanTheWindowIsTooShort) {
  const Hosts h = Hosts(16, 12).add(3, 40);
  EXPECT_TRUE(lacks(h.find(), "short"));
  EXPECT_EQ(names(h.find()), Names{});
  OutlierParams brief;
  brief.window = 300 * kSecond;
  EXPECT_EQ(names(h.find({}, brief)), Names{"node-103"});
}

TEST(Outliers, ZeroExpectedMetricsHaveAThresholdAndNeedNoCrowd) {
  OutlierMetric retransmissions;
  retransmissions.bad = MetricSide::high;
  retransmissions.zero_above = 1;
  retransmissions.average = true;
  Hosts two(2, 120, 0, 0, 0);
  EXPECT_EQ(names(two.find(retransmissions)), Names{});
  const auto r = two.add(1, 30).find(retransmissions);
  ASSERT_EQ(names(r), Names{"node-101"});
  EXPECT_EQ(r.outliers[0].method, "threshold");
  EXPECT_EQ(r.outliers[0].threshold, 1);
  EXPECT_EQ(names(Hosts(2, 120, 0, 0, 0).add(1, 30, 40, 50).find(retransmissions)),
            Names{});  // it must last
  EXPECT_EQ(names(Hosts(12, 120, 0, 0, 0).add(1, 0.5).find(retransmissions)),
            Names{});  // healthy, though alone in it
  // Every second bin empty of trouble is not "all of T".
  Hosts half(2, 120, 0, 0, 0);
  for (std::size_t i = 0; i < 120; i += 2) half.hosts[1].values[i] = 30;
  EXPECT_EQ(names(half.find(retransmissions)), Names{});
  retransmissions.zero_once = true;
  EXPECT_EQ(names(Hosts(2, 8, 0, 0, 0).add(1, 2, 4, 5).find(retransmissions)), Names{"node-101"});
}

TEST(Outliers, WhoDoesNotStandOutAtEveryInstantIsSeenByTheMean) {
  Hosts h(64, 240, 100, 1, 6, 3);
  OutlierMetric metric;
  metric.floor_relative = 0.05;
  h.add(9, 28);
  const auto r = h.find(metric);
  ASSERT_EQ(names(r), Names{"node-109"});
  EXPECT_GT(r.outliers[0].score, r.outliers[0].threshold);
}

TEST(Outliers, ValuesThatAreNoneAndTimesThatAreNone) {
  Hosts h = Hosts(16).add(3, 40);
  for (std::size_t i = 0; i < 120; i += 7) h.hosts[i % 16].values[i] = i % 2 ? kInf : -kInf;
  for (std::size_t i = 1; i < 120; i += 9) h.hosts[i % 16].values[i] = i % 2 ? 1.7e308 : -1.7e308;
  h.hosts[5].times.back() = std::numeric_limits<Nanoseconds>::max();
  h.hosts[6].times.front() = std::numeric_limits<Nanoseconds>::min();
  h.hosts[7].times[50] = kStart + (Nanoseconds{1} << 60);
  EXPECT_EQ(names(h.find()), Names{"node-103"});
  EXPECT_NO_FATAL_FAILURE(h.find({}, published()));
  std::reverse(h.hosts[3].times.begin(), h.hosts[3].times.end());
  std::reverse(h.hosts[3].values.begin(), h.hosts[3].values.end());
  EXPECT_EQ(names(h.find()), Names{"node-103"});
  OutlierParams odd;
  for (const Nanoseconds window :
       {Nanoseconds{0}, Nanoseconds{-5}, std::numeric_limits<Nanoseconds>::max()}) {
    odd.window = window;
    EXPECT_NO_FATAL_FAILURE(h.find({}, odd));
  }
}

RC_GTEST_PROP(OutliersProperties, OrderOfHostsAndAShiftOfTimeChangeNothing, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(1, 100000);
  const std::size_t n = *rc::gen::inRange<std::size_t>(4, 24);
  Hosts h(n, 60, 100, 2, 1, seed);
  Random random(seed);
  h.add(random.below(n), random.uniform(-60, 60), random.below(30));
  for (auto& host : h.hosts) host.role = std::string(1, static_cast<char>('a' + random.below(2)));
  const auto first = h.find();
  Hosts other = h;
  for (std::size_t i = n; i > 1; --i) std::swap(other.hosts[i - 1], other.hosts[random.below(i)]);
  const Nanoseconds shift = static_cast<Nanoseconds>(random.below(1000)) * 30 * kSecond;
  for (auto& host : other.hosts)
    for (auto& t : host.times) t += shift;
  const auto second = other.find();
  RC_ASSERT(first.outliers.size() == second.outliers.size());
  for (std::size_t i = 0; i < first.outliers.size(); ++i) {
    RC_ASSERT(first.outliers[i].entity == second.outliers[i].entity);
    RC_ASSERT(first.outliers[i].start + shift == second.outliers[i].start);
    RC_ASSERT(first.outliers[i].score == second.outliers[i].score);
  }
  RC_ASSERT(first.common.size() == second.common.size());
}

RC_GTEST_PROP(OutliersProperties, TheQuickMedianIsTheMedian, ()) {
  Random random(*rc::gen::inRange<std::uint64_t>(1, 100000));
  CrowdMeter meter;
  const std::size_t n = 3 + random.below(300);
  for (int round = 0; round < 6; ++round) {
    std::vector<double> values(n);
    const double level = random.uniform(-100, 100), size = round == 3 ? 0 : random.uniform(0, 20);
    for (double& v : values)
      v = level + size * (random.below(3) == 0 ? std::round(random.normal()) : random.normal());
    const Crowd fast = meter.robust(values), fresh = CrowdMeter().robust(values);
    RC_ASSERT(fast.center == fresh.center);
    RC_ASSERT(fast.scale == fresh.scale);
    std::vector<double> sorted = values, copy = values;
    std::sort(sorted.begin(), sorted.end());
    RC_ASSERT(median_in_place(copy) == std::midpoint(sorted[(n - 1) / 2], sorted[n / 2]));
  }
}

// A quick cut of bench/outlier_accuracy.cpp.
TEST(Outliers, AccuracyOnSimulatedClusters) {
  simulated::Score ours;
  for (const simulated::Plan& plan : simulated::plans()) {
    if (plan.hosts > 300) continue;
    for (const std::uint64_t seed : {1, 2}) {
      const auto cluster = simulated::make(plan, seed);
      ours.add(simulated::named(find_outliers(cluster.series(true), cluster.metric)), cluster.bad);
    }
  }
  EXPECT_GE(ours.precision(), 0.95) << ours.wrong;
  EXPECT_EQ(ours.missed, 0u);
  EXPECT_GT(ours.right, 60u);
}

}  // namespace
}  // namespace culprit::analyze
