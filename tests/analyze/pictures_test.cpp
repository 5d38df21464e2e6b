// What the pictures of a report are drawn from: they say what the findings say, and no more.
#include <cmath>

#include <gtest/gtest.h>

#include "analyze/faults/settings_picture.hpp"
#include "analyze/hang/hang_pictures.hpp"
#include "analyze/metrics/metric_panels.hpp"
#include "support/ranks.hpp"
#include "support/hosts.hpp"

namespace culprit::analyze {
namespace {

Finding hang_of(const char* ranks) {
  Finding f;
  f.id = "hang/rank/x";
  f.analysis = Analysis::hang;
  HangFacts hang;
  hang.ranks = ranks;
  f.facts = hang;
  return f;
}

TEST(WaitPicture, FollowsTheChainToTheEnd) {
  CollectiveReport calls;
  calls.chain = {{Rank(0), Rank(4), GroupId::none, 7, "recv", "never launched", {}},
                 {Rank(4), Rank(5), GroupId::none, 9, "all_reduce", "", {}}};
  Leaf leaf;
  leaf.ranks = Ranks({5});
  leaf.waiting = 7;
  calls.leaves.push_back(leaf);
  Topology topology;
  topology.host_of = {{Rank(0), Host("a")}, {Rank(4), Host("b")}, {Rank(5), Host("b")}};
  const std::vector<Finding> findings = {hang_of("5")};
  const WaitPicture graph = wait_graph(topology, {}, calls, {}, findings);
  ASSERT_EQ(graph.nodes.size(), 4u);
  EXPECT_EQ(graph.source, "collectives");
  EXPECT_EQ(graph.nodes[0].size, 5);  // 7 wait, two of them are drawn
  EXPECT_TRUE(graph.nodes[0].ranks.empty());
  EXPECT_EQ(graph.nodes[1].ranks, Ranks({0}));
  EXPECT_EQ(graph.nodes[3].ranks, Ranks({5}));
  EXPECT_EQ(graph.nodes[3].hosts, "b");
  EXPECT_TRUE(graph.nodes[3].end);
  EXPECT_EQ(graph.edges.size(), 3u);
}

// A picture would accuse somebody whom no finding names.
TEST(WaitPicture, IsEmptyUnlessAFindingNamesTheEnd) {
  CollectiveReport calls;
  calls.chain = {{Rank(0), Rank(5), GroupId::none, 7, "recv", "", {}}};
  Leaf leaf;
  leaf.ranks = Ranks({5});
  leaf.waiting = 1;
  calls.leaves.push_back(leaf);
  EXPECT_TRUE(wait_graph({}, {}, calls, {}, {}).nodes.empty());
  const std::vector<Finding> other = {hang_of("3")};
  EXPECT_TRUE(wait_graph({}, {}, calls, {}, other).nodes.empty());
  std::vector<Finding> open = {hang_of("5")};
  open[0].outcome = Outcome::not_enough_evidence;
  EXPECT_TRUE(wait_graph({}, {}, calls, {}, open).nodes.empty());
  calls.moving = true;
  const std::vector<Finding> named = {hang_of("5")};
  EXPECT_TRUE(wait_graph({}, {}, calls, {}, named).nodes.empty());
}

StackReport four_stacks() {
  StackReport report;
  report.normal.names = {"main (train.py)", "step (train.py)", "all_reduce (c10d.py)",
                         "load (data.py)"};
  report.normal.stacks = {{0, 1, 2}, {0, 1, 3}};
  report.trees.emplace(
      "trainer", StackTree(report.normal.stacks, {{0, Ranks({0, 1, 2}), 3}, {1, Ranks({3}), 1}}));
  StackGroup wait, odd;
  wait.role = odd.role = "trainer";
  wait.stack = 0;
  wait.ranks = Ranks({0, 1, 2});
  odd.stack = 1;
  odd.ranks = Ranks({3});
  report.groups = {wait, odd};
  report.waits = {{"tp/0", "all_reduce", Ranks({0, 1, 2}), Ranks({3})}};
  StackSink sink;
  sink.ranks = Ranks({3});
  report.sinks = {sink};
  report.outliers = Ranks({3});
  report.hang = true;
  return report;
}

TEST(WaitPicture, IsMadeOfStacksWhereNoCallsAreKnown) {
  const std::vector<Finding> findings = {hang_of("3")};
  const WaitPicture graph = wait_graph({}, {}, {}, four_stacks(), findings);
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.source, "stacks");
  EXPECT_EQ(graph.nodes[0].ranks, Ranks({0, 1, 2}));
  EXPECT_EQ(graph.nodes[1].ranks, Ranks({3}));
  ASSERT_EQ(graph.edges.size(), 1u);
  EXPECT_EQ(graph.edges[0].what, "all_reduce");
}

TEST(StackIcicle, FoldsChainsAndOpensTheException) {
  const StackIcicle tree = stack_icicle({}, four_stacks());
  ASSERT_EQ(tree.nodes.size(), 3u);
  EXPECT_EQ(tree.processes, 4u);
  EXPECT_EQ(tree.nodes[0].frames.size(), 2u);  // main, step: all go there
  EXPECT_EQ(tree.nodes[0].processes, 4u);
  EXPECT_EQ(tree.nodes[0].odd, 1u);
  EXPECT_EQ(tree.nodes[2].ranks, "3");
  EXPECT_EQ(tree.nodes[2].odd, 1u);
  EXPECT_EQ(tree.nodes[2].depth, 1u);
  ASSERT_EQ(tree.odd.size(), 1u);
  EXPECT_EQ(tree.odd[0].frames.front(), "load (data.py)");
  const StackIcicle cut = stack_icicle({}, four_stacks(), 2);
  EXPECT_EQ(cut.nodes.size(), 2u);
  EXPECT_EQ(cut.hidden, 1u);
}

TEST(MetricPanels, HoldTheOneAgainstItsRole) {
  MetricSeries metric;
  metric.name = "some_temperature";
  for (int e = 0; e < 6; ++e) {
    MetricSeries::Entity entity;
    entity.name = "n" + std::to_string(e);
    entity.role = e == 5 ? "spare" : "trainer";
    for (int i = 0; i < 40; ++i) {
      entity.times.push_back((1'700'000'000 + 30 * i) * kSecond);
      entity.values.push_back(e == 2 && i >= 20 ? 90 : 60 + e);
    }
    metric.entities.push_back(entity);
  }
  OutlierReport report;
  report.start = metric.entities[0].times.front();
  report.end = metric.entities[0].times.back();
  MetricOutlier out;
  out.metric = out.printed = metric.name;
  out.unit = "C";
  out.outlier.entity = "n2";
  out.outlier.group = "trainer";
  out.outlier.start = metric.entities[0].times[20];
  out.outlier.end = report.end;
  report.outliers = {out, out};
  const auto panels = metric_panels(report, {metric}, rules::Catalogue::built_in());
  ASSERT_EQ(panels.size(), 1u);  // not twice
  const MetricPanel& p = panels[0];
  EXPECT_EQ(p.crowd, 4u);
  ASSERT_EQ(p.value.size(), p.low.size());
  EXPECT_DOUBLE_EQ(p.value.back(), 90);
  EXPECT_DOUBLE_EQ(p.value.front(), 62);
  EXPECT_DOUBLE_EQ(p.low.back(), 60);
  EXPECT_DOUBLE_EQ(p.high.back(), 64);
  report.outliers[0].printed = report.outliers[1].printed = "unknown";
  EXPECT_TRUE(metric_panels(report, {metric}, rules::Catalogue::built_in()).empty());
}

TEST(SettingsPicture, PutsWhatDiffersFirst) {
  DriftReport report;
  report.hosts = Hosts({"a", "b", "c"});
  DriftItem path{
      "env.PATH", nullptr, DriftState::same, false, {{"/bin", Hosts({"a", "b", "c"}), {}, {}}}, {}};
  DriftItem driver{"driver_version",
                   nullptr,
                   DriftState::same,
                   false,
                   {{"550.54", Hosts({"a", "b", "c"}), {}, {}}},
                   {}};
  DriftItem nccl{"nccl_version",
                 nullptr,
                 DriftState::differs,
                 false,
                 {{"2.20", Hosts({"a", "b"}), {}, {}}, {"2.19", Hosts({"c"}), {}, {}}},
                 {}};
  report.items = {path, driver, nccl};
  const Settings all = settings_picture(report);
  ASSERT_EQ(all.lines.size(), 3u);
  EXPECT_EQ(all.lines[0].name, "nccl_version");
  EXPECT_TRUE(all.lines[0].differs);
  EXPECT_EQ(all.lines[0].values[1].hosts, "c");
  EXPECT_EQ(all.lines[1].name, "driver_version");
  EXPECT_EQ(all.same, 2u);
  EXPECT_EQ(all.differing, 1u);
  EXPECT_EQ(settings_picture(report, 1).lines.size(), 1u);
}

}  // namespace
}  // namespace culprit::analyze
