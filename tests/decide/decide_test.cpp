// The ladder over findings made by hand: each step taken, and the traps beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "report/phrases.hpp"
#include "decide/decide.hpp"
#include "model/confidence.hpp"
#include "support/ranks.hpp"
#include "support/hosts.hpp"
#include "rules/rule.hpp"

namespace {

using namespace culprit;
using decide::Case;
using report::words;

Finding finding(std::string event_class, Severity severity, Role role, Scope scope,
                std::string host, std::optional<Nanoseconds> start,
                Symptom symptom = Symptom::gpu_unavailable) {
  Finding f;
  f.analysis = Analysis::classify;
  f.event_class = std::move(event_class);
  f.traits = rules::traits_of_class(f.event_class);
  f.severity = severity;
  f.role = role;
  f.scope = scope;
  if (role == Role::root)
    f.cause = scope == Scope::shared          ? CauseKind::shared
              : scope == Scope::user_code     ? CauseKind::program
              : severity == Severity::warning ? CauseKind::network
                                              : CauseKind::machine;
  f.symptom = symptom;
  f.subject = role == Role::cascade || role == Role::teardown ? Subject{SubjectKind::job, "job"}
                                                              : Subject{SubjectKind::host, host};
  if (!host.empty()) {
    f.host = Host(host);
    f.hosts = Hosts({host});
  }
  f.id = "classify/" + f.event_class + "/" + f.subject.id;
  f.start = f.end = start;
  f.uncertainty = kSecond;
  f.confidence = 0.95;
  f.title = Text(f.event_class);
  f.count = 1;
  return f;
}

Finding machine(std::string host, std::optional<Nanoseconds> start,
                std::string event_class = "gpu_xid/79") {
  return finding(std::move(event_class), Severity::critical, Role::root, Scope::host_local,
                 std::move(host), start);
}
Finding timeouts(std::optional<Nanoseconds> start) {
  return finding("nccl_watchdog_timeout", Severity::distributed, Role::cascade, Scope::job_wide, "",
                 start, Symptom::job_hang);
}

Finding exception(Ranks ranks, std::optional<Nanoseconds> start) {
  Finding f = finding("py_user_error", Severity::critical, Role::root, Scope::user_code, "", start,
                      Symptom::code_data_adjustment);
  f.subject = {SubjectKind::code, "model.py:12"};
  f.ranks = std::move(ranks);
  return f;
}

Case job(std::vector<Finding> findings) {
  Case c;
  c.findings = std::move(findings);
  c.hosts = c.hosts_with_output = c.hosts_heard = 16;
  c.ranks = 128;
  c.any_training_output = true;
  c.exits.push_back({"torchrun", 1, {}, {}});
  return c;
}

TEST(Decide, OneCrashMayBeAMachineTheSameOnTwoIsTheProgram) {
  const auto crash = [](const char* host, Nanoseconds at) {
    Finding f = finding("proc_sigsegv", Severity::critical, Role::root, Scope::host_local, host, at,
                        Symptom::container_error);
    f.cause = CauseKind::crash;
    return f;
  };
  EXPECT_EQ(decide::decide(job({crash("n03", 100 * kMinute)})).action, Action::investigate);
  const Verdict v = decide::decide(job({crash("n03", 100 * kMinute), crash("n05", 130 * kMinute)}));
  EXPECT_EQ(v.action, Action::rollback);
  for (const Target& t : v.targets) EXPECT_EQ(t.subject.kind, SubjectKind::code);
}

TEST(Decide, FaultsWithoutATimeOnSeveralMachinesIsolateNone) {
  const auto judged = [](const char* one, const char* other) {
    Case c = job({machine("n03", std::nullopt, one), machine("n05", std::nullopt, other),
                  timeouts(110 * kMinute)});
    c.any_training_output = false;
    for (Finding& f : c.findings) f.origin = Origin::any;
    return decide::decide(c);
  };
  const Verdict v = judged("gpu_xid/119", "gpu_xid/94");
  EXPECT_EQ(v.action, Action::checks);
  EXPECT_EQ(v.precision, Precision::candidates);
  EXPECT_EQ(judged("gpu_xid/79", "gpu_xid/79").action, Action::isolate) << "one fault, shown twice";
}

// A hang of all names no machine, so it confirms none.
TEST(Decide, AGroupOfMostMachinesIsNoSecondSource) {
  Finding undated = machine("n07", {});
  undated.origin = Origin::kernel;
  Finding hang = finding("hang/network", Severity::distributed, Role::root, Scope::shared, "", {},
                         Symptom::job_hang);
  hang.analysis = Analysis::hang;
  hang.subject = {SubjectKind::group, "default_pg 0"};
  hang.confidence = 0.43;
  HangFacts facts;
  facts.kind = StopKind::network;
  hang.facts = facts;
  for (int i = 0; i < 16; ++i) hang.hosts.push_back(Host("n" + std::to_string(10 + i)));
  hang.hosts[0] = Host("n07");
  Case c = job({undated, hang, timeouts(110 * kMinute)});
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::checks);
  std::vector<std::string> hosts;
  for (const Target& t : v.targets)
    if (t.subject.kind == SubjectKind::host) hosts.push_back(t.subject.id);
  EXPECT_EQ(hosts, std::vector<std::string>{"n07"}) << "it is where to look first";
}

// Kernel logs of weeks, and nothing of the job.
TEST(Decide, FaultsAtDifferentTimesWithoutAJobIsolateNone) {
  const auto judged = [](bool output) {
    Case c = job(
        {machine("n03", 100 * kMinute, "gpu_xid/74"), machine("n05", 200 * kMinute, "gpu_xid/79")});
    c.exits.clear();
    c.any_training_output = output;
    return decide::decide(c);
  };
  const Verdict v = judged(false);
  EXPECT_EQ(v.action, Action::checks);
  EXPECT_EQ(v.precision, Precision::candidates);
  EXPECT_EQ(v.targets.size(), 2u);
}

TEST(Decide, AMachineThatOnlySchedulersNameIsNoneOfTheJobs) {
  Case c = job({machine("n99", 100 * kMinute, "slurm_node_fail")});
  c.exits.clear();
  c.any_training_output = false;
  EXPECT_EQ(decide::decide(c).action, Action::isolate) << "it is all that there is";
  c.machines = {Host("n01"), Host("n02")};
  EXPECT_NE(decide::decide(c).action, Action::isolate);
  c.machines.insert(Host("n99"));
  EXPECT_EQ(decide::decide(c).action, Action::isolate);
}

TEST(Decide, RunsThatFailedAlikeAreAskedOfWhereTheLastOneWentOn) {
  Case c = job({});
  c.exits.clear();
  c.last_progress = 300 * kMinute;
  c.last_iteration = 900;
  const auto failed = [&](const char* name, FailureRoot root) {
    c.history.failures.push_back({.name = name, .furthest = 339, .roots = {std::move(root)}});
  };
  failed("attempt 0", {{}, "", {SubjectKind::code, "rope.py:88"}, false});
  EXPECT_EQ(decide::decide(c).action, Action::none) << "once is no pattern";
  failed("attempt 1", {{}, "", {SubjectKind::code, "rope.py:88"}, false});
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::rollback);
  EXPECT_EQ(v.targets.front().subject.id, "rope.py:88");
  failed("attempt 2", {{}, "", {SubjectKind::code, "loader.py:3"}, false});
  EXPECT_EQ(decide::decide(c).action, Action::none) << "each of something else";
}

TEST(Decide, ARestartThatNobodySawGivesWayToWhatHasItsMoment) {
  Finding restart = machine("n03", 100 * kMinute, "host_restarted");
  restart.origin = Origin::kernel;
  restart.end = 112 * kMinute;  // it was silent until then
  const Finding broken = timeouts(105 * kMinute);
  EXPECT_EQ(decide::decide(job({restart, broken})).action, Action::isolate);
  Case c = job({restart, exception({8}, 102 * kMinute), broken});
  EXPECT_EQ(decide::decide(c).action, Action::isolate);
  c.last_progress = 102 * kMinute;
  EXPECT_NE(decide::decide(c).action, Action::isolate) << "it came while steps still came";
  c.last_progress = 101 * kMinute;
  EXPECT_EQ(decide::decide(c).action, Action::isolate) << "others may speak of that machine";
}

TEST(Decide, MemoryThatRanOutOnSeveralHostsIsNoFaultOfOne) {
  Finding memory = finding("cuda_oom", Severity::critical, Role::root, Scope::user_code, "", {},
                           Symptom::cuda_error);
  memory.subject = {SubjectKind::code, "model.py:77"};
  memory.ranks = Ranks({0, 1, 8, 9});
  memory.hosts = Hosts({"n01", "n02"});
  memory.host = Host("n01");
  Finding fault = machine("n01", 100 * kMinute, "gpu_xid/48");
  EXPECT_EQ(decide::decide(job({memory, fault})).action, Action::rollback);
  EXPECT_EQ(decide::decide(job({memory, fault, timeouts(101 * kMinute)})).action, Action::rollback)
      << "another program's word";
  fault.origin = Origin::kernel;
  EXPECT_EQ(decide::decide(job({memory, fault, timeouts(101 * kMinute)})).action, Action::isolate)
      << "it stands where the job ended, and nothing says when memory ran out";
  fault.origin = Origin::any;
  memory.start = memory.end = 130 * kMinute;
  EXPECT_EQ(decide::decide(job({memory, fault})).action, Action::isolate) << "it came before";
}

TEST(Decide, NaNOnMostRanksNamesNone) {
  const auto nan = [](Ranks ranks) {
    Finding f = finding("train_nan_abort", Severity::critical, Role::root, Scope::job_wide, "",
                        100 * kMinute, Symptom::nan_value);
    f.cause = CauseKind::numerics;
    f.ranks = std::move(ranks);
    Case c = job({f});
    c.ranks = 8;
    return decide::decide(c);
  };
  EXPECT_EQ(nan({3}).targets.at(0).subject, (Subject{SubjectKind::rank, "3"}));
  EXPECT_EQ(nan({0, 1, 2, 3, 4, 5}).targets.at(0).subject.kind, SubjectKind::job);
}

TEST(Decide, WrongNumbersWithoutATimeAndAFailedDiagnosticAreOneStory) {
  Finding nan = finding("train_nan", Severity::critical, Role::root, Scope::job_wide, "",
                        std::nullopt, Symptom::nan_value);
  nan.cause = CauseKind::numerics;
  Finding failed = machine("n07", std::nullopt, "dcgm_diag_fail");
  const Verdict v = decide::decide(job({failed, nan}));
  EXPECT_EQ(v.action, Action::isolate);
  EXPECT_EQ(v.targets.at(0).subject.id, "n07");
  EXPECT_EQ(v.symptom, Symptom::nan_value);
  EXPECT_EQ(v.targets.at(0).because.size(), 2u);
}

// Each run dies of it on another machine: it goes with the program.
TEST(Decide, IllegalAccessesOfEarlierRunsOnOtherGPUs) {
  const auto xid = [](const std::string& host, Nanoseconds at, Outcome outcome) {
    Finding f = machine(host, at, "gpu_xid/31");
    f.cause = CauseKind::device_or_program;
    f.symptom = Symptom::cuda_error;
    f.subject = {SubjectKind::gpu, host + "/0000:61:00"};
    f.id = "classify/gpu_xid/31/" + host;
    f.outcome = outcome;
    return f;
  };
  Finding now = finding("cuda_illegal_access", Severity::critical, Role::root, Scope::user_code, "",
                        500 * kMinute, Symptom::cuda_error);
  now.cause = CauseKind::device_or_program;
  now.ranks = Ranks({27});
  Finding before = now;
  before.id += "/before";
  before.outcome = Outcome::ruled_out;
  before.start = before.end = 100 * kMinute;
  LineFacts line;
  line.speaker = Speaker::job;
  before.facts = line;
  const auto verdict = [&](std::vector<Finding> findings) {
    Case c = job(std::move(findings));
    c.job_start = 300 * kMinute;
    return decide::decide(c);
  };
  const Finding here = xid("n07", 500 * kMinute, Outcome::fired);
  EXPECT_EQ(verdict({now, here}).action, Action::checks);
  EXPECT_EQ(verdict({now, here, before, xid("n04", 100 * kMinute, Outcome::ruled_out)}).action,
            Action::rollback);
  EXPECT_EQ(verdict({now, here, before, xid("n04", 20 * kMinute, Outcome::ruled_out)}).action,
            Action::checks)
      << "at another time: another program";
}

// GPUs of two machines at one moment, whatever zone their kernels are in: no device does that to
// another.
TEST(Decide, OneFaultOfSeveralMachinesAtOneMomentIsTheProgram) {
  const auto xid = [](const std::string& host, Nanoseconds at) {
    Finding f = machine(host, at, "gpu_xid/31");
    f.cause = CauseKind::device_or_program;
    f.traits.add(Trait::access_fault);
    f.subject = {SubjectKind::gpu, host + "/0000:61:00"};
    f.id = "classify/gpu_xid/31/" + host;
    f.outcome = Outcome::ruled_out;
    return f;
  };
  Finding now = finding("cuda_illegal_access", Severity::critical, Role::root, Scope::user_code, "",
                        500 * kMinute, Symptom::cuda_error);
  now.cause = CauseKind::device_or_program;
  const Nanoseconds zone = 7 * kHour;
  const auto action = [&](Nanoseconds apart) {
    return decide::decide(job({now, xid("n04", 500 * kMinute - zone),
                               xid("n07", 500 * kMinute - zone + apart)}))
        .action;
  };
  EXPECT_EQ(action(kSecond), Action::rollback);
  EXPECT_EQ(action(20 * kMinute), Action::checks);
}

// A rank of each of three runs, whose moments nothing tells, and a GPU of each of three machines.
TEST(Decide, OneFaultOfOtherRanksInEachRunIsTheProgram) {
  const auto xid = [](const std::string& host, Nanoseconds at) {
    Finding f = machine(host, at, "gpu_xid/31");
    f.cause = CauseKind::device_or_program;
    f.traits.add(Trait::access_fault);
    f.subject = {SubjectKind::gpu, host + "/0000:61:00"};
    f.id = "classify/gpu_xid/31/" + host;
    return f;
  };
  const auto action = [&](Ranks ranks, std::vector<Finding> xids) {
    Finding said = finding("cuda_illegal_access", Severity::critical, Role::root, Scope::user_code,
                           "", {}, Symptom::cuda_error);
    said.cause = CauseKind::device_or_program;
    said.traits.add(Trait::illegal_access);
    said.ranks = std::move(ranks);
    LineFacts line;
    line.speaker = Speaker::job;
    said.facts = line;
    xids.push_back(said);
    return decide::decide(job(std::move(xids))).action;
  };
  const std::vector<Finding> three{xid("n04", 100 * kMinute), xid("n05", 300 * kMinute),
                                   xid("n06", 500 * kMinute)};
  EXPECT_EQ(action({1, 11, 30}, three), Action::rollback);
  EXPECT_EQ(action({1}, three), Action::checks) << "the other two are of other programs";
}

// Earlier runs lost their numbers at one iteration; that the last one got past it, with other data,
// is no answer.
TEST(Decide, ARunThatGotPastItDoesNotTakeItBack) {
  Finding again = finding("nan_at_same_iteration", Severity::critical, Role::confirmation,
                          Scope::job_wide, "", 100 * kMinute, Symptom::nan_value);
  again.analysis = Analysis::divergence;
  again.facts = DivergenceFacts{};
  Case c = job({again});
  c.exits.clear();
  c.completed = true;
  c.last_progress = 280 * kMinute;
  c.last_iteration = 5000;
  EXPECT_EQ(decide::decide(c).action, Action::rollback);
  c.findings.clear();
  EXPECT_EQ(decide::decide(c).action, Action::none);
}

// The job was placed anew for each run, and died each time where the same GPU was.
TEST(Decide, OneGpuAsSeveralRanksIsNotTheProgram) {
  const auto verdict = [](LocalRank second) {
    Finding launch = finding("cuda_launch_failure", Severity::critical, Role::root,
                             Scope::user_code, "", 500 * kMinute, Symptom::cuda_error);
    launch.cause = CauseKind::device_or_program;
    launch.ranks = Ranks({6, 14});
    Case c = job({launch});
    c.places = {{Rank(6), Host("n02")}, {Rank(14), Host("n02")}};
    c.local_ranks = {{Rank(6), LocalRank(6)}, {Rank(14), second}};
    return decide::decide(c);
  };
  const Verdict same = verdict(LocalRank(6));
  EXPECT_EQ(same.action, Action::isolate);
  ASSERT_EQ(same.targets.size(), 1u);
  EXPECT_EQ(same.targets[0].subject.id, "n02");
  EXPECT_EQ(verdict(LocalRank(2)).action, Action::rollback) << "two GPUs of one run";
}

TEST(Decide, AServerOfStorageRunsNoRank) {
  Finding disk = machine("oss-04", 100 * kMinute, "disk_io_error");
  Finding lost = finding("fs_lustre_lost", Severity::critical, Role::root, Scope::shared, "",
                         101 * kMinute, Symptom::filesystem_mount);
  lost.subject = {SubjectKind::storage, "remote storage"};
  lost.hosts = Hosts({"n01", "n02", "n03", "n04"});
  Case c = job({disk, lost, timeouts(130 * kMinute)});
  c.hosts = 4;
  EXPECT_EQ(decide::decide(c).action, Action::isolate);
  c.storage_servers = Hosts({"oss-04"});
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::repair);
  for (const Target& t : v.targets) EXPECT_EQ(t.subject.kind, SubjectKind::storage);
}

TEST(Decide, ProcessesThatLeaveAFinishedJobHangUpOnEachOther) {
  Finding lost = finding("torch_store_peer_lost", Severity::distributed, Role::cascade,
                         Scope::job_wide, "", std::nullopt, Symptom::none);
  lost.evidence = {{1, "job.out", 1498, 90000, 80, ""}};
  Case c = job({lost});
  c.exits = {{"log", 0, {}, {}}};
  c.completed = true;
  EXPECT_NE(decide::decide(c).action, Action::none);
  c.closing = Evidence{1, "job.out", 1496, 89000, 80, ""};
  EXPECT_EQ(decide::decide(c).action, Action::none);
  c.closing->line = 1499;  // broken before it: a pipe may hide the exit code
  EXPECT_NE(decide::decide(c).action, Action::none);
}

TEST(Decide, ANameThatNobodyFoundIsTheSettingOfAJobThatNeverStepped) {
  Finding f = finding("name_lookup_failed", Severity::warning, Role::confirmation,
                      Scope::host_local, "n03", 100 * kMinute, Symptom::external_service_error);
  f.count = 3;
  Case c = job({f});
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::repair);
  EXPECT_EQ(v.targets.at(0).subject.kind, SubjectKind::config);
  c.last_iteration = 12;
  EXPECT_NE(decide::decide(c).action, Action::repair) << "it was found before the first step";
}

TEST(Decide, ACriticalErrorBeforeTheTimeoutsIsolatesItsHost) {
  const Verdict v = decide::decide(job({machine("n07", 100 * kMinute), timeouts(110 * kMinute)}));
  EXPECT_EQ(v.action, Action::isolate);
  ASSERT_EQ(v.targets.size(), 1u);
  EXPECT_EQ(v.targets[0].subject, (Subject{SubjectKind::host, "n07"}));
}

TEST(Decide, AGpuOfAnUnknownMachineIsolatesNone) {
  Finding lost = machine("", 100 * kMinute);
  lost.host.reset();
  lost.hosts.clear();
  lost.subject = {SubjectKind::gpu, "0000:b8:00"};
  EXPECT_EQ(decide::decide(job({lost, timeouts(110 * kMinute)})).action, Action::investigate);
}

TEST(Decide, WhatRanOutForSeveralProcessesIsNoneOfTheirs) {
  std::vector<Finding> all;
  for (const char* rank : {"0", "11", "13"}) {
    Finding f = finding("too_many_open_files", Severity::critical, Role::root, Scope::host_local,
                        "n0" + std::string(1, rank[0]), 100 * kMinute);
    f.cause = CauseKind::resource;
    f.host.reset();
    f.hosts.clear();
    f.subject = {SubjectKind::rank, rank};
    f.id += rank;
    all.push_back(f);
  }
  const Verdict v = decide::decide(job(all));
  EXPECT_EQ(v.action, Action::repair);
  ASSERT_EQ(v.targets.size(), 1u);
  EXPECT_EQ(v.targets[0].subject.kind, SubjectKind::config);
}

TEST(Decide, AnIncompleteBundleLowersConfidence) {
  Case c = job({machine("n03", 100 * kMinute), timeouts(110 * kMinute)});
  const Verdict whole = decide::decide(c);
  c.incomplete = true;
  const Verdict part = decide::decide(c);
  ASSERT_FALSE(whole.targets.empty());
  ASSERT_EQ(part.targets.size(), whole.targets.size());
  EXPECT_EQ(part.action, Action::isolate);
  for (std::size_t i = 0; i < whole.targets.size(); ++i)
    EXPECT_DOUBLE_EQ(part.targets[i].confidence,
                     whole.targets[i].confidence * confidence::kIncompleteBundle);
}

TEST(Decide, AnUndatedKernelLineAccusesNobodyByItself) {
  Finding undated = machine("n07", {});
  undated.origin = Origin::kernel;
  const Verdict v = decide::decide(job({undated, timeouts(110 * kMinute)}));
  EXPECT_EQ(v.action, Action::investigate);

  // A rank of that machine reports a CUDA error: two sources.
  Finding cuda = finding("cuda_ecc_uncorrectable", Severity::critical, Role::confirmation,
                         Scope::host_local, "n07", 100 * kMinute);
  EXPECT_EQ(decide::decide(job({undated, cuda, timeouts(110 * kMinute)})).action, Action::isolate);
}

TEST(Decide, TheHostOfMostBrokenConnectionsConfirmsItsOwnLog) {
  Finding panic = machine("n07", {}, "os_kernel_panic");
  panic.origin = Origin::kernel;
  Finding broke = finding("broken_connections", Severity::distributed, Role::root,
                          Scope::host_local, "", 110 * kMinute, Symptom::infiniband_error);
  broke.analysis = Analysis::root_diag;
  broke.outcome = Outcome::ruled_out;
  broke.facts = BreakFacts{false, "n07"};
  EXPECT_EQ(decide::decide(job({panic, broke, timeouts(110 * kMinute)})).action, Action::isolate);
  broke.facts = BreakFacts{false, "n08"};
  EXPECT_NE(decide::decide(job({panic, broke, timeouts(110 * kMinute)})).action, Action::isolate);
}

TEST(Decide, StepsWithoutANumberDoNotTakeANaNBack) {
  Finding nan = finding("train_nan", Severity::warning, Role::root, Scope::job_wide, "",
                        100 * kMinute, Symptom::nan_value);
  nan.cause = CauseKind::numerics;
  Case c = job({nan});
  c.exits.clear();
  c.last_progress = 280 * kMinute;
  c.last_iteration = 5000;
  EXPECT_EQ(decide::decide(c).action, Action::none);
  c.ended_not_a_number = true;
  EXPECT_EQ(decide::decide(c).action, Action::checks);
}

TEST(Decide, AMachineThatHadNoPartInTheJobIsNotAccused) {
  Case c = job({machine("n99", 100 * kMinute), timeouts(110 * kMinute)});
  c.job_hosts = Hosts({"n01", "n02"});
  EXPECT_EQ(decide::decide(c).action, Action::investigate);
}

TEST(Decide, AJobThatEndedWellAccusesNobody) {
  Case c = job({machine("n07", 100 * kMinute)});
  c.exits = {{"torchrun", 0, {}, {}}};
  EXPECT_EQ(decide::decide(c).action, Action::none);
  c.exits.clear();
  c.completed = true;
  EXPECT_EQ(decide::decide(c).action, Action::none);
}

TEST(Decide, AnAlertThatWasTakenBackIsRetriedOnce) {
  Finding flap = machine("n07", 100 * kMinute, "ib_link_down");
  flap.outcome = Outcome::ruled_out;
  flap.symptom = Symptom::infiniband_error;
  flap.transient = true;
  flap.alerts = {{100 * kMinute, 100 * kMinute + 4 * kSecond, {}, true}};
  Verdict v = decide::decide(job({flap, timeouts(100 * kMinute + 2 * kSecond)}));
  EXPECT_EQ(v.action, Action::reattempt);
  EXPECT_EQ(v.precision, Precision::candidates) << "nobody is isolated";

  // Nothing broke while it lasted: it explains nothing.
  v = decide::decide(job({flap, timeouts(110 * kMinute)}));
  EXPECT_EQ(v.action, Action::investigate);
}

TEST(Decide, AnAlertThatEndedEarlierRunsAsWellIsThePart) {
  Finding flap = machine("n07", 100 * kMinute, "ib_link_down");
  flap.outcome = Outcome::ruled_out;
  flap.symptom = Symptom::infiniband_error;
  flap.transient = true;
  flap.alerts = {{100 * kMinute, 100 * kMinute + 4 * kSecond, {}, true}};
  Finding before = flap;
  before.id += "/before";
  before.transient = false;
  before.alerts = {{40 * kMinute, 40 * kMinute + 4 * kSecond, {}, true}};
  Case c = job({flap, before, timeouts(100 * kMinute + 2 * kSecond)});
  PastFailure run;
  run.name = "attempt 1";
  run.start = 1 * kMinute;
  run.end = 41 * kMinute;
  c.history.failures = {run};
  c.history.start = 50 * kMinute;
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::isolate);
  ASSERT_EQ(v.targets.size(), 1u);
  EXPECT_EQ(v.targets[0].subject.id, "n07");

  // It also goes down when no run ends: chance.
  c.findings[1].alerts.push_back({20 * kMinute, 20 * kMinute + 4 * kSecond, {}, true});
  EXPECT_EQ(decide::decide(c).action, Action::reattempt);
}

TEST(Decide, ASetUpFailureIsRepaired) {
  Finding busy = finding("address_in_use", Severity::critical, Role::root, Scope::host_local, "n01",
                         {}, Symptom::none);
  busy.cause = CauseKind::environment;
  LineFacts line;
  line.message = "bind: Address already in use (port 29500)";
  busy.facts = line;
  const Verdict v = decide::decide(job({busy}));
  EXPECT_EQ(v.action, Action::repair);
  EXPECT_NE(words(v.summary).find("29500"), std::string::npos);
}

// What the counters of a machine say without a moment, its own processes died of.
TEST(Decide, ACounterAndTheDeathOfAProcessThereAgree) {
  const auto judged = [](const char* where) {
    Finding counted = finding("gpu_ecc_uncorrectable_count", Severity::critical, Role::root,
                              Scope::host_local, "n04", {}, Symptom::gpu_memory_error);
    counted.subject = {SubjectKind::gpu, "n04/0000:4e:00"};
    counted.hosts = Hosts({"n04"});
    counted.confidence = 0.5;
    counted.leads_to = {"cuda_ecc_uncorrectable"};
    Finding died = finding("cuda_ecc_uncorrectable", Severity::critical, Role::root,
                           Scope::host_local, where, {}, Symptom::gpu_memory_error);
    died.hosts = Hosts({where});
    LineFacts line;
    line.speaker = Speaker::job;
    died.facts = line;
    return decide::decide(job({counted, died})).action;
  };
  EXPECT_EQ(judged("n04"), Action::isolate);
  EXPECT_NE(judged("n05"), Action::isolate);
}

// What one machine does not reach, the others do: they came to the meeting, and waited there for
// it.
TEST(Decide, WhomTheOthersWaitedForLacksTheRoute) {
  Finding lost = finding("no_route_to_host", Severity::critical, Role::root, Scope::host_local,
                         "n07", 100 * kMinute, Symptom::none);
  lost.cause = CauseKind::environment;
  lost.hosts = Hosts({"n07"});
  Finding waited = finding("rendezvous_timeout", Severity::critical, Role::root, Scope::job_wide,
                           "", 110 * kMinute, Symptom::none);
  waited.cause = CauseKind::environment;
  waited.hosts = Hosts({"n01", "n02", "n03"});
  const auto named = [&](const std::vector<Finding>& findings) {
    Case c = job(findings);
    c.hosts_with_output = 1;
    c.machines = {Host("n07"), Host("n01")};
    const Verdict v = decide::decide(c);
    EXPECT_EQ(v.action, Action::repair);
    return std::ranges::any_of(v.targets, [](const Target& t) { return t.subject.id == "n07"; });
  };
  EXPECT_TRUE(named({lost, waited}));
  EXPECT_FALSE(named({lost})) << "the other end may be at fault";
}

TEST(Decide, AFewMachinesThatLackSomethingAreNamed) {
  const auto mismatch = [](const char* host) {
    Finding f = finding("gpu_driver_mismatch", Severity::critical, Role::root, Scope::host_local,
                        host, 100 * kMinute, Symptom::gpu_unavailable);
    f.cause = CauseKind::environment;
    f.origin = Origin::kernel;
    return f;
  };
  Case c = job({mismatch("n03"), mismatch("n05")});
  c.machines = {Host("n03"), Host("n05"), Host("n07")};
  const Verdict few = decide::decide(c);
  EXPECT_EQ(few.action, Action::repair);
  ASSERT_EQ(few.targets.size(), 3u);
  EXPECT_EQ(few.targets[1].subject.id, "n03");
  EXPECT_EQ(few.targets[2].subject.id, "n05");
  c.hosts = 3;
  EXPECT_EQ(decide::decide(c).targets.size(), 1u) << "of three machines two are most of them";
  c.hosts = 16;
  for (Finding& f : c.findings) f.origin = Origin::any;
  EXPECT_EQ(decide::decide(c).targets.size(), 1u) << "others may not have got to it";
}

// The shutdown of a process that was asked to stop may crash.
TEST(Decide, WhatIsPrintedBehindTheSchedulersWordIsItsConsequence) {
  Finding crash = finding("proc_sigsegv", Severity::critical, Role::root, Scope::host_local, "n03",
                          {}, Symptom::container_error);
  crash.cause = CauseKind::crash;
  crash.evidence = {{1, "job.out", 63, 0, 10, "task 2: Segmentation fault"}};
  Finding limit = finding("scheduler_time_limit", Severity::distributed, Role::root,
                          Scope::job_wide, "", 100 * kMinute, Symptom::none);
  limit.cause = CauseKind::none;
  limit.evidence = {{1, "job.out", 61, 0, 10, "DUE TO TIME LIMIT"}};
  EXPECT_EQ(decide::decide(job({crash, limit})).action, Action::none);
  crash.evidence[0].line = 60;
  EXPECT_NE(decide::decide(job({crash, limit})).action, Action::none) << "it stands before it";
}

TEST(Decide, WithoutProofOfSuccessTheLogsOnlyEnd) {
  Case c = job({});
  c.exits.clear();
  EXPECT_EQ(decide::decide(c).action, Action::investigate);
  c.last_iteration = 50;
  EXPECT_EQ(decide::decide(c).action, Action::none)
      << "steps up to the end of the logs: it was running";
  c.last_progress = 100 * kMinute;
  c.job_end = 120 * kMinute;
  EXPECT_EQ(decide::decide(c).action, Action::investigate)
      << "lines for twenty minutes after the last step";
}

TEST(Decide, AProcessKilledFromOutsideIsSaid) {
  Case c = job({});
  c.exits = {{"torchrun", -9, {}, {}, Host("n03"), Rank(12), true}};
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::investigate);
  EXPECT_NE(words(v.summary).find("Rank 12 on n03 was ended by SIGKILL"), std::string::npos)
      << words(v.summary);
}

TEST(Decide, ACriticalErrorAfterTheFirstFailureElsewhereIsAConsequence) {
  const Verdict v =
      decide::decide(job({machine("n07", 104 * kMinute), exception({3}, 100 * kMinute)}));
  EXPECT_EQ(v.action, Action::rollback);
  for (const Target& t : v.targets) EXPECT_NE(t.subject.kind, SubjectKind::host);
}

TEST(Decide, AnErrorThatTheJobSurvivedIsNotItsEnd) {
  Case c = job({machine("n07", 10 * kMinute), timeouts(110 * kMinute)});
  c.last_progress = 100 * kMinute;
  EXPECT_NE(decide::decide(c).action, Action::isolate);
}

TEST(Decide, AnErrorHoursBeforeTheEndNeedsAJobThatRanThen) {
  Finding kernel = machine("n07", 10 * kMinute);
  kernel.end = kernel.start;
  kernel.origin = Origin::kernel;
  Case c = job({kernel, timeouts(300 * kMinute)});
  c.last_progress.reset();
  c.job_start.reset();
  c.any_training_output = true;
  EXPECT_NE(decide::decide(c).action, Action::isolate);
  c.job_start = 5 * kMinute;
  EXPECT_EQ(decide::decide(c).action, Action::isolate);
  c.job_start.reset();
  c.findings[1] = timeouts(100 * kMinute);
  EXPECT_EQ(decide::decide(c).action, Action::isolate) << "as long as a time-out may be";
}

TEST(Decide, TheSameFaultOnManyHostsAtOnceIsShared) {
  std::vector<Finding> all{timeouts(110 * kMinute)};
  for (int i = 0; i < 6; ++i)
    all.push_back(machine("n0" + std::to_string(i), 100 * kMinute + i * kSecond, "ib_link_down"));
  const Verdict v = decide::decide(job(all));
  EXPECT_EQ(v.action, Action::repair);
  for (const Target& t : v.targets) EXPECT_NE(t.subject.kind, SubjectKind::host);
}

TEST(Decide, ASwitchOfTheManifestIsNamed) {
  std::vector<Finding> all{timeouts(110 * kMinute)};
  std::vector<Host> below;
  for (int i = 0; i < 6; ++i) {
    all.push_back(machine("n0" + std::to_string(i), 100 * kMinute, "ib_link_down"));
    all.back().symptom = Symptom::infiniband_error;
    below.push_back(Host("n0" + std::to_string(i)));
  }
  Case c = job(all);
  c.switches = {{"tor-1", below}, {"tor-2", Hosts({"n10", "n11"})}};
  const Verdict v = decide::decide(c);
  ASSERT_EQ(v.targets.size(), 1u);
  EXPECT_EQ(v.targets[0].subject, (Subject{SubjectKind::network_switch, "tor-1"}));
}

TEST(Decide, NoReporterAtAllIsNoEvidence) {
  // "At most two hosts report" holds for none; Aegis' algorithm as printed would isolate an empty
  // list.
  const Verdict v = decide::decide(job({}));
  EXPECT_NE(v.action, Action::isolate);
  EXPECT_TRUE(v.targets.empty());
}

TEST(Decide, TwoReportersAmongManyAreIsolated) {
  Finding f = finding("nccl_remote_closed", Severity::distributed, Role::cascade, Scope::shared, "",
                      100 * kMinute, Symptom::none);
  f.host = Host("n01");
  f.hosts = Hosts({"n01", "n02"});
  const Verdict v = decide::decide(job({f}));
  EXPECT_EQ(v.action, Action::isolate);
  EXPECT_EQ(v.precision, Precision::candidates);
  EXPECT_EQ(v.targets.size(), 2u);
}

TEST(Decide, TwoReportersOfTwoAreNobody) {
  Finding f = finding("nccl_remote_closed", Severity::distributed, Role::cascade, Scope::shared, "",
                      100 * kMinute, Symptom::none);
  f.hosts = Hosts({"n01", "n02"});
  Case c = job({f});
  c.hosts = c.hosts_with_output = c.hosts_heard = 2;
  EXPECT_NE(decide::decide(c).action, Action::isolate);
}

TEST(Decide, AFinishedJobAccusesNobody) {
  Case c = job(
      {finding("host_mce", Severity::warning, Role::root, Scope::host_local, "n03", 50 * kMinute)});
  c.exits = {{"shell", 0, {}, {}}};
  EXPECT_EQ(decide::decide(c).action, Action::none);
}

Finding undecided(std::string lead) {
  Finding f;
  f.analysis = Analysis::hang;
  f.id = "hang/none";
  f.outcome = Outcome::not_enough_evidence;
  f.subject = {SubjectKind::job, "job"};
  f.why = Text(std::string("one snapshot does not tell whether the job stood still"));
  f.facts = UndecidedHangFacts{std::move(lead)};
  return f;
}

HangFacts in_all_gather(std::string group) {
  HangFacts out;
  out.kind = StopKind::network;
  out.group = std::move(group);
  out.operation = "all_gather";
  return out;
}

Finding stuck_on(std::string host, bool standing, double confidence) {
  Finding f;
  f.analysis = Analysis::hang;
  f.event_class = "hang/network";
  f.symptom = Symptom::job_hang;
  f.id = "hang/host/" + host;
  f.subject = {SubjectKind::host, host};
  f.host = Host(host);
  f.hosts = Hosts({host});
  f.ranks = Ranks({8, 9, 10, 11});
  f.confidence = confidence;
  f.why = Text(std::string("all 4 ranks are in it and none of them finishes"));
  HangFacts hang = in_all_gather("TENSOR_MODEL_PARALLEL_GROUP 7");
  hang.ranks = "8-11";
  hang.standing = standing;
  hang.within = true;
  f.facts = hang;
  return f;
}

TEST(Decide, AGroupThatStandsWithinOneMachineIsolatesItOnlyWhenTheHangIsProven) {
  Case c;
  c.findings = {stuck_on("n03", true, 0.84)};
  c.hosts = 8;
  c.has_recorder = true;
  const Verdict proven = decide::decide(c);
  EXPECT_EQ(proven.action, Action::isolate);
  ASSERT_FALSE(proven.targets.empty());
  EXPECT_EQ(proven.targets[0].subject, (Subject{SubjectKind::host, "n03"}));
  // The ranks talk over NVLink there; the network has nothing to do with it.
  EXPECT_EQ(words(proven.summary).find("network"), std::string::npos) << words(proven.summary);
  for (const NextStep& n : proven.next)
    EXPECT_EQ(words(n.text).find("ibstat"), std::string::npos) << words(n.text);
  c.findings = {stuck_on("n03", false, 0.75)};
  EXPECT_EQ(decide::decide(c).action, Action::checks);
  c.findings = {stuck_on("n03", true, 0.5)};
  EXPECT_EQ(decide::decide(c).action, Action::checks) << "less sure than three in five";
  c.findings = {stuck_on("n03", true, 0.84), stuck_on("n05", true, 0.84)};
  const Verdict two = decide::decide(c);
  EXPECT_NE(words(two.summary).find("n03 and n05"), std::string::npos) << words(two.summary);
}

Finding odd_metric(std::string host, std::string event_class) {
  Finding f;
  f.analysis = Analysis::outliers;
  f.id = "outliers/rdma/" + host;
  f.event_class = std::move(event_class);
  f.traits = rules::traits_of_class(f.event_class);
  f.subject = {SubjectKind::host, host};
  f.host = Host(host);
  f.hosts = Hosts({host});
  f.confidence = 0.75;
  f.why = Text(std::string("retransmissions 900 /s, others 2 /s"));
  return f;
}

TEST(Decide, AGroupThatStandsAndAnOddNetworkOfOneOfItsMachinesAreTwoSources) {
  Finding group = stuck_on("", true, 0.5);
  group.subject = {SubjectKind::group, "DATA_PARALLEL_GROUP 2"};
  group.host.reset();
  group.hosts = Hosts({"n01", "n02", "n03"});
  HangFacts hang = in_all_gather("DATA_PARALLEL_GROUP 2");
  hang.standing = true;
  group.facts = hang;
  Case c;
  c.hosts = 8;
  c.has_recorder = true;
  c.findings = {group, odd_metric("n02", "network/rdma_retransmissions")};
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::isolate);
  EXPECT_EQ(v.targets.at(0).subject, (Subject{SubjectKind::host, "n02"}));
  const auto checks = [&](std::vector<Finding> findings) {
    c.findings = std::move(findings);
    return decide::decide(c).action;
  };
  EXPECT_EQ(checks({group}), Action::checks);
  EXPECT_EQ(checks({group, odd_metric("n02", "network/x"), odd_metric("n03", "network/x")}),
            Action::checks)
      << "two of them stand out";
  EXPECT_EQ(checks({group, odd_metric("n07", "network/x")}), Action::checks)
      << "no machine of the group";
  EXPECT_EQ(checks({group, odd_metric("n02", "compute/x")}), Action::checks)
      << "its waiting GPU is odd, too";
}

TEST(Decide, DumpsAloneAreNoCleanBillOfHealth) {
  Case c;
  c.findings = {undecided("rank 9 (own code)")};
  c.has_stacks = true;
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::investigate);
  EXPECT_TRUE(v.targets.empty()) << "nobody is accused of what may be no hang";
  EXPECT_NE(words(v.summary).find("Not enough evidence"), std::string::npos);
  EXPECT_NE(words(v.summary).find("rank 9 (own code)"), std::string::npos);
  EXPECT_FALSE(v.next.empty());
}

// Somebody had a reason to take them; only a job that made all its steps needs no look.
TEST(Decide, DumpsOfAJobHalfWayThroughAreNoProofOfHealth) {
  Case c;
  c.findings = {undecided("")};
  c.any_training_output = true;
  c.last_iteration = 1500;
  c.planned_iterations = 3000;
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::investigate);
  ASSERT_FALSE(v.next.empty()) << "it may stand still";
  c.planned_iterations = 1500;
  EXPECT_EQ(words(decide::decide(c).summary),
            "No failure: the job completed all 1500 planned steps.");
}

TEST(Decide, AnEmptyBundleIsNotHealthy) {
  const Verdict v = decide::decide({});
  EXPECT_EQ(v.action, Action::investigate);
  EXPECT_FALSE(v.next.empty());
}

TEST(Decide, OneWordOfStorageFromOneHostIsNotTheCause) {
  Finding f = finding("fs_lustre_lost", Severity::warning, Role::root, Scope::shared, "n03",
                      100 * kMinute, Symptom::filesystem_mount);
  const Verdict v = decide::decide(job({f, timeouts(110 * kMinute)}));
  EXPECT_NE(v.action, Action::repair);
}

TEST(Decide, TheOrderOfFindingsDoesNotMatter) {
  std::vector<Finding> all{
      machine("n07", 100 * kMinute), timeouts(110 * kMinute),
      exception({3}, 100 * kMinute + 2 * kSecond),
      finding("net_link_down", Severity::warning, Role::root, Scope::host_local, "n09",
              99 * kMinute, Symptom::infiniband_error)};
  const Verdict first = decide::decide(job(all));
  std::sort(all.begin(), all.end(), [](const Finding& a, const Finding& b) { return a.id > b.id; });
  const Verdict second = decide::decide(job(all));
  EXPECT_EQ(first.action, second.action);
  EXPECT_EQ(first.summary, second.summary);
}

TEST(Decide, EveryStepSaysWhy) {
  for (const Step& step : decide::decide(job({machine("n07", 100 * kMinute)})).steps)
    EXPECT_FALSE(step.why.empty()) << name(step.step);
}

Finding drift(std::string name, Severity severity, std::string explains, Hosts hosts) {
  Finding f;
  f.analysis = Analysis::drift;
  f.id = "drift/" + name;
  f.subject = {SubjectKind::config, name};
  f.event_class = "config_drift";
  f.role = Role::confirmation;
  f.severity = severity;
  f.hosts = std::move(hosts);
  f.facts = SettingFacts{std::move(explains), false, false, {}, {}};
  f.why = Text(std::string("some hosts differ."));
  f.confidence = 0.9;
  return f;
}

Finding broken(Hosts hosts) {
  Finding f = finding("nccl_remote_closed", Severity::distributed, Role::cascade, Scope::shared, "",
                      100 * kMinute, Symptom::none);
  f.hosts = std::move(hosts);
  return f;
}

const Step* step(const Verdict& v, StepId name) {
  for (const Step& s : v.steps)
    if (s.step == name) return &s;
  return nullptr;
}

TEST(ConfigCheck, BrokenConnectionsAndASettingTheyHangOnAreRepaired) {
  const Verdict v = decide::decide(
      job({broken({"n1", "n2", "n3", "n4"}),
           drift("env.NCCL_IB_HCA", Severity::warning, "communication", {"n7", "n8"})}));
  EXPECT_EQ(v.action, Action::repair);
  EXPECT_EQ(v.precision, Precision::candidates);
  ASSERT_EQ(v.targets.size(), 3u);
  EXPECT_EQ(v.targets[0].subject, (Subject{SubjectKind::config, "env.NCCL_IB_HCA"}));
  EXPECT_EQ(v.targets[1].subject, (Subject{SubjectKind::host, "n7"}));
  EXPECT_LT(v.targets[1].confidence, 0.5);
}

// Small messages pass, the first large one does not: whom all wait for has the odd size of packets.
TEST(ConfigCheck, TheSettingOfTheMachineThatAllWaitFor) {
  const auto judged = [](const std::string& waited_for, std::optional<std::int64_t> steps) {
    Finding hang = finding("hang/device_stopped", Severity::distributed, Role::root, Scope::shared,
                           waited_for, {}, Symptom::job_hang);
    hang.analysis = Analysis::hang;
    hang.subject = {SubjectKind::rank, "40"};
    hang.host = Host(waited_for);
    hang.confidence = 0.4;
    HangFacts facts;
    facts.kind = StopKind::device_stopped;
    facts.waiting = 56;
    hang.facts = facts;
    Case c = job({hang, timeouts(100 * kMinute),
                  drift("interface.mtu", Severity::warning, "communication", {"n7"})});
    c.last_iteration = steps;
    c.all_hosts = Hosts({"n3", "n7"});
    return decide::decide(c);
  };
  const Verdict v = judged("n7", {});
  EXPECT_EQ(v.action, Action::repair);
  ASSERT_EQ(v.targets.size(), 2u);
  EXPECT_EQ(v.targets[0].subject.id, "interface.mtu");
  EXPECT_EQ(v.targets[1].subject.id, "n7");
  EXPECT_NE(judged("n3", {}).action, Action::repair) << "they wait for another one";
  EXPECT_NE(judged("n7", 800).action, Action::repair) << "it ran with this setting";
}

Finding lost_first(const std::string& host) {
  Finding f = finding("broken_connections", Severity::distributed, Role::root, Scope::host_local,
                      host, 100 * kMinute, Symptom::infiniband_error);
  f.analysis = Analysis::root_diag;
  f.host = Host(host);
  f.hosts = Hosts({host});
  f.subject = {SubjectKind::host, host};
  f.confidence = 0.85;
  return f;
}

// Without flow control packets are lost when the network is busy: steps before say nothing.
TEST(ConfigCheck, ASettingThatShowsUnderLoadOfTheMachineThatAllLost) {
  Finding flow = drift("nic.pfc", Severity::warning, "communication", {"n7"});
  const auto judged = [&](bool under_load) {
    std::get<SettingFacts>(flow.facts).under_load = under_load;
    Case c = job({broken({"n1", "n2", "n3", "n4"}), lost_first("n7"), flow});
    c.last_iteration = 260;
    c.all_hosts = Hosts({"n1", "n7"});
    return decide::decide(c);
  };
  EXPECT_EQ(judged(true).action, Action::repair);
  EXPECT_EQ(judged(false).action, Action::isolate) << "it ran with it";
}

// Everybody connects to rank 0 first: that those connections broke first does not name its machine.
TEST(ConfigCheck, ASettingThatNoCommunicationSurvives) {
  const auto judged = [](Severity severity, const char* odd = "n7") {
    Case c = job({broken({"n1", "n2", "n3", "n4"}), lost_first("n0"),
                  drift("nccl_version", severity, "communication", {odd})});
    c.job_hosts = Hosts({"n0", "n1", "n2", "n3", "n4", "n7"});
    return decide::decide(c);
  };
  EXPECT_EQ(judged(Severity::critical, "login1").action, Action::isolate) << "none of the job's";
  const Verdict v = judged(Severity::critical);
  EXPECT_EQ(v.action, Action::repair);
  ASSERT_EQ(v.targets.size(), 2u);
  EXPECT_EQ(v.targets[1].subject.id, "n7");
  EXPECT_EQ(judged(Severity::info).action, Action::isolate);
}

TEST(ConfigCheck, HarmlessOrUnrelatedDifferencesAccuseNobody) {
  for (const Finding& one : {drift("kernel_version", Severity::info, "communication", {"n7"}),
                             drift("gpu.power_limit", Severity::warning, "performance", {"n7"})}) {
    const Verdict v = decide::decide(job({broken({"n1", "n2", "n3", "n4"}), one}));
    ASSERT_NE(step(v, StepId::config_check), nullptr);
    EXPECT_EQ(step(v, StepId::config_check)->outcome, StepOutcome::ruled_out) << one.id;
    EXPECT_NE(v.action, Action::repair) << one.id;
  }
  // A hang, and a job that went well.
  const Finding driver = drift("driver_version", Severity::warning, "communication", {"n7"});
  EXPECT_NE(decide::decide(job({timeouts(100 * kMinute), driver})).action, Action::repair);
  Case well = job({driver});
  well.exits[0].code = 0;
  EXPECT_EQ(decide::decide(well).action, Action::none);
}

TEST(ConfigCheck, AJobThatRanWithTheDifferenceDidNotBreakOfIt) {
  Case c = job({broken({"n1", "n2", "n3", "n7"}),
                drift("driver_version", Severity::warning, "communication", {"n7"})});
  c.last_iteration = 1200;
  const Verdict v = decide::decide(c);
  EXPECT_EQ(step(v, StepId::config_check)->outcome, StepOutcome::ruled_out);
  EXPECT_NE(v.action, Action::repair);
  EXPECT_TRUE(std::any_of(v.next.begin(), v.next.end(), [](const NextStep& n) {
    return words(n.text).find("driver_version") != std::string::npos;
  })) << "it is reported all the same";
}

TEST(ConfigCheck, FewReportersThatAreLikeTheOthersAreNoMatterOfSettings) {
  const Finding driver = drift("driver_version", Severity::warning, "communication", {"n7"});
  const Verdict v = decide::decide(job({broken({"n1", "n2"}), driver}));
  EXPECT_EQ(step(v, StepId::config_check)->outcome, StepOutcome::ruled_out);
  EXPECT_EQ(v.action, Action::isolate);
  EXPECT_EQ(decide::decide(job({broken({"n1", "n7"}), driver})).action, Action::repair);
}

TEST(ConfigCheck, AMachinesOwnFaultComesFirst) {
  const Verdict v =
      decide::decide(job({machine("n3", 99 * kMinute), broken({"n1", "n2", "n4"}),
                          drift("nccl_version", Severity::critical, "communication", {"n7"})}));
  EXPECT_EQ(v.action, Action::isolate);
  ASSERT_EQ(v.targets.size(), 1u);
  EXPECT_EQ(v.targets[0].subject.id, "n3");
}

// Preempted at minute 60, started again at minute 90.
Case resumed(std::vector<Finding> findings) {
  Case c = job(std::move(findings));
  c.exits.clear();
  c.findings.push_back(finding("scheduler_teardown", Severity::distributed, Role::teardown,
                               Scope::job_wide, "", 60 * kMinute, Symptom::none));
  PastFailure before;
  before.name = "attempt 0";
  before.furthest = 460;
  before.end = 60 * kMinute;
  before.answers.push_back({Measure::reattempt, {}, "", {}, true});
  c.history.failures.push_back(std::move(before));
  c.history.start = 90 * kMinute;
  c.history.furthest = c.last_iteration = 900;
  c.last_progress = 120 * kMinute;
  return c;
}

TEST(Decide, AJobThatWasPreemptedAndRanOnIsToldByItsLastRun) {
  const Verdict v = decide::decide(resumed({}));
  EXPECT_EQ(v.action, Action::none);
  EXPECT_EQ(words(v.summary).rfind("No failure", 0), 0u) << words(v.summary);
  EXPECT_NE(words(v.summary).find("ended an earlier run"), std::string::npos) << words(v.summary);
  EXPECT_NE(words(v.summary).find("reached iteration 900"), std::string::npos) << words(v.summary);
}

TEST(Decide, TheEndOfAnEarlierRunExcusesNoFailureOfTheLast) {
  EXPECT_EQ(
      decide::decide(resumed({machine("n07", 121 * kMinute), timeouts(122 * kMinute)})).action,
      Action::isolate);
  EXPECT_EQ(decide::decide(resumed({timeouts(121 * kMinute)})).action,
            decide::decide(job({timeouts(121 * kMinute)})).action);
  Case killed = resumed({});  // the exit of a run that was told to stop is none of this one
  killed.exits.push_back({"srun", -15, {}, 60 * kMinute});
  EXPECT_EQ(decide::decide(killed).action, Action::none);
  killed.exits.push_back({"srun", 1, {}, 121 * kMinute});
  EXPECT_NE(decide::decide(killed).action, Action::none);
}

TEST(Decide, TheSchedulersLastWordStillEndsTheJob) {
  Case c = resumed({});
  c.findings.back().end = 121 * kMinute;  // said once more, of the last run
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::none);
  EXPECT_EQ(v.start, 121 * kMinute);
  EXPECT_EQ(report::reason(v.summary), "scheduler_ended_job") << words(v.summary);
}

// Retries of connections end before the host that lacks a setting prints why.
TEST(Causes, BeforeTheFirstStepASettingOfOneHostMayBePrintedLate) {
  Case c;
  Finding empty = machine("n1", 108 * kSecond, "nccl_ib_gid_empty");
  empty.cause = CauseKind::environment;
  empty.leads_to = {"nccl_ib_peer_unreachable"};
  c.findings = {finding("nccl_ib_peer_unreachable", Severity::distributed, Role::cascade,
                        Scope::job_wide, "", 100 * kSecond),
                empty};
  c.hosts = c.hosts_with_output = c.hosts_heard = 8;
  c.ranks = 64;
  c.any_training_output = true;
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::repair);
  ASSERT_FALSE(v.targets.empty());
  EXPECT_NE(v.targets[0].subject.id.find("n1"), std::string::npos);
  c.last_progress = 95 * kSecond;
  EXPECT_NE(decide::decide(c).action, Action::repair) << "after steps the order of lines counts";
}

namespace {

Finding link_down(const char* host, Nanoseconds at) {
  Finding f = finding("ib_link_down", Severity::critical, Role::root, Scope::host_local, host, at,
                      Symptom::infiniband_error);
  f.cause = CauseKind::network;
  f.alerts = {{at, {}, false}};
  return f;
}

}  // namespace

TEST(NetworkAlerts, LinksOfTwoMachinesThatWentDownInOneMomentShareASwitch) {
  const auto judged = [](Nanoseconds apart) {
    return decide::decide(job({link_down("n03", 100 * kMinute),
                               link_down("n05", 100 * kMinute + apart), timeouts(110 * kMinute)}));
  };
  EXPECT_EQ(judged(kSecond).action, Action::repair);
  EXPECT_EQ(judged(60 * kSecond).action, Action::isolate);
}

TEST(NetworkAlerts, ALinkIsHeldAgainstTheLastStepOfAJobThatStood) {
  const auto judged = [](std::optional<Nanoseconds> last_step) {
    Case c = job({link_down("n03", 80 * kMinute), timeouts(110 * kMinute)});
    c.last_progress = last_step;
    return decide::decide(c).action;
  };
  EXPECT_EQ(judged(80 * kMinute), Action::isolate) << "the time-out is half an hour long";
  EXPECT_NE(judged(std::nullopt), Action::isolate) << "nothing says when the job stopped";
  EXPECT_NE(judged(109 * kMinute), Action::isolate) << "it made steps for half an hour";
}

TEST(NetworkAlerts, ConnectionsOfOneHostAndADeadLinkOfAnotherAreChecked) {
  Finding broke = finding("broken_connections", Severity::distributed, Role::root,
                          Scope::host_local, "n09", 110 * kMinute, Symptom::infiniband_error);
  broke.analysis = Analysis::root_diag;
  const Verdict v =
      decide::decide(job({link_down("n03", 105 * kMinute), broke, timeouts(110 * kMinute)}));
  EXPECT_EQ(v.action, Action::checks);
  std::vector<std::string> hosts;
  for (const Target& t : v.targets) hosts.push_back(t.subject.id);
  EXPECT_EQ(hosts, (std::vector<std::string>{"n09", "n03"}));
}

// Nothing resolves the address; one machine's own link fails, and it is none of those that miss it.
TEST(NetworkAlerts, AnAddressIsTheMachinesWhoseOwnLinkFails) {
  Finding broke =
      finding("broken_connections", Severity::distributed, Role::root, Scope::host_local,
              "10.40.1.11", 110 * kMinute, Symptom::infiniband_error);
  broke.analysis = Analysis::root_diag;
  const auto port = [](const char* host) {
    Finding f = finding("nic_port_errors", Severity::critical, Role::root, Scope::host_local, host,
                        110 * kMinute, Symptom::infiniband_error);
    f.cause = CauseKind::network;
    return f;
  };
  const auto named = [&](std::vector<Finding> findings) {
    findings.push_back(broke);
    findings.push_back(timeouts(110 * kMinute));
    const Verdict v = decide::decide(job(findings));
    return v.targets.empty() ? std::string() : v.targets.front().subject.id;
  };
  EXPECT_EQ(named({port("n11")}), "n11");
  EXPECT_EQ(named({port("n11"), port("n12")}), "10.40.1.11") << "two report such a fault";
  Finding undated = port("n11");
  undated.start = undated.end = std::nullopt;
  EXPECT_EQ(named({undated}), "10.40.1.11") << "it may have been so for months";
}

TEST(DistributedErrors, AFewReportersNeedManyThatWereHeard) {
  const auto judged = [](std::size_t heard) {
    Finding lost = finding("nccl_remote_closed", Severity::distributed, Role::cascade,
                           Scope::job_wide, "n03", 110 * kMinute, Symptom::infiniband_error);
    lost.hosts = Hosts({"n03", "n05"});
    Case c = job({lost});
    c.hosts_with_output = heard;
    return decide::decide(c).action;
  };
  EXPECT_EQ(judged(16), Action::isolate);
  EXPECT_NE(judged(3), Action::isolate) << "two of three, of sixteen";
  EXPECT_NE(judged(8), Action::isolate) << "half of all was not heard";
}

TEST(Machines, ANodeThatABookOfTheClusterMissesMustBeTheJobs) {
  Finding missed = machine("n03", 0, "slurm_node_fail");
  missed.start = missed.end = std::nullopt;
  missed.alerts.clear();
  missed.origin = Origin::any;
  Case c = job({missed, timeouts(110 * kMinute)});
  EXPECT_NE(decide::decide(c).action, Action::isolate) << "of another job, or of another day";
  c.pod_nodes = {Host("n03")};
  EXPECT_EQ(decide::decide(c).action, Action::isolate);
}

TEST(Machines, ADiskIsCheckedWhereNothingTellsOfTheJob) {
  Finding disk = finding("disk_medium_error", Severity::critical, Role::root, Scope::host_local,
                         "n03", 100 * kMinute, Symptom::disk_fault);
  Case c = job({disk});
  c.exits.clear();
  c.any_training_output = false;
  EXPECT_EQ(decide::decide(c).action, Action::checks);
  c.hosts = 1;
  EXPECT_EQ(decide::decide(c).action, Action::isolate) << "there is no other machine";
}

TEST(Machines, AFaultThatLogsOutlastByDaysIsCheckedWhereNothingTellsOfTheJob) {
  Case c = job({machine("n03", 100 * kMinute)});
  c.exits.clear();
  c.any_training_output = false;
  c.last_word = 100 * kMinute + 20 * kHour;
  EXPECT_EQ(decide::decide(c).action, Action::isolate);
  c.last_word = 100 * kMinute + 30 * kHour;
  EXPECT_EQ(decide::decide(c).action, Action::checks);
}

TEST(Machines, PowerOfOneNeedsTheControllersOfOthers) {
  Case c = job({machine("n03", 100 * kMinute, "host_power_lost"), timeouts(110 * kMinute)});
  c.holds.management_logs = {Host("n03")};
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::repair);
  for (const Target& t : v.targets) EXPECT_NE(t.subject.kind, SubjectKind::host);
  c.holds.management_logs.insert(Host("n04"));
  EXPECT_EQ(decide::decide(c).action, Action::isolate);
}

TEST(Machines, PowerThatFailedOnTwoAtOnceIsWhatFeedsThem) {
  const auto judged = [](const char* event_class) {
    return decide::decide(
               job({machine("n03", 100 * kMinute, event_class),
                    machine("n05", 100 * kMinute, event_class), timeouts(110 * kMinute)}))
        .action;
  };
  EXPECT_EQ(judged("host_power_lost"), Action::repair);
  EXPECT_EQ(judged("gpu_xid/79"), Action::isolate);
}

// The scheduler's line of an evicted pod and the machine's own.
TEST(Resources, TheMachineThatRanOutIsNamedWhereTheSchedulerSpeaksOfTheJob) {
  const auto full = [](std::string host) {
    Finding f = finding("k8s_evicted_disk", Severity::critical, Role::root, Scope::host_local, host,
                        100 * kSecond, Symptom::insufficient_disk_space);
    f.cause = CauseKind::resource;
    f.origin = Origin::any;
    if (host.empty()) f.subject = {SubjectKind::job, "job"};
    f.id += host;
    return f;
  };
  Case c;
  c.findings = {full(""), full("n1")};
  c.hosts = c.hosts_with_output = c.hosts_heard = 8;
  c.any_training_output = true;
  Verdict v = decide::decide(c);
  ASSERT_EQ(v.targets.size(), 1u);
  EXPECT_EQ(v.targets[0].subject, (Subject{SubjectKind::host, "n1"}));
  c.findings = {full("")};
  v = decide::decide(c);
  for (const Target& t : v.targets) EXPECT_NE(t.subject.kind, SubjectKind::host);
}

// Machines of a cluster of 10,000, the number of a machine behind its name.
Case many(int machines, const std::function<Finding(const std::string&, int)>& make) {
  Case c;
  for (int i = 0; i < machines; ++i) {
    c.findings.push_back(make("n" + std::to_string(1000 + i), i));
    c.findings.back().origin = Origin::kernel;
  }
  c.hosts = 10'000;
  return c;
}
std::vector<std::string> commands(const Verdict& v) {
  std::vector<std::string> out;
  for (const NextStep& n : v.next)
    if (n.kind == NextKind::command) out.push_back(words(n.text));
  return out;
}
bool says(const Verdict& v, std::string_view what) {
  return std::any_of(v.next.begin(), v.next.end(), [&](const NextStep& n) {
    return words(n.text).find(what) != std::string::npos;
  });
}

TEST(DistributedErrors, WithoutACommonEndAreHalved) {
  Finding lost = finding("nccl_remote_closed", Severity::distributed, Role::cascade,
                         Scope::job_wide, "n03", 110 * kMinute, Symptom::infiniband_error);
  lost.hosts = Hosts({"n03", "n04", "n05", "n09"});
  Finding broke = finding("broken_connections", Severity::distributed, Role::root, Scope::job_wide,
                          "", 110 * kMinute, Symptom::infiniband_error);
  broke.analysis = Analysis::root_diag;
  broke.outcome = Outcome::ruled_out;
  broke.hosts = lost.hosts;
  const Verdict v = decide::decide(job({lost, broke}));
  EXPECT_EQ(v.action, Action::checks);
  EXPECT_EQ(commands(v), std::vector<std::string>{"culprit plan isolate --hosts 'n[03-05,09]'"});
  broke.hosts = Hosts({"n03", "n04"});
  EXPECT_TRUE(commands(decide::decide(job({lost, broke}))).empty());
}

TEST(ManyMachines, AreFoldedIntoOneCommand) {
  const Verdict v = decide::decide(
      many(20, [](const std::string& host, int) { return machine(host, 100 * kMinute); }));
  EXPECT_EQ(v.action, Action::isolate);
  EXPECT_EQ(commands(v), std::vector<std::string>{"scontrol update nodename='n[1000-1019]' "
                                                  "state=drain reason=\"gpu_xid/79\""});
}

// Base Command Manager drains its nodes in whichever scheduler; a name that cmsh may take for more
// than one is left to the scheduler.
TEST(ManyMachines, OfACommandManagerAreDrainedByIt) {
  const auto commands_of = [](const std::string& ending) {
    Case c = many(
        9, [&](const std::string& host, int) { return machine(host + ending, 100 * kMinute); });
    c.command_manager = true;
    return commands(decide::decide(c));
  };
  EXPECT_EQ(commands_of(""),
            std::vector<std::string>{"cmsh -c 'device; drain -n "
                                     "n1000,n1001,n1002,n1003,n1004,n1005,n1006,n1007,n1008'"});
  ASSERT_EQ(commands_of(";quit").size(), 1u);
  EXPECT_EQ(commands_of(";quit")[0].find("cmsh"), std::string::npos);
}

TEST(ManyMachines, WhoseNamesDoNotFoldAreCutAndCounted) {
  Case c =
      many(40, [](const std::string& host, int) { return machine(host + "x", 100 * kMinute); });
  c.scheduler = decide::Scheduler::pbs;
  const Verdict v = decide::decide(c);
  ASSERT_EQ(commands(v).size(), 1u);
  EXPECT_NE(commands(v)[0].find("n1031x"), std::string::npos);
  EXPECT_EQ(commands(v)[0].find("n1032x"), std::string::npos);
  EXPECT_TRUE(says(v, "8 more hosts"));
}

TEST(ManyMachines, OfOneClassReportTheSameFault) {
  const auto judged = [](const char* other) {
    return decide::decide(many(40, [&](const std::string& host, int i) {
      return machine(host, (100 + 10 * i) * kMinute, i == 7 ? other : "gpu_xid/79");
    }));
  };
  const Verdict same = judged("gpu_xid/79");
  EXPECT_EQ(same.action, Action::checks);
  EXPECT_NE(words(same.summary).find("32 more report the same fault (gpu_xid/79)"),
            std::string::npos)
      << words(same.summary);
  EXPECT_EQ(commands(same), std::vector<std::string>{"culprit plan checks --hosts 'n[1000-1039]'"});
  EXPECT_NE(words(judged("gpu_xid/74").summary).find("report different faults"), std::string::npos);
}

TEST(ManyMachines, ThatFollowOneAfterTheOtherAreAllCounted) {
  Case c = many(300, [](const std::string& host, int i) { return machine(host, i * kSecond); });
  c.hosts = 300;
  const Verdict v = decide::decide(c);
  EXPECT_EQ(v.action, Action::repair);
  EXPECT_TRUE(words(v.summary).starts_with("300 hosts show the same fault")) << words(v.summary);
  EXPECT_NE(words(v.summary).find("not for 300 separate"), std::string::npos);
  EXPECT_FALSE(says(v, "did not cause")) << "of the same fault";
  EXPECT_LT(v.steps.size(), 120u) << "what was left out for the same reason is counted";
}

// Not even a slow machine takes so long, unless each finding is held against each other one.
TEST(ManyMachines, TakeTimeByTheirNumber) {
  constexpr std::chrono::seconds kMost{CULPRIT_MOST_SECONDS};
  Case c = many(60'000,
                [](const std::string& host, int i) { return machine(host, (i % 3600) * kSecond); });
  c.hosts = 60'000;
  const auto begin = std::chrono::steady_clock::now();
  const Verdict v = decide::decide(c);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kMost);
  EXPECT_NE(v.action, Action::isolate);
}

}  // namespace
