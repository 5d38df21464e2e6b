// Step lines in nobody's format: what counts is learnt, and ranks are told apart.
#include <gmock/gmock.h>

#include "ingest/training/step_counter.hpp"
#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_text;
using test::Rows;
using testing::ElementsAre;
using testing::SizeIs;

// The first steps that a log of such lines tells of; {n} stands for the count, {x} for a loss, {mm}
// for a minute.
std::vector<std::int64_t> steps_of(const std::string& pattern, std::int64_t by = 20) {
  std::string text;
  for (std::int64_t i = 1; i <= 24; ++i) {
    std::string line = pattern;
    const auto fill = [&](const std::string& mark, const std::string& with) {
      for (std::size_t at = line.find(mark); at != std::string::npos; at = line.find(mark))
        line.replace(at, mark.size(), with);
    };
    fill("{n}", std::to_string(i * by));
    fill("{x}", "3." + std::to_string(90 - i));
    fill("{mm}", std::to_string(10 + i));
    text += line + "\n";
  }
  std::vector<std::int64_t> out;
  for (const ProgressRow& row : read_text(text).progress)
    if (row.iteration && out.size() < 6) out.push_back(*row.iteration);
  return out;
}

TEST(LoopLines, WhatCountsIsLearntFromLinesOfOneShape) {
  const auto all = ElementsAre(20, 40, 60, 80, 100, 120);
  for (const char* line :
       {"iter {n}: loss {x}, time 312.51ms, mfu 31.20%",
        "[2026-02-03 10:{mm}:00] Epoch 1, batch {n}, loss[loss={x}, frames=1200], lr: 3.00e-03",
        "2026-02-03 10:{mm}:00 | INFO | epoch 001:   {n} / 9876 loss={x}, ppl=19.1, wps=12345, "
        "num_updates={n}, lr=1e-05, train_wall=8",
        "10:{mm}:00 update {n}  loss {x}  tok/s 12k", "E0 B{n} train_loss={x} t=412ms",
        "2026-02-03 10:{mm}:00 INFO #{n} loss={x} took 1.3s",
        "Training: iteration {n} of 50000, loss = {x}, 1.30 sec/iter",
        "[10:{mm}:00] pas {n} perte={x} durée/pas=2.56s",
        "eta: 0:30:12  iter: {n}  total_loss: {x}  loss_cls: 0.8  time: 0.3110  data_time: 0.0051",
        "train: [{n}/40000] eta: 1 day, 14:13:11 loss: {x} time: 3.6007 data: 0.0564 max mem: "
        "41022",
        "Progress on:train {n}it/100kit rate:1.2it/s remaining:22:10:00 postfix:loss={x}"})
    EXPECT_THAT(steps_of(line), all) << line;
}

TEST(LoopLines, NothingCountsWhereNothingGrows) {
  for (const char* line : {"16 packets transmitted, {n} received, 3% packet loss, time 3004ms",
                           "Validation: [{n}/500] loss: {x}", "step {n} val_loss {x}",
                           "checkpoint loss {x} of epoch 3", R"({"id": {n}, "loss": {x}})",
                           "2026-02-03 10:{mm}:00 loss {x} at 10:{mm}:30"})
    EXPECT_THAT(steps_of(line), SizeIs(0)) << line;
  // Numbers that do not grow from line to line count nothing.
  EXPECT_THAT(read_text("a 5 loss 1.0\na 3 loss 1.1\na 9 loss 1.2\na 9 loss 1.3\n").progress,
              SizeIs(0));
}

TEST(LoopLines, AnEpochGoesOnAndARestartFallsBack) {
  const auto log = [](const std::vector<std::pair<int, int>>& at) {
    std::string text;
    for (const auto& [epoch, batch] : at)
      text += "ep " + std::to_string(epoch) + " batch " + std::to_string(batch) + "/50 loss 2.5\n";
    std::vector<std::int64_t> out;
    for (const ProgressRow& row : read_text(text).progress) out.push_back(*row.iteration);
    return out;
  };
  EXPECT_THAT(log({{0, 10}, {0, 20}, {0, 30}, {0, 40}, {1, 10}, {1, 20}}),
              ElementsAre(10, 20, 30, 40, 60, 70));
  EXPECT_THAT(log({{0, 10}, {0, 20}, {0, 30}, {0, 40}, {0, 20}, {0, 30}}),
              ElementsAre(10, 20, 30, 40, 20, 30));
}

TEST(LoopLines, NumbersThatMayCount) {
  const CountedLine line = counted_line(
      "2026-02-03 10:11:12 rank 7 step 120 of 5,000 lr 1e-4 loss -3.5 412ms 4% 20it nan");
  EXPECT_EQ(line.shape, "#-#-# #:#:# rank 7 step #/# lr ~ loss ~ #ms #% #it ~");
  ASSERT_THAT(line.counts, SizeIs(3));
  EXPECT_EQ(line.counts[0].value, 7);
  EXPECT_EQ(line.counts[1], (LineCount{120, 5000, 1}));
  EXPECT_EQ(line.counts[2].value, 20);
}

std::string parts_of(const Rows& rows) {
  std::string out;
  for (const SeriesRow& s : rows.series_rows) {
    out += s.name + "[" + s.unit + "]";
    if (s.rank) out += " r" + std::to_string(number_of(*s.rank));
    if (s.host) out += " " + std::string(*s.host);
    out += "; ";
  }
  return out;
}

// A unit of a step is what stands before it, or the name of what follows.
TEST(LoopLines, AUnitMayBeAName) {
  const auto took = [](const std::string& line) {
    const Rows rows = read_text("1785690004.470 step 7 " + line + "\n");
    return rows.progress.empty() ? std::nullopt : rows.progress[0].iteration_ms;
  };
  EXPECT_EQ(took("loss 2.3879 sec/step 4.47"), 4470);
  EXPECT_EQ(took("loss 2.3879 | ms/step: 447"), 447);
  EXPECT_EQ(took("loss 2.3879, 4.47 s/step"), 4470);
}

// Parts without a unit have that of the total which they add up to.
TEST(LoopLines, PartsAddUpToTheTime) {
  const auto took = [](const std::string& parts) {
    const Rows rows = read_text("2025-07-08T14:00:03 INFO step=7 " + parts + "\n");
    return rows.progress.empty() ? std::nullopt : rows.progress[0].iteration_ms;
  };
  EXPECT_EQ(took("time=3.10s (data 0.02 fwd 0.95 bwd 1.70 comm 0.28)"), 3100);
  EXPECT_EQ(took("time=907.10s (data 0.02 fwd 0.95 bwd 1.70 comm 0.28)"), std::nullopt)
      << "since the start";
}

TEST(RankParts, ALineForEachRankOrMachine) {
  EXPECT_EQ(
      parts_of(read_text(
          "    [per-rank @ 100] rank  3 node-02 data_time 0.046 fwd_bwd 0.624 wait_all 2.7\n")),
      "data_time[] r3; fwd_bwd[s] r3; wait_all[s] r3; ");
  EXPECT_EQ(parts_of(read_text("ranks 8-15 (node-02): data=1.49s forward=0.42s wait=0.05s\n")),
            "data[s] node-02; forward[s] node-02; wait[s] node-02; ");
  EXPECT_EQ(parts_of(read_text("[rank3]: data=12ms compute=420ms allreduce=55ms\n")),
            "data[ms] r3; compute[ms] r3; allreduce[ms] r3; ");
  // Who is meant is not said, or it is no time of a part.
  EXPECT_EQ(parts_of(read_text("compute 3 nodes for rank 5 of forward 7\n")), "");
  EXPECT_EQ(parts_of(read_text("  File \"a.py\", line 3, in forward  # rank 3\n")), "");
}

TEST(RankParts, AllRanksOnOneLine) {
  EXPECT_EQ(
      parts_of(read_text(
          "StepTimer(avg of 1000) ms  rank: fwd_bwd/wait  0:246/29 1:256/19 2:245/30 3:244/31\n")),
      "fwd_bwd[ms] r0; wait[ms] r0; fwd_bwd[ms] r1; wait[ms] r1; fwd_bwd[ms] r2; wait[ms] "
      "r2; fwd_bwd[ms] r3; wait[ms] r3; ");
  EXPECT_EQ(parts_of(read_text("compute_ms per rank: [812.1, 813.0, 1440.2, 811.7]\n")),
            "compute_ms[ms] r0; compute_ms[ms] r1; compute_ms[ms] r2; compute_ms[ms] r3; ");
  for (const char* line : {"compute per rank: [0, 1, 2]\n", "ranks per rank: [0, 1, 2, 3]\n",
                           "fwd_bwd/wait ms rank 0:246/29 1:256 2:245/30 3:244/31\n",
                           "fwd_bwd ms rank 3:246 2:256 1:245 0:244\n"})
    EXPECT_EQ(parts_of(read_text(line)), "") << line;
}

}  // namespace
}  // namespace culprit::ingest
