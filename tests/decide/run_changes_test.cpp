// A changed setting answers what it explains, and nothing that a machine explains.
#include <gtest/gtest.h>

#include "decide/decide.hpp"
#include "report/phrases.hpp"
#include "support/hosts.hpp"

namespace {

using namespace culprit;
using decide::Case;

Finding changed(const std::string& name, std::vector<std::string> explains) {
  Finding f;
  f.id = "changes/" + name;
  f.analysis = Analysis::changes;
  f.subject = {SubjectKind::config, name};
  f.event_class = "setting_changed";
  f.why = Text(name + " was 1 and is 2");
  f.facts = ChangeFacts{name, "1", "2", std::move(explains)};
  return f;
}

Finding slow_stretch(std::int64_t since, const std::string& grown,
                     Subject subject = {SubjectKind::job, "job"}, std::optional<Host> host = {}) {
  SlowFacts facts{.first = since, .last = 300, .factor = 1.6, .cost_s = 900};
  facts.grown = grown;
  facts.hardware = host.has_value();
  Finding f;
  f.id = "slow/interval";
  f.analysis = Analysis::slow;
  f.event_class = "slow/interval";
  f.symptom = Symptom::mfu_decline;
  f.severity = Severity::warning;
  f.role = Role::confirmation;
  f.subject = std::move(subject);
  f.host = std::move(host);
  f.confidence = 0.9;
  f.why = Text(std::string("a reason"));
  f.facts = std::move(facts);
  return f;
}

Verdict verdict_of(std::vector<Finding> findings) {
  Case c;
  c.findings = std::move(findings);
  c.hosts = c.hosts_with_output = c.hosts_heard = 4;
  c.any_training_output = true;
  c.has_stacks = true;
  return decide::decide(c);
}

// Memory that one machine runs out of first is filled by what was changed.
TEST(RunChanges, WhatFillsMemoryIsNoMachine) {
  Finding oom;
  oom.id = "classify/host_oom_kernel";
  oom.analysis = Analysis::classify;
  oom.event_class = "host_oom_kernel";
  oom.severity = Severity::critical;
  oom.role = Role::root;
  oom.cause = CauseKind::resource;
  oom.symptom = Symptom::cpu_oom;
  oom.host = Host("n3");
  oom.hosts = {Host("n3")};
  oom.subject = {SubjectKind::host, "n3"};
  oom.confidence = 0.9;
  oom.start = oom.end = 100 * kMinute;
  oom.facts = LineFacts{.names_trainer = true};
  const Verdict v = verdict_of({oom, changed("code", {"code", "memory"})});
  EXPECT_EQ(v.action, Action::rollback);
  ASSERT_FALSE(v.targets.empty());
  EXPECT_EQ(v.targets.front().subject.id, "code");
}

// Twice the sequence takes twice the time: nothing is slow. A tenth more does not explain it.
TEST(RunChanges, LongerSequencesTakeLongerSteps) {
  Finding longer = changed("seq_length", {"memory", "unequal load"});
  auto& facts = std::get<ChangeFacts>(longer.facts);
  facts.label = "sequence length";
  facts.work = 1.6;
  Finding slow = slow_stretch(0, "");
  std::get<SlowFacts>(slow.facts).from_start = true;
  EXPECT_EQ(verdict_of({slow, longer}).action, Action::none);
  EXPECT_EQ(verdict_of({slow_stretch(0, ""), longer}).action, Action::rollback);
  facts.work = 1.05;
  EXPECT_EQ(verdict_of({slow_stretch(0, ""), longer}).action, Action::rollback);
}

// Where nothing else tells why, few changes of which nothing is known are taken back; many are not.
TEST(RunChanges, UnknownSettingsWhereNothingElseIsKnown) {
  std::vector<Finding> all{slow_stretch(0, "")};
  for (int i = 0; i < 4; ++i) {
    all.push_back(changed("knob_" + std::to_string(i), {}));
    std::get<ChangeFacts>(all.back().facts).known = false;
    EXPECT_EQ(verdict_of(all).action, i < 3 ? Action::rollback : Action::investigate);
  }
}

TEST(RunChanges, TheGrownPartIsTakenBackWithWhatChangedIt) {
  const Verdict v =
      verdict_of({slow_stretch(0, "data"), changed("num_workers", {"memory", "data"})});
  EXPECT_EQ(v.action, Action::rollback);
  ASSERT_FALSE(v.targets.empty());
  EXPECT_EQ(v.targets.front().subject.id, "num_workers");
  EXPECT_NE(report::words(v.summary).find("num_workers was 1 and is 2"), std::string::npos);
}

TEST(RunChanges, WhatExplainsAnotherPartDoesNot) {
  EXPECT_NE(verdict_of({slow_stretch(0, "communication"), changed("num_workers", {"data"})}).action,
            Action::rollback);
  EXPECT_NE(verdict_of({slow_stretch(0, "data"), changed("frobnicate", {})}).action,
            Action::rollback);
}

TEST(RunChanges, WhatCameInTheMiddleOfTheRunNoSettingBrought) {
  EXPECT_NE(verdict_of({slow_stretch(200, "data"), changed("num_workers", {"data"})}).action,
            Action::rollback);
}

TEST(RunChanges, AMachineThatIsSlowKeepsTheAnswer) {
  const Verdict v =
      verdict_of({slow_stretch(0, "data", {SubjectKind::host, "node-1"}, Host("node-1")),
                  changed("num_workers", {"data"})});
  EXPECT_EQ(v.action, Action::mitigate);
  ASSERT_FALSE(v.targets.empty());
  EXPECT_EQ(v.targets.front().subject.id, "node-1");
  EXPECT_NE(report::words(v.summary).find("node-1"), std::string::npos);
}

TEST(RunChanges, AHealthyRunKeepsItsAnswer) {
  Case c;
  c.findings = {changed("num_workers", {"data"})};
  c.hosts = c.hosts_with_output = c.hosts_heard = 4;
  c.any_training_output = true;
  c.exits.push_back({"shell", 0, {}, {}});
  EXPECT_EQ(decide::decide(c).action, Action::none);
}

}  // namespace
