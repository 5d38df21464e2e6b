// A port that goes down as the job's communication fails, and one that nobody uses.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "bundle.hpp"
#include "report/phrases.hpp"

namespace culprit::diagnose::test {
namespace {

class LinkDown : public SmallBundle {
 protected:
  static constexpr int kHosts = 8;

  // Steps of a second that end at 03:39:34; then what every rank raises, with that time before it;
  // none: nothing is raised.
  void ranks(const std::optional<std::string>& failed) {
    for (int r = 0; r < kHosts; ++r) {
      std::string text;
      for (int k = 0; k < 10; ++k)
        text += fmt::format(
            "[2026-11-21 03:39:{:02}] iteration {}/ 200 | elapsed time per iteration (ms): 970.1 | "
            "lm loss: 2.0E+00\n",
            25 + k, k + 3);
      if (failed)
        text += fmt::format(
            "{}[rank{}]: torch.distributed.DistBackendError: NCCL error in: "
            "../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, remote process exited or "
            "there was a network error, NCCL version 2.19.3\n",
            *failed, r);
      rewrite(fmt::format("logs/n{}/rank_{}.log", r, r), text);
    }
  }
  // time: "[Sat Nov 21 03:39:40 2026] ", or "" for a log without times.
  void down(int host, const std::string& time, int ports = 1) {
    std::string text;
    for (int i = 0; i < ports; ++i)
      text += fmt::format("{}mlx5_core 0000:{}:00.0 ens{}f0: Link down\n", time, 41 + i, i);
    // Lines without a time stand in a log without times.
    time.empty() ? rewrite(fmt::format("hosts/n{}/dmesg.txt", host), text)
                 : write(fmt::format("hosts/n{}/dmesg.txt", host), text);
  }
  void healthy_logs() {
    for (int host = 0; host < kHosts; ++host)
      rewrite(fmt::format("hosts/n{}/dmesg.txt", host),
              "[Sat Nov 21 03:10:01 2026] systemd[1]: Started Session 12 of user root.\n");
  }
};

const char* const kFailed = "[2026-11-21 03:41:02] ";
const char* const kAsItFailed = "[Sat Nov 21 03:39:40 2026] ";

// The job may not use that port: what is left is a host to check.
TEST_F(LinkDown, AsTheJobFailedNamesTheHost) {
  for (const char* failed : {kFailed, ""}) {
    healthy_logs();
    ranks(failed);
    down(3, kAsItFailed);
    const Answer a = diagnose();
    EXPECT_EQ(a.verdict.action, Action::checks) << report::words(a.verdict.summary);
    EXPECT_EQ(a.targets(SubjectKind::host), std::vector<std::string>{"n3"});
  }
}

TEST_F(LinkDown, OfTwoHostsInOneMomentIsWhatTheyShare) {
  healthy_logs();
  ranks(kFailed);
  down(3, kAsItFailed, 2);
  down(4, kAsItFailed, 2);
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::repair) << report::words(a.verdict.summary);
  EXPECT_TRUE(a.targets(SubjectKind::host).empty());
}

TEST_F(LinkDown, AtAnyOtherTimeAccusesNobody) {
  for (const char* other : {"[Sat Nov 21 01:02:40 2026] ", "[Sat Nov 21 03:35:00 2026] ",
                            "[Sat Nov 21 03:55:00 2026] ", ""}) {
    healthy_logs();
    ranks(kFailed);
    down(3, other);
    const Answer a = diagnose();
    EXPECT_NE(a.verdict.action, Action::isolate) << other;
    EXPECT_TRUE(a.targets(SubjectKind::host).empty()) << other;
  }
}

TEST_F(LinkDown, WithoutFailedCommunicationIsNoFailure) {
  healthy_logs();
  ranks(std::nullopt);
  down(3, kAsItFailed);
  const Answer a = diagnose();
  EXPECT_NE(a.verdict.action, Action::isolate) << report::words(a.verdict.summary);
}

TEST_F(LinkDown, OfUnknownTimeIsNamedAsALead) {
  healthy_logs();
  ranks(kFailed);
  down(3, "");
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::checks) << report::words(a.verdict.summary);
  EXPECT_TRUE(std::any_of(a.verdict.next.begin(), a.verdict.next.end(), [](const auto& step) {
    return report::words(step.text).find("Also check n3: Ethernet link down") != std::string::npos;
  }));
}

TEST_F(LinkDown, AnErrorThatEndsEveryRankIsAFailure) {
  ranks(kFailed);
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::checks) << report::words(a.verdict.summary);
  EXPECT_TRUE(a.targets(SubjectKind::host).empty());
}

// Two peers that lost a machine are too few to tell which end is at fault; its own card tells.
TEST_F(LinkDown, TheEndThatSpeaksOfItsOwnPort) {
  const auto console = [](const std::string& own) {
    std::string out;
    for (int k = 0; k < 10; ++k)
      out += fmt::format("13:55:{:02} [pq-101:0] step {} loss=2.1 step_time=1.0s\n", k + 10, k + 3);
    for (const char* host : {"pq-103", "pq-105"})
      out += fmt::format(
          "{}:77:91 [3] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer "
          "10.60.3.104<40980> with status=12 opcode=129 len=0 vendor err 129 hca mlx5_3\n",
          host);
    return out + own;
  };
  const std::string port =
      "pq-104:77:91 [3] transport/net_ib.cc:94 NCCL WARN NET/IB : mlx5_3:1 Got async event : port "
      "error\n";
  rewrite("console.txt", console(port));
  Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::isolate) << report::words(a.verdict.summary);
  EXPECT_EQ(a.targets(SubjectKind::host), std::vector<std::string>{"pq-104"});
  rewrite("console.txt", console(""));
  a = diagnose();
  EXPECT_NE(a.verdict.action, Action::isolate);
}

// The counters of a port are a second source beside the peers that lost the machine.
TEST_F(LinkDown, CountersOfThePortOfTheEndThatAllLost) {
  const auto bundle = [&](const std::string& bad) {
    std::string console, counters = "time(JST),host,device,symbol_error,link_downed\n";
    for (int k = 0; k < 60; ++k)
      console += fmt::format("[2026-03-02 05:{:02}:00] step {} loss=2.1 step_time=60.0s\n", k, k);
    for (const char* host : {"pq-101", "pq-103", "pq-105"})
      console += fmt::format(
          "{}:77:91 [3] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer "
          "pq-104-r3<40980> with status=12 opcode=129 len=0 vendor err 129 hca mlx5_3\n",
          host);
    for (int k = 0; k < 60; k += 2)
      for (int host = 101; host <= 108; ++host) {
        const bool grows = fmt::format("pq-{}", host) == bad && k > 20;
        counters += fmt::format("14:{:02}:00,pq-{},mlx5_3,{},{}\n", k, host,
                                grows ? 900 * (k - 20) : 0, grows ? (k - 20) / 8 : 0);
      }
    rewrite("console.txt", console);
    rewrite("ib_counters.csv", counters);
    rewrite("sys/pq-104.log", "Mar  2 05:00:00 pq-104 systemd[1]: Started Session 12.\n");
  };
  bundle("pq-104");
  const Answer a = diagnose();
  EXPECT_EQ(a.verdict.action, Action::isolate) << report::words(a.verdict.summary);
  EXPECT_EQ(a.targets(SubjectKind::host), std::vector<std::string>{"pq-104"});
  EXPECT_EQ(a.targets(SubjectKind::nic), std::vector<std::string>{"pq-104/mlx5_3"});
}

}  // namespace
}  // namespace culprit::diagnose::test
