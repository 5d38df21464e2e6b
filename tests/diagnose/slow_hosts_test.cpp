// Jobs whose machines each tell of the parts of their steps, in logs of no rank.
#include <fmt/format.h>

#include "bundle.hpp"
#include "report/phrases.hpp"

namespace culprit::diagnose::test {
namespace {

class SlowHosts : public SmallBundle {
 protected:
  struct Parts {
    double data = 0.08, copy = 0.4, wait = 0.3;
  };
  // Thirty steps of each machine from step `from`: compute is the same everywhere.
  void steps(const std::string& host, const Parts& parts, int from = 0) {
    std::string text;
    for (int i = 0; i < 30; ++i) {
      const int second = (from + i) * 10;
      text += fmt::format(
          "2026-03-02 10:{:02}:{:02} {} step={} data_time={:.2f}s opt_copy={:.2f}s compute=5.{}0s "
          "wait_reduce={:.2f}s\n",
          second / 60, second % 60, host, from + i, parts.data, parts.copy, i % 3 + 1, parts.wait);
    }
    write(fmt::format("run/{}.log", host), text);
  }
};

TEST_F(SlowHosts, TheOneThatWorksWhileAllOthersWaitIsWhereToLook) {
  for (const char* host : {"node-a1", "node-a2", "node-a4", "node-a5"}) steps(host, {.wait = 3.5});
  steps("node-a3", {.copy = 3.7, .wait = 0.2});
  const Answer answer = diagnose();
  EXPECT_TRUE(answer.verdict.targets.empty()) << "work may be unequal by design";
  EXPECT_TRUE(std::ranges::any_of(answer.verdict.next, [](const NextStep& n) {
    return report::words(n.text).find("node-a3") != std::string::npos;
  }));
  const Finding* slow = answer.fired(Analysis::slow);
  ASSERT_NE(slow, nullptr);
  EXPECT_TRUE(std::get<SlowFacts>(slow->facts).against_peers);
}

// A profile, once of the whole run: no pipeline gives more to the ranks of a machine in its middle.
TEST_F(SlowHosts, TheMachineInTheMiddleOfASummaryByRank) {
  std::string log, table = "# procid host compute_s allreduce_s (mean over 200 steps, traced)\n";
  for (int i = 0; i < 40; ++i)
    log += fmt::format("2026-03-02 10:{:02}:{:02} step={} loss=1.92 iter_s=3.5\n", i * 4 / 60,
                       i * 4 % 60, i);
  for (int rank = 0; rank < 32; ++rank)
    table +=
        fmt::format("{} node-c{} {}{} {}{}\n", rank, rank / 8 + 1, rank / 8 == 1 ? "3.2" : "1.7",
                    rank % 4, rank / 8 == 1 ? "0.2" : "1.7", rank % 3);
  write("rank0.log", log);
  write("summary.txt", table);
  const Answer answer = diagnose();
  EXPECT_EQ(answer.verdict.action, Action::mitigate);
  EXPECT_EQ(answer.targets(SubjectKind::host), std::vector<std::string>{"node-c2"});
}

TEST_F(SlowHosts, UnequalWorkThatNobodyWaitsForAccusesNobody) {
  for (const char* host : {"node-a1", "node-a2", "node-a4", "node-a5"}) steps(host, {});
  steps("node-a3", {.copy = 3.7});
  EXPECT_EQ(diagnose().fired(Analysis::slow), nullptr);
}

TEST_F(SlowHosts, APartThatGrewOnAllOfThemIsNobodys) {
  for (const char* host : {"node-a1", "node-a2", "node-a3", "node-a4"}) {
    steps(host, {});
    steps(host, {.data = 9.5}, 30);
  }
  const Answer answer = diagnose();
  EXPECT_EQ(answer.verdict.action, Action::mitigate);
  EXPECT_TRUE(answer.verdict.targets.empty());
  const Finding* slow = answer.fired(Analysis::slow);
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(std::get<SlowFacts>(slow->facts).grown, "data");
}

// A link trains down while the job runs; its kernel counts from the boot, and gives no date.
TEST_F(SlowHosts, ALinkBelowItsRateExplainsAJobThatBecameSlow) {
  for (const char* host : {"node-a1", "node-a2", "node-a3"}) {
    steps(host, {});
    steps(host, {.wait = 6.0}, 30);
    write(fmt::format("hosts/{}/dmesg", host), "[1205400.1] IPv6: eth0: link becomes ready\n");
  }
  write("hosts/node-a2/dmesg",
        "[1205498.119839] pcieport 0000:4a:01.0: bw_notification: 63.012 Gb/s available PCIe "
        "bandwidth, limited by 16.0 GT/s PCIe x4 link at 0000:4a:01.0 (capable of 252.048 Gb/s "
        "with 16.0 GT/s PCIe x16 link)\n");
  const Answer answer = diagnose();
  EXPECT_EQ(answer.verdict.action, Action::isolate);
  EXPECT_EQ(answer.targets(SubjectKind::host), std::vector<std::string>{"node-a2"});
}

// What each device of a machine does: the machine is as slow as the slowest of them, and where that
// fills most of every step nobody has to say that the others wait.
TEST_F(SlowHosts, OneDeviceThatFillsTheStep) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += fmt::format("[2026-03-02 10:{:02}:{:02}] step={} loss=1.92 iter_s=11.8\n", i * 12 / 60,
                        i * 12 % 60, i);
    if (i % 6 != 0) continue;
    for (int host = 1; host < 9; ++host)
      text += fmt::format("   node-b{} h2d offload per gpu (s): 1.6{} 1.62 {} 1.66\n", host, i % 7,
                          host == 5 ? "9.94" : "1.64");
  }
  write("stdout.txt", text);
  const Answer answer = diagnose();
  const Finding* slow = answer.fired(Analysis::slow);
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(slow->host, Host("node-b5"));
}

}  // namespace
}  // namespace culprit::diagnose::test
