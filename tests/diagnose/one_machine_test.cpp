// What one machine of several lacks, says or is: the one that is named, and those that are not.
#include <fmt/format.h>

#include "bundle.hpp"
#include "report/phrases.hpp"

namespace culprit::diagnose::test {
namespace {

using Hosts = std::vector<std::string>;

class OneMachine : public SmallBundle {
 protected:
  // One console of 32 ranks on four machines, of which rank 19 has something to say.
  static std::string console(const std::string& layout, const std::string& said) {
    std::string out;
    const auto line = [&](int rank, int second, const std::string& message) {
      std::string one = layout;
      const auto fill = [&](std::string_view what, const std::string& by) {
        for (std::size_t at; (at = one.find(what)) != std::string::npos;)
          one.replace(at, what.size(), by);
      };
      fill("$R", std::to_string(rank));
      fill("$L", std::to_string(rank % 8));
      fill("$H", fmt::format("wk-2{}", rank / 8));
      fill("$T", fmt::format("2026-01-29 16:20:{:02}", second));
      out += one + message + "\n";
    };
    for (int rank = 0; rank < 32; ++rank)
      line(rank, rank % 8,
           fmt::format("initializing, hostname wk-2{}, local rank {}", rank / 8, rank % 8));
    line(19, 40, said);
    for (int rank = 0; rank < 32; ++rank)
      if (rank != 19)
        line(rank, 41,
             "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a "
             "network error");
    return out;
  }
};

TEST_F(OneMachine, ThatLacksALibraryIsNamedInAJoinedConsole) {
  for (const char* layout :
       {"[rank$R] $H $T INFO ", "$T | rank $R | $H | ", "[$H:$L] $T ", "$R: $T ", "[$R] $T ",
        "time=\"$T\" node=$H rank=$R msg=", "$H/$R: $T "}) {
    rewrite("console.log",
            console(layout,
                    "ImportError: libnccl_ofi.so.1: cannot open shared object file: No such file"));
    const Answer a = diagnose();
    EXPECT_EQ(a.verdict.action, Action::repair) << layout;
    EXPECT_EQ(a.targets(SubjectKind::host), Hosts{"wk-22"}) << layout;
  }
}

TEST_F(OneMachine, ThatMissesAServiceMayNotBeAtFault) {
  rewrite("console.log",
          console("[rank$R] $H $T INFO ",
                  "OSError: We couldn't connect to 'https://hub.example.org' to load "
                  "the files"));
  EXPECT_TRUE(diagnose().targets(SubjectKind::host).empty());
}

TEST_F(OneMachine, WhoseClockIsRefused) {
  const auto worker = [](const std::string& said) {
    std::string out;
    for (int i = 0; i < 30; ++i)
      out += fmt::format("2026-02-02 10:00:{:02} INFO step={} loss=2.7\n", i, i + 1);
    return out + said;
  };
  for (const char* host : {"lm-1", "lm-2", "lm-3"})
    write(
        fmt::format("{}/worker.log", host),
        worker(std::string(host) == "lm-2"
                   ? "2026-02-02 10:17:30 ERROR botocore.exceptions.ClientError: An error occurred "
                     "(RequestTimeTooSkewed) when calling the UploadPart operation: The "
                     "difference between the request time and the current time is too large.\n"
                   : "2026-02-02 10:00:31 WARN group aborted\n"));
  Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::repair) << report::words(a.verdict.summary);
  EXPECT_EQ(a.targets(SubjectKind::host), Hosts{"lm-2"});
}

TEST_F(OneMachine, ThatIsOutOfMemoryWhereAnotherWasInTheRunBeforeIsNotToBlame) {
  const auto run = [](const char* hour, int pid) {
    std::string out;
    for (int i = 0; i < 200; ++i)
      out += fmt::format("2026-01-09 {}:{:02}:{:02} INFO it={} loss=0.23 data=0.02\n", hour, i / 60,
                         i % 60, i);
    return out + fmt::format(
                     "2026-01-09 {}:03:21 ERROR RuntimeError: DataLoader worker (pid {}) is "
                     "killed by signal: Killed.\n",
                     hour, pid);
  };
  const auto kernel = [](const char* host, const char* hour) {
    return fmt::format(
        "2026-01-09T{1}:03:20+00:00 {0} kernel: pt_data_worker invoked oom-killer: "
        "gfp_mask=0xcc0(GFP_KERNEL), order=0\n"
        "2026-01-09T{1}:03:20+00:00 {0} kernel: Out of memory: Killed process 99609 "
        "(pt_data_worker) total-vm:231180112kB, anon-rss:160221440kB\n",
        host, hour);
  };
  write("try1.log", run("13", 88647));
  write("try2.log", run("15", 72226));
  write("om-2/kern.log", kernel("om-2", "13"));
  write("om-4/kern.log", kernel("om-4", "15"));
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::rollback) << report::words(a.verdict.summary);
  EXPECT_TRUE(a.targets(SubjectKind::host).empty());
}

TEST_F(OneMachine, WhoseBoardsLowerTheirClocksHoldsTheJobUp) {
  std::string log;
  for (int i = 0; i < 400; ++i)
    log += fmt::format("2026-05-19T10:{:02}:{:02}Z rank0 it={} loss=2.5 sec={}\n", i / 60, i % 60,
                       i, i < 200 ? "2.10" : "4.95");
  write("train.log", log);
  for (const char* host : {"r7-1", "r7-2", "r7-3"})
    write(fmt::format("smi/{}.txt", host),
          fmt::format("# nvidia-smi -q -d PERFORMANCE on {0}\nGPU 00000000:18:00.0\n"
                      "    Performance State                     : P0\n"
                      "    Clocks Event Reasons\n"
                      "        HW Slowdown                       : {1}\n"
                      "            HW Power Brake Slowdown       : {1}\n",
                      host, std::string(host) == "r7-2" ? "Active" : "Not Active"));
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::isolate) << report::words(a.verdict.summary);
  EXPECT_EQ(a.targets(SubjectKind::host), Hosts{"r7-2"});
}

// The job prints no times; kernels of several machines tell of one moment.
TEST_F(OneMachine, WhoseLinkFailedIsBorneOutByGpusOfOthers) {
  std::string log;
  for (int i = 0; i < 60; ++i) log += fmt::format("0: 00:30:{:02} iter={} loss=1.5\n", i, i);
  for (int rank = 4; rank < 12; ++rank)
    log += fmt::format(
        "{}: [rank{}]: torch.AcceleratorError: CUDA error: an illegal memory access was "
        "encountered\n",
        rank / 4, rank);
  write("job.out", log);
  const auto kernel = [](int tray, const char* fault) {
    return fmt::format("2026-12-12T00:50:00.000Z nv-{0} kernel: ordinary\n{1}", tray,
                       fault[0] == '\0' ? ""
                                        : fmt::format("2026-12-12T00:54:3{0}.904Z nv-{0} kernel: "
                                                      "NVRM: Xid (PCI:0018:01:00): {1}\n",
                                                      tray, fault));
  };
  const char* felt =
      "145, RLW_SRC_TRACK Nonfatal XC1 i0 Link -1 (0x00000004 0x80000000 0x00000000)";
  write("kern/nv-0.log", kernel(0,
                                "149, NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x004505c6 0x00000000 "
                                "0x00000000 0x00000000 0x00000000 0x00000000)"));
  write("kern/nv-1.log", kernel(1, felt));
  write("kern/nv-2.log", kernel(2, felt));
  write("kern/nv-3.log", kernel(3, ""));
  EXPECT_EQ(diagnose().targets(SubjectKind::host), Hosts{"nv-0"});
  rewrite("kern/nv-1.log", kernel(1, ""));
  rewrite("kern/nv-2.log", kernel(2, ""));
  EXPECT_NE(diagnose().verdict.action, Action::isolate) << "nobody else felt it";
}

TEST_F(OneMachine, ErrorsBetweenTheLastStepAndSrunsWordCameBeforeIt) {
  std::string log;
  for (int i = 0; i < 60; ++i) log += fmt::format("step: {}/400 loss: 2.31 time: 0.9 s\n", i);
  const std::string error =
      "bn-1: [rank7]: torch.distributed.DistBackendError: NCCL error in: "
      "ProcessGroupNCCL.cpp:3384, "
      "remote process exited or there was a network error\n";
  const std::string word =
      "srun: Job step aborted: Waiting up to 62 seconds for job step to finish.\n";
  rewrite("out.71001", log + error + word);
  EXPECT_NE(diagnose().step(), StepId::user_request);
  rewrite("out.71001", log + word + error);
  EXPECT_EQ(diagnose().step(), StepId::user_request);
}

// A console of srun -l, of which only srun's last words say where the tasks ran.
TEST_F(OneMachine, WhereSrunSaysThatTheTasksRan) {
  std::string console;
  for (int task = 0; task < 32; ++task)
    if (task / 8 != 2)
      console += fmt::format(
          "{0}: wk-2{1}:{2}:{2} [{3}] NCCL INFO Bootstrap : Using eth0:10.0.0.2{1}<0>\n", task,
          task / 8, 4100 + task, task % 8);
  for (int task = 16; task < 24; ++task)
    console += fmt::format(
        "{}: RuntimeError: The NVIDIA driver on your system is too old (found version 12000).\n",
        task);
  console += "srun: error: wk-22: tasks 16-23: Exited with exit code 1\n";
  rewrite("job-9.out", console);
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::repair);
  EXPECT_EQ(a.targets(SubjectKind::host), Hosts{"wk-22"});
}

// The program's error names no machine; a table of machines shows whose driver is old.
TEST_F(OneMachine, OfATableWhoseDriverIsOld) {
  const std::string error =
      "RuntimeError: The NVIDIA driver on your system is too old (found version 12000).\n";
  std::string log;
  for (const char* host : {"pool-0aq4", "pool-3kz8", "pool-9w1b", "pool-5tm2"})
    log += fmt::format("{}:4100:4100 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.2{}<0>\n", host,
                       host[5]);
  rewrite("train.log", log + error);
  for (const char* table :
       {"NAME       STATUS  AGE   cuda.driver-version.full  node-image\n"
        "pool-0aq4  Ready   12d   550.90.07                 cos-113\n"
        "pool-3kz8  Ready   12d   550.90.07                 cos-113\n"
        "pool-9w1b  Ready   301d  525.147.05                cos-109\n"
        "pool-5tm2  Ready   12d   550.90.07                 cos-113\n",
        "$ clush -w pool-[0aq4,3kz8,9w1b,5tm2] \"modinfo -F version nvidia; uname -r\"\n"
        "pool-0aq4: 550.90.07\npool-0aq4: 6.1.0\npool-3kz8: 550.90.07\npool-3kz8: 6.1.0\n"
        "pool-9w1b: 525.147.05\npool-9w1b: 6.1.0\npool-5tm2: 550.90.07\npool-5tm2: 6.1.0\n",
        "host | driver | image\npool-0aq4 | 550.90.07 | a\npool-3kz8 | 550.90.07 | a\n"
        "pool-9w1b | 525.147.05 | a\npool-5tm2 | 550.90.07 | a\n"}) {
    rewrite("nodes.txt", table);
    const Answer a = diagnose();
    EXPECT_EQ(a.verdict.action, Action::repair) << table;
    EXPECT_EQ(a.targets(SubjectKind::host), Hosts{"pool-9w1b"}) << table;
  }
  // A machine of which nothing else is known is in the table and not in the job.
  rewrite("train.log", error);
  EXPECT_TRUE(diagnose().targets(SubjectKind::host).empty());
  rewrite("train.log", log + error);
  // A driver that is ahead is not too old.
  rewrite("nodes.txt",
          "host | driver | image\npool-0aq4 | 525.147.05 | a\npool-3kz8 | 525.147.05 | a\n"
          "pool-9w1b | 550.90.07 | a\npool-5tm2 | 525.147.05 | a\n");
  EXPECT_TRUE(diagnose().targets(SubjectKind::host).empty());
  // Two of four are no exception.
  rewrite("nodes.txt",
          "host | driver | image\npool-0aq4 | 550.90.07 | a\npool-3kz8 | 525.147.05 | a\n"
          "pool-9w1b | 525.147.05 | a\npool-5tm2 | 550.90.07 | a\n");
  EXPECT_TRUE(diagnose().targets(SubjectKind::host).empty());
}

// What lies on shared storage is missing for all, unless all ranks of one machine miss it and the
// machine alone has not mounted it.
TEST_F(OneMachine, ThatMissesWhatAllShare) {
  for (const bool asked : {true, false}) {
    const int from = 16;
    if (asked)
      rewrite("mounts.txt",
              "$ clush -w wk-[20-23] \"findmnt -no SOURCE /mnt/weka\"\nwk-20: backend1/ai\n"
              "wk-21: backend1/ai\nwk-22: (exit 1, no output)\nwk-23: backend1/ai\n");
    else
      rewrite("mounts.txt", "");
    for (int host = 0; host < 4; ++host) {
      std::string log;
      for (int rank = 8 * host; rank < 8 * host + 8; ++rank) {
        log += fmt::format("[rank{}]: 2026-01-29 16:20:11,000 INFO init, local rank {}\n", rank,
                           rank % 8);
        if (rank < from || rank >= from + 8)
          log += fmt::format(
              "[rank{}]: torch.distributed.DistBackendError: NCCL error: remote "
              "process exited or there was a network error\n",
              rank);
        else
          log += fmt::format(
              "[rank{}]: FileNotFoundError: [Errno 2] No such file or directory: "
              "'/mnt/weka/corpora/train.idx'\n",
              rank);
      }
      rewrite(fmt::format("out/wk-2{}.log", host), log);
    }
    const Answer a = diagnose();
    EXPECT_EQ(a.verdict.action, Action::repair);
    EXPECT_EQ(a.targets(SubjectKind::host), asked ? Hosts{"wk-22"} : Hosts{});
  }
}

// A bridge has one address everywhere: it is a fault where another machine turned to it.
TEST_F(OneMachine, WhoseBridgeAnotherTurnsTo) {
  for (const bool met : {true, false}) {
    for (int host = 0; host < 4; ++host) {
      std::string log;
      for (int gpu = 0; gpu < 8; ++gpu)
        log += fmt::format("vm-{0}:{1}:{1} [{2}] NCCL INFO Bootstrap : Using {3}<0>\n", host,
                           3000 + gpu, gpu,
                           host == 2 ? "docker0:172.17.0.1" : fmt::format("ens8:10.0.0.1{}", host));
      if (host == 1)
        log += fmt::format(
            "vm-1:3000:4000 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to "
            "{}<46575> failed : Connection refused\n",
            met ? "172.17.0.1" : "10.0.0.13");
      rewrite(fmt::format("vm-{}/train.log", host), log);
    }
    const Answer a = diagnose();
    if (met) {
      EXPECT_EQ(a.verdict.action, Action::repair);
      EXPECT_EQ(a.targets(SubjectKind::host), Hosts{"vm-2"});
    } else {
      EXPECT_NE(a.targets(SubjectKind::host), Hosts{"vm-2"});
    }
  }
}

// The ranks that fail are not those of the machine that gave them its loopback address.
TEST_F(OneMachine, WhoseOwnNameIsOnTheLoopbackAddress) {
  for (int host = 1; host <= 4; ++host)
    rewrite(
        fmt::format("etc/cx-{}/hosts", host),
        fmt::format("127.0.0.1 localhost\n{} cx-{}\n",
                    host == 3 ? std::string("127.0.1.1") : fmt::format("10.0.0.{}", host), host));
  rewrite("train.log",
          "[rank0]: RuntimeError: Gloo connectFullMesh failed: Connection refused, "
          "remote=[127.0.1.1]:51101\n");
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::repair);
  EXPECT_EQ(a.targets(SubjectKind::host), Hosts{"cx-3"});
}

// Ray names machines by their addresses; a fault of one is one machine's, not two.
TEST_F(OneMachine, WhoseAddressCountsAsItsName) {
  const auto write_bundle = [&](int first_name) {
    std::string driver;
    for (int i = 0; i < 4; ++i)
      driver += fmt::format(
          "(TrainWorker pid=5120, ip=10.9.0.{}) [rank{}]: RuntimeError: CUDA error: uncorrectable "
          "NVLink error detected during the execution\n",
          40 + i, i);
    rewrite("driver.log", driver);
    for (int i = 0; i < 4; ++i)
      rewrite(fmt::format("journal/hx-0{}.log", first_name + i),
              fmt::format("2025-11-11T11:49:31+0000 hx-0{} kernel: usb 1-1: new device\n",
                          first_name + i));
  };
  write_bundle(40);
  for (const std::string& host : diagnose().targets(SubjectKind::host))
    EXPECT_TRUE(host.starts_with("hx-04")) << host;
  std::filesystem::remove_all(std::filesystem::path(folder_) / "journal");
  write_bundle(41);  // another row of numbers
  for (const std::string& host : diagnose().targets(SubjectKind::host))
    EXPECT_FALSE(host.starts_with("hx-")) << host;
}

// A log that breaks off and goes on with the start of a kernel.
TEST_F(OneMachine, ThatRestartedInTheMiddle) {
  const auto bundle = [&](const std::string& before, const std::string& second = {}) {
    std::string console;
    for (int i = 0; i < 60; ++i)
      console += fmt::format("2026-02-02 10:{:02}:00 INFO step={} loss=2.7\n", i / 6, i);
    for (const char* host : {"lm-1", "lm-2", "lm-4"})
      console += fmt::format(
          "2026-02-02 10:10:30 [{}] torch.distributed.DistBackendError: NCCL error: remote process "
          "exited or there was a network error\n",
          host);
    rewrite("console.log", console);
    for (const std::string host : {"lm-1", "lm-2", "lm-3", "lm-4"}) {
      std::string log;
      for (int i = 0; i < 10; ++i)
        log += fmt::format("Feb  2 10:0{}:11 {} {}: Session {} of user root.\n", i, host,
                           i % 2 == 0 ? "systemd[1]" : "CRON[77]", i);
      if (host == "lm-3" || host == second)
        log += before +
               fmt::format("Feb  2 10:17:51 {} kernel: Linux version 6.8.0-45-generic\n", host);
      rewrite(fmt::format("{}/messages", host), log);
    }
    return diagnose();
  };
  const Answer a = bundle("");
  EXPECT_EQ(a.verdict.action, Action::isolate) << report::words(a.verdict.summary);
  EXPECT_EQ(a.targets(SubjectKind::host), Hosts{"lm-3"});
  EXPECT_NE(
      bundle("Feb  2 10:09:50 lm-3 systemd-shutdown[1]: Syncing filesystems.\n").verdict.action,
      Action::isolate)
      << "somebody shut it down";
  EXPECT_NE(bundle("", "lm-2").verdict.action, Action::isolate)
      << "two of them in the same minutes";
}

}  // namespace
}  // namespace culprit::diagnose::test
