#include "line/header_layout.hpp"

#include <algorithm>

#include "kit.hpp"
#include "line/line.hpp"

namespace culprit::line {
namespace {

// Lines of 16 ranks on two machines, twice each, with the layout's R and H filled in.
std::string lines_of(const std::string& layout) {
  std::string out;
  for (int rank = 0; rank < 32; ++rank) {
    std::string line = layout;
    const auto fill = [&](const std::string& what, const std::string& by) {
      for (std::size_t at; (at = line.find(what)) != std::string::npos;)
        line.replace(at, what.size(), by);
    };
    fill("$R", std::to_string(rank % 16));
    fill("$L", std::to_string(rank % 8));
    fill("$H", rank % 16 < 8 ? "wk-21" : "wk-22");
    out += line + "loss 2.5\n";
  }
  return out;
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.rfind('\n');
  return text.substr(text.rfind('\n', end - 1) + 1, end - text.rfind('\n', end - 1) - 1);
}

TEST(HeaderLayout, ANumberOfARankAndAMachineAreReadWhereverTheyStand) {
  for (const char* layout :
       {"[rank$R] $H 2026-01-29 16:20:19 INFO ", "$H [rank$R] 2026-01-29 16:20:19 INFO ",
        "2026-01-29 16:20:19 $H [rank$R] ", "[2026-01-29 16:20:19] [$H] [rank $R] ",
        "time=2026-01-29T16:20:19Z level=info node=$H rank=$R msg=",
        "rank$R@$H: 2026-01-29 16:20:19 ", "$H/$R: 2026-01-29 16:20:19 ",
        "($H, rank $R) 2026-01-29 16:20:19 ", "$H r$R | 16:20:19 ",
        "2026-01-29 16:20:19 | rank $R | $H | ", "2026-01-29 16:20:19,123 - $H - rank$R - ",
        "2026-01-29 16:20:19 [rank=$R host=$H] ", "[2026-01-29 16:20:19][$H:4012][rank $R/16] ",
        "<$H> rank $R: 2026-01-29 16:20:19 "}) {
    const std::string text = lines_of(layout);
    const Line line = peel(last_line(text), habit_of(text));
    EXPECT_EQ(line.prefix.rank, Rank(15)) << layout;
    EXPECT_EQ(line.prefix.host, Host("wk-22")) << layout;
    EXPECT_NE(line.prefix.time.clock, Clock::none) << layout;
    EXPECT_TRUE(line.message.ends_with("loss 2.5")) << layout << ": " << line.message;
  }
}

TEST(HeaderLayout, ANumberBehindAMachineIsARankThereWhereOthersHaveItToo) {
  const std::string text = lines_of("[$H:$L] 2026-01-29 16:20:19 ");
  const Line line = peel(last_line(text), habit_of(text));
  EXPECT_EQ(line.prefix.local_rank, LocalRank(7));
  EXPECT_EQ(line.prefix.host, Host("wk-22"));
  EXPECT_FALSE(line.prefix.rank);
}

TEST(HeaderLayout, NumbersInBracketsOfWhichNoneIsLeftOutAreTasks) {
  const std::string text = lines_of("[$R] 2026-01-29 16:20:19 ");
  EXPECT_EQ(peel(last_line(text), habit_of(text)).prefix.task, 15);
  std::string counted;
  for (int i = 100; i < 140; i += 4) counted += "[" + std::to_string(i) + "] 16:20:19 loss\n";
  EXPECT_TRUE(habit_of(counted).header.view().empty());
}

// Two in five lines are enough where they are dated, and they may all stand at the end.
TEST(HeaderLayout, LinesThatAreFewAndLastCountTheirShare) {
  std::string dated = lines_of("$H [rank $R] 2026-01-29 16:20:19 ");
  const auto lines = std::ranges::count(dated, '\n');
  std::string before, more;
  for (std::ptrdiff_t i = 0; i < lines * 3 / 2; ++i) before += "loading the data set\n";
  for (std::ptrdiff_t i = 0; i < lines; ++i) more += "loading the data set\n\n";
  EXPECT_FALSE(habit_of(before + dated).header.view().empty());
  EXPECT_TRUE(habit_of(before + more + dated).header.view().empty());
}

TEST(HeaderLayout, AWordOfRanksBesideATimeIsOneAnywhere) {
  for (const char* label :
       {"[RANK 3] ", "[rank:3] ", "[rank=3] ", "(rank=3) ", "(Rank 3) ", "Rank 3: ", "Rank 3 | ",
        "rank3: ", "rank_3: ", "[Rank 3/64] ", "[global_rank 3] "}) {
    const Line line = peel(std::string(label) + "2026-02-03 10:11:12 loss 2.5");
    EXPECT_EQ(line.message, "loss 2.5") << label;
    EXPECT_EQ(line.prefix.rank, Rank(3)) << label;
    EXPECT_FALSE(line.prefix.host) << label;
    EXPECT_EQ(peel("2026-02-03 10:11:12,123 " + std::string(label) + "loss").prefix.rank, Rank(3))
        << label;
  }
  // Without a time it may be a part of the message, and PyTorch's always is.
  EXPECT_FALSE(peel("Rank 3: lost").prefix.rank);
  const char* watchdog = "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(...)";
  EXPECT_EQ(peel(watchdog).message, watchdog);
}

// A machine and its rank between brackets are no part of a message, beside a time or not.
TEST(HeaderLayout, AMachineAndItsRankBetweenBracketsAreALabel) {
  for (const char* label : {"[bx-208 rank24] ", "(gx-07, rank 24) ", "[bx-208:rank24] "}) {
    const Line line = peel(std::string(label) + "CUDA error");
    EXPECT_EQ(line.message, "CUDA error") << label;
    EXPECT_EQ(line.prefix.rank, Rank(24)) << label;
    EXPECT_TRUE(line.prefix.claimed_host) << label;
    EXPECT_FALSE(line.prefix.host) << "other sources must know it: " << label;
  }
  EXPECT_FALSE(peel("[step-12 rank 3] CUDA error").prefix.claimed_host)
      << "what is counted is no machine";
}

// "gx-07 [rank24]: ", of launchers that put a machine before what its ranks print.
TEST(HeaderLayout, AWordBeforeALabelMayBeAMachine) {
  for (const char* label : {"gx-07 [rank24]: ", "2026-02-03 10:11:12,123 gx-07 [rank24] "}) {
    const std::string raw = std::string(label) + "CUDA error";
    const Line line = peel(raw);
    EXPECT_EQ(line.message, "CUDA error") << label;
    EXPECT_EQ(line.prefix.rank, Rank(24)) << label;
    EXPECT_EQ(line.prefix.claimed_host, Host("gx-07")) << label;
    EXPECT_EQ(record_heads(raw).size(), 1u) << label;
  }
  const Line behind = peel("[rank130] 12/Mar/2026:05:07:55 +0000 [gx-07] NCCL WARN port error");
  EXPECT_EQ(behind.prefix.claimed_host, Host("gx-07"));
  EXPECT_EQ(behind.message, "NCCL WARN port error");
  EXPECT_FALSE(peel("[rank3] 2026-03-12 05:07:55 [WARN] slow").prefix.claimed_host);
  EXPECT_FALSE(peel("step-12 [rank24]: CUDA error").prefix.claimed_host);
  EXPECT_FALSE(peel("lost [rank24]: CUDA error").prefix.claimed_host);
}

TEST(HeaderLayout, OthersAreThoseOfMostLinesOfAFile) {
  for (const char* layout : {"ga-1| ", "ga-1 | ", "ga-1> ", "(ga-1) ", "[ga-1] ", "[ga-1:5] "}) {
    std::string text;
    for (int i = 0; i < 8; ++i) {
      std::string label = layout;
      label.replace(label.find('1'), 1, std::to_string(1 + i % 2));
      text += label + "loss 2.5\n";
    }
    const Line line = peel(std::string(layout) + "loss 2.5", habit_of(text));
    EXPECT_EQ(line.message, "loss 2.5") << layout;
    EXPECT_EQ(line.prefix.host, Host("ga-1")) << layout;
  }
  EXPECT_EQ(peel("r5| loss", habit_of("r0| a\nr2| b\nr0| c\nr2| d\n")).prefix.rank, Rank(5));
  EXPECT_EQ(peel("[5/8] loss", habit_of("[0/8] a\n[2/8] b\n[0/8] c\n[2/8] d\n")).prefix.rank,
            Rank(5));
}

TEST(HeaderLayout, WhatIsCountedOrStandsOnceIsNone) {
  for (const char* text :
       {"[step1] a\n[step2] b\n[step1] c\n[step2] d\n", "[GPU1] a\n[GPU2] b\n[GPU1] c\n[GPU2] d\n",
        "[n1] a\n[n2] b\n[n3] c\n[n4] d\n", "[n1] a\n[n1] b\n[n1] c\n[n1] d\n",
        "[n1] a\nb\n[n2] c\nd\n[n1] e\nf\n[n2] g\nh\n"})
    EXPECT_TRUE(habit_of(text).header.view().empty()) << text;
}

TEST(HeaderLayout, AWorkerOfEachRankIsNoMachine) {
  std::string text;
  for (int i = 0; i < 16; ++i)
    text += fmt::format("16:20:19 worker-{0} rank {0} | loss 2.5\n", i % 8);
  const Line line = peel(last_line(text), habit_of(text));
  EXPECT_FALSE(line.prefix.host);
}

TEST(HeaderLayout, WhatNeverFallsCountsAndIsNoRank) {
  std::string rounds, turns, epochs;
  for (int i = 0; i < 32; ++i) {
    rounds += fmt::format("[{}/64] 16:20:19 loss 2.5\n", i / 2);
    epochs += fmt::format("[{}/8] 16:20:19 loss 2.5\n", 1 + i % 8);
    turns += fmt::format("[{}/4] 16:20:19 rank {} | loss 2.5\n", i % 4, i % 8);
  }
  EXPECT_FALSE(peel(last_line(rounds), habit_of(rounds)).prefix.rank);
  EXPECT_FALSE(peel(last_line(epochs), habit_of(epochs)).prefix.rank) << "no rank 0";
  EXPECT_EQ(peel(last_line(turns), habit_of(turns)).prefix.rank, Rank(7)) << "the word wins";
}

TEST(HeaderLayout, TheFirstWordOfASentenceIsNoSpeaker) {
  std::string text;
  for (int i = 0; i < 32; ++i)
    text += fmt::format("[rank {}] gx-0{} answered late\n", i % 4, i % 2);
  EXPECT_FALSE(peel(last_line(text), habit_of(text)).prefix.host);
}

TEST(HeaderLayout, OtherThingsWithNumbersAreNoMachines) {
  for (const char* layout : {"[Conv{}d] step", "INFO etcd{} | step", "[expert-0{}] step",
                             "node=conv{} t=16:20:19 step", "server=minio-{} msg=step"}) {
    std::string text;
    for (int i = 0; i < 32; ++i) text += fmt::format(fmt::runtime(layout), 1 + i % 2) + " 1\n";
    EXPECT_FALSE(peel(last_line(text), habit_of(text)).prefix.host) << layout;
  }
}

TEST(HeaderLayout, WhatALauncherCountsIsReadAsItMeansIt) {
  std::string text;
  for (int i = 0; i < 64; ++i) text += fmt::format("[trainer{}]:[rank{}] fetched\n", i % 8, i % 32);
  const Habit habit = habit_of(text);
  EXPECT_TRUE(habit.header.view().empty());
  EXPECT_EQ(peel(last_line(text), habit).prefix.local_rank, LocalRank(7));
}

TEST(HeaderLayout, WordsThatAreNoMachine) {
  for (const char* word : {"gpu3", "cuda1", "pid3011", "dp0", "stage3", "H100-NVL-80GB", "ep0",
                           "llama3-70b", "dp2-tp1", "EngineCore_DP0", "shard-07", "actor-3"})
    EXPECT_FALSE(may_name_machine(word)) << word;
  for (const char* word :
       {"gpu-n07", "gpu-07", "data-node3", "node3", "r3n01", "hx22", "dgx-fra-117", "cn-r07-s11"})
    EXPECT_TRUE(may_name_machine(word)) << word;
}

}  // namespace
}  // namespace culprit::line
