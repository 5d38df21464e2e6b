// Whole runs of small bundles: what is decided, and whom nobody may accuse.
#include "bundle.hpp"
#include "diagnose/holdings.hpp"
#include "support/hosts.hpp"

namespace culprit::diagnose::test {
namespace {

using Hosts = std::vector<std::string>;

// Four machines, a rank each, that train until 09:30 on 4 March 2026.
class Training : public SmallBundle {
 protected:
  static std::string host(int i) { return "node-0" + std::to_string(i + 1); }
  void log(int i, const std::string& text) const { write("hosts/" + host(i) + "/train.log", text); }
  void syslog(int i, const std::string& time, const std::string& text) const {
    write("hosts/" + host(i) + "/syslog",
          "2026-03-04T" + time + "+00:00 " + host(i) + " " + text + "\n");
  }
  void steps(int i, const std::string& time, int iteration) const {
    log(i, "2026-03-04 " + time + ",100 [rank" + std::to_string(i) + "]: iteration " +
               std::to_string(iteration) +
               "/ 5000 | elapsed time per iteration (ms): 900.0 | lm loss: 2.10E+00 |\n");
  }
  void SetUp() override {
    SmallBundle::SetUp();
    for (int i = 0; i < 4; ++i) {
      syslog(i, "09:00:01", "systemd[1]: Started Session 11 of User train.");
      steps(i, "09:05:00", 100);
      steps(i, "09:30:00", 1700);
    }
  }
  void time_out(int i) const {
    const std::string rank = std::to_string(i);
    log(i, "2026-03-04 09:41:15,300 [rank" + rank + "]: [Rank " + rank +
               "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=412, "
               "OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for "
               "600021 milliseconds before timing out.\n");
  }
  void off_the_bus(int i, const std::string& time) const {
    syslog(i, time,
           "kernel: NVRM: Xid (PCI:0000:5e:00): 79, pid=4711, name=python, GPU has fallen off the "
           "bus.");
  }
};

TEST_F(Training, AMachineFaultBeforeTheFailureIsIsolated) {
  off_the_bus(2, "09:31:07");
  for (const int i : {0, 1, 3}) time_out(i);
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::isolate);
  EXPECT_EQ(a.step(), StepId::critical_errors);
  EXPECT_EQ(a.targets(SubjectKind::host), Hosts{"node-03"});
  EXPECT_EQ(a.targets(SubjectKind::gpu), Hosts{"node-03/0000:5e:00"});
  EXPECT_EQ(a.verdict.precision, Precision::exact);
}

// Nodes of Base Command Manager are drained by it: its answers, its folders, and what it says to
// Slurm tell of it. A folder that only ends alike does not.
TEST_F(Training, ACommandManagerIsKnownByWhatItLeaves) {
  const auto known = [&](const std::string& file, const std::string& text) {
    write(file, text);
    const Answer a = diagnose();
    std::filesystem::remove(std::filesystem::path(folder_) / file);
    return has_command_manager(a.resolved.facts);
  };
  const auto traceback = [](const std::string& folder) {
    return "Traceback (most recent call last):\n  File \"" + folder +
           "/train.py\", line 8, in <module>\n    run()\nIndexError: list index out of range\n";
  };
  EXPECT_FALSE(known("out.log", traceback("/opt/job")));
  EXPECT_FALSE(known("out.log", traceback("/data/cm/shared")));
  EXPECT_TRUE(known("out.log", traceback("/cm/shared/apps/llm")));
  EXPECT_TRUE(known("cmsh_device_status.txt", "node-03 ........ [   UP   ]\n"));
  EXPECT_TRUE(known("hosts/node-01/var/log/cmdaemon", "Mar  4 09:31:00 node-01 cmd: started\n"));
  EXPECT_TRUE(known("sinfo-R.txt",
                    "REASON               USER      TIMESTAMP           NODELIST\n"
                    "Drained by CMDaemon  root      2026-03-04T09:35:00 node-03\n"));
}

TEST_F(Training, TheSameFaultAfterTheFailureIsNoCause) {
  for (const int i : {0, 1, 3}) time_out(i);
  off_the_bus(2, "09:52:40");
  const Answer a = diagnose();
  EXPECT_NE(a.verdict.action, Action::isolate);
  EXPECT_NE(a.step(), StepId::critical_errors);
  ASSERT_NE(a.fired(Analysis::classify, "gpu_xid/79"), nullptr) << "it is shown all the same";
}

TEST_F(Training, AJobThatFinishedAccusesNobody) {
  off_the_bus(2, "09:31:07");
  for (int i = 0; i < 4; ++i) steps(i, "10:30:00", 5000);
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::none);
  EXPECT_EQ(a.step(), StepId::job_finished);
  EXPECT_TRUE(a.verdict.targets.empty());
}

TEST_F(Training, AnExceptionInTheUsersCodeOnAllRanksIsTheProgram) {
  for (int i = 0; i < 4; ++i)
    log(i,
        "Traceback (most recent call last):\n"
        "  File \"/opt/job/pretrain.py\", line 118, in <module>\n    main()\n"
        "  File \"/opt/job/model/gating.py\", line 64, in forward\n    return routes[index]\n"
        "IndexError: list index out of range\n");
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::rollback);
  EXPECT_EQ(a.step(), StepId::user_code);
  EXPECT_TRUE(a.targets(SubjectKind::host).empty());
  EXPECT_EQ(a.targets(SubjectKind::code), Hosts{"/opt/job/model/gating.py:64"});
}

TEST_F(Training, OneFlapThatEndedLongBeforeIsNoCause) {
  syslog(1, "09:24:07", "kernel: mlx5_core 0000:63:00.0 eth4: Link down");
  syslog(1, "09:24:11", "kernel: mlx5_core 0000:63:00.0 eth4: Link up");
  for (const int i : {0, 1, 3}) time_out(i);
  const Answer a = diagnose();
  EXPECT_NE(a.verdict.action, Action::isolate);
  EXPECT_EQ(std::count(a.targets(SubjectKind::host).begin(), a.targets(SubjectKind::host).end(),
                       "node-02"),
            0);
}

TEST_F(Training, TheKernelsWordsInTheOutputOfAProgramAreHearsay) {
  log(2, "kernel: NVRM: Xid (PCI:0000:5e:00): 79, pid=4711, GPU has fallen off the bus.\n");
  for (const int i : {0, 1, 3}) time_out(i);
  EXPECT_NE(diagnose().verdict.action, Action::isolate);
}

// A monitor that repeats what another machine's driver said.
TEST_F(Training, ADaemonThatQuotesTheDriverIsHearsay) {
  const std::string line = "NVRM: Xid (PCI:0000:5e:00): 48, pid=4711, DBE (double bit error)";
  syslog(1, "09:31:07", "gpu_watch: peers of the job: node-03 said \"" + line + "\"");
  for (const int i : {0, 1, 3}) time_out(i);
  EXPECT_NE(diagnose().verdict.action, Action::isolate);
  syslog(1, "09:31:07", "kernel: " + line);
  EXPECT_EQ(diagnose().verdict.action, Action::isolate) << "its own kernel says so";
}

TEST_F(Training, TheOrderOfWritingChangesNothing) {
  off_the_bus(2, "09:31:07");
  for (const int i : {3, 0, 1}) time_out(i);
  const Answer a = diagnose(), b = diagnose();
  ASSERT_EQ(a.findings.size(), b.findings.size());
  for (std::size_t i = 0; i < a.findings.size(); ++i) EXPECT_EQ(a.findings[i].id, b.findings[i].id);
}

// Six machines on one switch; `broken` closes its connections, seen by others in the order given.
class Connections : public SmallBundle {
 protected:
  static std::string host(int i) { return "gx-0" + std::to_string(i); }
  void SetUp() override {
    SmallBundle::SetUp();
    for (int i = 1; i <= 6; ++i) {
      const std::string n = std::to_string(i),
                        head = host(i) + ":20" + n + ":20" + n + " [0] NCCL ";
      write("hosts/" + host(i) + "/train.log",
            head + "INFO Bootstrap : Using eth0:10.4.0." + n + "<0>\n" + head +
                "INFO comm 0x55aa0" + n + " rank " + std::to_string(i - 1) +
                " nranks 6 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x9f11 - Init COMPLETE\n" +
                "2026-03-04T09:05:00Z [rank" + std::to_string(i - 1) +
                "]: iteration 100/ 5000 | elapsed time per iteration (ms): 900.0 | lm loss: "
                "2.10E+00 |\n");
    }
  }
  void reset(int reporter, int peer, const std::string& time) const {
    const std::string n = std::to_string(reporter);
    write("hosts/" + host(reporter) + "/train.log",
          "2026-03-04T" + time + "Z " + host(reporter) + ":20" + n + ":233 [0] NCCL WARN Call to " +
              "recv from 10.4.0." + std::to_string(peer) +
              "<50112> failed : Connection reset by peer\n");
  }
};

TEST_F(Connections, ThatBrokeFirstNameTheHost) {
  reset(1, 3, "09:41:01.100");
  reset(2, 3, "09:41:01.200");
  reset(4, 3, "09:41:01.300");
  reset(5, 3, "09:41:01.400");
  reset(6, 5, "09:41:30.100");  // of the cascade
  const Answer a = diagnose();
  EXPECT_EQ(a.step(), StepId::root_diag);
  EXPECT_EQ(a.targets(SubjectKind::host), Hosts{"gx-03"});
  const Finding* f = a.fired(Analysis::root_diag);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->subject.id, "gx-03");
}

TEST_F(Connections, ThatHaveNoCommonEndNameNobody) {
  reset(1, 2, "09:41:01.100");
  reset(2, 3, "09:41:01.150");
  reset(3, 4, "09:41:01.200");
  reset(4, 5, "09:41:01.250");
  reset(5, 6, "09:41:01.300");
  reset(6, 1, "09:41:01.350");
  const Answer a = diagnose();
  EXPECT_EQ(a.fired(Analysis::root_diag), nullptr);
  EXPECT_NE(a.verdict.precision, Precision::exact);
}

}  // namespace
}  // namespace culprit::diagnose::test
