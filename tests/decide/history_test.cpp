// Figure 5 with a memory: the same failure again and again, and what may reset it.
#include "report/phrases.hpp"
#include "decide/history.hpp"
#include "support/hosts.hpp"
#include "rules/rule.hpp"

#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace {

using namespace culprit;
using decide::Case;
using report::words;

Verdict verdict(Action action, Symptom symptom, Subject subject) {
  Verdict v;
  v.action = action;
  v.symptom = symptom;
  v.summary = std::string("It failed.");
  v.targets.push_back({std::move(subject), 0.9, {"f"}});
  return v;
}

Finding cause(std::string event_class) {
  Finding f;
  f.id = "f";
  f.event_class = std::move(event_class);
  f.traits = rules::traits_of_class(f.event_class);
  return f;
}

Verdict crash() { return verdict(Action::checks, Symptom::none, {SubjectKind::job, "job"}); }
Verdict nan() { return verdict(Action::checks, Symptom::nan_value, {SubjectKind::rank, "3"}); }
Verdict bad_machine(std::string host = "n07") {
  return verdict(Action::isolate, Symptom::gpu_unavailable, {SubjectKind::host, std::move(host)});
}
Verdict bad_code() {
  return verdict(Action::rollback, Symptom::code_data_adjustment,
                 {SubjectKind::code, "model.py:12"});
}

Verdict stuck() {
  Verdict v = verdict(Action::investigate, Symptom::job_hang, {SubjectKind::job, "job"});
  v.targets.clear();
  return v;
}
Verdict slow(std::string host) {
  return verdict(Action::mitigate, Symptom::mfu_decline, {SubjectKind::host, std::move(host)});
}

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

std::vector<Action> walk(Case c, const Verdict& first, std::size_t most = 10) {
  std::vector<Action> actions;
  for (std::size_t i = 0; i < most; ++i) {
    Verdict v = first;
    decide::consider_history(c, v);
    actions.push_back(v.action);
    if (v.action == Action::offline) break;
    again(c, v);
  }
  return actions;
}

TEST(History, NoneLeavesTheVerdictAlone) {
  Case c;
  Verdict v = bad_machine();
  decide::consider_history(c, v);
  EXPECT_EQ(v.action, Action::isolate);
  EXPECT_EQ(words(v.summary), "It failed.");
  EXPECT_TRUE(v.steps.empty());
  EXPECT_TRUE(v.next.empty());
}

TEST(History, TheSameFailureWalksDownFigureFive) {
  struct Row {
    const char* what;
    Verdict first;
    Hosts hosts;
    std::vector<Action> actions;
  };
  Verdict segfault = crash();
  segfault.action = Action::reattempt;
  const Row rows[] = {
      {"crash",
       crash(),
       {},
       {Action::checks, Action::reattempt, Action::rollback, Action::replay, Action::offline}},
      {"NaN",
       nan(),
       {},
       {Action::checks, Action::reattempt, Action::rollback, Action::replay, Action::offline}},
      {"segfault, which is tried again at once",
       segfault,
       {},
       {Action::reattempt, Action::checks, Action::rollback, Action::replay, Action::offline}},
      {"machine that comes back",
       bad_machine(),
       {"n07", "n08"},
       {Action::isolate, Action::repair, Action::offline}},
      {"fault that stays when the machine is gone",
       bad_machine(),
       {"n01", "n02"},
       {Action::isolate, Action::checks, Action::reattempt, Action::rollback, Action::replay,
        Action::offline}},
      {"rank without a machine",
       verdict(Action::isolate, Symptom::job_hang, {SubjectKind::rank, "3"}),
       {},
       {Action::isolate, Action::checks, Action::reattempt, Action::rollback, Action::replay,
        Action::offline}},
      {"code", bad_code(), {}, {Action::rollback, Action::offline}},
      {"hang that nothing explains",
       stuck(),
       {},
       {Action::investigate, Action::checks, Action::reattempt, Action::rollback, Action::replay,
        Action::offline}},
      {"storage",
       verdict(Action::repair, Symptom::hdfs_error, {SubjectKind::storage, "/data"}),
       {},
       {Action::repair, Action::offline}},
  };
  for (const Row& row : rows) {
    Case c;
    c.findings.push_back(cause("x"));
    c.history.hosts = row.hosts;
    EXPECT_EQ(walk(c, row.first), row.actions) << row.what;
  }
}

Case with(std::vector<Tried> answers, std::optional<std::int64_t> before = {},
          std::optional<std::int64_t> now = {}) {
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

Action action(const Case& c, Verdict v) {
  decide::consider_history(c, v);
  return v.action;
}

// Two runs that hang at one step, which is no round one.
TEST(History, HangsAtTheSameStepAreTheProgramsOrItsDatas) {
  const auto judged = [](std::int64_t first, std::int64_t before, std::int64_t now,
                         Symptom symptom = Symptom::job_hang) {
    Case c;
    PastFailure run;
    run.name = "attempt 0";
    run.furthest = before;
    c.history.failures.push_back(run);
    c.history.first = first;
    c.history.furthest = now;
    Verdict v = verdict(Action::isolate, symptom, {SubjectKind::host, "n07"});
    decide::consider_history(c, v);
    return v.action;
  };
  EXPECT_EQ(judged(9000, 9376, 9376), Action::rollback);
  EXPECT_EQ(judged(9000, 9375, 9376), Action::isolate);
  EXPECT_EQ(judged(9370, 9376, 9376), Action::isolate) << "it hung soon after its start";
  EXPECT_EQ(judged(9000, 9400, 9400), Action::isolate) << "a step of checkpoints";
  EXPECT_EQ(judged(9000, 9376, 9376, Symptom::gpu_unavailable), Action::isolate);
}

TEST(History, NaNAtTheSameStepOnOtherMachinesIsTheProgramsOrItsDatas) {
  const auto judged = [](std::vector<Host> before, std::int64_t furthest) {
    Case c;
    PastFailure run;
    run.name = "attempt 0";
    run.furthest = furthest;
    run.hosts = std::move(before);
    c.history.failures.push_back(run);
    c.history.first = 5000;
    c.history.furthest = 5310;
    c.history.hosts = Hosts({"n03", "n04"});
    Verdict v = nan();
    decide::consider_history(c, v);
    return v.action;
  };
  EXPECT_EQ(judged(Hosts({"n01", "n02"}), 5310), Action::rollback);
  EXPECT_NE(judged(Hosts({"n01", "n03"}), 5310), Action::rollback) << "n03 may compute wrongly";
  EXPECT_NE(judged({}, 5310), Action::rollback);
  EXPECT_NE(judged(Hosts({"n01", "n02"}), 5290), Action::rollback);
}

TEST(History, ChecksThatAllPassedMakeTheNextRunTheReattempt) {
  EXPECT_EQ(action(with({{Measure::checks, {}, "", true, false}}), crash()), Action::rollback);
  EXPECT_EQ(action(with({{Measure::checks, {}, "", {}, false}}), crash()), Action::reattempt);
  EXPECT_EQ(action(with({{Measure::checks, {}, "", false, false},
                         {Measure::evict, Hosts({"n01"}), "", {}, false}}),
                   crash()),
            Action::reattempt);
}

TEST(History, ProgressBeyondTheFurthestStartsTheLedgerAnew) {
  EXPECT_EQ(action(with({{Measure::checks, {}, "", {}, false}}, 1200, 1200), crash()),
            Action::reattempt);
  EXPECT_EQ(action(with({{Measure::checks, {}, "", {}, false}}, 1200, 1300), crash()),
            Action::checks);
  EXPECT_EQ(action(with({{Measure::checks, {}, "", {}, false}}, 1200, 1210), crash()),
            Action::reattempt)
      << "ten steps further is no progress";
  EXPECT_EQ(action(with({{Measure::checks, {}, "", {}, false}}, 35, 57), crash()),
            Action::reattempt)
      << "nor are twenty of a job that had hardly begun";
  EXPECT_EQ(action(with({{Measure::rollback, {}, "", {}, false}}, 1200, 1300), bad_code()),
            Action::rollback);
}

TEST(History, ARollbackForSomethingUnknownDoesNotCondemnTheCode) {
  EXPECT_EQ(action(with({{Measure::rollback, {}, "", {}, false}}), bad_code()), Action::rollback);
  EXPECT_EQ(action(with({{Measure::rollback, {}, "", {}, false}}, 1200, 1150), bad_code()),
            Action::offline);
  Case elsewhere = with({{Measure::rollback, {}, "", {}, false}}, 1200, 1150);
  elsewhere.history.failures[0].roots.push_back(
      {std::nullopt, "", {SubjectKind::code, "data.py:7"}, false});
  EXPECT_EQ(action(elsewhere, bad_code()), Action::rollback);
}

TEST(History, AnAnswerToAnotherFailureDoesNotCount) {
  Case c = with({{Measure::checks, {}, "", {}, false}});
  c.history.failures[0].roots.push_back({Symptom::job_hang, "y", {SubjectKind::job, "job"}, true});
  EXPECT_EQ(action(c, crash()), Action::checks);
  EXPECT_EQ(action(with({{Measure::evict, Hosts({"n01"}), "", {}, false}}), bad_machine("n02")),
            Action::isolate);
  Case well = with({{Measure::checks, {}, "", {}, false}});
  well.history.failures[0].ended_well = true;
  EXPECT_EQ(action(well, crash()), Action::checks);
}

TEST(History, AnEvictedMachineThatIsBackIsRepairedEvenAfterProgress) {
  Case c = with({{Measure::evict, Hosts({"n07"}), "", {}, false}}, 1200, 5000);
  c.history.hosts = Hosts({"n06", "n07"});
  EXPECT_EQ(action(c, bad_machine()), Action::repair);
  Verdict two = bad_machine();
  two.targets.push_back({{SubjectKind::host, "n06"}, 0.9, {"f"}});
  EXPECT_EQ(action(c, two), Action::isolate);
}

// Two machines evicted for the same, and it comes back on the third: it is not the machines.
struct Chased {
  Case c;
  std::vector<Action> actions;
};
Chased chased(std::size_t runs, std::vector<std::string> classes = {"x"},
              std::vector<std::int64_t> furthest = {}) {
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
  EXPECT_EQ(chased(5).actions,
            (std::vector<Action>{Action::isolate, Action::isolate, Action::rollback, Action::replay,
                                 Action::offline}));
  // Another fault each time, or progress in between: machines do fail.
  EXPECT_EQ(chased(3, {"x", "y", "z"}).actions,
            (std::vector<Action>{Action::isolate, Action::isolate, Action::isolate}));
  EXPECT_EQ(
      chased(4, {"x"}, {100, 200, 300, 400}).actions,
      (std::vector<Action>{Action::isolate, Action::isolate, Action::isolate, Action::isolate}));
  EXPECT_EQ(chased(3, {"x"}, {100, 100, 90}).actions,
            (std::vector<Action>{Action::isolate, Action::isolate, Action::rollback}));
}

TEST(History, TheThirdMachineIsNotAccusedAndTheFirstWordsSayWhy) {
  Case c = chased(2).c;
  c.findings = {cause("x")};
  Verdict v = bad_machine("n09");
  v.next.push_back({NextKind::command, std::string("scontrol update nodename=n09 state=drain")});
  decide::consider_history(c, v);
  EXPECT_EQ(v.action, Action::rollback);
  for (const Target& t : v.targets) EXPECT_NE(t.subject.kind, SubjectKind::host);
  EXPECT_EQ(words(v.summary).rfind("n00 and n01 were evicted one after the other", 0), 0u)
      << words(v.summary);
  EXPECT_NE(words(v.summary).find("probably not the cause"), std::string::npos);
  for (const NextStep& n : v.next) EXPECT_EQ(words(n.text).find("drain"), std::string::npos);
}

TEST(History, WhatThoseMachinesShareComesFirst) {
  Case c = chased(2).c;
  c.findings = {cause("x")};
  c.hosts = 64;
  c.switches = {{"leaf-3", Hosts({"n00", "n01", "n02", "n09"})},
                {"leaf-4", Hosts({"n05", "n06"})},
                {"pod-1", {}}};
  for (int i = 0; i < 60; ++i) c.switches[2].second.push_back(Host("n" + std::to_string(i)));
  Verdict v = bad_machine("n09");
  decide::consider_history(c, v);
  EXPECT_EQ(v.action, Action::checks);
  ASSERT_EQ(v.targets.size(), 1u);
  EXPECT_EQ(v.targets[0].subject, (Subject{SubjectKind::network_switch, "leaf-3"}));
  c.hosts = 4;  // all hosts of the job hang on it: that says nothing
  Verdict all = bad_machine("n09");
  decide::consider_history(c, all);
  EXPECT_EQ(all.action, Action::rollback);
}

TEST(History, AnEvictionThatWasOnlyAdvisedCountsWhenTheMachineIsGone) {
  Case c = chased(2).c;
  for (PastFailure& f : c.history.failures)
    for (Tried& t : f.answers) t.advised = true;
  c.findings = {cause("x")};
  c.history.hosts = Hosts({"n00", "n01", "n09"});
  EXPECT_EQ(action(c, bad_machine("n09")), Action::isolate);
  c.history.hosts = Hosts({"n05", "n09"});
  EXPECT_EQ(action(c, bad_machine("n09")), Action::rollback);
}

TEST(History, ASlowMachineIsNotRelievedTwice) {
  Case c;
  c.findings.push_back(cause("slow/interval"));
  std::vector<Action> actions;
  for (int i = 0; i < 3; ++i) {
    Verdict v = slow("n07");
    c.history.furthest = 100 * (i + 1);  // a slow job gets further all the time
    decide::consider_history(c, v);
    actions.push_back(v.action);
    again(c, v, 100 * (i + 1));
  }
  EXPECT_EQ(actions, (std::vector<Action>{Action::mitigate, Action::checks, Action::repair}));
  EXPECT_EQ(action(c, slow("n02")), Action::mitigate);
}

TEST(History, ASlowMachineWhoseChecksPassedIsNotRepaired) {
  Case c;
  c.findings.push_back(cause("slow/interval"));
  again(c, slow("n07"));
  Verdict v = slow("n07");
  decide::consider_history(c, v);
  ASSERT_EQ(v.action, Action::checks);
  again(c, v);
  for (Tried& t : c.history.failures.back().answers) t.passed = true;
  EXPECT_EQ(action(c, slow("n07")), Action::reattempt);
  for (Tried& t : c.history.failures.back().answers) t.passed = false;
  EXPECT_EQ(action(c, slow("n07")), Action::repair);
}

TEST(History, AnAnswerThatStandsTellsWhatCameBefore) {
  Case c = with({{Measure::evict, Hosts({"n01"}), "", {}, false}});
  Verdict v = bad_machine("n02");
  decide::consider_history(c, v);
  EXPECT_EQ(words(v.summary), "It failed. Before this run: n01 evicted (after attempt 0).");
}

TEST(History, TheReplayNamesItsCommand) {
  Case c = with({{Measure::checks, {}, "", true, false},
                 {Measure::rollback, {}, "", {}, false},
                 {Measure::reattempt, {}, "", {}, false}});
  c.hosts = 24;
  c.pp = 4;
  c.tp = 8;
  Verdict v = nan();
  decide::consider_history(c, v);
  EXPECT_EQ(v.action, Action::replay);
  bool told = false;
  for (const NextStep& n : v.next)
    told = told ||
           (n.kind == NextKind::command && words(n.text) == "culprit replay plan -d incident.db");
  EXPECT_TRUE(told);
}

// Whatever was done before: the same answer is never given twice to the same failure, and the walk
// ends.
RC_GTEST_PROP(History, NeverTheSameAnswerTwiceAndItEnds, ()) {
  const int which = *rc::gen::inRange(0, 7);
  Verdict first =
      which == 5   ? stuck()
      : which == 6 ? slow("n07")
      : which == 0 ? crash()
      : which == 1 ? nan()
      : which == 2 ? bad_machine()
      : which == 3 ? bad_code()
                   : verdict(Action::repair, Symptom::hdfs_error, {SubjectKind::storage, "/data"});
  Case c;
  c.findings.push_back(cause("x"));
  if (*rc::gen::arbitrary<bool>())
    c.history.hosts = Hosts({*rc::gen::element(std::string("n01"), std::string("n07"))});
  for (int n = *rc::gen::inRange(0, 6); n > 0; --n) {
    PastFailure f;
    f.name = "before";
    f.ended_well = *rc::gen::arbitrary<bool>();
    for (int k = *rc::gen::inRange(0, 3); k > 0; --k)
      f.answers.push_back({static_cast<Measure>(*rc::gen::inRange(0, 10)),
                           Hosts({*rc::gen::element(std::string("n01"), std::string("n07"))}),
                           "",
                           {},
                           *rc::gen::arbitrary<bool>()});
    c.history.failures.push_back(std::move(f));
  }
  std::set<Action> given;
  for (int i = 0; i < 10; ++i) {
    Verdict v = first;
    decide::consider_history(c, v);
    RC_ASSERT(v.steps.empty() == c.history.failures.empty());
    if (v.action == Action::offline) return;
    RC_ASSERT(given.insert(v.action).second);
    // A slow job goes on as it is once checks and a repair were asked for.
    if (which == 6 && given.count(Action::repair) == 1) return;
    again(c, v);
  }
  RC_FAIL("it does not end");
}

}  // namespace
