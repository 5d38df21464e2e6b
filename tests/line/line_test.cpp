#include "kit.hpp"

namespace culprit::line {
namespace {

using test::at;
using Number = std::optional<std::int64_t>;

struct Want {
  const char* message;
  Clock clock = Clock::none;
  Nanoseconds ns = 0;
  const char* host = "";
  Number rank = {}, local_rank = {}, task = {}, pid = {};
  bool kernel = false;
  const char* unit = "";
};

struct Case {
  std::string raw;
  Want want;
};

void check(const std::vector<Case>& cases, Habit habit = {}) {
  for (const auto& [raw, want] : cases) {
    const test::Exact exact(raw);
    const Line line = peel(exact.view(), habit);
    EXPECT_EQ(line.message, want.message) << raw;
    EXPECT_EQ(name(line.prefix.time.clock), name(want.clock)) << raw;
    EXPECT_EQ(line.prefix.time.ns, want.ns) << raw;
    EXPECT_EQ(name_of(line.prefix.host), want.host) << raw;
    EXPECT_EQ(number_of(line.prefix.rank), want.rank) << raw;
    EXPECT_EQ(number_of(line.prefix.local_rank), want.local_rank) << raw;
    EXPECT_EQ(line.prefix.task, want.task) << raw;
    EXPECT_EQ(line.prefix.pid, want.pid) << raw;
    EXPECT_EQ(line.prefix.kernel, want.kernel) << raw;
    EXPECT_EQ(line.prefix.unit, want.unit) << raw;
  }
}

const Nanoseconds kNov = at(2026, 11, 21, 3, 19, 38);
const Nanoseconds kNov0 = at(2000, 11, 21, 3, 19, 38);

TEST(Peel, MomentsOfASystemEventLogStayBesideItsColumns) {
  const char* raw = "  2f | 11/21/2026 | 03:19:38 UTC | Processor #0x41 | IERR | Asserted";
  Line line = peel(raw);
  EXPECT_EQ(line.prefix.time.clock, Clock::utc);
  EXPECT_EQ(line.prefix.time.ns, kNov);
  EXPECT_EQ(line.message, raw);
  line = peel("1 | 11/21/2026 | 03:19:38 | Fan | Lower Critical | Asserted");
  EXPECT_EQ(line.prefix.time.clock, Clock::local);
  line = peel("3 | 11/21/2026 | 03:19:38 PM CST | Fan | Lower Critical | Asserted");
  EXPECT_EQ(line.prefix.time.ns, kNov + 12 * 3600 * kSecond);
  line = peel("   794 | 21.11.2026 03:19:38 | loss 2.5160 | tokens/s 51174");
  EXPECT_EQ(line.prefix.time.clock, Clock::local);
  EXPECT_EQ(line.prefix.time.ns, kNov);
  EXPECT_EQ(peel("7 | Pre-Init | 0000001 | Fan").prefix.time.clock, Clock::none);
  EXPECT_EQ(peel("12 | 13 | 14").prefix.time.clock, Clock::none);
}

TEST(Peel, SecondsSince1970NeedAHostAndAProgramBehindThem) {
  check({{"1795231178.250 node-7 kernel: NVRM: Xid",
          {.message = "NVRM: Xid",
           .clock = Clock::utc,
           .ns = kNov + kSecond / 4,
           .host = "node-7",
           .kernel = true,
           .unit = "kernel"}},
         {"1795231178.250000 node-7 sshd[812]: closed",
          {.message = "closed",
           .clock = Clock::utc,
           .ns = kNov + kSecond / 4,
           .host = "node-7",
           .pid = 812,
           .unit = "sshd"}},
         {"1795231178.250 0.31 0.44", {.message = "1795231178.250 0.31 0.44"}}});
}

TEST(Peel, ANameInCapitalsWithoutHostBeginsTheMessage) {
  check(
      {{"2026/11/21 03:19:38 XidCriticalError: Xid=69 on Device=GPU-1",
        {.message = "XidCriticalError: Xid=69 on Device=GPU-1", .clock = Clock::local, .ns = kNov}},
       {"Nov 21 03:19:38 leaf-7 %FWK-3-LINECARD_DOWN: Linecard2 powered off",
        {.message = "%FWK-3-LINECARD_DOWN: Linecard2 powered off",
         .clock = Clock::local_no_year,
         .ns = kNov0,
         .host = "leaf-7"}},
       {"Nov 21 03:19:38 node-7 NetworkManager: up",
        {.message = "up",
         .clock = Clock::local_no_year,
         .ns = kNov0,
         .host = "node-7",
         .unit = "NetworkManager"}}});
}

TEST(Peel, WhatATrainerPrintsIsNoNameOfAProgram) {
  const Line line = peel("2026-11-21T03:19:38Z step: 12/400 loss: 2.3");
  EXPECT_EQ(line.message, "step: 12/400 loss: 2.3");
  EXPECT_EQ(line.prefix.unit, "");
  EXPECT_FALSE(line.prefix.host);
  EXPECT_EQ(peel("2026-11-21T03:19:38Z gpu-07 sshd[12]: hello").prefix.unit, "sshd");
  const Line bar = peel("2026-11-21T03:19:38+01:00 Epoch 0:  10%|#   | 40/400 [00:40<00:00]");
  EXPECT_EQ(bar.message, "Epoch 0:  10%|#   | 40/400 [00:40<00:00]");
  EXPECT_FALSE(bar.prefix.host);
}

TEST(Peel, Launchers) {
  check({
      {"[default3]:hello", {.message = "hello", .local_rank = 3}},
      {"[default3]: hello", {.message = "hello", .local_rank = 3}},
      {"[trainer12]:hello", {.message = "hello", .local_rank = 12}},
      {"retraining/0 [default0]:hello", {.message = "hello", .local_rank = 0}},
      {"[2025-11-20T14:55:23+08:00] retraining/0 [default5]:hello",
       {.message = "hello",
        .clock = Clock::utc,
        .ns = at(2025, 11, 20, 6, 55, 23),
        .local_rank = 5}},
      {"  3: hello", {.message = "hello", .task = 3}},
      {"12: [rank4]: hello", {.message = "hello", .rank = 4, .task = 12}},
      {"[rank  4] hello", {.message = "hello", .rank = 4}},
      {"[gpu-a7][rank 12] hello", {.message = "hello", .host = "gpu-a7", .rank = 12}},
      {"[gpu-a7] [rank  3]: hello", {.message = "hello", .host = "gpu-a7", .rank = 3}},
      {"[trainer][rank 3] hello", {.message = "[trainer][rank 3] hello"}},
      {"[rank3]: Traceback (most recent call last):",
       {.message = "Traceback (most recent call last):", .rank = 3}},
      {"[rank3]:   File \"a.py\", line 3", {.message = "  File \"a.py\", line 3", .rank = 3}},
      {"[rank3]:[E621 06:24:44.903881913 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog",
       {.message = "[Rank 1] Watchdog",
        .clock = Clock::local_no_year,
        .ns = at(2000, 6, 21, 6, 24, 44, 903'881'913),
        .rank = 3}},
      {"(RayTrainWorker pid=615, ip=10.72.7.6) hello", {.message = "hello", .pid = 615}},
      {"(train_fn pid=77) [rank1]: hello", {.message = "hello", .rank = 1, .pid = 77}},
      {"[1,3]<stdout>:hello", {.message = "hello", .rank = 3}},
      {"[1,3]<stderr>: hello", {.message = "hello", .rank = 3}},
      {"[trainer85612|12]:hello", {.message = "hello", .rank = 12}},
      {"[titan] 2025-06-10 21:58:27,008 - root - INFO - step: 7",
       {.message = "- root - INFO - step: 7",
        .clock = Clock::local,
        .ns = at(2025, 6, 10, 21, 58, 27, 8'000'000)}},
      {"[80746] hello", {.message = "hello"}},
      {"[NeMo W 2025-08-19 14:27:47 file:239] hello",
       {.message = "hello", .clock = Clock::local, .ns = at(2025, 8, 19, 14, 27, 47)}},
      {"retraining/0 [default0]:[NeMo W 2025-08-19 14:27:47 file:239] hello",
       {.message = "hello",
        .clock = Clock::local,
        .ns = at(2025, 8, 19, 14, 27, 47),
        .local_rank = 0}},
  });
  EXPECT_EQ(peel("(RayTrainWorker pid=615, ip=10.72.7.6) x").prefix.address, "10.72.7.6");
}

TEST(Peel, InferenceServersAndRay) {
  check({
      {"(EngineCore_DP0 pid=81) hello", {.message = "hello", .pid = 81}},
      {"(pid=81) hello", {.message = "hello", .pid = 81}},
      {"(VllmWorker rank=3 pid=84) hello", {.message = "hello", .rank = 3, .pid = 84}},
      {"(raylet, ip=10.1.1.2) hello", {.message = "hello"}},
      {"(raylet, ip=ray-w-01) hello", {.message = "hello", .host = "ray-w-01"}},
      {"(autoscaler +1m2s) hello", {.message = "hello"}},
      {"(a remark) hello", {.message = "(a remark) hello"}},
      {"ERROR 06-30 13:53:19 [core.py:515]   File \"a.py\", line 3",
       {.message = "  File \"a.py\", line 3",
        .clock = Clock::local_no_year,
        .ns = at(2000, 6, 30, 13, 53, 19)}},
      {"(EngineCore pid=81) ERROR 06-30 13:53:19 [v1/core.py:515] ValueError: x",
       {.message = "ValueError: x",
        .clock = Clock::local_no_year,
        .ns = at(2000, 6, 30, 13, 53, 19),
        .pid = 81}},
      {"ERROR 06-30 reached", {.message = "ERROR 06-30 reached"}},
      {"2026-11-21 03:19:38.215 | ERROR    | app.train:main:12 - hello",
       {.message = "hello", .clock = Clock::local, .ns = kNov + 215'000'000}},
      {"[2026-11-21T03:19:38Z] fa88a9df [rank=2] || ERROR: hello",
       {.message = "hello", .clock = Clock::utc, .ns = kNov, .rank = 2}},
      {"[2026-11-21T03:19:38Z] fa88a9df || hello",
       {.message = "hello", .clock = Clock::utc, .ns = kNov}},
  });
}

TEST(Peel, PodsAndServices) {
  check({
      {"[pod/ddp-worker-0/trainer] [rank3]: hello",
       {.message = "hello", .host = "ddp-worker-0", .rank = 3}},
      {"[pod/ddp-worker-0/trainer]   File \"a.py\", line 3",
       {.message = "  File \"a.py\", line 3", .host = "ddp-worker-0"}},
      {"[pod/x] hello", {.message = "[pod/x] hello"}},
      {"Sat Nov 21 03:19:38 2026[1,3]<stderr>:hello",
       {.message = "hello", .clock = Clock::local, .ns = kNov, .rank = 3}},
      {"[prterun-n7-812@1,3]<stdout>: hello", {.message = "hello", .rank = 3}},
  });
  Habit compose;
  compose.compose_prefix = true;
  check({{"worker-1  | hello", {.message = "hello", .host = "worker-1"}},
         {"head      |   File \"a.py\", line 3", {.message = "  File \"a.py\", line 3"}},
         {"no service here", {.message = "no service here"}}},
        compose);
  Habit stern;
  stern.stern_prefix = true;
  check({{"ddp-worker-0 trainer   File \"a.py\", line 3",
          {.message = "  File \"a.py\", line 3", .host = "ddp-worker-0"}}},
        stern);
}

TEST(Habit, PodsAndServicesAreSeenInTheHead) {
  EXPECT_TRUE(habit_of("worker-1  | a\nworker-2  | b\nhead      | c\n").compose_prefix);
  EXPECT_FALSE(habit_of("| a | b |\n| c | d |\n| e | f |\n").compose_prefix);
  std::string stern, steps;
  for (int i = 0; i < 12; ++i) {
    stern += "ddp-worker-" + std::to_string(i % 3) + " trainer step " + std::to_string(i) + "\n";
    steps += "step-" + std::to_string(i) + " loss 3." + std::to_string(i) + "\n";
  }
  EXPECT_TRUE(habit_of(stern).stern_prefix);
  EXPECT_FALSE(habit_of(steps).stern_prefix);
}

TEST(Peel, WhatAProgramRepeatsIsItsWord) {
  const Line line =
      peel("2026-11-21T03:19:38Z cx-1 train[7]: 2026-11-21T03:19:37Z cx-2 kernel: mlx5_core: lost");
  EXPECT_EQ(line.prefix.unit, "train");
  EXPECT_FALSE(line.prefix.kernel);
  EXPECT_TRUE(
      peel("2026-11-21T03:19:38Z cx-1 relay[7]: Nov 21 03:19:37 cx-1 kernel: x").prefix.kernel)
      << "of its own machine";
  for (const char* exported :
       {"2026-11-21T03:19:38Z\tcx-2 kernel: x", "2026-11-21T03:19:38Z\tcx-2\tkernel\tx"})
    EXPECT_EQ(peel(exported).prefix.host, "cx-2") << exported;
}

TEST(Peel, Loggers) {
  check({
      {"[2026-11-21 03:19:38,601] [INFO] [logging.py:96:log_dist] [Rank 0] step=35",
       {.message = "[logging.py:96:log_dist] [Rank 0] step=35",
        .clock = Clock::local,
        .ns = kNov + 601'000'000}},
      {"2026-11-21 03:19:38,601 trainer ERROR: lost",
       {.message = "trainer ERROR: lost", .clock = Clock::local, .ns = kNov + 601'000'000}},
      {"2026-11-21 03:19:38,601\tWARNING worker.py:2058 -- lost",
       {.message = "WARNING worker.py:2058 -- lost",
        .clock = Clock::local,
        .ns = kNov + 601'000'000}},
      {"2026-11-21T03:19:38Z\tERROR\tsetup: lost",
       {.message = "ERROR\tsetup: lost", .clock = Clock::utc, .ns = kNov}},
      {" [2026-11-21 03:19:38.867309] iteration       45/     120 |",
       {.message = "iteration       45/     120 |",
        .clock = Clock::local,
        .ns = kNov + 867'309'000}},
      {"E0611 02:50:04.977000 3766697 torch/api.py:914] failed",
       {.message = "failed",
        .clock = Clock::local_no_year,
        .ns = at(2000, 6, 11, 2, 50, 4, 977'000'000)}},
      {"[E ProcessGroupNCCL.cpp:458] [Rank 0] x", {.message = "[Rank 0] x"}},
      {"I20261121 03:19:38.319798 25480 debug.cpp:49] x",
       {.message = "x", .clock = Clock::local, .ns = kNov + 319'798'000}},
      {"[Feb 25 2025 13:59:45] [INFO] [tid 1803] multicast",
       {.message = "multicast", .clock = Clock::local, .ns = at(2025, 2, 25, 13, 59, 45)}},
      {"[WARN 2026-11-21 03:19:38] step 3: skipped",
       {.message = "step 3: skipped", .clock = Clock::local, .ns = kNov}},
      {"[I 2026-11-21 03:19:38] step 3: skipped",
       {.message = "step 3: skipped", .clock = Clock::local, .ns = kNov}},
      {"[03:19:38] x", {.message = "x", .clock = Clock::local_no_date, .ns = 11'978 * kSecond}},
      {"2024/09/08 13:03:31.000, 5",
       {.message = " 5", .clock = Clock::local, .ns = at(2024, 9, 8, 13, 3, 31)}},
  });
}

TEST(Peel, Kernel) {
  check({
      {"[  123.456789] NVRM: Xid",
       {.message = "NVRM: Xid", .clock = Clock::boot, .ns = 123'456'789'000, .kernel = true}},
      {"[12345.000001][ T5085] x",
       {.message = "x", .clock = Clock::boot, .ns = 12'345'000'001'000, .kernel = true}},
      {"<4>[  201.673948] x",
       {.message = "x", .clock = Clock::boot, .ns = 201'673'948'000, .kernel = true}},
      {"[Sun Feb 23 16:24:18 2025] x",
       {.message = "x",
        .clock = Clock::local,
        .ns = at(2025, 2, 23, 16, 24, 18),
        .kernel = true,
        .unit = "kernel"}},
      {"2025-01-21T04:41:44,285060+00:00 pt_main_thread[25]: segfault",
       {.message = "pt_main_thread[25]: segfault",
        .clock = Clock::utc,
        .ns = at(2025, 1, 21, 4, 41, 44, 285'060'000),
        .kernel = true,
        .unit = "kernel"}},
      {"kern  :warn  : 2025-01-21T04:41:44,285060+00:00 x: y",
       {.message = "x: y",
        .clock = Clock::utc,
        .ns = at(2025, 1, 21, 4, 41, 44, 285'060'000),
        .kernel = true,
        .unit = "kernel"}},
      {"kern  :err   : [  1.000000] x",
       {.message = "x", .clock = Clock::boot, .ns = kSecond, .kernel = true, .unit = "kernel"}},
      {"6,3964,206764307,-;nvidia-nvswitch2: open",
       {.message = "nvidia-nvswitch2: open",
        .clock = Clock::boot,
        .ns = 206'764'307'000,
        .kernel = true,
        .unit = "kernel"}},
      {"Nov 21 03:19:38 node7 kernel: [  5.000001] x",
       {.message = "x",
        .clock = Clock::local_no_year,
        .ns = kNov0,
        .host = "node7",
        .kernel = true,
        .unit = "kernel"}},
      {"Nov 21 03:19:38 node7 python[123]: x",
       {.message = "x",
        .clock = Clock::local_no_year,
        .ns = kNov0,
        .host = "node7",
        .pid = 123,
        .unit = "python"}},
      {"2026-11-21T03:19:38.601+00:00 node7 kernel: x",
       {.message = "x",
        .clock = Clock::utc,
        .ns = kNov + 601'000'000,
        .host = "node7",
        .kernel = true,
        .unit = "kernel"}},
      {"<34>1 2026-11-21T03:19:38Z node7 su 91 ID47 [a b=\"]\"] lost",
       {.message = "lost", .clock = Clock::utc, .ns = kNov, .host = "node7", .unit = "su"}},
      {"<6>1 2026-11-21T03:19:38Z node7 kernel - - - lost",
       {.message = "lost",
        .clock = Clock::utc,
        .ns = kNov,
        .host = "node7",
        .kernel = true,
        .unit = "kernel"}},
      {"<13>Nov 21 03:19:38 node7 app: x",
       {.message = "x",
        .clock = Clock::local_no_year,
        .ns = kNov0,
        .host = "node7",
        .unit = "app"}},
  });
  EXPECT_EQ(peel("Nov 21 03:19:38 n kernel: [  5.000001] x").prefix.boot->ns, 5'000'001'000);
  EXPECT_FALSE(peel("[  5.000001] x").prefix.boot);
}

TEST(Peel, ContainerRecords) {
  check({
      {R"({"log":"[rank2]: \u001b[31mlost\u001b[0m\n","stream":"stderr","time":"2026-11-21T03:19:38.5Z"})",
       {.message = "lost", .clock = Clock::utc, .ns = kNov + 500'000'000, .rank = 2}},
      {"2026-11-21T03:19:38.123456789Z stderr F [rank2]: lost",
       {.message = "lost", .clock = Clock::utc, .ns = kNov + 123'456'789, .rank = 2}},
      {R"({"MESSAGE":"NVRM: x","_HOSTNAME":"node7","_PID":"5","SYSLOG_IDENTIFIER":"kernel","_TRANSPORT":"kernel","__REALTIME_TIMESTAMP":"1795231178000000"})",
       {.message = "NVRM: x",
        .clock = Clock::utc,
        .ns = kNov,
        .host = "node7",
        .pid = 5,
        .kernel = true,
        .unit = "kernel"}},
      {R"({"MESSAGE":[108,111,115,116],"__REALTIME_TIMESTAMP":"5","_SOURCE_REALTIME_TIMESTAMP":"1795231178000000"})",
       {.message = "lost", .clock = Clock::utc, .ns = kNov}},
      {R"({"MESSAGE":[300]})", {.message = R"({"MESSAGE":[300]})"}},
      {R"({"log":"cut)", {.message = R"({"log":"cut)"}},
      {R"({"loss": 1.5})", {.message = R"({"loss": 1.5})"}},
  });
  EXPECT_TRUE(peel("2026-11-21T03:19:38Z stdout P half").prefix.partial);
  EXPECT_EQ(peel("2026-11-21T03:19:38Z stdout P half").message, "half");
  EXPECT_EQ(peel("2026-11-21T03:19:38Z stdout P half").prefix.stream, "stdout");
  EXPECT_FALSE(peel("2026-11-21T03:19:38Z stdout F whole").prefix.partial);
  EXPECT_EQ(peel("2026-11-21T03:19:38Z stdout F").message, "");
}

TEST(Peel, NcclHeads) {
  for (const char* head :
       {"node7:12:34 [5] NCCL INFO x", "node7:12:34 [5] init.cc:99 NCCL WARN x",
        "node7:12:34 [5] init.cc:99 (ncclInit) NCCL WARN x",
        "node7:12:34 [5] 12.345 func:7 NCCL TRACE x",
        "[2026-11-21 03:19:38] node7:12:34 [5] init.cc:9 NCCL WARN x",
        "[default5]:node7:12:34 [5] NCCL INFO x", "  5: node7:12:34 [5] NCCL INFO x"}) {
    const Prefix prefix = peel(head).prefix;
    EXPECT_TRUE(prefix.nccl) << head;
    EXPECT_EQ(prefix.host, "node7") << head;
    EXPECT_EQ(prefix.pid, 12) << head;
    EXPECT_EQ(prefix.device, 5) << head;
  }
  EXPECT_EQ(peel("[2026-11-21 03:19:38] node7:12:34 [5] NCCL WARN x").prefix.time.ns, kNov);
  EXPECT_FALSE(peel("NCCL version 2.27.3+cuda12.9").prefix.nccl);
  EXPECT_FALSE(peel("node7:99999999999999999999:34 [5] NCCL INFO x").prefix.nccl);
}

TEST(Peel, LeavesAlone) {
  for (const char* text : {"eth0: Lost carrier",
                           "mlx5_core 0000:08:00.0: assert_var[0]",
                           "iteration 45/ 120 | loss",
                           "0000:3b:00.0: x",
                           "[    12.324] (II) modeset",
                           "[Rank 0] Watchdog",
                           "[Epoch 3:10] x",
                           "[Exception in a.cc:12] x",
                           "Fatal error",
                           "W: x",
                           "I think so",
                           "host7: x",
                           "EXT4-fs (sda1): x",
                           "(II) x",
                           "<not a number> x",
                           "<999>x",
                           "[1,3]: x",
                           "1/2 done",
                           "3 of 4: ok",
                           "user: x",
                           "[gpu] x",
                           "3%",
                           "12",
                           "[",
                           "(",
                           "<",
                           "{",
                           "kern",
                           "[rank",
                           "[rank3",
                           "(a pid=",
                           "Nov",
                           "6,1,2",
                           "2026-11-21",
                           "ValueError: x",
                           ""})
    check({{text, {.message = text}}});
}

TEST(Peel, HostHabit) {
  check({{"node017: [rank1]: x", {.message = "x", .host = "node017", .rank = 1}},
         {"node017:", {.message = "", .host = "node017"}}},
        Habit{true});
  const Line fourth = peel("gx-09.3: x", Habit{true});
  EXPECT_EQ(fourth.prefix.host, Host("gx-09"));
  EXPECT_EQ(fourth.prefix.local_rank, LocalRank(3)) << "a label of each process of a machine";
  EXPECT_TRUE(
      habit_of("ox-elm: [2026-03-07] a\nox-oak: 2026-03-07 b\nox-elm: [1] c\n").host_prefix);
  EXPECT_FALSE(habit_of("my-app: [1] a\nmy-app: [1] b\nmy-app: [1] c\n").host_prefix);
  EXPECT_FALSE(habit_of("ox-elm: a\nox-oak: b\nox-ash: c\n").host_prefix) << "keys of a listing";
  EXPECT_TRUE(habit_of("ox-a: a\nox-b: b\nox-c: c\nox-b: d\nox-a: e\nox-c: f\n").host_prefix);
  EXPECT_FALSE(habit_of("ox-a: a\nox-b: b\nox-c: c\n").host_prefix) << "keys of a listing";
  EXPECT_TRUE(
      habit_of("elm: closed by remote peer oak<41>\noak: a\nelm:\noak: peer elm<7>\n").host_prefix);
  EXPECT_FALSE(habit_of("srun: error: oak: a\nslurmd: b\nsrun: error: elm: c\n").host_prefix);
  EXPECT_FALSE(habit_of("info: [1] a\nwarning: [1] b\nerror: [1] c\n").host_prefix);
  EXPECT_TRUE(habit_of("node017: a\nnode018: b: c\n\nnode017:\nnode9: d\n").host_prefix);
  EXPECT_FALSE(habit_of("node017: a\nnode018: b\n").host_prefix);
  EXPECT_FALSE(habit_of("eth0: a\nLoading\neth1: b\nnvme0: c\n").host_prefix);
  EXPECT_FALSE(habit_of("").host_prefix);
}

TEST(Peel, ProgressBars) {
  const char* bar = "  3%|\xe2\x96\x88\xe2\x96\x88   | 12/345 [00:07<06:50,  1.23s/it]";
  EXPECT_EQ(peel(std::string(bar) + "[2026-11-21 03:19:38,625] [INFO] x").message, "x");
  EXPECT_EQ(peel(std::string(bar) + "[2026-11-21 03:19:38,625] [INFO] x").prefix.time.ns,
            kNov + 625'000'000);
  EXPECT_EQ(peel("Loading checkpoint shards: 50% 1/2 [00:49<00:49, 49.97s/it]E0825 17:31:27.240000 "
                 "1397 torch/a.py:7] x")
                .message,
            "x");
  EXPECT_EQ(peel("Epoch 0:   6%|# | 32040/500150 [6:28:43<94:39:17,  1.37it/s, loss=2.6][E "
                 "ProcessGroupNCCL.cpp:458] [Rank 0] x")
                .message,
            "[Rank 0] x");
  EXPECT_EQ(peel(bar).message, bar);
  EXPECT_EQ(peel("100%|#| 2/2 [0:01<0:00, 1it/s]  50%|# | 1/2 [0:01<0:01, 1it/s]x").message, "x");
}

TEST(Clean, TakesColoursAndNulsOut) {
  using namespace std::string_literals;
  EXPECT_EQ(clean("a\0\0b"s), "ab");
  for (const char* esc : {"\x1b", "^[", "\\u001b", "\\u001B", "#033", "\\x1b", "\\033", "\\e"})
    EXPECT_EQ(clean(esc + "[1;31mred"s + esc + "[0m"), "red") << esc;
  EXPECT_EQ(clean("\x1b[38;2;54;234;195mx\x1b[0m"), "x");
  EXPECT_EQ(clean("\x1b[38:5:1mx\x1b[K"), "x");
  EXPECT_EQ(clean("\x1b]0;title\ax\x1b]8;;u\x1b\\y"), "xy");
  EXPECT_EQ(clean("x\x1b"), "x");
  EXPECT_EQ(clean("x\x1b["), "x");
  EXPECT_EQ(clean("x\x1b]0;never closed"), "x");
  EXPECT_EQ(clean("x\r\r"), "x");
  EXPECT_EQ(clean("a\\b ^ # \\"), "a\\b ^ # \\");
  EXPECT_EQ(clean("caf\xe9"), "caf\xe9");
  EXPECT_TRUE(needs_cleaning("a\0"s));
  EXPECT_TRUE(needs_cleaning("\x1b"));
  EXPECT_FALSE(needs_cleaning("a"));
  EXPECT_EQ(peel("\x1b[31m[rank3]:\x1b[0m lost\0\0"s).message, "lost");
  EXPECT_EQ(peel("\x1b[31m[rank3]:\x1b[0m lost").prefix.rank, Rank(3));
}

TEST(RecordHeads, SplitTornLines) {
  struct Torn {
    std::string raw;
    std::vector<std::size_t> heads;
  };
  const std::string half = "gpu-a:1:1 [0] NCCL INFO comm 0x1 rank 0 busId 53";
  for (
      const Torn& t : std::initializer_list<Torn>{
          {"", {0}},
          {"plain", {0}},
          {half, {0}},
          {half + "gpu-a:2:2 [1] NCCL INFO x", {0, half.size() - 2}},  // the host swallows the tail
          {"lost [rank3]: x[rank4]: y", {0, 5, 15}},
          {"[default3]:[rank3]: x", {0}},
          {"[rank3]: gpu-a:1:1 [0] NCCL INFO x", {0}},
          {"  3: [rank3]: x", {0}},
          {"[2026-11-21 03:19:38] gpu-a:1:1 [0] NCCL WARN x", {0}},
          {"[2026-11-21 03:19:38,601] [INFO] [rank3]: x", {0}},
          {"2026-11-21T03:19:38.123456789Z stderr F gpu-a:1:1 [0] NCCL INFO x", {0}},
          {"2026-11-21T03:19:38.123456789Z stderr F [rank3]: x", {0}},
          {"retraining/0 [default0]:x", {0}},
          {"[2025-11-20T14:55:23+08:00] retraining/0 [default5]:x", {0}},
          {"Nov 21 03:19:38 node7 python[12]: gpu-a:1:1 [0] NCCL INFO x", {0}},
          {"node017: gpu-a:1:1 [0] NCCL INFO x", {0}},
          {R"({"log":"gpu-a:1:1 [0] NCCL INFO x\n","stream":"stderr","time":"2026-11-21T03:19:38Z"})",
           {0}},
          {R"({"MESSAGE":"[rank3]: x"})", {0}}})
    EXPECT_EQ(record_heads(test::Exact(t.raw).view()), t.heads) << t.raw;
}

// Seeded, so that a failure comes again.
struct Random {
  std::uint64_t state = 0x9E3779B97F4A7C15ULL;
  std::size_t below(std::size_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::size_t>(state % n);
  }
};

TEST(Peel, HoldsForAnyBytes) {
  static constexpr std::string_view kParts[] = {"[",
                                                "]",
                                                ":",
                                                " ",
                                                "<4>",
                                                "[rank3]:",
                                                "[default1]:",
                                                "2026-11-21 03:19:38,601",
                                                "2026-11-21T03:19:38.123456789Z",
                                                " stderr P ",
                                                " stdout F ",
                                                "Nov 21 03:19:38 ",
                                                "node7 ",
                                                "kernel: ",
                                                "[  123.456789] ",
                                                "E0611 02:50:04.977 12 a.py:9] ",
                                                "[E621 06:24:44.903 X.cpp:6] ",
                                                "{\"log\":\"",
                                                "\\n\",\"stream\":\"stderr\"}",
                                                "{\"MESSAGE\":",
                                                "[1,3]<stdout>:",
                                                "(W pid=1, ip=1.2) ",
                                                "gpu:1:2 [3] NCCL INFO ",
                                                " 3%|## | 1/2 [0:1<0:2, 1it/s]",
                                                "\x1b[31m",
                                                "\x1b]0;",
                                                "^[[0m",
                                                "<34>1 ",
                                                "- ",
                                                "[a b=\"\\\"",
                                                "6,1,2,-;",
                                                "kern  :warn  : ",
                                                "retraining/0 ",
                                                "[NeMo W ",
                                                "[Sun Feb 23 16:24:18 2025] ",
                                                "99999999999999999999",
                                                "x",
                                                "-1",
                                                "\xc3\xa4",
                                                "\xff",
                                                "\r",
                                                "%"};
  Random random;
  std::size_t partial = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string raw;
    for (std::size_t n = random.below(8); n > 0; --n)
      raw += kParts[random.below(std::size(kParts))];
    for (std::size_t n = random.below(3); n > 0 && !raw.empty(); --n) {
      const std::size_t where = random.below(raw.size());
      if (random.below(2) == 0)
        raw[where] = static_cast<char>(random.below(256));
      else
        raw.erase(where, random.below(4));
    }
    const test::Exact exact(raw);
    const Line line = peel(exact.view(), Habit{random.below(2) == 0});
    const std::string text = clean(raw);
    if (text.find('{') == std::string::npos) {
      ASSERT_NE(text.find(line.message), std::string::npos) << raw;
    }
    if (line.message.empty()) { ASSERT_TRUE(peel(line.message).message.empty()); }
    partial += line.prefix.partial;
    const auto heads = record_heads(exact.view());
    ASSERT_EQ(heads.front(), 0u);
    for (std::size_t h = 1; h < heads.size(); ++h)
      ASSERT_TRUE(heads[h] > heads[h - 1] && heads[h] < raw.size()) << raw;
    (void)habit_of(exact.view());
  }
  EXPECT_GT(partial, 0u);
}

TEST(Export, EventsOfAMachinesController) {
  const Line event =
      peel(R"({"host": "gx-4", "Created": "2026-11-21T03:19:38Z", "Message": "Fan 3 failed."})");
  EXPECT_EQ(event.message, "Fan 3 failed.");
  EXPECT_EQ(event.prefix.host, Host("gx-4"));
  EXPECT_EQ(event.prefix.time.ns, kNov);
}

TEST(Export, FiguresBesideAMessageOfAStepBelongToIt) {
  const Line step = peel(
      R"({"time": 1785536404500, "host": "v3", "level": "INFO", "msg": "step 12", "loss": 6.5})");
  EXPECT_EQ(step.message, "step 12 loss=6.5");
  EXPECT_EQ(step.prefix.host, Host("v3"));
  EXPECT_EQ(peel(R"({"time": 1785536404500, "msg": "worker is up", "port": 29500})").message,
            "worker is up");
  EXPECT_EQ(peel(R"({"time": 1785536404500, "msg": "x", "rank": 7})").prefix.rank, Rank(7));
}

TEST(BasicConfig, ATimeBehindTheNameOfTheLogger) {
  const Line line = peel("INFO:trainer.loop:2026-06-20T00:00:04Z step=1 loss=10.05");
  EXPECT_EQ(line.message, "step=1 loss=10.05");
  EXPECT_EQ(line.prefix.time.clock, Clock::utc);
  EXPECT_EQ(peel("INFO:trainer.loop:step=1").prefix.time.clock, Clock::none);
}

TEST(JsonRecord, KeepsItsExceptionUnderAnyKey) {
  const std::string head =
      R"({"ts": "2025-05-20T04:57:41Z", "lvl": "ERROR", "msg": "write failed")";
  EXPECT_EQ(peel(head + R"(, "exc": "OSError: [Errno 28] No space left on device"})").message,
            "write failed\nOSError: [Errno 28] No space left on device");
  EXPECT_EQ(peel(head + R"(, "why": "torch.OutOfMemoryError: CUDA out of memory"})").message,
            "write failed\ntorch.OutOfMemoryError: CUDA out of memory");
  EXPECT_EQ(peel(head + R"(, "cause": "see err", "err": "OSError: [Errno 28] No space"})").message,
            "write failed\nsee err\nOSError: [Errno 28] No space");
  EXPECT_EQ(peel(head + R"(, "last_error": "OSError: [Errno 28] No space"})").message,
            "write failed");
  EXPECT_EQ(peel(R"({"ts": "2025-05-20T04:57:41Z", "lvl": "INFO", "msg": "tried again, ok", )"
                 R"("cause": "OSError: [Errno 28] No space"})")
                .message,
            "tried again, ok");
  EXPECT_EQ(peel(head + R"(, "error": null, "note": "OK: all well"})").message, "write failed");
}

}  // namespace
}  // namespace culprit::line
