// The step of the ladder for jobs that did not fail but were slow.
#include <map>

#include <gtest/gtest.h>

#include "decide/decide.hpp"

namespace {

using namespace culprit;
using decide::Case;

Finding slow(std::map<std::string, std::string> with, Subject subject = {"job", "job"}, std::optional<std::string> host = {}, double confidence = 0.8) {
  std::map<std::string, std::string> numbers{{"factor", "1.600"}, {"first_iteration", "150"}, {"last_iteration", "299"}, {"cost_s", "900"}, {"relieved", "0"}, {"transient", "0"}, {"hardware", "0"}, {"reason", "has a gpu_sm_clock of 900 against 1900 of 31 others"}};
  for (const auto& [key, value] : with) numbers[key] = value;
  Finding f;
  f.analysis = "slow";
  f.id = "slow/interval/150";
  f.event_class = "slow/interval";
  f.symptom = "MFU Decline";
  f.severity = Severity::warning;
  f.role = Role::confirmation;
  f.subject = std::move(subject);
  f.host = std::move(host);
  f.confidence = confidence;
  f.why = "a reason";
  f.numbers.assign(numbers.begin(), numbers.end());
  return f;
}

Case finished(Finding f) {
  Case c;
  c.findings = {std::move(f)};
  c.hosts = c.hosts_with_output = 4;
  c.any_training_output = true;
  c.has_stacks = true;
  c.exits.push_back({"shell", 0, {}, {}});
  return c;
}

TEST(Slowness, AMachineThatStillSlowsTheJobAndShowsItInItsMetricsIsIsolated) {
  const Verdict v = decide::decide(finished(slow({{"hardware", "1"}}, {"gpu", "node-1/gpu3"}, "node-1", 0.92)));
  EXPECT_EQ(v.action, "isolate");
  ASSERT_FALSE(v.targets.empty());
  EXPECT_EQ(v.targets[0].subject, (Subject{"host", "node-1"}));
  EXPECT_NE(v.summary.find("15 min"), std::string::npos);
}

TEST(Slowness, WithoutHardwareToShowForItARankIsRelievedAndNotIsolated) {
  const Verdict v = decide::decide(finished(slow({}, {"rank", "11"}, "node-1", 0.92)));
  EXPECT_EQ(v.action, "mitigate");
  ASSERT_EQ(v.targets.size(), 2u);
  EXPECT_EQ(v.targets[0].subject, (Subject{"rank", "11"}));
  EXPECT_EQ(v.targets[1].subject, (Subject{"host", "node-1"}));
}

TEST(Slowness, WhatIsOverTakesNoMachineOut) {
  const Verdict v = decide::decide(finished(slow({{"hardware", "1"}, {"relieved", "1"}}, {"rank", "11"}, "node-1", 0.95)));
  EXPECT_EQ(v.action, "mitigate");
  EXPECT_NE(v.summary.find("It is over"), std::string::npos);
}

TEST(Slowness, WhatWasShortAndIsOverAccusesNobody) {
  const Verdict v = decide::decide(finished(slow({{"transient", "1"}, {"relieved", "1"}}, {"rank", "11"}, "node-1", 0.95)));
  EXPECT_EQ(v.action, "none");
  EXPECT_TRUE(v.targets.empty());
}

TEST(Slowness, WhenNobodyStandsOutNobodyIsAccused) {
  const Verdict v = decide::decide(finished(slow({})));
  EXPECT_EQ(v.action, "investigate");
  EXPECT_TRUE(v.targets.empty());
  EXPECT_NE(v.summary.find("since iteration 150"), std::string::npos);
}

TEST(Slowness, AFailureComesFirstAndTheSlownessIsARemark) {
  Case c = finished(slow({}, {"rank", "11"}, "node-1", 0.92));
  c.exits = {{"torchrun", 1, {}, {}}};
  const Verdict v = decide::decide(c);
  EXPECT_NE(v.action, "mitigate");
  for (const Target& t : v.targets) EXPECT_NE(t.subject.id, "11");
  bool told = false;
  for (const NextStep& n : v.next) told = told || n.text.find("1.60 times as long") != std::string::npos;
  EXPECT_TRUE(told);
}

}  // namespace
