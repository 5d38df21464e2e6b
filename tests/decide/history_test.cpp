// Figure 5 with a memory: the same failure again and again, and what may reset it.
#include "decide/history.hpp"

#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace {

using namespace culprit;
using decide::Case;

Verdict verdict(std::string action, std::string symptom, Subject subject) {
  Verdict v;
  v.action = std::move(action);
  v.symptom = std::move(symptom);
  v.summary = "It failed.";
  v.targets.push_back({std::move(subject), 0.9, {"f"}});
  return v;
}

Finding cause(std::string event_class) {
  Finding f;
  f.id = "f";
  f.event_class = std::move(event_class);
  return f;
}

Verdict crash() { return verdict("checks", "NCCL Internal Error", {"job", "job"}); }
Verdict nan() { return verdict("checks", "NaN value", {"rank", "3"}); }
Verdict bad_machine(std::string host = "n07") { return verdict("isolate", "GPU Unavailable", {"host", std::move(host)}); }
Verdict bad_code() { return verdict("rollback", "Code/Data Adjustment", {"code", "model.py:12"}); }

Verdict stuck() {
  Verdict v = verdict("investigate", "Job Hang", {"job", "job"});
  v.targets.clear();
  return v;
}
Verdict slow(std::string host) { return verdict("mitigate", "MFU Decline", {"host", std::move(host)}); }

// The incident is over, its verdict was followed, and the job failed of the same once more.
void again(Case& c, const Verdict& given, std::optional<std::int64_t> furthest = {}) {
  PastFailure f;
  f.name = "attempt " + std::to_string(c.history.failures.size());
  f.furthest = furthest;
  f.roots.push_back(decide::root_of(given, c.findings));
  std::vector<Subject> targets;
  for (const Target& t : given.targets) targets.push_back(t.subject);
  f.answers = decide::answer_of(given.action, targets);
  c.history.failures.push_back(std::move(f));
}

std::vector<std::string> walk(Case c, const Verdict& first, std::size_t most = 10) {
  std::vector<std::string> actions;
  for (std::size_t i = 0; i < most; ++i) {
    Verdict v = first;
    decide::consider_history(c, v);
    actions.push_back(v.action);
    if (v.action == "offline") break;
    again(c, v);
  }
  return actions;
}

TEST(History, NoneLeavesTheVerdictAlone) {
  Case c;
  Verdict v = bad_machine();
  decide::consider_history(c, v);
  EXPECT_EQ(v.action, "isolate");
  EXPECT_EQ(v.summary, "It failed.");
  EXPECT_TRUE(v.steps.empty());
  EXPECT_TRUE(v.next.empty());
}

TEST(History, TheSameFailureWalksDownFigureFive) {
  struct Row {
    const char* what;
    Verdict first;
    std::vector<std::string> hosts;
    std::vector<std::string> actions;
  };
  Verdict segfault = crash();
  segfault.action = "reattempt";
  const Row rows[] = {
      {"crash", crash(), {}, {"checks", "reattempt", "rollback", "replay", "offline"}},
      {"NaN", nan(), {}, {"checks", "reattempt", "rollback", "replay", "offline"}},
      {"segfault, which is tried again at once", segfault, {}, {"reattempt", "checks", "rollback", "replay", "offline"}},
      {"machine that comes back", bad_machine(), {"n07", "n08"}, {"isolate", "repair", "offline"}},
      {"fault that stays when the machine is gone", bad_machine(), {"n01", "n02"}, {"isolate", "checks", "reattempt", "rollback", "replay", "offline"}},
      {"rank without a machine", verdict("isolate", "Job Hang", {"rank", "3"}), {}, {"isolate", "checks", "reattempt", "rollback", "replay", "offline"}},
      {"code", bad_code(), {}, {"rollback", "offline"}},
      {"hang that nothing explains", stuck(), {}, {"investigate", "checks", "reattempt", "rollback", "replay", "offline"}},
      {"storage", verdict("repair", "HDFS Error", {"storage", "/data"}), {}, {"repair", "offline"}},
  };
  for (const Row& row : rows) {
    Case c;
    c.findings.push_back(cause("x"));
    c.history.hosts = row.hosts;
    EXPECT_EQ(walk(c, row.first), row.actions) << row.what;
  }
}

Case with(std::vector<Tried> answers, std::optional<std::int64_t> before = {}, std::optional<std::int64_t> now = {}) {
  Case c;
  c.findings.push_back(cause("x"));
  PastFailure f;
  f.name = "attempt 0";
  f.furthest = before;
  f.answers = std::move(answers);
  c.history.failures.push_back(std::move(f));
  c.history.furthest = now;
  return c;
}

std::string action(const Case& c, Verdict v) {
  decide::consider_history(c, v);
  return v.action;
}

TEST(History, ChecksThatAllPassedMakeTheNextRunTheReattempt) {
  EXPECT_EQ(action(with({{Measure::checks, {}, "", true, false}}), crash()), "rollback");
  EXPECT_EQ(action(with({{Measure::checks, {}, "", {}, false}}), crash()), "reattempt");
  EXPECT_EQ(action(with({{Measure::checks, {}, "", false, false}, {Measure::evict, {"n01"}, "", {}, false}}), crash()), "reattempt");
}

TEST(History, ProgressBeyondTheFurthestStartsTheLedgerAnew) {
  EXPECT_EQ(action(with({{Measure::checks, {}, "", {}, false}}, 1200, 1200), crash()), "reattempt");
  EXPECT_EQ(action(with({{Measure::checks, {}, "", {}, false}}, 1200, 1300), crash()), "checks");
  EXPECT_EQ(action(with({{Measure::checks, {}, "", {}, false}}, 1200, 1210), crash()), "reattempt") << "ten steps further is no progress";
  EXPECT_EQ(action(with({{Measure::rollback, {}, "", {}, false}}, 1200, 1300), bad_code()), "rollback");
}

TEST(History, ARollbackForSomethingUnknownDoesNotCondemnTheCode) {
  EXPECT_EQ(action(with({{Measure::rollback, {}, "", {}, false}}), bad_code()), "rollback");
  EXPECT_EQ(action(with({{Measure::rollback, {}, "", {}, false}}, 1200, 1150), bad_code()), "offline");
  Case elsewhere = with({{Measure::rollback, {}, "", {}, false}}, 1200, 1150);
  elsewhere.history.failures[0].roots.push_back({"", "", {"code", "data.py:7"}, false});
  EXPECT_EQ(action(elsewhere, bad_code()), "rollback");
}

TEST(History, AnAnswerToAnotherFailureDoesNotCount) {
  Case c = with({{Measure::checks, {}, "", {}, false}});
  c.history.failures[0].roots.push_back({"Job Hang", "y", {"job", "job"}, true});
  EXPECT_EQ(action(c, crash()), "checks");
  EXPECT_EQ(action(with({{Measure::evict, {"n01"}, "", {}, false}}), bad_machine("n02")), "isolate");
  Case well = with({{Measure::checks, {}, "", {}, false}});
  well.history.failures[0].ended_well = true;
  EXPECT_EQ(action(well, crash()), "checks");
}

TEST(History, AnEvictedMachineThatIsBackIsRepairedEvenAfterProgress) {
  Case c = with({{Measure::evict, {"n07"}, "", {}, false}}, 1200, 5000);
  c.history.hosts = {"n06", "n07"};
  EXPECT_EQ(action(c, bad_machine()), "repair");
  Verdict two = bad_machine();
  two.targets.push_back({{"host", "n06"}, 0.9, {"f"}});
  EXPECT_EQ(action(c, two), "isolate");
}

// Two machines evicted for the same, and it comes back on the third: it is not the machines.
struct Chased {
  Case c;
  std::vector<std::string> actions;
};
Chased chased(std::size_t runs, std::vector<std::string> classes = {"x"}, std::vector<std::int64_t> furthest = {}) {
  Chased out;
  for (std::size_t i = 0; i < runs; ++i) {
    out.c.findings = {cause(classes[i % classes.size()])};
    if (i < furthest.size()) out.c.history.furthest = furthest[i];
    Verdict v = bad_machine("n0" + std::to_string(i));
    decide::consider_history(out.c, v);
    out.actions.push_back(v.action);
    again(out.c, v, i < furthest.size() ? std::optional(furthest[i]) : std::nullopt);
  }
  return out;
}

TEST(History, OneMachineAfterTheOtherIsNotTheMachine) {
  EXPECT_EQ(chased(5).actions, (std::vector<std::string>{"isolate", "isolate", "rollback", "replay", "offline"}));
  // Another fault each time, or progress in between: machines do fail.
  EXPECT_EQ(chased(3, {"x", "y", "z"}).actions, (std::vector<std::string>{"isolate", "isolate", "isolate"}));
  EXPECT_EQ(chased(4, {"x"}, {100, 200, 300, 400}).actions, (std::vector<std::string>{"isolate", "isolate", "isolate", "isolate"}));
  EXPECT_EQ(chased(3, {"x"}, {100, 100, 90}).actions, (std::vector<std::string>{"isolate", "isolate", "rollback"}));
}

TEST(History, TheThirdMachineIsNotAccusedAndTheFirstWordsSayWhy) {
  Case c = chased(2).c;
  c.findings = {cause("x")};
  Verdict v = bad_machine("n09");
  v.next.push_back({"command", "scontrol update nodename=n09 state=drain"});
  decide::consider_history(c, v);
  EXPECT_EQ(v.action, "rollback");
  for (const Target& t : v.targets) EXPECT_NE(t.subject.kind, "host");
  EXPECT_EQ(v.summary.rfind("n00 and n01 were evicted one after the other for the same (attempt 0 and attempt 1) and it came back on n09: it is hardly the machine", 0), 0u) << v.summary;
  for (const NextStep& n : v.next) EXPECT_EQ(n.text.find("drain"), std::string::npos);
}

TEST(History, WhatThoseMachinesShareComesFirst) {
  Case c = chased(2).c;
  c.findings = {cause("x")};
  c.hosts = 64;
  c.switches = {{"leaf-3", {"n00", "n01", "n02", "n09"}}, {"leaf-4", {"n05", "n06"}}, {"pod-1", {}}};
  for (int i = 0; i < 60; ++i) c.switches[2].second.push_back("n" + std::to_string(i));
  Verdict v = bad_machine("n09");
  decide::consider_history(c, v);
  EXPECT_EQ(v.action, "checks");
  ASSERT_EQ(v.targets.size(), 1u);
  EXPECT_EQ(v.targets[0].subject, (Subject{"switch", "leaf-3"}));
  c.hosts = 4;                              // all hosts of the job hang on it: that says nothing
  Verdict all = bad_machine("n09");
  decide::consider_history(c, all);
  EXPECT_EQ(all.action, "rollback");
}

TEST(History, AnEvictionThatWasOnlyAdvisedCountsWhenTheMachineIsGone) {
  Case c = chased(2).c;
  for (PastFailure& f : c.history.failures)
    for (Tried& t : f.answers) t.advised = true;
  c.findings = {cause("x")};
  c.history.hosts = {"n00", "n01", "n09"};
  EXPECT_EQ(action(c, bad_machine("n09")), "isolate");
  c.history.hosts = {"n05", "n09"};
  EXPECT_EQ(action(c, bad_machine("n09")), "rollback");
}

TEST(History, ASlowMachineIsNotRelievedTwice) {
  Case c;
  c.findings.push_back(cause("slow/interval"));
  std::vector<std::string> actions;
  for (int i = 0; i < 3; ++i) {
    Verdict v = slow("n07");
    c.history.furthest = 100 * (i + 1);      // a slow job gets further all the time
    decide::consider_history(c, v);
    actions.push_back(v.action);
    again(c, v, 100 * (i + 1));
  }
  EXPECT_EQ(actions, (std::vector<std::string>{"mitigate", "checks", "repair"}));
  EXPECT_EQ(action(c, slow("n02")), "mitigate");
}

TEST(History, ASlowMachineWhoseChecksPassedIsNotRepaired) {
  Case c;
  c.findings.push_back(cause("slow/interval"));
  again(c, slow("n07"));
  Verdict v = slow("n07");
  decide::consider_history(c, v);
  ASSERT_EQ(v.action, "checks");
  again(c, v);
  for (Tried& t : c.history.failures.back().answers) t.passed = true;
  EXPECT_EQ(action(c, slow("n07")), "reattempt");
  for (Tried& t : c.history.failures.back().answers) t.passed = false;
  EXPECT_EQ(action(c, slow("n07")), "repair");
}

TEST(History, AnAnswerThatStandsTellsWhatCameBefore) {
  Case c = with({{Measure::evict, {"n01"}, "", {}, false}});
  Verdict v = bad_machine("n02");
  decide::consider_history(c, v);
  EXPECT_EQ(v.summary, "It failed. Before this run: n01 evicted (after attempt 0).");
}

TEST(History, TheReplayNamesItsCommand) {
  Case c = with({{Measure::checks, {}, "", true, false}, {Measure::rollback, {}, "", {}, false}, {Measure::reattempt, {}, "", {}, false}});
  c.hosts = 24;
  c.pp = 4;
  c.tp = 8;
  Verdict v = nan();
  decide::consider_history(c, v);
  EXPECT_EQ(v.action, "replay");
  bool told = false;
  for (const NextStep& n : v.next) told = told || (n.kind == "command" && n.text == "culprit replay plan -d incident.db");
  EXPECT_TRUE(told);
}

// Whatever was done before: the same answer is never given twice to the same failure, and the walk ends.
RC_GTEST_PROP(History, NeverTheSameAnswerTwiceAndItEnds, ()) {
  const int which = *rc::gen::inRange(0, 7);
  Verdict first = which == 5 ? stuck() : which == 6 ? slow("n07") : which == 0 ? crash() : which == 1 ? nan() : which == 2 ? bad_machine() : which == 3 ? bad_code() : verdict("repair", "HDFS Error", {"storage", "/data"});
  Case c;
  c.findings.push_back(cause("x"));
  if (*rc::gen::arbitrary<bool>()) c.history.hosts = {*rc::gen::element(std::string("n01"), std::string("n07"))};
  for (int n = *rc::gen::inRange(0, 6); n > 0; --n) {
    PastFailure f;
    f.name = "before";
    f.ended_well = *rc::gen::arbitrary<bool>();
    for (int k = *rc::gen::inRange(0, 3); k > 0; --k)
      f.answers.push_back({static_cast<Measure>(*rc::gen::inRange(0, 10)), {*rc::gen::element(std::string("n01"), std::string("n07"))}, "", {}, *rc::gen::arbitrary<bool>()});
    c.history.failures.push_back(std::move(f));
  }
  std::set<std::string> given;
  for (int i = 0; i < 10; ++i) {
    Verdict v = first;
    decide::consider_history(c, v);
    RC_ASSERT(v.steps.empty() == c.history.failures.empty());
    if (v.action == "offline") return;
    RC_ASSERT(given.insert(v.action).second);
    // A slow job goes on as it is once checks and a repair were asked for.
    if (which == 6 && given.count("repair") == 1) return;
    again(c, v);
  }
  RC_FAIL("it does not end");
}

}  // namespace
