// A few lines, as people paste them: no times, one file, no list of hosts.
#include <algorithm>

#include "bundle.hpp"
#include "report/phrases.hpp"

namespace culprit::diagnose::test {
namespace {

class Excerpts : public SmallBundle {
 protected:
  // What a reader sees first.
  static std::string head(const Answer& a) { return report::words(a.verdict.summary); }
  static bool names(const Answer& a, std::string_view id) {
    return std::any_of(a.verdict.targets.begin(), a.verdict.targets.end(),
                       [&](const Target& t) { return t.subject.id.find(id) != std::string::npos; });
  }
};

TEST_F(Excerpts, PortsThatTheJobItselfLostAreNoPortsThatNobodyUses) {
  std::string log;
  for (int i = 0; i < 4; ++i)
    log += "kx-4:30" + std::to_string(i) + ":35" + std::to_string(i) +
           " [0] transport/net_ib.cc:93 NCCL WARN NET/IB : Got async event : port error\n";
  log +=
      "kx-9:7306:7318 [4] transport/net_ib.cc:1238 NCCL WARN NET/IB : Got completion from peer "
      "kx-4<37948> with error 12, opcode 0, len 0, vendor err 129\n";
  write("slurm-31.out", log);
  const Answer a = diagnose();
  EXPECT_TRUE(names(a, "kx-4")) << head(a);
  EXPECT_FALSE(names(a, "kx-9"));
}

TEST_F(Excerpts, WhatXid45SaysOfTheFaultBeforeItIsTold) {
  write("kernel.log",
        "kernel: NVRM: Xid (PCI:0000:3b:00): 45, pid=811, name=python3, Ch 00000001 caused by "
        "previous Xid 149\n");
  EXPECT_NE(head(diagnose()).find("gpu_xid/149: NVLink"), std::string::npos);
}

TEST_F(Excerpts, TheRankThatReportsNoTimeoutIsNamedNotItsGroup) {
  std::string log;
  for (const char* rank : {"1", "2", "3"})
    log += std::string("[rank") + rank + "]:[E ProcessGroupNCCL.cpp:563] [Rank " + rank +
           "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812, "
           "OpType=_ALLGATHER_BASE, NumelIn=1024, NumelOut=4096, Timeout(ms)=600000) ran for "
           "600055 milliseconds before timing out.\n";
  log +=
      "[rank2]:[E ProcessGroupNCCL.cpp:1537] [PG 0 Rank 2] Timeout at NCCL work: 812, last "
      "enqueued NCCL work: 817, last completed NCCL work: 811.\n";
  write("train.log", log);
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::investigate);
  EXPECT_NE(head(a).find("rank 0"), std::string::npos) << head(a);
}

TEST_F(Excerpts, AWatchdogsTimeoutIsNotWhatTheSchedulerDid) {
  write("slurm-77.out",
        "RuntimeError: [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, "
        "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800008 "
        "milliseconds before timing out.\n"
        "slurmstepd: error: *** STEP 77.0 ON kx-4 CANCELLED AT 2025-04-23T12:18:08 ***\n");
  EXPECT_NE(diagnose().verdict.action, Action::none);
}

TEST_F(Excerpts, SlurmsOwnWordOnMemoryNeedsNoKernel) {
  write("slurm-78.out",
        "slurmstepd-kx4: error: Detected 1 oom-kill event(s) in StepId=78.0. Some of your "
        "processes may have been killed by the cgroup out-of-memory handler.\n"
        "srun: error: kx4: task 0: Out Of Memory\n"
        "slurmstepd-kx4: error: *** STEP 78.0 ON kx4 CANCELLED AT 2025-05-17T17:58:10 ***\n");
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::repair) << head(a);
}

TEST_F(Excerpts, FilesThatMayNotBeOpenedAreNoFullSharedMemory) {
  write("train.log",
        "RuntimeError: unable to open shared memory object </torch_309_2076> in read-write mode\n"
        "OSError: [Errno 24] Too many open files\n");
  EXPECT_NE(head(diagnose()).find("too many open files"), std::string::npos);
}

TEST_F(Excerpts, MemoryThatCannotBeRegisteredAccusesNoMachine) {
  for (const char* said :
       {"ibv_reg_mr_iova2 failed with error Cannot allocate memory", "ibv_create_cq failed",
        "ibv_reg_dmabuf_mr failed with error Operation not supported"}) {
    write("nccl.log",
          std::string("kx-4:902:903 [0] misc/ibvwrap.cc:278 NCCL WARN Call to ") + said + "\n");
    EXPECT_EQ(diagnose().verdict.action, Action::repair) << said;
  }
}

TEST_F(Excerpts, SoftwareHasCircuitBreakersToo) {
  write("train.log",
        "[RANK 1] 2026-05-19 10:10:29,701 [ERROR] GPU circuit breaker OPEN: cuda_error - Detected "
        "mismatch between collectives on ranks. Rank 1 is running collective: "
        "CollectiveFingerPrint(SequenceNumber=101, OpType=ALLGATHER, TensorShape=[1], "
        "TensorDtypes=Long), but Rank 7 is running collective: "
        "CollectiveFingerPrint(SequenceNumber=1, OpType=REDUCE).\n");
  EXPECT_NE(diagnose().verdict.action, Action::repair);
}

TEST_F(Excerpts, AWarningOfNcclThatNoRuleKnowsIsQuoted) {
  write("nccl.log",
        "kx-4:902:903 [0] graph/xyz.cc:14 NCCL WARN Frobnication of channel 3 was inconclusive\n");
  EXPECT_NE(head(diagnose()).find("Frobnication"), std::string::npos);
}

TEST_F(Excerpts, TheIterationWithoutANumberIsSaid) {
  std::string log;
  for (int i = 1; i <= 60; ++i)
    log += " iteration " + std::to_string(i) +
           "/ 500 | elapsed time per iteration (ms): 900.0 | lm loss: " +
           (i < 40 ? "2.10E+00" : "NAN") + " | grad norm: 0.5 |\n";
  write("train.log", log);
  const std::string said = head(diagnose());
  EXPECT_NE(said.find("iteration 40"), std::string::npos) << said;
  EXPECT_NE(said.find("39"), std::string::npos) << said;
}

TEST_F(Excerpts, TheAddressOfAGpuIsNoMachine) {
  std::string log;
  for (const char* time : {"10:00:01", "13:20:11", "16:45:31"})
    log += std::string("Mar  4 ") + time +
           " kernel: NVRM: Xid (PCI:0000:db:00): 31, pid=811, name=python3, Ch 00000008, intr "
           "00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f12_3000\n";
  write("kernel.log", log);
  const Answer a = diagnose();
  for (const std::string& host : a.targets(SubjectKind::host))
    EXPECT_EQ(host.find("0000:"), std::string::npos) << host;
}

TEST_F(Excerpts, OneReportOfASharedServiceIsALead) {
  write("dmesg.txt",
        "[Mon Oct 14 10:06:17 2024] LustreError: 11-0: lx01-MDT0000-mdc-ffff8: operation obd_ping "
        "to node 10.3.0.88@o2ib failed: rc = -107\n"
        "[Mon Oct 14 10:06:17 2024] Lustre: lx01-MDT0000-mdc-ffff8: Connection to lx01-MDT0000 "
        "(at 10.3.0.88@o2ib) was lost; in progress operations using this service will wait for "
        "recovery to complete\n");
  EXPECT_NE(head(diagnose()).find("Lustre"), std::string::npos);
}

}  // namespace
}  // namespace culprit::diagnose::test
