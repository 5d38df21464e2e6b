#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_text;

std::string entry(int index, int rank, int local, int code, int pid, const std::string& traceback) {
  return fmt::format(
      "[{}]:\n  time      : 2026-11-21_03:32:41\n  host      : node{}\n  rank      : {} "
      "(local_rank: {})\n  exitcode  : {} (pid: {})\n  error_file: <N/A>\n  traceback : {}\n",
      index, rank / 8, rank, local, code, pid, traceback);
}

const std::string kRule(60, '-'), kBars(60, '=');
const char* const kTrace =
    "Traceback (most recent call last):\n    File \"/w/train.py\", line 7, in main\n      go()\n  "
    "TypeError: bad\n  ";

TEST(Torchrun, Report) {
  const std::string text = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" +
                           kBars + "\ntrain.py FAILED\n" + kRule + "\nFailures:\n" +
                           entry(1, 9, 1, -9, 500, "Signal 9 (SIGKILL) received by PID 500") +
                           kRule + "\nRoot Cause (first observed failure):\n" +
                           entry(0, 8, 0, 1, 499, kTrace) + kBars + "\nafter\n";
  const auto rows = read_text(text);
  ASSERT_EQ(rows.exits.size(), 2u);
  EXPECT_EQ(rows.exits[0].rank, Rank(9));
  EXPECT_EQ(rows.exits[0].code, -9);
  EXPECT_FALSE(rows.exits[0].blamed);
  EXPECT_EQ(rows.exits[1].rank, Rank(8));
  EXPECT_EQ(rows.exits[1].local_rank, LocalRank(0));
  EXPECT_EQ(rows.exits[1].pid, 499);
  EXPECT_EQ(rows.exits[1].host, "node1");
  EXPECT_TRUE(rows.exits[1].blamed);
  EXPECT_EQ(iso_utc(rows.exits[1].time.ns), "2026-11-21T03:32:41Z");
  EXPECT_EQ(rows.raised(), (std::vector<std::string>{"TypeError: bad"}));
  EXPECT_EQ(rows.tracebacks[0].source, "torchrun");
  EXPECT_EQ(rows.tracebacks[0].rank, Rank(8));
  EXPECT_EQ(rows.tracebacks[0].file, "/w/train.py");
  EXPECT_EQ(rows.identities.size(), 2u);
  test::check_places(rows, text);
}

TEST(Torchrun, TwoAgentsEachWithTheirRootCause) {
  std::string text;
  for (int node = 0; node < 2; ++node)
    text += "Failures:\n  <NO_OTHER_FAILURES>\n" + kRule +
            "\nRoot Cause (first observed failure):\n" +
            entry(0, node * 8 + 2, 2, 1, 70 + node, "To enable traceback see: https://x") + kBars +
            "\n";
  const auto rows = read_text(text);
  ASSERT_EQ(rows.exits.size(), 2u);
  EXPECT_TRUE(rows.exits[0].blamed && rows.exits[1].blamed);
  EXPECT_EQ(rows.exits[1].host, "node1");
}

TEST(Torchrun, TwoAgentsInterleavedBySrunLabels) {
  std::string text;
  std::vector<std::string> lines[2];
  for (int node = 0; node < 2; ++node) {
    std::istringstream report("Root Cause (first observed failure):\n" +
                              entry(0, node * 8 + 2, 2, 1, 70 + node, kTrace) + kBars + "\n");
    for (std::string one; std::getline(report, one);) lines[node].push_back(one);
  }
  for (std::size_t i = 0; i < lines[0].size(); ++i)
    for (int node = 0; node < 2; ++node) text += fmt::format("{}: {}\n", node, lines[node][i]);
  const auto rows = read_text(text);
  ASSERT_EQ(rows.exits.size(), 2u);
  EXPECT_EQ(number_of(*rows.exits[0].rank) + number_of(*rows.exits[1].rank), 12);
  EXPECT_EQ(rows.tracebacks.size(), 2u);
}

TEST(Torchrun, ACutReportGivesWayToOthers) {
  const auto rows =
      read_text("Root Cause (first observed failure):\n" +
                entry(0, 2, 2, 1, 70,
                      "Traceback (most recent call last):\n    File \"/w/a.py\", line 1, in f") +
                "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n");
  EXPECT_EQ(rows.exits.size(), 1u);
  ASSERT_FALSE(rows.events.empty());
  EXPECT_EQ(rows.events.back().gpu.value_or(rows.events.front().gpu.value_or("")), "0000:3b:00");
}

TEST(Torchrun, ExitLinesOfThreeGenerations) {
  for (const char* head :
       {"ERROR:torch.distributed.elastic.multiprocessing.api:",
        "[2026-11-21 03:19:38,601] torch.distributed.elastic.multiprocessing.api: [ERROR] ",
        "E1121 03:19:38.601000 377 torch/distributed/elastic/multiprocessing/api.py:914] "}) {
    const auto rows = read_text(
        std::string(head) +
        "failed (exitcode: -9) local_rank: 4 (pid: 208585) of binary: /usr/bin/python3\n");
    ASSERT_EQ(rows.exits.size(), 1u) << head;
    EXPECT_EQ(rows.exits[0].code, -9);
    EXPECT_EQ(rows.exits[0].local_rank, LocalRank(4));
    EXPECT_EQ(rows.exits[0].pid, 208585);
    EXPECT_EQ(rows.exits[0].time.clock != Clock::none, head[0] != 'E' || head[1] == '1');
  }
  EXPECT_EQ(read_text("failed (exitcode: -9) local_ra\n").reasons(), "1:torchrun.exit_torn");
}

TEST(Exits, SrunAndShell) {
  struct Case {
    const char* line;
    std::int64_t code;
    const char* source;
  };
  for (const Case& c :
       {Case{"srun: error: node07: task 4: Killed", -9, "srun"},
        {"srun: error: node07: tasks 1,3-5: Exited with exit code 13", 13, "srun"},
        {"srun: error: node07: task 0: Segmentation fault (core dumped)", -11, "srun"},
        {"srun: error: n: task 0: Terminated", -15, "srun"},
        {"srun: error: n: task 0: Bus error", -7, "srun"},
        {"srun: error: n: task 0: Aborted (core dumped)", -6, "srun"},
        {"srun: error: n: task 0: Out Of Memory", -9, "srun"},
        {"torchrun exit code 1", 1, "shell"},
        {"exit status: 0", 0, "shell"},
        {"EXIT_CODE=137", -9, "shell"},
        {"job exit code: -6", -6, "shell"}}) {
    const auto rows = read_text(std::string(c.line) + "\n");
    ASSERT_EQ(rows.exits.size(), 1u) << c.line;
    EXPECT_EQ(rows.exits[0].code, c.code) << c.line;
    EXPECT_EQ(rows.exits[0].source, c.source) << c.line;
    EXPECT_EQ(rows.members[0].used, 1u);
  }
  for (const char* line : {"exit code 12345", "the exit code is 5 or more", "x: y exit code 5 z",
                           "exitcode  : 1 (pid: 5)", "srun: error: Unable to create step"})
    EXPECT_TRUE(read_text(std::string(line) + "\n").exits.empty()) << line;
}

}  // namespace
}  // namespace culprit::ingest
