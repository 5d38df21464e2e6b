#include "line/speaker_label.hpp"

#include "kit.hpp"
#include "line/line.hpp"

namespace culprit::line {
namespace {

TEST(SpeakerLabel, AWordOfRanksBesideATimeIsOneAnywhere) {
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

TEST(SpeakerLabel, OthersAreThoseOfMostLinesOfAFile) {
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
  EXPECT_EQ(peel("r5| loss", habit_of("r1| a\nr2| b\nr1| c\nr2| d\n")).prefix.rank, Rank(5));
  EXPECT_EQ(peel("[5/8] loss", habit_of("[1/8] a\n[2/8] b\n[1/8] c\n[2/8] d\n")).prefix.rank,
            Rank(5));
}

TEST(SpeakerLabel, WhatIsCountedOrStandsOnceIsNone) {
  for (const char* text :
       {"[step1] a\n[step2] b\n[step1] c\n[step2] d\n", "[GPU1] a\n[GPU2] b\n[GPU1] c\n[GPU2] d\n",
        "[n1] a\n[n2] b\n[n3] c\n[n4] d\n", "[n1] a\n[n1] b\n[n1] c\n[n1] d\n",
        "[n1] a\nb\n[n2] c\nd\n[n1] e\nf\n[n2] g\nh\n"})
    EXPECT_EQ(habit_of(text).label, LabelKind::none) << text;
}

TEST(SpeakerLabel, WordsThatAreNoMachine) {
  for (const char* word : {"gpu3", "cuda1", "pid3011", "dp0", "stage3", "H100-NVL-80GB", "ep0"})
    EXPECT_FALSE(may_name_machine(word)) << word;
  for (const char* word : {"gpu-n07", "node3", "r3n01", "hx22", "dgx-fra-117", "cn-r07-s11"})
    EXPECT_TRUE(may_name_machine(word)) << word;
}

}  // namespace
}  // namespace culprit::line
