// The step of the ladder for jobs that did not fail but were slow.
#include <gtest/gtest.h>

#include "report/phrases.hpp"
#include "decide/decide.hpp"
#include "support/hosts.hpp"

namespace {

using namespace culprit;
using decide::Case;
using report::words;

SlowFacts usual() {
  SlowFacts out;
  out.factor = 1.6;
  out.first = 150;
  out.last = 299;
  out.cost_s = 900;
  out.hardware = false;
  out.reason = Text(std::string("has a gpu_sm_clock of 900 against 1900 of 31 others"));
  return out;
}

SlowFacts with(SlowFacts facts, bool hardware, bool over = false, bool transient = false) {
  facts.hardware = hardware;
  facts.over = over;
  facts.transient = transient;
  return facts;
}

Finding slow(SlowFacts facts, Subject subject = {SubjectKind::job, "job"},
             std::optional<Host> host = {}, double confidence = 0.8) {
  Finding f;
  f.analysis = Analysis::slow;
  f.id = "slow/interval/150";
  f.event_class = "slow/interval";
  f.symptom = Symptom::mfu_decline;
  f.severity = Severity::warning;
  f.role = Role::confirmation;
  f.subject = std::move(subject);
  f.host = std::move(host);
  f.confidence = confidence;
  f.why = Text(std::string("a reason"));
  f.facts = std::move(facts);
  return f;
}

Case finished(Finding f) {
  Case c;
  c.findings = {std::move(f)};
  c.hosts = c.hosts_with_output = c.hosts_heard = 4;
  c.any_training_output = true;
  c.has_stacks = true;
  c.exits.push_back({"shell", 0, {}, {}});
  return c;
}

TEST(Slowness, StepsThatDoMoreAreNotSlow) {
  SlowFacts more = usual();
  more.more_work = true;
  Case c = finished(slow(more));
  c.exits.clear();
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::none);
  EXPECT_NE(words(v.summary).find("Nothing is slow"), std::string::npos);
}

TEST(Slowness, AMachineThatItsOwnHardwareHoldsDownIsIsolated) {
  SlowFacts held = with(usual(), true);
  held.of_part = true;
  const Verdict v =
      decide::decide(finished(slow(held, {SubjectKind::gpu, "node-1/gpu3"}, Host("node-1"), 0.92)));
  EXPECT_EQ(v.action, Action::isolate);
  held.over = true;
  EXPECT_NE(
      decide::decide(finished(slow(held, {SubjectKind::gpu, "node-1/gpu3"}, Host("node-1"), 0.92)))
          .action,
      Action::isolate)
      << "it is over";
}

TEST(Slowness, AMachineThatStillSlowsTheJobAndShowsItInItsMetricsIsRelieved) {
  const Verdict v = decide::decide(
      finished(slow(with(usual(), true), {SubjectKind::gpu, "node-1/gpu3"}, Host("node-1"), 0.92)));
  EXPECT_EQ(v.action, Action::mitigate);
  ASSERT_EQ(v.targets.size(), 2u);
  EXPECT_EQ(v.targets[1].subject, (Subject{SubjectKind::host, "node-1"}));
  EXPECT_NE(words(v.summary).find("15 min"), std::string::npos);
}

TEST(Slowness, WithoutHardwareToShowForItARankIsRelievedAndNotIsolated) {
  const Verdict v =
      decide::decide(finished(slow(usual(), {SubjectKind::rank, "11"}, Host("node-1"), 0.92)));
  EXPECT_EQ(v.action, Action::mitigate);
  ASSERT_EQ(v.targets.size(), 2u);
  EXPECT_EQ(v.targets[0].subject, (Subject{SubjectKind::rank, "11"}));
  EXPECT_EQ(v.targets[1].subject, (Subject{SubjectKind::host, "node-1"}));
}

TEST(Slowness, WhatIsOverTakesNoMachineOut) {
  const Verdict v = decide::decide(
      finished(slow(with(usual(), true, true), {SubjectKind::rank, "11"}, Host("node-1"), 0.95)));
  EXPECT_EQ(v.action, Action::mitigate);
  EXPECT_NE(words(v.summary).find("It is over"), std::string::npos);
}

TEST(Slowness, WhatWasShortAndIsOverAccusesNobody) {
  const Verdict v = decide::decide(finished(
      slow(with(usual(), false, true, true), {SubjectKind::rank, "11"}, Host("node-1"), 0.95)));
  EXPECT_EQ(v.action, Action::none);
  EXPECT_TRUE(v.targets.empty());
}

TEST(Slowness, WhenNobodyStandsOutNobodyIsAccused) {
  const Verdict v = decide::decide(finished(slow(usual())));
  EXPECT_EQ(v.action, Action::investigate);
  EXPECT_TRUE(v.targets.empty());
  EXPECT_NE(words(v.summary).find("since iteration 150"), std::string::npos);
}

TEST(Slowness, AFailureComesFirstAndTheSlownessIsARemark) {
  Case c = finished(slow(usual(), {SubjectKind::rank, "11"}, Host("node-1"), 0.92));
  c.exits = {{"torchrun", 1, {}, {}}};
  const Verdict v = decide::decide(c);
  EXPECT_NE(v.action, Action::mitigate);
  for (const Target& t : v.targets) EXPECT_NE(t.subject.id, "11");
  bool told = false;
  for (const NextStep& n : v.next)
    told = told || words(n.text).find("1.60 times as long") != std::string::npos;
  EXPECT_TRUE(told);
}

Finding setting(const std::string& host, const std::string& name, bool device) {
  Finding f;
  f.analysis = Analysis::drift;
  f.id = "drift/" + name;
  f.event_class = "config_drift";
  f.severity = Severity::warning;
  f.role = Role::confirmation;
  f.subject = {SubjectKind::config, name};
  f.hosts = Hosts({host});
  f.confidence = 0.9;
  f.facts = SettingFacts{"performance", true, device, name, "100 on " + host};
  return f;
}

Finding outlier(const std::string& host) {
  Finding f;
  f.analysis = Analysis::outliers;
  f.id = "outliers/nic_xmit_wait/" + host + "/mlx5_3";
  f.subject = {SubjectKind::nic, host + "/mlx5_3"};
  f.host = Host(host);
  f.severity = Severity::warning;
  f.role = Role::confirmation;
  f.confidence = 0.75;
  return f;
}

// Backups and scrubs come again: what grew for all, and for so long, is relieved although it is
// over.
TEST(Slowness, APartThatGrewForAllIsRelievedAfterwards) {
  SlowFacts grown = usual();
  grown.over = true;
  grown.grown = "data";
  Case c = finished(slow(grown, {SubjectKind::job, "job"}, {}, 0.9));
  c.exits.clear();
  EXPECT_EQ(decide::decide(c).action, Action::mitigate);
  grown.grown.clear();
  grown.cost_s = 5 * 60;
  c.findings = {slow(grown, {SubjectKind::job, "job"}, {}, 0.9)};
  EXPECT_EQ(decide::decide(c).action, Action::none) << "nobody knows what it was";
  grown.cost_s = 2 * 3600;
  c.findings = {slow(grown, {SubjectKind::job, "job"}, {}, 0.9)};
  EXPECT_EQ(decide::decide(c).action, Action::investigate) << "and it may come again";
}

Case running(std::vector<Finding> findings) {
  Case c;
  c.findings = std::move(findings);
  c.hosts = c.hosts_with_output = c.hosts_heard = 6;
  c.any_training_output = true;
  c.last_iteration = 400;
  return c;
}

SlowFacts from_start() {
  SlowFacts out = usual();
  out.from_start = true;
  return out;
}

Finding measured(const std::string& host, SubjectKind kind = SubjectKind::host) {
  Finding f;
  f.id = "classify/measured/" + host;
  f.analysis = Analysis::classify;
  f.severity = Severity::warning;
  f.role = Role::confirmation;
  f.traits.add(Trait::measured_slow);
  f.host = Host(host);
  f.hosts = Hosts({host});
  f.subject = {kind, host};
  return f;
}

TEST(Slowness, ASlowerSettingOfOneHostAndItsMetricsNameIt) {
  const Verdict v =
      decide::decide(running({setting("node-3", "nic.rate", true), outlier("node-3")}));
  EXPECT_EQ(v.action, Action::isolate);
  ASSERT_FALSE(v.targets.empty());
  EXPECT_EQ(v.targets[0].subject.id, "node-3");
}

// A limit that somebody lowered is set back; nothing of the machine is broken.
TEST(Slowness, ALimitThatSomebodySetIsNoReasonToIsolate) {
  Finding limit = setting("node-3", "gpu.power_limit", true);
  std::get<SettingFacts>(limit.facts).set_by_command = true;
  const Verdict v = decide::decide(running({limit, outlier("node-3")}));
  EXPECT_EQ(v.action, Action::repair);
  ASSERT_FALSE(v.targets.empty());
  EXPECT_EQ(v.targets[0].subject.id, "node-3");
}

TEST(Slowness, ASlowerSettingOfSoftwareInASlowJobIsRepaired) {
  const Verdict v = decide::decide(
      running({setting("node-3", "nccl.gpu_direct_rdma", false), slow(from_start())}));
  EXPECT_EQ(v.action, Action::repair);
  ASSERT_FALSE(v.targets.empty());
  EXPECT_EQ(v.targets[0].subject.id, "node-3");
}

TEST(Slowness, ASlowerDeviceAloneIsCheckedAndNotIsolated) {
  const Verdict v = decide::decide(running({setting("node-3", "nic.rate", true)}));
  EXPECT_EQ(v.action, Action::checks);
}

// Somebody else's program ends; what it takes meanwhile has a price.
// What a rack shares holds all its machines down; one of them says so itself.
TEST(Slowness, OneOfSeveralMachinesThatAreHeldDownIsNotTheOne) {
  Finding rack = slow(with(usual(), true), {SubjectKind::group, "node-3, node-4"}, {}, 0.8);
  rack.hosts = Hosts({"node-3", "node-4"});
  const Verdict v = decide::decide(
      running({setting("node-3", "gpu.power_limit", true), outlier("node-3"), rack}));
  EXPECT_EQ(v.action, Action::mitigate);
  EXPECT_EQ(v.targets.size(), 2u);
}

TEST(Slowness, AProgramBesideTheJobIsNoReasonToIsolate) {
  Finding f = setting("node-3", "gpu.program", true);
  std::get<SettingFacts>(f.facts).beside_job = true;
  EXPECT_EQ(decide::decide(running({f, outlier("node-3")})).action, Action::repair);
  std::get<SettingFacts>(f.facts).device = false;
  EXPECT_EQ(decide::decide(running({f, outlier("node-3")})).action, Action::mitigate);
}

TEST(Slowness, ProgramsBesideTheJobOfOneMachineAlone) {
  const auto busy = [](const std::string& host) {
    Finding f = measured(host);
    f.traits = {};
    f.traits.add(Trait::beside_job);
    return f;
  };
  const Verdict v = decide::decide(running({busy("node-3"), slow(usual())}));
  EXPECT_EQ(v.action, Action::repair);
  ASSERT_FALSE(v.targets.empty());
  EXPECT_EQ(v.targets[0].subject.id, "node-3");
  EXPECT_NE(decide::decide(running({busy("node-3"), busy("node-4")})).action, Action::repair)
      << "all have it";
  const Verdict other = decide::decide(
      running({busy("node-3"), slow(usual(), {SubjectKind::host, "node-5"}, Host("node-5"), 0.9)}));
  ASSERT_FALSE(other.targets.empty());
  EXPECT_EQ(other.targets[0].subject.id, "node-5") << "the steps name another";
}

TEST(Slowness, ADeviceAtHalfItsRateIsExchangedThoughNoStepTellsOfIt) {
  Finding f = setting("node-3", "nic.rate", true);
  std::get<SettingFacts>(f.facts).far_below = true;
  const Verdict v = decide::decide(running({f}));
  EXPECT_EQ(v.action, Action::isolate);
  ASSERT_FALSE(v.targets.empty());
  EXPECT_EQ(v.targets[0].subject.id, "node-3");
  EXPECT_EQ(decide::decide(running({f, slow(usual())})).action, Action::isolate)
      << "a link may train down in mid-run";
  std::get<SettingFacts>(f.facts).device = false;
  EXPECT_EQ(decide::decide(running({f})).action, Action::repair) << "what is set is set back";
}

// All ports were compared; a line of another machine's kernel has none beside it.
TEST(Slowness, WhatWasComparedSaysMoreThanALineOfAnotherKernel) {
  Finding rate = setting("node-3", "nic.rate", true);
  std::get<SettingFacts>(rate.facts).far_below = true;
  Finding line;
  line.id = "classify/pcie_link_degraded/link/node-4";
  line.analysis = Analysis::classify;
  line.event_class = "pcie_link_degraded";
  line.role = Role::root;
  line.severity = Severity::warning;
  line.traits.add(Trait::below_rate);
  line.host = Host("node-4");
  line.hosts = Hosts({"node-4"});
  line.subject = {SubjectKind::host, "node-4"};
  const Verdict v = decide::decide(running({rate, line}));
  EXPECT_EQ(v.action, Action::isolate);
  ASSERT_FALSE(v.targets.empty());
  EXPECT_EQ(v.targets[0].subject.id, "node-3");
  std::get<SettingFacts>(rate.facts).far_below = false;
  EXPECT_NE(decide::decide(running({rate, line})).action, Action::isolate);
}

TEST(Slowness, AMachineThatTestsMeasureAsSlowIsIsolated) {
  const Verdict v = decide::decide(running({measured("node-3")}));
  EXPECT_EQ(v.action, Action::isolate);
  ASSERT_FALSE(v.targets.empty());
  EXPECT_EQ(v.targets[0].subject.id, "node-3");
  EXPECT_EQ(
      decide::decide(running({measured("node-3"), setting("node-3", "nic.pfc", false)})).action,
      Action::repair)
      << "by what it has otherwise than the others";
}

TEST(Slowness, AJobThatEndedWellAndWasQuickAccusesNobodyForATest) {
  EXPECT_EQ(decide::decide(finished(measured("node-3"))).action, Action::none);
}

TEST(Slowness, OfAGroupThatTestsMeasureAsSlowNobodyIsIsolated) {
  const Verdict v = decide::decide(running({measured("node-3"), measured("node-4")}));
  EXPECT_EQ(v.action, Action::checks);
  EXPECT_EQ(v.targets.size(), 2u);
  Finding rack = measured("rack-3");
  rack.traits.add(Trait::not_of_host);
  EXPECT_EQ(decide::decide(running({rack})).action, Action::checks);
}

TEST(Slowness, ASwitchThatTestsMeasureAsSlowIsRepaired) {
  const Verdict v = decide::decide(running({measured("leaf-3", SubjectKind::network_switch)}));
  EXPECT_EQ(v.action, Action::repair);
  ASSERT_FALSE(v.targets.empty());
  EXPECT_EQ(v.targets[0].subject.kind, SubjectKind::network_switch);
}

Finding reason(Trait trait, CauseKind cause) {
  Finding f = measured("");
  f.traits = {};
  f.traits.add(trait);
  f.host.reset();
  f.hosts.clear();
  f.cause = cause;
  f.event_class = "reason";
  f.subject = {SubjectKind::job, "job"};
  return f;
}

TEST(Slowness, WhatHoldsAllRanksUpIsNobodysMachine) {
  const Finding pauses = reason(Trait::held_up, CauseKind::program);
  EXPECT_EQ(decide::decide(running({pauses})).action, Action::rollback);
  EXPECT_EQ(decide::decide(running({reason(Trait::held_up, CauseKind::outside)})).action,
            Action::none);
  EXPECT_EQ(decide::decide(running({pauses, slow(usual(), {SubjectKind::host, "node-5"},
                                                 Host("node-5"), 0.9)}))
                .targets[0]
                .subject.id,
            "node-5")
      << "the steps name a machine";
}

TEST(Slowness, ASettingOfAllRanksSlowsFromTheStartOrNotAtAll) {
  const Finding sockets = reason(Trait::slows_all, CauseKind::environment);
  EXPECT_EQ(decide::decide(running({sockets, slow(from_start())})).action, Action::repair);
  EXPECT_NE(decide::decide(running({sockets})).action, Action::repair) << "nothing is slow";
  EXPECT_NE(decide::decide(running({sockets, slow(usual())})).action, Action::repair)
      << "it was quick before";
}

TEST(Slowness, StepsThatNameAnotherMachineContradictATest) {
  const Verdict v = decide::decide(running(
      {measured("node-3"), slow(usual(), {SubjectKind::host, "node-5"}, Host("node-5"), 0.9)}));
  EXPECT_NE(v.action, Action::isolate);
}

TEST(Slowness, ASlowerSettingOfAJobThatEndedWellAccusesNobody) {
  Case c = finished(setting("node-3", "nic.rate", true));
  c.findings.push_back(outlier("node-3"));
  EXPECT_EQ(decide::decide(c).action, Action::none);
}

TEST(Slowness, ASettingDoesNotExplainWhatBeganInMidRunOrIsOver) {
  const Verdict v = decide::decide(running({setting("node-3", "nic.rate", true), slow(usual())}));
  EXPECT_NE(v.action, Action::isolate);
}

TEST(Slowness, SlowerSettingsOfTwoHostsNameNeither) {
  Case c = running({setting("node-3", "nic.rate", true), setting("node-4", "gpu.power_limit", true),
                    outlier("node-3")});
  const Verdict v = decide::decide(c);
  EXPECT_NE(v.action, Action::isolate);
}

}  // namespace
