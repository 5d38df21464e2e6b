// Steps that were repeated after wrong numbers: whose GPU, or the training itself.
#include <gtest/gtest.h>

#include "decide/decide.hpp"
#include "support/hosts.hpp"
#include "rules/rule.hpp"

namespace {

using namespace culprit;
using decide::Case;

Finding rerun(const std::string& event_class, const std::string& host,
              std::optional<Nanoseconds> start, Outcome outcome = Outcome::fired) {
  Finding f;
  f.analysis = Analysis::classify;
  f.event_class = event_class;
  f.traits = rules::traits_of_class(f.event_class);
  f.outcome = outcome;
  f.severity = Severity::critical;
  f.role = Role::root;
  f.cause = CauseKind::numerics;
  f.symptom = Symptom::nan_value;
  f.subject = {SubjectKind::job, "job"};
  if (!host.empty()) {
    f.subject = {SubjectKind::gpu, host + "/5"};
    f.host = Host(host);
    f.hosts = Hosts({host});
  }
  f.id = "classify/" + event_class + (outcome == Outcome::fired ? "/" : "/before/") + host;
  f.start = f.end = start;
  f.confidence = 0.9;
  f.count = 1;
  f.evidence = {{1, "run.out", 7, 0, 10, start ? "at its time" : "iteration " + f.id}};
  return f;
}

Verdict verdict(std::vector<Finding> findings) {
  Case c;
  c.findings = std::move(findings);
  c.hosts = 8;
  c.ranks = 64;
  c.any_training_output = true;
  return decide::decide(c);
}

constexpr Nanoseconds kNow = 1000 * kMinute;

TEST(RepeatedSteps, OnceIsCheckedTwiceIsADefect) {
  const Finding now = rerun("result_not_reproducible", "n05", kNow);
  const Verdict once = verdict({now});
  EXPECT_EQ(once.action, Action::checks);
  EXPECT_EQ(once.targets.at(0).subject.id, "n05");

  const Finding before = rerun("result_not_reproducible", "n05", 200 * kMinute, Outcome::ruled_out);
  const Verdict twice = verdict({now, before});
  EXPECT_EQ(twice.action, Action::isolate);
  EXPECT_EQ(twice.targets.at(0).subject.id, "n05");
  EXPECT_EQ(twice.precision, Precision::exact);
  EXPECT_EQ(verdict({rerun("result_not_reproducible", "n05", std::nullopt),
                     rerun("result_not_reproducible", "n05", std::nullopt, Outcome::ruled_out)})
                .action,
            Action::isolate)
      << "at two iterations, without times";
}

TEST(RepeatedSteps, OneOccurrenceInTwoFilesIsOne) {
  Finding console = rerun("result_not_reproducible", "n05", kNow);
  Finding own = rerun("result_not_reproducible", "n05", kNow + 2 * kSecond);
  own.id += "/journal";
  EXPECT_EQ(verdict({console, own}).action, Action::checks);
}

// A rank's own numbers go wrong in each of these runs: on which host, and as which rank.
std::vector<Finding> own_numbers(const std::vector<std::pair<const char*, std::int64_t>>& runs,
                                 Nanoseconds apart = 60 * kMinute) {
  std::vector<Finding> out;
  for (const auto& [host, rank] : runs) {
    const bool last = out.size() + 1 == runs.size();
    out.push_back(rerun("train_nan_local", host,
                        kNow - static_cast<Nanoseconds>(runs.size() - 1 - out.size()) * apart,
                        last ? Outcome::fired : Outcome::ruled_out));
    out.back().id += std::to_string(rank);
    out.back().ranks = {Rank(rank)};
    out.back().evidence[0].member = static_cast<MemberId>(out.size());
  }
  return out;
}

TEST(OwnNumbers, OnOneGPUAsAnotherRankInEachOfThreeRunsTheGPUIsToBlame) {
  const Verdict v = verdict(own_numbers({{"n05", 37}, {"n05", 21}, {"n05", 29}}));
  EXPECT_EQ(v.action, Action::isolate);
  EXPECT_EQ(v.targets.at(0).subject.id, "n05");
  EXPECT_EQ(verdict(own_numbers({{"n05", 15}, {"n05", 31}})).action, Action::checks)
      << "the last rank of a job stands on its last machine";
}

TEST(OwnNumbers, AsTheSameRankItMayBeItsData) {
  EXPECT_EQ(verdict(own_numbers({{"n05", 37}, {"n05", 37}, {"n05", 37}})).action, Action::checks);
}

TEST(OwnNumbers, SeveralRanksOfOneRunEachSeeOneDevice) {
  EXPECT_NE(verdict(own_numbers({{"n05", 32}, {"n05", 33}, {"n05", 34}}, kSecond)).action,
            Action::isolate);
}

TEST(OwnNumbers, WithoutTimesSeveralRanksOnOneNumberedDeviceAreSeveralRuns) {
  Finding f = rerun("train_nan_local", "n05", std::nullopt);
  f.ranks = {Rank(6), Rank(22), Rank(30)};
  f.evidence.assign(3, f.evidence.front());
  EXPECT_NE(verdict({f}).action, Action::isolate) << "three ranks of one step share the device";
  for (std::size_t i = 0; i < 3; ++i) {
    f.evidence[i].line = i + 1;
    f.evidence[i].excerpt = "device 5, iteration 3106" + std::to_string(i);
  }
  EXPECT_EQ(verdict({f}).action, Action::isolate);
  f.subject.id = "n05/0";
  EXPECT_NE(verdict({f}).action, Action::isolate) << "each rank of a run may see its device as 0";
}

TEST(OwnNumbers, OfTwoMachinesThatFailTheDiagnosticItIsTheOneWithNaN) {
  std::vector<Finding> all = own_numbers({{"n05", 37}});
  for (const char* host : {"n05", "n06"}) {
    Finding f = rerun("dcgm_diag_fail", host, kNow);
    f.cause = CauseKind::machine;
    f.symptom = Symptom::none;
    all.push_back(f);
  }
  const Verdict v = verdict(all);
  EXPECT_EQ(v.action, Action::isolate);
  ASSERT_EQ(v.targets.size(), 1u);
  EXPECT_EQ(v.targets[0].subject.id, "n05");
}

TEST(OwnNumbers, OnTwoGPUsNoMachineIsToBlame) {
  EXPECT_NE(verdict(own_numbers({{"n05", 37}, {"n06", 21}, {"n05", 29}})).action, Action::isolate);
}

TEST(RepeatedSteps, OnManyGPUsTheStepIsNotDeterministic) {
  std::vector<Finding> findings;
  for (const char* host : {"n01", "n02", "n03", "n04"})
    findings.push_back(rerun("result_not_reproducible", host, kNow));
  findings.push_back(rerun("result_not_reproducible", "n01", 200 * kMinute, Outcome::ruled_out));
  EXPECT_NE(verdict(findings).action, Action::isolate);
}

TEST(RepeatedSteps, TheNodeOfTheSecondRerunIsTheGoodOne) {
  Finding first = rerun("result_reproducible", "n05", 900 * kMinute, Outcome::ruled_out);
  first.cause = CauseKind::none;
  first.role = Role::confirmation;
  Finding second = rerun("result_differs_on_other_gpu", "", kNow);
  second.hosts = Hosts({"n06"});
  const Verdict v = verdict({first, second});
  EXPECT_EQ(v.action, Action::isolate);
  EXPECT_EQ(v.targets.at(0).subject.id, "n05");
  for (const Verdict& alone : {verdict({second}), verdict({first})})
    for (const Target& t : alone.targets) EXPECT_NE(t.subject.kind, SubjectKind::host);
}

TEST(RepeatedSteps, WhatTwoGPUsComputeIsTheTrainings) {
  Finding first = rerun("result_reproducible", "n05", 900 * kMinute);
  first.cause = CauseKind::none;
  first.role = Role::confirmation;
  const Verdict v = verdict({first, rerun("result_same_on_other_gpu", "", kNow)});
  EXPECT_EQ(v.action, Action::rollback);
  EXPECT_EQ(v.targets.at(0).subject.kind, SubjectKind::job);
}

TEST(RepeatedSteps, AnotherFailureIsNotExplainedByThem) {
  Finding lost = rerun("gpu_xid/79", "n02", kNow);
  lost.subject = {SubjectKind::host, "n02"};
  lost.cause = CauseKind::machine;
  lost.symptom = Symptom::gpu_unavailable;
  const Verdict v =
      verdict({lost, rerun("result_not_reproducible", "n05", 200 * kMinute, Outcome::ruled_out),
               rerun("result_not_reproducible", "n05", 400 * kMinute, Outcome::ruled_out)});
  EXPECT_EQ(v.targets.at(0).subject.id, "n02");
}

}  // namespace
