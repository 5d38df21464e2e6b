// Ranks that everybody waited for, and what the kernel of their machine says meanwhile.
#include <gtest/gtest.h>

#include "decide/decide.hpp"
#include "support/ranks.hpp"
#include "support/hosts.hpp"
#include "rules/rule.hpp"

namespace {

using namespace culprit;
using decide::Case;

Finding awaited(int rank, const std::string& host) {
  Finding f;
  f.analysis = Analysis::hang;
  f.id = "hang/rank/" + std::to_string(rank);
  f.event_class = "hang/host_stopped";
  f.severity = Severity::distributed;
  f.role = Role::root;
  f.symptom = Symptom::job_hang;
  f.subject = {SubjectKind::rank, std::to_string(rank)};
  f.host = Host(host);
  f.hosts = Hosts({host});
  f.ranks = Ranks({rank});
  f.start = 130 * kMinute;
  f.confidence = 0.45;
  f.why = Text(std::string("it did not report a timeout"));
  HangFacts hang;
  hang.kind = StopKind::host_stopped;
  hang.standing = true;
  hang.sources = {"silence"};
  f.facts = hang;
  return f;
}

Finding hung_task(const std::string& host, Nanoseconds start) {
  Finding f;
  f.analysis = Analysis::classify;
  f.id = "classify/os_hung_task/host/" + host;
  f.event_class = "os_hung_task";
  f.traits = rules::traits_of_class(f.event_class);
  f.origin = Origin::kernel;
  f.severity = Severity::critical;
  f.role = Role::confirmation;
  f.scope = Scope::host_local;
  f.subject = {SubjectKind::host, host};
  f.host = Host(host);
  f.hosts = Hosts({host});
  f.start = f.end = start;
  f.confidence = 0.95;
  f.title = Text(std::string("hung task"));
  f.facts = LineFacts{};
  return f;
}

Case hung(std::vector<Finding> findings) {
  Case c;
  c.findings = std::move(findings);
  c.hosts = c.hosts_with_output = c.hosts_heard = 8;
  c.ranks = 32;
  c.any_training_output = c.has_rank_map = true;
  c.last_progress = 100 * kMinute;
  c.last_iteration = 900;
  return c;
}

TEST(Waiting, ARankThatAsksAServiceIsNoMachinesFault) {
  Finding f = awaited(8, "n03");
  f.confidence = 0.95;
  HangFacts facts = std::get<HangFacts>(f.facts);
  facts.standing = true;
  facts.code = "notify.py:38";
  facts.sources = {"recorder", "stacks"};
  f.facts = facts;
  EXPECT_EQ(decide::decide(hung({f})).action, Action::isolate);
  facts.wait = WaitKind::service;
  f.facts = facts;
  const Verdict v = decide::decide(hung({f}));
  EXPECT_EQ(v.action, Action::rollback);
  EXPECT_EQ(v.targets.front().subject, (Subject{SubjectKind::code, "notify.py:38"}));
  for (const Target& t : v.targets) EXPECT_NE(t.subject.kind, SubjectKind::host);
}

TEST(Waiting, RanksOfOneMachineThatStalledByItsKernelToo) {
  const Verdict v =
      decide::decide(hung({awaited(8, "m2"), awaited(9, "m2"), hung_task("m2", 103 * kMinute)}));
  EXPECT_EQ(v.action, Action::isolate);
  ASSERT_FALSE(v.targets.empty());
  EXPECT_EQ(v.targets[0].subject.id, "m2");
}

TEST(Waiting, AStallOfManyMachinesOrOfAnotherNamesNobody) {
  EXPECT_NE(decide::decide(hung({awaited(8, "m2"), awaited(9, "m2"), hung_task("m2", 103 * kMinute),
                                 hung_task("m3", 103 * kMinute)}))
                .action,
            Action::isolate);
  EXPECT_NE(
      decide::decide(hung({awaited(8, "m2"), awaited(12, "m3"), hung_task("m2", 103 * kMinute)}))
          .action,
      Action::isolate);
}

TEST(Waiting, CodeThatReadsFromADiskThatDoesNotAnswer) {
  Finding reads = awaited(8, "m2");
  HangFacts facts = std::get<HangFacts>(reads.facts);
  facts.wait = WaitKind::program;
  facts.code = "dataset.py:88";
  reads.facts = facts;
  Finding undated = hung_task("m2", 0);
  undated.start = undated.end = std::nullopt;
  Case c = hung({reads, undated});
  EXPECT_EQ(decide::decide(c).action, Action::rollback) << "one kernel log, of any day";
  c.holds.kernel_logs = {Host("m2"), Host("m5")};
  EXPECT_EQ(decide::decide(c).action, Action::isolate) << "of two, the one that the stacks chose";
  c.findings.push_back(hung_task("m5", 103 * kMinute));
  EXPECT_EQ(decide::decide(c).action, Action::rollback) << "both report it";
}

TEST(Waiting, OfRanksThatNobodyHeardOneMayHaveStayedAway) {
  Finding group = awaited(0, "m1");
  group.event_class = "hang/network";
  group.subject = {SubjectKind::group, "default_pg"};
  group.ranks = Ranks({0, 1, 2, 3});
  HangFacts facts;
  facts.kind = StopKind::network;
  facts.standing = true;
  group.facts = facts;
  Finding said = hung_task("m1", 103 * kMinute);
  said.event_class = "nccl_watchdog_timeout";
  said.role = Role::cascade;
  said.severity = Severity::distributed;
  said.origin = Origin::any;
  said.ranks = Ranks({0, 1, 2, 3});
  EXPECT_EQ(decide::decide(hung({group, said})).action, Action::investigate);
  said.ranks = Ranks({0, 1, 2, 3, 4});
  EXPECT_EQ(decide::decide(hung({group, said})).action, Action::checks) << "rank 4 waits elsewhere";
}

TEST(Waiting, AStallLongBeforeTheLastStepIsAnother) {
  EXPECT_NE(
      decide::decide(hung({awaited(8, "m2"), awaited(9, "m2"), hung_task("m2", 20 * kMinute)}))
          .action,
      Action::isolate);
}

}  // namespace
