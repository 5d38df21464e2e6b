#include "analyze/compare/compare_runs.hpp"
#include "support/hosts.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

const rules::RulePack& pack() {
  static const rules::RulePack kPack =
      std::move(rules::RulePack::compile(std::move(rules::load_rules({})).value())).value();
  return kPack;
}

// A run made by hand: one log a host.
struct Made {
  Facts facts;
  JobSteps steps;
  IncidentMetrics metrics;
  std::vector<MetricSeries> unknown;

  explicit Made(const std::vector<std::string>& hosts) {
    for (const std::string& host : hosts) {
      MemberRow m;
      m.id = static_cast<MemberId>(facts.members.size()) + 1;
      m.path = host + "/train.log";
      m.host = Host(host);
      m.format = "text";
      facts.members.push_back(m);
      HostRow h;
      h.host = Host(host);
      facts.hosts.push_back(h);
    }
  }
  void set(std::size_t member, const std::string& name, const std::string& value) {
    ConfigRow row;
    row.place = {static_cast<MemberId>(member) + 1, 3, 0, 0};
    row.name = name;
    row.value = value;
    facts.configs.push_back(row);
  }
  void measure(const std::string& name, const std::vector<double>& values) {
    MetricSeries series{name, "", {}};
    for (std::size_t i = 0; i < values.size(); ++i)
      series.entities.push_back({facts.hosts[i].host,
                                 "",
                                 facts.hosts[i].host,
                                 {1, 2, 3},
                                 {values[i], values[i] + 1, values[i] - 1}});
    metrics.metrics.push_back(series);
  }
  void step(double ms) {
    for (int i = 0; i < 20; ++i) {
      steps.iteration.push_back(i);
      steps.time.push_back(kNoValue);
      steps.ms.push_back(ms + i % 3);
    }
  }
  ComparedRun view() const { return {&facts, &steps, &metrics, &unknown, {""}}; }
};

Comparison compared(const Made& good, const Made& bad,
                    const std::vector<LineTemplate>& lines = {}) {
  return compare_runs(good.view(), bad.view(), lines, pack(), rules::DriftRules::built_in(),
                      rules::Catalogue::built_in());
}

const std::vector<std::string> kHosts{"n1", "n2", "n3", "n4", "n5", "n6"};

LineTemplate kind_of_line(const std::string& text, std::uint64_t good, std::uint64_t bad) {
  LineTemplate out{text, {}};
  out.runs[0] = {good, good > 0 ? 1u : 0u, good > 0 ? "g.log" : "", good > 0 ? text : "", "", 1};
  out.runs[1] = {bad, bad > 0 ? 1u : 0u, bad > 0 ? "b.log" : "", bad > 0 ? text : "", "", 1};
  return out;
}

TEST(CompareRuns, TheSameRunHasNoChange) {
  Made run(kHosts);
  for (std::size_t i = 0; i < 6; ++i) run.set(i, "driver_version", "550.90.07");
  run.measure("gpu_temperature", {60, 61, 62, 60, 59, 61});
  run.step(500);
  EXPECT_TRUE(compared(run, run, {kind_of_line("step # done", 100, 100)}).changes.empty());
}

TEST(CompareRuns, AVersionThatAllChangedAndOneThatAHostHasAlone) {
  Made good(kHosts), bad(kHosts);
  for (std::size_t i = 0; i < 6; ++i) {
    good.set(i, "driver_version", "550.90.07");
    bad.set(i, "driver_version", "550.127.05");
    good.set(i, "env.NCCL_IB_TC", "106");
    bad.set(i, "env.NCCL_IB_TC", i == 3 ? "0" : "106");
    good.set(i, "env.RUN_ADDRESS", "10.0.0." + std::to_string(i));  // each its own: an identity
    bad.set(i, "env.RUN_ADDRESS", "10.0.1." + std::to_string(i));
  }
  const Comparison c = compared(good, bad);
  ASSERT_EQ(c.changes.size(), 2u);
  EXPECT_EQ(c.changes[0].what, "driver_version");
  EXPECT_TRUE(c.changes[0].hosts.empty());
  EXPECT_EQ(c.changes[0].good, "550.90.07");
  EXPECT_EQ(c.changes[0].bad, "550.127.05");
  EXPECT_EQ(c.changes[1].hosts, Hosts({"n4"}));
  ASSERT_EQ(c.changes[1].places.size(), 2u);
  EXPECT_EQ(c.changes[1].places[1].path, "n4/train.log");
}

TEST(CompareRuns, ManyLightSettingsAreOneChange) {
  Made good(kHosts), bad(kHosts);
  for (int p = 0; p < 30; ++p) {
    good.set(0, "pip.package" + std::to_string(p), "1.0");
    bad.set(0, "pip.package" + std::to_string(p), "1.1");
  }
  const Comparison c = compared(good, bad);
  ASSERT_EQ(c.changes.size(), 1u);
  EXPECT_EQ(c.changes[0].what, "pip.*");
}

TEST(CompareRuns, LinesOfARunOfAnotherLengthAreHeldAgainstWhatBothHave) {
  const Made run(kHosts);
  const Comparison c = compared(
      run, run,
      {kind_of_line("step # done", 100, 300), kind_of_line("saved shard #", 20, 61),
       kind_of_line("loader is ready", 10, 30), kind_of_line("retrying read of volume #", 6, 200),
       kind_of_line("eval round # passed", 40, 0), kind_of_line("cache of kernels rebuilt", 0, 9)});
  std::vector<std::string> kinds;
  for (const Change& change : c.changes)
    kinds.push_back(std::string(name(change.kind)) + " " + change.what);
  std::sort(kinds.begin(), kinds.end());
  EXPECT_EQ(kinds, (std::vector<std::string>{"gone_lines eval round # passed",
                                             "new_lines cache of kernels rebuilt",
                                             "rate_of_lines retrying read of volume #"}));
}

TEST(CompareRuns, NumbersOfClassesAreKeptApart) {
  Made good(kHosts), bad(kHosts);
  const auto add = [](Made& run, const std::string& event_class, Severity severity) {
    EventRow e;
    e.place = {1, 7, 0, 0};
    e.event_class = event_class;
    e.severity = severity;
    e.role = Role::root;
    e.message = event_class;
    run.facts.events.push_back(e);
  };
  add(good, "gpu_xid/63", Severity::info);
  add(bad, "gpu_xid/63", Severity::info);
  add(bad, "gpu_xid/79", Severity::critical);
  const Comparison c = compared(good, bad);
  ASSERT_EQ(c.changes.size(), 1u);
  EXPECT_EQ(c.changes[0].event_class, "gpu_xid/79");
  EXPECT_GT(c.changes[0].score, 0.9);
}

TEST(CompareRuns, MetricsOfAllAndOfOneMachine) {
  Made good(kHosts), bad(kHosts);
  good.measure("gpu_temperature", {60, 61, 62, 60, 59, 61});
  bad.measure("gpu_temperature", {60, 61, 90, 60, 59, 61});
  good.measure("gpu_power", {600, 604, 598, 601, 603, 599});
  bad.measure("gpu_power", {400, 404, 398, 401, 403, 399});
  const Comparison c = compared(good, bad);
  ASSERT_EQ(c.changes.size(), 2u);
  const auto machine = std::find_if(c.changes.begin(), c.changes.end(), [](const Change& one) {
    return one.kind == ChangeKind::machine;
  });
  ASSERT_NE(machine, c.changes.end());
  EXPECT_EQ(machine->hosts, Hosts({"n3"}));
  const auto all = std::find_if(c.changes.begin(), c.changes.end(),
                                [](const Change& one) { return one.kind == ChangeKind::metric; });
  ASSERT_NE(all, c.changes.end());
  EXPECT_EQ(all->what, "gpu_power");
  // It was hot before, too.
  EXPECT_TRUE(changed_metrics(bad.view(), bad.view(), rules::Catalogue::built_in(), {}).empty());
}

TEST(CompareRuns, PaceAndHosts) {
  Made good(kHosts), bad({"n1", "n2", "n3", "n4", "n5", "n9"});
  good.step(500);
  bad.step(650);
  const Comparison c = compared(good, bad);
  ASSERT_EQ(c.changes.size(), 2u);
  EXPECT_EQ(c.changes[0].kind, ChangeKind::step_time);
  EXPECT_NEAR(c.changes[0].effect, 0.3, 0.01);
  EXPECT_EQ(c.changes[1].hosts, Hosts({"n9"}));
}

}  // namespace
}  // namespace culprit::analyze
