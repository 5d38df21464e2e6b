#include "analyze/metrics/relations.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "analyze/metrics/outlier_search.hpp"
#include "analyze/metrics/robust_covariance.hpp"
#include "relation_scenarios.hpp"
#include "report/phrases.hpp"

namespace culprit::analyze {
namespace {

using namespace simulated;

const RelationPlan& plan(std::string_view name) {
  for (const RelationPlan& p : relation_plans())
    if (name == p.name) return p;
  ADD_FAILURE() << name;
  return relation_plans()[0];
}

TEST(Relations, NamesWhoBreaksThem) {
  for (const char* name : {"hotter than its power says", "less power than its clock and load say",
                           "less traffic than its load says", "three of 64", "while all shift"})
    for (const bool curved : {false, true}) {
      const RelationCluster cluster = make(plan(name), curved ? 5002 : 2, curved);
      EXPECT_EQ(named_by_relations(cluster), cluster.bad) << name << curved;
    }
}

TEST(Relations, AccusesNobodyWhereNothingBreaks) {
  for (const RelationPlan& p : relation_plans())
    if (p.bad == 0 || p.cool) {
      EXPECT_EQ(named_by_relations(make(p, 3, false)), std::set<std::string>{}) << p.name;
    }
}

TEST(Relations, SaysWhatItDoesNotFit) {
  const RelationCluster cluster = make(plan("hotter than its power says"), 2, false);
  RelationSearch search(OutlierParams{});
  for (const auto& metric : cluster.metrics) search.add(series_of(metric), metric.sense, true);
  std::size_t judged = 0;
  const auto found = search.run(&judged);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(judged, 64u);
  EXPECT_EQ(found[0].metric, 1u);  // temperature
  EXPECT_EQ(found[0].side, rules::MetricSide::high);
  EXPECT_NEAR(found[0].value - found[0].expected, 5, 1.5);
  ASSERT_FALSE(found[0].others.empty());
  EXPECT_GE(found[0].score, found[0].threshold);
}

// The order of series, and of samples within them, changes nothing.
TEST(Relations, OrderDoesNotMatter) {
  RelationCluster cluster = make(plan("three of 64"), 4, true);
  const auto names = named_by_relations(cluster);
  for (auto& metric : cluster.metrics) {
    std::reverse(metric.hosts.begin(), metric.hosts.end());
    for (Host& h : metric.hosts) {
      std::reverse(h.times.begin(), h.times.end());
      std::reverse(h.values.begin(), h.values.end());
    }
  }
  EXPECT_EQ(named_by_relations(cluster), names);
}

TEST(Relations, WildValuesAndTimesAreHarmless) {
  RelationCluster cluster = make(plan("nobody"), 1, false);
  const double wild[] = {1e300, -1e300, std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN(), 0};
  std::size_t i = 0;
  for (auto& metric : cluster.metrics)
    for (Host& h : metric.hosts)
      for (std::size_t at = i++ % 7; at < h.values.size(); at += 97) {
        h.values[at] = wild[(i + at) % 5];
        if (at % 2 == 0) h.times[at] = std::numeric_limits<Nanoseconds>::max();
      }
  EXPECT_LE(named_by_relations(cluster).size(), 1u);
}

TEST(Relations, CopiesOfOneMetricAreNoRelationThatBreaks) {
  PointTable points{40, 2, {}};
  for (int i = 0; i < 40; ++i) {
    points.values.push_back(i);
    points.values.push_back(i);
  }
  const RobustFit fit = robust_fit(points, 1000);
  ASSERT_TRUE(fit.valid);
  EXPECT_GT(fit.explained[0], 0.99);
}

TEST(RobustFit, HoldsAgainstAQuarterOfBadPoints) {
  Random random(7);
  PointTable points{100, 3, {}};
  for (int i = 0; i < 100; ++i) {
    const double load = random.normal();
    const bool bad = i % 4 == 0;
    points.values.push_back(load + 0.1 * random.normal());
    points.values.push_back(2 * load + 0.1 * random.normal() + (bad ? 3 : 0));
    points.values.push_back(-load + 0.1 * random.normal());
  }
  const RobustFit fit = robust_fit(points, 1000);
  ASSERT_TRUE(fit.valid);
  std::vector<RobustFit::Residual> out(3);
  for (std::size_t i = 0; i < 100; ++i) {
    fit.residuals(std::span(points.values).subspan(i * 3, 3), out);
    EXPECT_EQ(out[1].score > 5, i % 4 == 0) << i << ' ' << out[1].score;
  }
}

TEST(RobustFit, TooFewPointsOrNoSpreadIsNoFit) {
  EXPECT_FALSE(robust_fit({4, 2, {1, 2, 3, 4, 5, 6, 7, 9}}, 100).valid);
  PointTable flat{20, 2, {}};
  for (int i = 0; i < 20; ++i) flat.values.insert(flat.values.end(), {1.0, static_cast<double>(i)});
  EXPECT_FALSE(robust_fit(flat, 100).valid);
}

TEST(Relations, JoinTheSearchMetricByMetric) {
  const RelationCluster cluster = make(plan("less traffic than its load says"), 2, false);
  std::vector<MetricSeries> metrics;
  for (const auto& metric : cluster.metrics) {
    MetricSeries one{metric.name, "", {}};
    for (const Host& h : metric.hosts)
      one.entities.push_back({h.name, "", culprit::Host(h.name.substr(0, 8)), h.times, h.values});
    metrics.push_back(std::move(one));
  }
  const OutlierReport report = search_outliers(metrics, rules::Catalogue::built_in());
  ASSERT_EQ(report.outliers.size(), 1u);
  const MetricOutlier& o = report.outliers[0];
  EXPECT_EQ(o.outlier.method, "relation");
  EXPECT_EQ(o.metric, "gpu_nvlink_bandwidth");
  EXPECT_EQ(o.host, o.outlier.entity.substr(0, 8));
  EXPECT_FALSE(o.against.empty());
  const auto findings = outlier_findings(report);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(report::words(findings[0].title).find("lower than its"), std::string::npos);
  EXPECT_LT(findings[0].confidence, 0.65);
  OutlierParams published;
  published.rule = OutlierRule::published;
  for (const MetricOutlier& p :
       search_outliers(metrics, rules::Catalogue::built_in(), published).outliers)
    EXPECT_NE(p.outlier.method, "relation");
}

}  // namespace
}  // namespace culprit::analyze
