// Names and times of rows: identity, attribution, clock, signals, classes.
#include "analyze/facts/signal.hpp"
#include "bundle.hpp"

namespace culprit::diagnose::test {
namespace {

class Facts : public SmallBundle {
 protected:
  static const EventRow* event(const Answer& a, std::string_view event_class) {
    for (const EventRow& e : a.resolved.facts.events)
      if (e.event_class == event_class) return &e;
    return nullptr;
  }
  static const MemberRow* member(const Answer& a, std::string_view path) {
    for (const MemberRow& m : a.resolved.facts.members)
      if (m.path == path) return &m;
    return nullptr;
  }
};

constexpr char kOffTheBus[] =
    "NVRM: Xid (PCI:0000:5e:00): 79, pid=4711, name=python, GPU has fallen off the bus.\n";

TEST_F(Facts, TimesSinceBootBecomeUtcThroughTheUptime) {
  write("hosts/mx-1/dmesg.txt", std::string("[  120.500000] ") + kOffTheBus);
  write("hosts/mx-1/date.txt", "2026-03-04T09:00:00Z\n");
  write("hosts/mx-1/proc_uptime", "600.00 4000.00\n");
  const Answer a = diagnose();
  const EventRow* e = event(a, "gpu_xid/79");
  ASSERT_NE(e, nullptr);
  ASSERT_TRUE(e->time_ns) << "09:00:00 less 600 s, and 120.5 s";
  EXPECT_NEAR(static_cast<double>(*e->time_ns - 1'772'614'320'500'000'000), 0, 2e9);
  ASSERT_EQ(a.resolved.facts.hosts.size(), 1u);
  EXPECT_EQ(a.resolved.facts.hosts[0].host, "mx-1");
  EXPECT_TRUE(a.resolved.facts.hosts[0].boot_ns);
}

TEST_F(Facts, WithoutAnAnchorATimeSinceBootHasNoPlace) {
  write("hosts/mx-1/dmesg.txt", std::string("[  120.500000] ") + kOffTheBus);
  const Answer a = diagnose();
  const EventRow* e = event(a, "gpu_xid/79");
  ASSERT_NE(e, nullptr);
  EXPECT_FALSE(e->time_ns);
  EXPECT_EQ(e->host, "mx-1");
}

TEST_F(Facts, FoldersThatFormASeriesAreHostsWhateverTheyLookLike) {
  for (const char* host : {"gpu-01", "gpu-02", "gpu-03"})
    write(std::string("hosts/") + host + "/dmesg.txt", "[    1.000000] Linux version 6.8.0\n");
  write("hosts/gpu-02/dmesg.txt", std::string("[   77.000000] ") + kOffTheBus);
  const Answer a = diagnose();
  const MemberRow* m = member(a, "hosts/gpu-02/dmesg.txt");
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(m->host, "gpu-02");
  const EventRow* e = event(a, "gpu_xid/79");
  ASSERT_NE(e, nullptr);
  EXPECT_EQ(e->host, "gpu-02");
}

TEST_F(Facts, RanksAreTiedToHostsByNcclsInitLines) {
  for (int i = 0; i < 2; ++i)
    write("out/rank_" + std::to_string(i) + ".log",
          "kx-" + std::to_string(i + 7) + ":31" + std::to_string(i) + ":31" + std::to_string(i) +
              " [0] NCCL INFO comm 0x55 rank " + std::to_string(i) +
              " nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x77 - Init COMPLETE\n");
  const Answer a = diagnose();
  const auto& ranks = a.resolved.facts.ranks;
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0].host, "kx-7");
  EXPECT_EQ(ranks[1].host, "kx-8");
  EXPECT_EQ(member(a, "out/rank_1.log")->rank, Rank(1));
}

TEST_F(Facts, TheSameLineInTwoFilesOfAHostIsOneSignal) {
  const std::string line = std::string("2026-03-04T09:31:07+00:00 mx-1 kernel: ") + kOffTheBus;
  write("hosts/mx-1/syslog", line);
  write("hosts/mx-1/kern.log", line);
  write("hosts/mx-2/syslog", "2026-03-04T09:00:00+00:00 mx-2 systemd[1]: Reached target Basic.\n");
  const Answer a = diagnose();
  const auto signals = analyze::collect_signals(a.resolved.facts, pack());
  EXPECT_EQ(std::count_if(signals.begin(), signals.end(),
                          [](const auto& s) { return s.event_class == "gpu_xid/79"; }),
            1);
  EXPECT_EQ(std::count_if(a.findings.begin(), a.findings.end(),
                          [](const Finding& f) {
                            return f.analysis == Analysis::classify &&
                                   f.event_class == "gpu_xid/79";
                          }),
            1);
}

// Lines that somebody took out of the output of a job are its own, whatever the file is called.
TEST_F(Facts, WarningsOfManyMachinesAreOutputOfAJob) {
  const auto elsewhere = [&](int hosts) {
    std::string picked;
    for (int i = 0; i < hosts; ++i)
      picked += fmt::format(
          "mx-{}:4000:4200 [0] transport/net_ib.cc:1708 NCCL WARN NET/IB: Got completion from "
          "peer 10.4.20.0<41022> with status=12 opcode=0 len=0 vendor err 129 (Recv) hca mlx5_0\n",
          i);
    write("picked.txt", picked);
    std::string steps;
    for (int i = 0; i < 9; ++i)
      steps += fmt::format("2026-03-04T09:31:0{}Z step {} loss 2.5\n", i, i);
    write("train_rank0.log", steps);
    const Answer a = diagnose();
    return std::ranges::count_if(a.resolved.facts.events,
                                 [](const EventRow& e) { return e.elsewhere; });
  };
  EXPECT_EQ(elsewhere(3), 3) << "too few";
  EXPECT_EQ(elsewhere(8), 11) << "nothing else names one of their machines";
  write("hosts/mx-1/syslog", "2026-03-04T09:00:00+00:00 mx-1 systemd[1]: Reached target Basic.\n");
  EXPECT_EQ(elsewhere(8), 0) << "written behind them";
}

// A service that went long before the job began is gone until it says that it is back.
TEST_F(Facts, AServiceThatStayedAway) {
  const auto action = [&](const std::string& since) {
    write("ufm/opensm.log",
          "Jul 08 04:50:00 118220 [7F2A] 0x01 -> SUBNET UP\n"
          "Jul 08 04:58:03 002211 [7F2A] 0x80 -> Exiting SM\n" +
              since);
    std::string log;
    for (int rank = 0; rank < 8; ++rank)
      log += fmt::format(
          "[rank{}]: 2026-07-08T06:30:0{}Z torch.distributed.DistBackendError: NCCL error in: "
          "ProcessGroupNCCL.cpp:2114, internal error, NCCL version 2.21.5\n",
          rank, rank);
    write("job.log", "2026-07-08T06:29:00Z starting\n" + log);
    write("sminfo.txt", "sminfo: iberror: failed: query\n");
    return diagnose().verdict.action;
  };
  EXPECT_EQ(action(""), Action::repair);
  EXPECT_NE(action("Jul 08 05:10:00 000001 [7F2A] 0x01 -> SUBNET UP\n"), Action::repair);
}

TEST_F(Facts, EqualBytesOfOneOwnerCountOnce) {
  const std::string text = std::string("2026-03-04T09:31:07+00:00 mx-1 kernel: ") + kOffTheBus;
  write("hosts/mx-1/a/syslog", text);
  write("hosts/mx-1/b/syslog", text);
  const Answer a = diagnose();
  const MemberRow* first = member(a, "hosts/mx-1/a/syslog");
  const MemberRow* second = member(a, "hosts/mx-1/b/syslog");
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(first->duplicate_of, 0);
  EXPECT_EQ(second->duplicate_of, first->id);
}

TEST_F(Facts, ASeverityIsTheRulesAndNotTheLoggersWord) {
  write("hosts/mx-1/syslog", std::string("2026-03-04T09:31:07+00:00 mx-1 kernel: ") + kOffTheBus +
                                 "2026-03-04T09:31:09+00:00 mx-1 kernel: mlx5_core 0000:63:00.0 "
                                 "eth4: Link down\n");
  const Answer a = diagnose();
  const EventRow* e = event(a, "gpu_xid/79");
  ASSERT_NE(e, nullptr);
  EXPECT_EQ(e->severity, Severity::critical);
  EXPECT_EQ(e->role, Role::root);
  EXPECT_EQ(e->scope, Scope::host_local);
  EXPECT_EQ(e->gpu, "0000:5e:00");
}

// Machine code of a trainer that is in no collective looks like any program's.
TEST_F(Facts, TheOnlyProcessOfARankIsItsTrainerWhateverItDoes) {
  const auto stack = [](int pid, const char* top) {
    const std::string id = std::to_string(pid);
    return "PID " + id + " - process\nTID " + id + ":\n#0  0x00007f0000000010 " + top +
           "\n#1  0x00007f0000000020 _PyEval_EvalFrameDefault\n#2  0x00007f0000000030 "
           "Py_RunMain\n#3  0x00007f0000000040 _start\n";
  };
  for (int rank = 0; rank < 3; ++rank)
    write("stacks/rank" + std::to_string(rank) + "_" + std::to_string(500 + rank) + ".txt",
          stack(500 + rank,
                "c10d::ProcessGroupNCCL::WorkNCCL::synchronizeInternal("
                "std::chrono::duration<long, std::ratio<1l, 1000l> >)"));
  write("stacks/rank3_503.txt", stack(503, "__libc_open64"));
  const Answer a = diagnose();
  std::size_t trainers = 0;
  for (const analyze::StackSample& s : a.resolved.facts.samples) trainers += s.role == "trainer";
  EXPECT_EQ(trainers, 4u);
}

}  // namespace
}  // namespace culprit::diagnose::test
