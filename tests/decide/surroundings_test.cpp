// What machines' logs say of resources, services and settings, and when it concerns the job.
#include <gtest/gtest.h>

#include <algorithm>

#include "decide/decide.hpp"
#include "decide/storage_servers.hpp"
#include "support/hosts.hpp"
#include "rules/rule.hpp"

namespace {

using namespace culprit;
using decide::Case;

// The job hung at 100 minutes: its last step, and no word of an error.
Case hung() {
  Case c;
  c.hosts = c.hosts_with_output = c.hosts_heard = 8;
  c.ranks = 64;
  c.any_training_output = true;
  c.last_progress = c.job_end = 100 * kMinute;
  c.job_start = 10 * kMinute;
  c.last_iteration = 900;
  c.step_time = 2 * kSecond;
  return c;
}

Finding timeout() {
  Finding f;
  f.analysis = Analysis::classify;
  f.event_class = "nccl_watchdog_timeout";
  f.traits = rules::traits_of_class(f.event_class);
  f.id = "classify/nccl_watchdog_timeout/job/job";
  f.severity = Severity::distributed;
  f.role = Role::cascade;
  f.scope = Scope::job_wide;
  f.symptom = Symptom::job_hang;
  f.subject = {SubjectKind::job, "job"};
  f.start = f.end = 110 * kMinute;
  f.confidence = 0.9;
  f.facts = LineFacts{};
  return f;
}

Finding reported(const std::string& event_class, CauseKind cause, Speaker speaker,
                 const std::string& host, std::vector<Nanoseconds> times) {
  Finding f;
  f.analysis = Analysis::classify;
  f.event_class = event_class;
  f.traits = rules::traits_of_class(f.event_class);
  f.id = "classify/" + event_class + "/host/" + host;
  f.severity = Severity::critical;
  f.role = Role::root;
  f.scope = cause == CauseKind::shared ? Scope::shared : Scope::host_local;
  f.cause = cause;
  f.symptom = cause == CauseKind::shared ? Symptom::filesystem_mount : Symptom::cpu_overload;
  f.subject = {SubjectKind::host, host};
  f.host = Host(host);
  f.hosts = Hosts({host});
  f.start = times.front();
  f.end = times.back();
  f.count = times.size();
  f.confidence = 0.95;
  f.title = Text(event_class);
  LineFacts line;
  line.speaker = speaker;
  line.times = std::move(times);
  line.hosts = 1;
  f.facts = std::move(line);
  return f;
}

bool accuses(const Case& c) {
  const Verdict v = decide::decide(c);
  return v.action == Action::isolate || v.action == Action::repair || v.action == Action::offline ||
         v.action == Action::rollback;
}

TEST(Surroundings, WhatTheKernelPrintsAllDayExplainsNoHang) {
  Case c = hung();
  c.findings = {timeout(),
                reported("no_processes_left", CauseKind::resource, Speaker::machine, "a1",
                         {20 * kMinute, 61 * kMinute, 101 * kMinute}),
                reported("no_processes_left", CauseKind::resource, Speaker::machine, "a5",
                         {15 * kMinute, 70 * kMinute})};
  EXPECT_FALSE(accuses(c));
}

TEST(Surroundings, AServicesOwnLineExplainsNothingWithoutOutputOfTheJobEither) {
  Case c = hung();
  c.any_training_output = false;
  c.findings = {reported("checkpoint_write_failed", CauseKind::resource, Speaker::service, "a1",
                         {100 * kMinute})};
  EXPECT_FALSE(accuses(c));
}

TEST(Surroundings, TheSameAtTheMomentOfTheFailureAndNeverBeforeExplainsIt) {
  Case c = hung();
  c.findings = {timeout(), reported("no_processes_left", CauseKind::resource, Speaker::machine,
                                    "a1", {100 * kMinute + 5 * kSecond})};
  EXPECT_TRUE(accuses(c));
}

TEST(Surroundings, ABurstAtTheFailureStandsOutFromSingleLines) {
  Case c = hung();
  std::vector<Nanoseconds> times{12 * kMinute};
  for (int i = 0; i < 20; ++i) times.push_back(100 * kMinute + i * kSecond);
  c.findings = {timeout(), reported("no_processes_left", CauseKind::resource, Speaker::machine,
                                    "a1", std::move(times))};
  EXPECT_TRUE(accuses(c));
}

TEST(Surroundings, AnotherServiceOfTheMachineSpeaksForItself) {
  Case c = hung();
  c.findings = {
      timeout(),
      reported("fs_stale_handle", CauseKind::shared, Speaker::service, "a1", {100 * kMinute}),
      reported("fs_stale_handle", CauseKind::shared, Speaker::service, "a2",
               {100 * kMinute + kSecond})};
  EXPECT_FALSE(accuses(c));
}

TEST(Surroundings, WhatTheJobReportsItselfIsConfirmedByTheMachine) {
  Case c = hung();
  c.findings = {
      timeout(),
      reported("fs_stale_handle", CauseKind::shared, Speaker::service, "a1", {100 * kMinute}),
      reported("fs_stale_handle", CauseKind::shared, Speaker::job, "a2", {101 * kMinute})};
  EXPECT_TRUE(accuses(c));
}

TEST(Surroundings, WhatIsScatteredOverHoursExplainsNoFailureWithoutAMoment) {
  Case c;
  c.hosts = 4;
  Finding hang = timeout();
  hang.analysis = Analysis::hang;
  hang.event_class = "hang/host_stopped";
  hang.start = hang.end = std::nullopt;
  hang.facts = HangFacts{};
  c.findings = {
      hang,
      reported("no_processes_left", CauseKind::resource, Speaker::machine, "a1",
               {20 * kMinute, 61 * kMinute, 180 * kMinute}),
      reported("no_processes_left", CauseKind::resource, Speaker::machine, "a2", {15 * kMinute})};
  EXPECT_FALSE(accuses(c));
}

TEST(Surroundings, WhatHasNoTimeDecidesNothing) {
  Case c = hung();
  Finding undated =
      reported("no_processes_left", CauseKind::resource, Speaker::machine, "a1", {100 * kMinute});
  undated.start = undated.end = std::nullopt;
  std::get<LineFacts>(undated.facts).times.clear();
  c.findings = {timeout(), undated};
  EXPECT_FALSE(accuses(c));
}

TEST(Surroundings, OfAJobThatDidNotFailNothingIsExplained) {
  Case c = hung();
  c.findings = {
      reported("no_processes_left", CauseKind::resource, Speaker::machine, "a1", {100 * kMinute})};
  const Verdict v = decide::decide(c);
  EXPECT_FALSE(accuses(c));
  EXPECT_TRUE(std::none_of(v.targets.begin(), v.targets.end(),
                           [](const Target& t) { return t.subject.id == "a1"; }));
}

// A disk of a file server that failed before ranks stopped, which wait for their data.
TEST(Surroundings, AServerOfFilesIsTheStorage) {
  Case c = hung();
  c.storage_servers = {Host("oss17")};
  Finding hang = timeout();
  hang.analysis = Analysis::hang;
  hang.event_class = "hang/host_stopped";
  hang.start = hang.end = 100 * kMinute;
  hang.facts = HangFacts{.wait = WaitKind::data, .waiting = 60};
  Finding disk =
      reported("fs_journal_abort", CauseKind::machine, Speaker::machine, "oss17", {100 * kMinute});
  disk.host = Host("oss17");
  c.findings = {hang, disk};
  decide::faults_of_servers(c);
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::repair);
  ASSERT_FALSE(v.targets.empty());
  EXPECT_EQ(v.targets.front().subject, (Subject{SubjectKind::storage, "oss17"}));
}

// A service that went away and came back all day, while steps came.
Finding comes_and_goes(Nanoseconds spell) {
  Finding f = reported("fs_nfs_not_responding", CauseKind::shared, Speaker::machine, "a1",
                       {20 * kMinute, 50 * kMinute, 80 * kMinute, 99 * kMinute});
  f.severity = Severity::warning;
  f.hosts = Hosts({"a1", "a2", "a3", "a4", "a5", "a6"});
  for (const Nanoseconds begin : {20 * kMinute, 50 * kMinute, 80 * kMinute})
    f.alerts.push_back({.begin = begin, .end = begin + spell, .begin_boot = {}, .closed = true});
  f.alerts.push_back({.begin = 99 * kMinute, .end = {}, .begin_boot = {}, .closed = false});
  return f;
}

TEST(Surroundings, SpellsThatTheJobLivedThroughEndNoJob) {
  Case c = hung();
  c.findings = {timeout(), comes_and_goes(12 * kMinute)};
  EXPECT_FALSE(accuses(c));
}

TEST(Surroundings, ALongerSpellMayEndIt) {
  Case c = hung();
  c.findings = {timeout(), comes_and_goes(2 * kMinute)};
  EXPECT_EQ(decide::decide(c).action, Action::repair);
}

TEST(Surroundings, ALinkThatFailsAgainIsNoHabit) {
  Case c = hung();
  Finding link = comes_and_goes(12 * kMinute);
  link.cause = CauseKind::machine;
  link.scope = Scope::host_local;
  link.severity = Severity::critical;
  link.hosts = Hosts({"a1"});
  c.findings = {timeout(), link};
  EXPECT_EQ(decide::decide(c).action, Action::isolate);
}

}  // namespace
