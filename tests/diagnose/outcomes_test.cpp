// Outcomes of checks as facts of the incident: what the next verdict makes of them.
#include "diagnose/outcomes.hpp"

#include <rapidcheck/gtest.h>

#include "bundle.hpp"
#include "decide/decide.hpp"
#include "model/contains.hpp"
#include "model/hostlist.hpp"
#include "model/phrases.hpp"

namespace culprit::diagnose::test {
namespace {

const OutcomeFacts* said(const Finding& f) { return std::get_if<OutcomeFacts>(&f.facts); }

analyze::Facts facts_of(const std::vector<OutcomeRow>& rows) {
  analyze::Facts facts;
  MemberRow member;
  member.id = 1;
  member.path = "outcomes.csv";
  facts.members.push_back(member);
  for (const OutcomeRow& row : rows) {
    for (const std::string& name : expand_hostlist(row.hosts).hosts)
      facts.hosts.push_back(HostRow{.host = Host(name)});  // the incident knows them
    facts.outcomes.push_back(row);
    facts.outcomes.back().place = {1, facts.outcomes.size() + 1, 0, 0};
  }
  return facts;
}

struct Told {
  std::vector<Host> failed, one_of, passed;
  std::size_t contradictions = 0;
};
Told told(const std::vector<OutcomeRow>& rows) {
  Told out;
  for (const Finding& f : outcomes_of(facts_of(rows))) {
    const OutcomeFacts* facts = said(f);
    if (facts == nullptr) continue;
    auto& list = facts->word == CheckWord::failed   ? out.failed
                 : facts->word == CheckWord::one_of ? out.one_of
                                                    : out.passed;
    if (facts->word == CheckWord::contradiction)
      ++out.contradictions;
    else
      list.insert(list.end(), f.hosts.begin(), f.hosts.end());
    EXPECT_FALSE(f.evidence.empty()) << f.id;
  }
  return out;
}

Host host(int i) { return Host(fmt::format("n{}", i)); }

// Groups of random hosts; a check fails when the bad host takes part, as far as it shows in that
// task.
RC_GTEST_PROP(OutcomesProperty, TheTrueHostIsNeverExcluded, ()) {
  const int hosts = *rc::gen::inRange(2, 12), bad = *rc::gen::inRange(0, hosts);
  std::vector<OutcomeRow> rows;
  bool tested = false;
  for (int i = *rc::gen::inRange(1, 20); i > 0; --i) {
    const int task = *rc::gen::inRange(0, 3);
    const auto group = *rc::gen::unique<std::vector<int>>(
        static_cast<std::size_t>(*rc::gen::inRange(1, hosts + 1)), rc::gen::inRange(0, hosts));
    std::vector<std::string> names;
    for (const int h : group) names.push_back(host(h));
    const bool shows = contains(group, bad);
    tested = tested || shows;
    rows.push_back({{}, fmt::format("task{}", task), fold_hostlist(names), !shows});
  }
  const Told t = told(rows);
  RC_ASSERT(t.contradictions == 0);
  RC_ASSERT(!contains(t.passed, host(bad)));
  RC_ASSERT(contains(t.failed, host(bad)) || contains(t.one_of, host(bad)) || !tested);
  for (const Host& h : t.failed) RC_ASSERT(h == host(bad));
}

// Nor by the verdict, whomever it suspected.
RC_GTEST_PROP(OutcomesProperty, TheVerdictKeepsTheTrueHost, ()) {
  const int hosts = *rc::gen::inRange(2, 8), bad = *rc::gen::inRange(0, hosts);
  std::vector<OutcomeRow> rows;
  for (int i = *rc::gen::inRange(1, 12); i > 0; --i) {
    const auto group = *rc::gen::unique<std::vector<int>>(
        static_cast<std::size_t>(*rc::gen::inRange(1, hosts + 1)), rc::gen::inRange(0, hosts));
    std::vector<std::string> names;
    for (const int h : group) names.push_back(host(h));
    rows.push_back({{}, "stress", fold_hostlist(names), !contains(group, bad)});
  }
  decide::Case incident;
  for (int h = 0; h < hosts; ++h) incident.all_hosts.push_back(host(h));
  incident.findings = outcomes_of(facts_of(rows));
  const bool failed = std::ranges::any_of(rows, [](const OutcomeRow& row) { return !row.passed; });
  const Verdict verdict = decide::decide(incident);
  std::vector<std::string> targets;
  for (const Target& t : verdict.targets) targets.push_back(t.subject.id);
  if (failed) RC_ASSERT(contains(targets, host(bad)));
  if (verdict.action == Action::isolate) RC_ASSERT(targets == std::vector<std::string>{host(bad)});
}

// An outcome turned over: the same group of the same task came out both ways.
RC_GTEST_PROP(OutcomesProperty, InconsistentTablesAreNamed, ()) {
  const int hosts = *rc::gen::inRange(2, 12);
  std::vector<std::string> names;
  for (int h = 0; h < hosts; ++h) names.push_back(host(h));
  std::vector<OutcomeRow> rows;
  for (int h = 0; h < hosts; ++h)
    rows.push_back({{}, "stress", names[static_cast<std::size_t>(h)], true});
  const auto turned = static_cast<std::size_t>(*rc::gen::inRange(0, hosts));
  rows.push_back({{}, "stress", names[turned], false});
  RC_ASSERT(told(rows).contradictions == 1);
  rows.pop_back();
  rows.push_back({{}, "stress", fold_hostlist(names), false});
  RC_ASSERT(told(rows).contradictions == 1);
}

// A job of four hosts in which rank 5 of n2 never reports, and the others wait for it.
class Outcomes : public SmallBundle {
 protected:
  void SetUp() override {
    SmallBundle::SetUp();
    write("job.json", R"({"job": "7", "world_size": 8, "gpus_per_node": 2,
                          "hosts": ["n0", "n1", "n2", "n3"], "timezone": "UTC"})");
    for (int rank = 0; rank < 8; ++rank)
      if (rank != 5)
        write(
            fmt::format("rank{}.log", rank),
            fmt::format("[rank{0}]:[E1118 02:40:13.015585451 ProcessGroupNCCL.cpp:616] [Rank {0}] "
                        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812, "
                        "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for "
                        "600025 milliseconds before timing out.\n",
                        rank));
  }
  std::vector<std::string> after(const std::string& table) {
    write("outcomes.csv", table);
    const Answer answer = diagnose();
    action_ = answer.verdict.action;
    named_ = 0;
    for (const Step& step : answer.verdict.steps)
      for (const auto& clause : step.why.clauses())
        named_ += clause.phrase == Phrase::outcomes_contradict;
    return answer.targets(SubjectKind::host);
  }
  Action action_ = Action::none;
  int named_ = 0;
};

// Scores, exit codes and pings have such columns, too; so has a list of machines of another day.
TEST_F(Outcomes, ATableOfAnotherPurposeIsNone) {
  for (const char* table : {"test,host,passed\nmmlu,n1,0\n", "name,host,result\nrank0,n1,fail\n",
                            "src,dst,result\nn1,n2,fail\n"}) {
    rewrite("evals.csv", table);
    EXPECT_EQ(diagnose().fired(Analysis::outcomes), nullptr) << table;
  }
}

TEST_F(Outcomes, WhatPassedAndWhoIsUnknownAccuseNobody) {
  for (const char* table : {"test,host,passed\nnccl,n1,8/8\n", "task,hosts,outcome\nnccl,n1,0\n",
                            "task,hosts,outcome\nnccl,other-7,fail\n"}) {
    rewrite("outcomes.csv", table);
    EXPECT_EQ(diagnose().fired(Analysis::outcomes), nullptr) << table;
  }
}

TEST_F(Outcomes, WhoFailedIsIsolated) {
  EXPECT_EQ(after("task,hosts,outcome\nstress,n2,fail\nstress,n1,pass\n"),
            (std::vector<std::string>{"n2"}));
  EXPECT_EQ(action_, Action::isolate);
}

// Aegis section 5.3: machines that fail the delivery check together share what was rolled out last.
TEST_F(Outcomes, WhereMostFailNoneIsIsolated) {
  EXPECT_EQ(after("task,hosts,outcome\nstress,n0,fail\nstress,n1,fail\nstress,n2,fail\n"
                  "stress,n3,fail\n"),
            std::vector<std::string>{});
  EXPECT_EQ(action_, Action::repair);
}

TEST_F(Outcomes, AnotherThanTheSuspectFailed) {
  EXPECT_EQ(after("check;host;result\nstress;n2;pass\nstress;n3;2/5\n"),
            (std::vector<std::string>{"n3"}));
  EXPECT_EQ(action_, Action::isolate);
}

TEST_F(Outcomes, OfAGroupTheOneThatDidNotPassWithOthers) {
  EXPECT_EQ(after("group,hosts,outcome\nH0,n[0-1],pass\nH1,n[2-3],fail\nV0,\"n0,n2\",pass\n"
                  "V1,\"n1,n3\",fail\n"),
            (std::vector<std::string>{"n3"}));
  EXPECT_EQ(action_, Action::isolate);
}

TEST_F(Outcomes, OneOfThoseThatAreLeftIsChecked) {
  EXPECT_EQ(after("from,to,outcome\nn0,n1,pass\nn2,n3,fail\n"),
            (std::vector<std::string>{"n2", "n3"}));
  EXPECT_EQ(action_, Action::checks);
}

TEST_F(Outcomes, ContradictionsAreNamed) {
  after("task,hosts,outcome\nstress,n1,pass\nstress,n1,fail\n");
  EXPECT_EQ(named_, 1);
}

TEST_F(Outcomes, EveryonePassed) {
  EXPECT_TRUE(after("task,hosts,outcome\nstress,n[0-3],pass\n").empty());
  EXPECT_NE(action_, Action::isolate);
}

}  // namespace
}  // namespace culprit::diagnose::test
