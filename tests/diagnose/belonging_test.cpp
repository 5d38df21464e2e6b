// Lines that have no part in the failure, in places where they explain nothing.
#include "bundle.hpp"
#include "support/hosts.hpp"

namespace culprit::diagnose::test {
namespace {

// Two machines of job 41226, a rank each, that train from 10:00 to 10:12 on 20 November 2026.
class Beside : public SmallBundle {
 protected:
  static constexpr int kSteps = 72;

  static std::string clock(int seconds) {
    return fmt::format("2026-11-20 {:02}:{:02}:{:02}", 10 + seconds / 3600, seconds / 60 % 60,
                       seconds % 60);
  }
  static std::string steps(int rank, int last, int line_at = 0, const std::string& line = {},
                           int planned = kSteps) {
    std::string out;
    for (int k = 1; k <= last; ++k) {
      out += fmt::format(
          "{},100 [rank{}] INFO iteration {}/{} | elapsed time per iteration (ms): "
          "10000.0 | lm loss: 2.9\n",
          clock(20 + 10 * k), rank, k, planned);
      if (k == line_at) out += line + "\n";
    }
    return out;
  }
  void job(const std::string& end, const std::string& state, int planned, int line_at = 0,
           const std::string& line = {}) const {
    for (int rank = 0; rank < 2; ++rank)
      rewrite(fmt::format("logs/rank_{}.log", rank),
              steps(rank, kSteps, rank == 1 ? line_at : 0, line, planned) + end);
    rewrite("sacct.txt", "JobID|JobName|State|ExitCode|Start|End|NodeList\n41226|pretrain|" +
                             state + "|2026-11-20T10:00:00|2026-11-20T10:12:40|node-[01-02]\n");
    rewrite("job.json", R"({"job": "pretrain", "job_id": "41226", "world_size": 2,
                          "hosts": ["node-01", "node-02"], "timezone": "UTC"})");
  }
  void finished(int line_at = 0, const std::string& line = {}) const {
    job("2026-11-20 10:12:23,100 INFO training finished, exiting\n", "COMPLETED|0:0", kSteps,
        line_at, line);
  }
  void bug() const {
    job("Traceback (most recent call last):\n  File \"/opt/llm/model.py\", line 41, in forward\n"
        "    return self.scale * x\nTypeError: unsupported operand type(s) for *: 'NoneType' and "
        "'Tensor'\n",
        "FAILED|1:0", 5000);
  }
  void journal(const std::string& time, const std::string& line) const {
    rewrite("hosts/node-02/journal.log",
            "2026-11-20T08:30:00+00:00 node-02 systemd[1]: Started Session 1 of User root.\n"
            "2026-11-20T" +
                time + "+00:00 node-02 " + line + "\n");
  }
};

constexpr const char* kLines[] = {
    "RuntimeError: CUDA error: invalid device ordinal",
    "OSError: [Errno 122] Disk quota exceeded",
    "h3:551:702 [2] misc/ibvwrap.cc:262 NCCL WARN Call to ibv_modify_qp failed with 22 Invalid "
    "argument",
    "[rank4]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:446] Connection "
    "reset by peer",
    "[E ProcessGroupGloo.cpp:2791] [Rank 0]: Ranks 0, 1 failed to pass monitoredBarrier in 60000 "
    "ms",
    "kernel: NVRM: Xid (PCI:0000:af:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off "
    "the bus.",
    "srun: error: nid0041: tasks 8-15: Terminated",
};

TEST_F(Beside, LogsOfOtherJobsDecideNothing) {
  for (const char* line : kLines) {
    finished();
    rewrite("other/eval-366498.log",
            std::string("INFO eval: task mmlu 1/60 acc 0.6\n") + line + "\n");
    EXPECT_EQ(diagnose().verdict.action, Action::none) << line;
    bug();
    EXPECT_EQ(diagnose().verdict.action, Action::rollback) << line;
  }
}

TEST_F(Beside, WhatAMachineReportsOutsideOfTheJobsLifeDecidesNothing) {
  for (const char* line : kLines)
    for (const char* time : {"09:00:00", "12:20:00"}) {
      finished();
      journal(time, line);
      EXPECT_EQ(diagnose().verdict.action, Action::none) << time << " " << line;
      bug();
      EXPECT_EQ(diagnose().verdict.action, Action::rollback) << time << " " << line;
    }
}

TEST_F(Beside, WhatStepsFollowDecidesNothing) {
  for (const char* line : kLines) {
    finished(20, line);
    EXPECT_EQ(diagnose().verdict.action, Action::none) << line;
  }
}

// A fault inside of the job's life is its own, whatever lies beside it.
TEST_F(Beside, TheSameFaultAtTheEndOfTheJobCounts) {
  job("", "FAILED|1:0", 5000);
  journal("10:12:21", kLines[5]);
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::isolate);
  EXPECT_EQ(a.targets(SubjectKind::host), (std::vector<std::string>{"node-02"}));
}

// Nothing dates the job, and the device was set up anew since it showed the fault.
TEST_F(Beside, AFaultBeforeTheDriverWasLoadedAnewAccusesNobody) {
  rewrite("job.out",
          "0: RuntimeError: The NVIDIA driver on your system is too old (found version 12020).\n"
          "srun: error: gx-06: tasks 16-23: Exited with exit code 1\n");
  const std::string fault =
      "[Sun Aug 10 00:12:40 2025] NVRM: Xid (PCI:0000:84:00): 48, pid='<unknown>', name=<unknown>, "
      "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer.\n";
  const std::string loaded =
      "[Sun Aug 10 09:00:12 2025] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu "
      "Oct 19 18:56:32 UTC 2023\n";
  rewrite("dmesg_gx-06.txt", fault + loaded);
  EXPECT_NE(diagnose().verdict.action, Action::isolate);
}

}  // namespace
}  // namespace culprit::diagnose::test
