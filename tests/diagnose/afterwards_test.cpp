// What stands before and behind: errors that a job lived with, words about other jobs, ends of runs
// that went well.
#include <algorithm>

#include <fmt/format.h>

#include "bundle.hpp"
#include "report/phrases.hpp"

namespace culprit::diagnose::test {
namespace {

class Afterwards : public SmallBundle {
 protected:
  static std::string steps(int first, int last) {
    std::string out;
    for (int i = first; i <= last; ++i)
      out += "step: " + std::to_string(i) + "/400 loss: 2.31 grad_norm: 0.81 time: 0.9 s\n";
    return out;
  }
  // At a time of 2026-05-14: a step, and what a rank raises that has lost another.
  static std::string step_at(const char* time) {
    return fmt::format(
        "[2026-05-14 {}] iteration 70/ 200 | elapsed time per iteration (ms): 970.1 | "
        "lm loss: 2.0E+00\n",
        time);
  }
  static std::string lost_at(const char* time, int rank) {
    return fmt::format(
        "[2026-05-14 {}] [rank{}]: torch.distributed.DistBackendError: NCCL error in: "
        "ProcessGroupNCCL.cpp:2006, remote process exited or there was a network "
        "error\n",
        time, rank);
  }
};

TEST_F(Afterwards, StepsBehindAnUndatedErrorClearIt) {
  const std::string killed =
      "(raylet) 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed "
      "due to other reasons at node (ID: 7f, IP: 10.2.0.8)\n";
  const std::string failed =
      "Traceback (most recent call last):\n"
      "  File \"/opt/app/data/pq.py\", line 88, in rows\n"
      "    return table.column(0)\n"
      "OSError: Corrupt snappy compressed data.\n";
  write("driver.log", steps(1, 40) + killed + steps(41, 120) + failed);
  const Answer a = diagnose();
  EXPECT_NE(a.verdict.action, Action::repair) << report::words(a.verdict.summary);
  write("driver.log", steps(1, 120) + killed);
  EXPECT_EQ(diagnose().verdict.action, Action::repair) << "nothing went on behind it";
}

TEST_F(Afterwards, AGpuThatDidNotComeUpIsMissedByTheJobOfTheNextDay) {
  for (const char* host : {"kx-1", "kx-2", "kx-3"})
    write(std::string("hosts/") + host + "/syslog",
          std::string("2026-03-03T22:51:00+00:00 ") + host + " systemd[1]: Started Session 1.\n" +
              (std::string(host) == "kx-2"
                   ? "2026-03-03T22:51:16+00:00 kx-2 kernel: NVRM: GPU 0000:4e:00.0: "
                     "RmInitAdapter failed! (0x22:0x56:884)\n"
                   : ""));
  write("launch.log",
        "2026-03-04T07:40:00+00:00 kx-1: [INFO] starting\n"
        "2026-03-04T07:48:36+00:00 kx-2: [rank7]: RuntimeError: CUDA error: invalid device "
        "ordinal\n");
  const Answer a = diagnose();
  const auto hosts = a.targets(SubjectKind::host);
  EXPECT_TRUE(std::find(hosts.begin(), hosts.end(), "kx-2") != hosts.end())
      << report::words(a.verdict.summary);
}

TEST_F(Afterwards, PeersLostBehindTheLastWordOfAGoodRunAreNoFailure) {
  write("logs/task-0.out", steps(1, 400) + "Training complete: 400 steps. Final eval loss: 1.86\n");
  write("logs/task-1.out",
        steps(1, 400) +
            "terminate called after throwing an instance of 'c10::DistBackendError'\n"
            "[rank1]: NCCL WARN Connection closed by remote peer kx-1<41000>\n");
  write("slurm-31.out", "srun: error: kx-2: task 1: Aborted (core dumped)\n");
  EXPECT_EQ(diagnose().verdict.action, Action::none);
}

TEST_F(Afterwards, RetriesOfAStoreAreNoFailure) {
  write(
      "hosts/kx-1/train.log",
      steps(1, 30) + "S3 FastFile read retry 1: SlowDown (503)\nloss is nan, stopping training\n");
  EXPECT_NE(diagnose().verdict.action, Action::repair);
}

TEST_F(Afterwards, ALossThatJumpsAndStaysHighIsTheTrainingsOwn) {
  std::string high;
  for (int i = 121; i <= 140; ++i)
    high += "step: " + std::to_string(i) + "/400 loss: 16.5 grad_norm: 9.3 time: 0.9 s\n";
  write("train.log", steps(1, 120) + high);
  const Answer stays = diagnose();
  EXPECT_EQ(stays.verdict.action, Action::rollback) << report::words(stays.verdict.summary);
  EXPECT_EQ(stays.step(), StepId::diverged);
  rewrite("train.log", steps(1, 120) + high + steps(141, 400));
  EXPECT_NE(diagnose().verdict.action, Action::rollback) << "it came back";
}

TEST_F(Afterwards, NoTrafficForLongBehindTheLastStepIsAStandstill) {
  std::string log, metrics = "timestamp,host,nic_tx_bytes_per_s\n";
  const auto clock = [](int minute, int second) {
    return fmt::format("2026-03-04T07:{:02}:{:02}", minute, second);
  };
  for (int minute = 0; minute < 20; ++minute)
    log += clock(minute, 30) + "Z step: " + std::to_string(minute) + "/400 loss: 2.31 time: 60 s\n";
  write("train.log", log);
  for (int minute = 0; minute < 50; ++minute)
    for (const char* host : {"kx-1", "kx-2", "kx-3", "kx-4"})
      metrics += clock(minute, 0) + "Z," + host + "," + (minute <= 20 ? "21000000000" : "0") + "\n";
  write("metrics.csv", metrics);
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::investigate) << report::words(a.verdict.summary);
  EXPECT_EQ(a.verdict.symptom, Symptom::job_hang);
}

TEST_F(Afterwards, ADataServerThatAnswersAgainBehindTheEndWasDownAtIt) {
  const auto run = [&](const std::string& ok) {
    std::string log;
    for (int minute = 0; minute < 20; ++minute)
      log += fmt::format("2026-03-04T07:{:02}:30Z step: {}/400 loss: 2.31 time: 60 s\n", minute,
                         minute);
    log +=
        "2026-03-04T07:50:31Z [rank3]: RuntimeError: [Rank 3] Watchdog caught collective "
        "operation timeout: WorkNCCL(SeqNum=40, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for "
        "1800037 milliseconds before timing out.\n";
    rewrite("train.log", log);
    for (const char* host : {"kx-1", "kx-2", "kx-3"})
      rewrite(std::string("hosts/") + host + "/kern.log",
              std::string("2026-03-04T07:20:10+00:00 ") + host +
                  " kernel: nfs: server nas-1 not responding, still trying\n" + "2026-03-04T" + ok +
                  "+00:00 " + host + " kernel: nfs: server nas-1 OK\n");
    return diagnose();
  };
  const Answer after = run("08:05:00");
  EXPECT_EQ(after.verdict.action, Action::repair) << report::words(after.verdict.summary);
  EXPECT_EQ(after.step(), StepId::shared_cause);
  EXPECT_NE(run("07:20:15").step(), StepId::shared_cause) << "five seconds";
}

TEST_F(Afterwards, WhatFailedBeforeTheSchedulersWordIsNoRequest) {
  write("job.log",
        steps(1, 120) +
            "kx-2:100:200 [0] NCCL WARN NET/IB : Got completion from peer 10.2.0.8<41000> with "
            "status=12 opcode=0 len=32 vendor err 129 (Recv)\n"
            "srun: error: kx-2: task 1: Exited with exit code 1\n"
            "srun: Terminating StepId=90.0\n"
            "slurmstepd: error: *** STEP 90.0 ON kx-1 CANCELLED AT 2026-06-02T06:54:33 ***\n");
  const Answer failed = diagnose();
  EXPECT_NE(failed.verdict.action, Action::none) << report::words(failed.verdict.summary);
  rewrite("job.log",
          steps(1, 120) +
              "slurmstepd: error: *** JOB 90 ON kx-1 CANCELLED AT 2026-06-02T06:54:33 ***\n");
  EXPECT_EQ(diagnose().step(), StepId::user_request);
}

TEST_F(Afterwards, MemoryThatRunsOutOnOneRankAfterTheOtherIsTheirs) {
  const auto oom = [](int rank) {
    return fmt::format(
        "[rank{0}]: Traceback (most recent call last):\n"
        "[rank{0}]:   File \"/opt/sft/sft.py\", line 166, in step\n"
        "[rank{0}]:     logits = model(batch)\n"
        "[rank{0}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 17.42 GiB.\n",
        rank);
  };
  write("attempt1.log", steps(1, 60) + oom(12));
  write("attempt2.log", steps(1, 90) + oom(3));
  EXPECT_EQ(diagnose().verdict.action, Action::rollback);
}

TEST_F(Afterwards, AWorkerThatTheKernelKilledForItsMemoryIsNoMatterOfSharedMemory) {
  write(
      "job.log",
      steps(1, 60) +
          "[rank1]: RuntimeError: DataLoader worker (pid 61772) is killed by signal: Bus error. It "
          "is possible that dataloader's workers are out of shared memory.\n");
  const auto kernel = [&](const std::string& pid) {
    rewrite("kx-2/dmesg.txt",
            "[Wed Oct 14 04:22:46 2026] Memory failure: 0x1c3f8a9: Sending SIGBUS to python:" +
                pid + " due to hardware memory corruption\n");
    rewrite("kx-1/dmesg.txt", "[Wed Oct 14 04:20:46 2026] perf: interrupt took too long\n");
    return diagnose();
  };
  const Answer own = kernel("61772");
  EXPECT_EQ(own.verdict.action, Action::isolate) << report::words(own.verdict.summary);
  EXPECT_NE(kernel("61773").verdict.action, Action::isolate);
}

// A process of a container has another number for the kernel of its machine.
TEST_F(Afterwards, AWorkerThatDiedOfABusErrorWhereMemoryFailed) {
  write("kx-1/rank_0.log", steps(1, 60));
  write("kx-2/rank_1.log",
        steps(1, 60) +
            "[rank1]: RuntimeError: DataLoader worker (pid 741) is killed by signal: Bus error. It "
            "is possible that dataloader's workers are out of shared memory.\n");
  const auto kernel_of = [&](const std::string& host) {
    for (const char* one : {"kx-1", "kx-2"})
      rewrite(std::string(one) + "/dmesg.txt",
              one == host ? "[ 5277.896963] Memory failure: 0x9c1b6f4: Sending SIGBUS to "
                            "pt_data_worker:48811 due to hardware memory corruption\n"
                          : "[ 5270.1] perf: interrupt took too long\n");
    return diagnose();
  };
  const Answer there = kernel_of("kx-2");
  EXPECT_EQ(there.verdict.action, Action::isolate) << report::words(there.verdict.summary);
  EXPECT_EQ(there.targets(SubjectKind::host), std::vector<std::string>{"kx-2"});
  EXPECT_NE(kernel_of("kx-1").verdict.action, Action::isolate) << "another machine's memory";
  rewrite("kx-2/dmesg.txt", "[   11.2] EDAC MC1: 1 UE memory read error on CPU_SrcID#0_MC#1\n");
  EXPECT_NE(diagnose().verdict.action, Action::isolate) << "no program's, as the machine began";
}

TEST_F(Afterwards, WhatAllHostsLackIsNoHostsOwn) {
  const std::string line =
      "ImportError: /usr/lib/flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2ENS\n";
  for (const char* host : {"kx-1", "kx-2"}) write(std::string("out/") + host + ".log", line);
  for (const std::string& one : diagnose().targets(SubjectKind::config))
    EXPECT_EQ(one.find("kx-"), std::string::npos) << one;
}

TEST_F(Afterwards, JsonRecordsWithALineAreALog) {
  std::string log;
  for (int i = 0; i < 6; ++i)
    log += "{\"timestamp\": \"2026-06-18T09:35:4" + std::to_string(i) +
           "Z\", \"stream\": {\"app\": \"w\"}, \"line\": \"hello\"}\n";
  log +=
      "{\"timestamp\": \"2026-06-18T09:35:50Z\", \"stream\": {\"app\": \"w\"}, \"line\": "
      "\"botocore.exceptions.ClientError: An error occurred (ExpiredToken) when calling the "
      "UploadPart operation\"}\n";
  write("export.jsonl", log);
  EXPECT_TRUE(diagnose().fired(Analysis::classify, "auth_failed") != nullptr);
}

TEST_F(Afterwards, StepsTakeAFailedConnectionBack) {
  const std::string reset =
      "ERROR:root:Retrying upload of shard 3 (attempt 1 of 5): [Errno 104] Connection reset by "
      "peer\n";
  write("rank_0.log", steps(1, 20) + reset + steps(21, 60) + "[after training is done] datetime\n");
  EXPECT_EQ(diagnose().verdict.action, Action::none);
  rewrite("rank_0.log", steps(1, 20) + steps(21, 60) + reset);
  EXPECT_NE(diagnose().verdict.action, Action::none);
}

TEST_F(Afterwards, ARequestToAWebServiceThatNothingCaughtEndsTheJob) {
  const auto judged = [&](const std::string& exception) {
    rewrite("rank_0.log",
            "Traceback (most recent call last):\n  File \"/app/train.py\", line 8, in <module>\n"
            "    main()\n" +
                exception + "\n");
    return diagnose().verdict.action;
  };
  EXPECT_EQ(judged("huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for "
                   "url: https://huggingface.co/api/models/x"),
            Action::repair);
  EXPECT_NE(judged("ConnectionRefusedError: [Errno 111] Connection refused"), Action::repair)
      << "it may have called another rank";
}

TEST_F(Afterwards, AFatalSignalThatFaulthandlerPrintsIsTheEndOfAProcess) {
  write(
      "rank_0.log",
      "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f2a (most recent call "
      "first):\n  File \"/app/model.py\", line 7 in forward\n  File \"/app/train.py\", line 90 in "
      "main\n  File \"/app/train.py\", line 99 in <module>\n");
  EXPECT_TRUE(diagnose().fired(Analysis::classify, "proc_sigsegv") != nullptr);
}

TEST_F(Afterwards, ProcessesThatAreBeingEndedMayAbort) {
  const std::string word =
      "slurmstepd: error: *** STEP 4711.0 ON kx-1 CANCELLED AT 2026-10-14T04:22:46 ***\n";
  const std::string lost =
      "[rank5]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection "
      "closed "
      "by peer [10.0.0.7]:4031\n";
  const std::string aborted = "srun: error: kx-2: task 5: Aborted\n";
  write("slurm-4711.out", steps(1, 60) + word + lost + aborted);
  EXPECT_EQ(diagnose().verdict.action, Action::none);
  rewrite("slurm-4711.out", steps(1, 60) + lost + word + aborted);
  EXPECT_NE(diagnose().verdict.action, Action::none);
}

TEST_F(Afterwards, NodesThatTheSchedulerMissesOneAfterTheOtherShareACause) {
  const auto judged = [&](int lost) {
    std::string log;
    for (int i = 1; i <= lost; ++i)
      log += "[2026-10-14T04:22:" + std::to_string(10 + 6 * i) + ".108] error: Nodes kx-" +
             std::to_string(i) + " not responding, setting DOWN\n";
    rewrite("slurmctld.log", log);
    return diagnose();
  };
  std::string ranks = steps(1, 60);
  for (int i = 1; i <= 16; ++i) write("out/kx-" + std::to_string(i) + ".log", ranks);
  const Answer rack = judged(8);
  EXPECT_NE(rack.verdict.action, Action::isolate) << report::words(rack.verdict.summary);
  EXPECT_TRUE(rack.targets(SubjectKind::host).empty());
}

TEST_F(Afterwards, AMachinesWarningIsALeadWhereTheStepsOfAnUnfinishedJobStop) {
  const auto judged = [&](int warned, const std::string& later) {
    std::string log;
    for (int i = 10; i < 40; ++i)
      log += "[2026-10-14 04:" + std::to_string(i) + ":00] iteration " + std::to_string(i) +
             "/ 5000 | elapsed time per iteration (ms): 60000.0 | lm loss: 2.5 |\n";
    rewrite("rank_0.log", log);
    rewrite(
        "kx-1/messages",
        "Oct 14 03:00:00 kx-1 kernel: Linux version 5.15.0\nOct 14 04:" + std::to_string(warned) +
            ":20 kx-1 kernel: NVRM: Xid (PCI:0000:4e:00): 64, pid='<unknown>', "
            "name=<unknown>, Row Remapper Error: All reserved rows for bank are "
            "remapped\n" +
            later);
    return diagnose().verdict.action;
  };
  const std::string later =
      "Oct 14 05:20:00 kx-1 kernel: NVRM: Xid (PCI:0000:5f:00): 43, pid=99, name=python3, Ch "
      "00000018\n";
  EXPECT_EQ(judged(39, later), Action::investigate);
  EXPECT_EQ(judged(20, later), Action::none);
  EXPECT_EQ(judged(39, ""), Action::none) << "it may be running";
}

TEST_F(Afterwards, AProcessThatWasKilledTakesItsConnectionsAlong) {
  const auto judged = [&](const std::string& killed) {
    for (const char* host : {"kx-2", "kx-3", "kx-4", "kx-5"})
      rewrite(std::string("out/") + host + ".log",
              std::string(host) +
                  ":410:419 [0] 2026-10-14 04:22:47 misc/socket.cc:50 NCCL WARN socketProgress: "
                  "Connection closed by remote peer kx-1<55178>\n");
    rewrite("out/kx-1.log", "[2026-10-14 04:00:00] hello\n" + killed);
    return diagnose().verdict.action;
  };
  EXPECT_NE(
      judged("E1014 04:22:45.000000 402 torch/distributed/elastic/multiprocessing/api.py:869] "
             "failed (exitcode: -9) local_rank: 2 (pid: 41277) of binary: /opt/bin/python\n"),
      Action::isolate);
}

TEST_F(Afterwards, TheEndOfAnEarlierRunThatTheLogQuotesIsNoEndOfThisOne) {
  const std::string word =
      "slurmstepd: error: *** STEP 4711.0 ON kx-1 CANCELLED AT 2026-10-14T04:22:46 DUE TO TIME "
      "LIMIT "
      "***\n";
  const std::string aborted = "srun: error: kx-7: task 53: Aborted (core dumped)\n";
  const std::string lost =
      "[rank5]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection "
      "closed "
      "by peer [10.0.0.7]:4031\n";
  write("slurm-4711.out", aborted + steps(1, 60) + word + lost);
  EXPECT_EQ(diagnose().verdict.action, Action::none);
}

// srun ends the step because a task failed; its word is no request.
TEST_F(Afterwards, ATaskThatFailedBeforeSrunEndedItsStepIsAFailure) {
  const std::string failed = "srun: error: k3: task 27: Exited with exit code 1\n";
  const std::string ended =
      "srun: Terminating StepId=7711.0\n"
      "slurmstepd: error: *** STEP 7711.0 ON k1 CANCELLED AT 2026-05-14T08:57:34 ***\n";
  rewrite("slurm-7711.out", steps(1, 80) + failed + ended);
  EXPECT_NE(diagnose().verdict.action, Action::none);
  rewrite("slurm-7711.out", steps(1, 80) + ended + failed);
  EXPECT_EQ(diagnose().verdict.action, Action::none) << "tasks that are asked to stop may fail";
}

TEST_F(Afterwards, AMachinesFaultOfAnotherDayExplainsNoEnd) {
  rewrite("slurm-7711.out",
          steps(1, 80) +
              "srun: error: k3: task 27: Exited with exit code 1\n"
              "slurmstepd: error: *** STEP 7711.0 ON k1 CANCELLED AT 2026-05-14T08:57:34 ***\n");
  const auto log = [](const std::string& day) {
    return day +
           "T08:50:00+00:00 k2 kernel: NVRM: Xid (PCI:0000:4d:00): 79, pid=991, "
           "name=python, GPU has fallen off the bus.\n"
           "2026-05-16T00:00:00+00:00 k2 kernel: ordinary\n";
  };
  for (const char* day : {"2026-05-07", "2026-05-15"}) {
    rewrite("hosts/k2/journal.log", log(day));
    EXPECT_NE(diagnose().verdict.action, Action::isolate) << day;
  }
  rewrite("hosts/k2/journal.log", log("2026-05-14"));
  EXPECT_EQ(diagnose().verdict.action, Action::isolate);
}

// A daemon that the kernel killed for lack of memory, at a time that nothing ties to the job's.
TEST_F(Afterwards, MemoryThatAForeignProcessHadIsNoReasonWithoutAMoment) {
  rewrite("slurm-7711.out",
          steps(1, 80) +
              "srun: error: k3: task 27: Exited with exit code 1\n"
              "slurmstepd: error: *** STEP 7711.0 ON k1 CANCELLED AT 2026-05-14T08:57:34 ***\n");
  const auto judged = [&](const char* process) {
    rewrite("hosts/k2/journal.log",
            fmt::format("2026-05-14T07:54:48+00:00 k2 kernel: Out of memory: Killed process 2211 "
                        "({}) total-vm:9123456kB, anon-rss:8123456kB\n",
                        process));
    return diagnose().verdict.action;
  };
  EXPECT_NE(judged("grafana-agent"), Action::repair);
  EXPECT_EQ(judged("python3.10"), Action::repair);
}

// A tracker that does not answer for a moment: what the program printed and caught ended nothing.
TEST_F(Afterwards, AnExceptionThatStepsFollowWasCaught) {
  const std::string caught =
      "Traceback (most recent call last):\n"
      "  File \"/opt/app/track.py\", line 131, in send\n    result = call()\n"
      "requests.exceptions.HTTPError: 500 Server Error: Internal Server Error for url: "
      "https://tracker.example.com/graphql\n";
  rewrite("train.log", steps(1, 40) + caught + steps(41, 120));
  EXPECT_NE(diagnose().verdict.action, Action::repair);
  rewrite("train.log", steps(1, 120) + caught);
  EXPECT_EQ(diagnose().verdict.action, Action::repair);
}

// A buffer prints some steps behind the exception that ended them, and not those of hours.
TEST_F(Afterwards, AnExceptionFarBeforeTheLastStepsEndedNothing) {
  const std::string raised =
      "Traceback (most recent call last):\n"
      "  File \"/opt/app/data.py\", line 3, in get\n    raise ValueError('bad sample')\n"
      "ValueError: bad sample\n";
  rewrite("train.log", steps(1, 60) + raised + steps(61, 100));
  EXPECT_EQ(diagnose().verdict.action, Action::rollback);
  std::string hours;
  for (int i = 0; i < 3000; ++i)
    hours += fmt::format("step: {}/40000 loss: 2.31 grad_norm: 0.81 time: 0.9 s\n", 61 + i);
  rewrite("train.log", steps(1, 60) + raised + hours);
  EXPECT_NE(diagnose().verdict.action, Action::rollback);
  rewrite("train.log", steps(1, 60) + hours + raised);
  EXPECT_EQ(diagnose().verdict.action, Action::rollback);
}

// A kernel that prints seconds since its start alone: the number of the process tells whose it is.
TEST_F(Afterwards, AnUndatedFaultOfAProcessOfTheJobIsOfThisRun) {
  const auto judged = [&](const char* process) {
    for (int r = 0; r < 3; ++r)
      rewrite(fmt::format("logs/q{}.log", r),
              fmt::format("q{}:41504:41600 [0] NCCL INFO comm 0x55aa rank {} nranks 3 cudaDev 0 "
                          "busId 9b000 commId 0x77 - Init COMPLETE\n",
                          r, r) +
                  step_at("08:36:50") + lost_at("08:46:58", r));
    rewrite("hosts/q1/dmesg.txt",
            fmt::format("[2103885.170238] NVRM: Xid (PCI:0000:9b:00): 119, pid={}, name=python, "
                        "Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected "
                        "function 76 (GSP_RM_CONTROL) (0x20802a02 0x5b4).\n",
                        process));
    return diagnose().verdict.action;
  };
  EXPECT_EQ(judged("41504"), Action::isolate);
  EXPECT_NE(judged("2201"), Action::isolate);
}

// An address that was left over from another allocation: nobody listens there.
TEST_F(Afterwards, AStoreThatNoRankEverReachedHasAnotherAddress) {
  for (const char* host : {"hx-08", "hx-09", "hx-10", "hx-11"}) {
    std::string refused;
    for (int i = 0; i < 12; ++i)
      refused +=
          "[W socket.cpp:663] [c10d] The client socket has failed to connect to "
          "[hx-03]:29566 (errno: 111 - Connection refused).\n";
    rewrite(fmt::format("logs/5177.{}.out", host),
            fmt::format("srun: {}: launching\n", host) + refused +
                "[E socket.cpp:719] [c10d] The client socket has timed out after 900s while trying "
                "to connect to (hx-03, 29566).\n");
    rewrite(fmt::format("hosts/{}/hostname", host), std::string(host) + "\n");
  }
  EXPECT_NE(diagnose().verdict.action, Action::isolate);
  rewrite("job.json", R"({"job_id": "5177", "hosts": ["hx-08", "hx-09", "hx-10", "hx-11"]})");
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::repair) << report::words(a.verdict.summary);
  EXPECT_EQ(a.targets(SubjectKind::config), std::vector<std::string>{"MASTER_ADDR"});
}

// slurmctld polls: it misses a node minutes after the other ranks lost it.
TEST_F(Afterwards, TheNodeThatTheSchedulerMissesLateIsTheSilentOne) {
  const auto judged = [&](const std::string& missed, bool silent) {
    for (int r = 0; r < 4; ++r)
      rewrite(fmt::format("logs/q{}/rank{}.log", r, r),
              fmt::format("q{}:400{}:400{} [0] NCCL INFO comm 0x55aa rank {} nranks 4 cudaDev 0 "
                          "busId 1b000 commId 0x77 - Init COMPLETE\n",
                          r, r, r, r) +
                  step_at("08:36:50") +
                  (silent && r == 2 ? std::string() : lost_at("08:36:58", r)));
    rewrite("slurmctld.log",
            "[2026-05-14T08:38:33.101] error: Nodes " + missed + " not responding, setting DOWN\n");
    return diagnose();
  };
  const Answer lost = judged("q2", true);
  EXPECT_EQ(lost.verdict.action, Action::isolate) << report::words(lost.verdict.summary);
  EXPECT_EQ(lost.targets(SubjectKind::host), std::vector<std::string>{"q2"});
  EXPECT_NE(judged("q2", false).verdict.action, Action::isolate) << "it told of it as all others";
  EXPECT_NE(judged("q1", true).verdict.action, Action::isolate) << "it told of it as all others";
}

// A link of another host that came back an hour before is no moment of the job.
TEST_F(Afterwards, WhatMachinesSayOfTheirRecoveryDoesNotMoveTheJobsClock) {
  for (int r = 0; r < 4; ++r)
    rewrite(fmt::format("logs/q{}/rank{}.log", r, r),
            step_at(fmt::format("08:36:{}", 50 + r).c_str()) + lost_at("08:36:58", r));
  rewrite("hosts/q1/journal.log",
          "2026-05-14T08:36:54+00:00 q1 kernel: NVRM: Xid (PCI:0000:4d:00): 79, pid=991, "
          "name=python, GPU has fallen off the bus.\n");
  rewrite("hosts/q2/journal.log",
          "2026-05-14T07:36:54+00:00 q2 kernel: mlx5_core 0000:54:00.0 ibp84s0: Link down\n"
          "2026-05-14T07:37:04+00:00 q2 kernel: mlx5_core 0000:54:00.0 ibp84s0: Link up\n");
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::isolate) << report::words(a.verdict.summary);
  EXPECT_EQ(a.targets(SubjectKind::host), std::vector<std::string>{"q1"});
}

TEST_F(Afterwards, StepTimesOfHomeMadeLoops) {
  std::string log;
  for (int i = 10; i < 50; ++i)
    log += "[2026-10-14 04:" + std::to_string(i) + ":00] iter " + std::to_string(i * 10) +
           " loss 3.0013 time/iter 5.737s (ref 3.55s)\n";
  write("rank_0.log", log);
  write("rank_1.log",
        "trainer/0 2026-10-14 04:49:58 [titan] INFO - step: 2300  loss:  2.6248  memory: "
        "61.42GiB(77.65%)  tps: 5,690  mfu: 41.35%  step_time: 2.30s\n");
  const Answer answer = diagnose();
  ASSERT_EQ(answer.resolved.facts.progress.size(), 2u);
  EXPECT_EQ(answer.resolved.facts.progress[0].last.iteration_ms, 5737.0);
  EXPECT_EQ(answer.resolved.facts.progress[1].last.iteration_ms, 2300.0);
}

}  // namespace
}  // namespace culprit::diagnose::test
