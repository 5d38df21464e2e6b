#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_text;
using test::Rows;

std::string bar(int at, int total, const std::string& rate, const std::string& what = "",
                const std::string& more = "") {
  return fmt::format("\r{} {:3}%|█▏        | {}/{} [01:02<07:15, {}{}]", what, 100 * at / total, at,
                     total, rate, more);
}

TEST(ProgressBar, OfTheTrainerAndLightning) {
  const auto rows =
      read_text(bar(1, 1000, "?it/s") + bar(2, 1000, " 2.00it/s") + bar(2, 1000, " 2.00it/s") +
                bar(3, 1000, " 4.00s/it", "Epoch 3:", ", v_num=0") + "\n");
  ASSERT_EQ(rows.progress.size(), 3u);  // drawn again is nothing done
  EXPECT_EQ(rows.progress[0].framework, "tqdm");
  EXPECT_EQ(rows.progress[0].iteration, 1);
  EXPECT_EQ(rows.progress[0].iteration_ms, std::nullopt);
  EXPECT_EQ(rows.progress[1].iteration_ms, 500);
  EXPECT_EQ(rows.progress[1].total, 1000);
  EXPECT_EQ(rows.progress[2].iteration_ms, 4000);
  EXPECT_EQ(rows.progress[2].framework, "progress-bar");  // its name says that it is the training's
}

TEST(ProgressBar, EpochsGoOnAndRestartsBeginAgain) {
  std::string text;
  for (int epoch = 0; epoch < 2; ++epoch)
    for (int i = 1; i <= 20; ++i) text += bar(i, 20, "2.0it/s");
  for (int i = 1; i <= 5; ++i) text += bar(i, 20, "2.0it/s");
  text += bar(3, 20, "2.0it/s") + "\n";
  const auto rows = read_text(text);
  ASSERT_EQ(rows.progress.size(), 46u);
  EXPECT_EQ(rows.progress[39].iteration, 40);
  EXPECT_EQ(rows.progress[44].iteration, 45);
  EXPECT_EQ(rows.progress[45].iteration, 3);  // from the middle back: that was a restart
}

TEST(ProgressBar, EpochsThatAreNamedNeedNoFullBar) {
  std::string text;
  for (int epoch = 0; epoch < 3; ++epoch)
    for (int i = 20; i <= 380; i += 20)
      text += bar(i, 400, "2.0it/s", fmt::format("Epoch {}:", epoch), ", v_num=0");
  const auto rows = read_text(text + "\n");
  ASSERT_EQ(rows.progress.size(), 57u);
  EXPECT_EQ(rows.progress[18].iteration, 380);
  EXPECT_EQ(rows.progress[19].iteration, 420);
  EXPECT_EQ(rows.progress[56].iteration, 1180);
  EXPECT_EQ(rows.progress[56].total, 1200) << "the epoch is not over";
}

TEST(ProgressBar, OtherBarsAreNoSteps) {
  EXPECT_TRUE(read_text(bar(50, 100, "2.0it/s", "Loading checkpoint shards:") +
                        bar(50, 100, "2.0it/s", "Validation:") + bar(3, 10, "2.0it/s") +
                        bar(50, 100, "2.0it/s", "Train split:") +
                        bar(50, 100, "2.0it/s", "Epoch 0 eval:") + "\n")
                  .progress.empty());
  std::string text;
  for (int i = 10; i < 30; ++i)
    text +=
        bar(i, 1000, "2.0it/s") + (i == 20 ? bar(5, 60, "9.0it/s") + bar(50, 60, "9.0it/s") : "");
  const auto rows = read_text(text + "\n");
  ASSERT_EQ(rows.progress.size(), 20u);  // an evaluation between two steps
  EXPECT_EQ(rows.progress[19].iteration, 29);
  // Two bars of which neither is clearly the training's: none is believed.
  text.clear();
  for (int i = 1; i <= 30; ++i) text += bar(i, 400, "2.0it/s");
  for (int i = 1; i <= 20; ++i) text += bar(i, 1000, "9.0it/s");
  EXPECT_TRUE(read_text(text + "\n").progress.empty());
}

// Ranks that draw into one file: one of them is followed.
TEST(ProgressBar, OfSeveralRanks) {
  std::string text;
  for (int i = 2; i <= 40; ++i)
    text += "[rank0]:" + bar(i, 300, "2.0it/s").substr(1) +
            "\n[rank1]:" + bar(i - 1, 300, "2.0it/s").substr(1) + "\n";
  const auto rows = read_text(text);
  ASSERT_EQ(rows.progress.size(), 39u);
  for (std::size_t i = 0; i < rows.progress.size(); ++i)
    EXPECT_EQ(rows.progress[i].iteration, static_cast<std::int64_t>(i) + 2);
}

TEST(ProgressBar, NothingBesideStepLines) {
  const std::string steps = "at step=17 loss=2.25\nat step=18 loss=2.25\n";
  EXPECT_EQ(read_text(bar(10, 1000, "2.0it/s") + "\n" + steps).progress.size(),
            read_text(steps).progress.size());
  // Losses without a step number tell no progress: both are read.
  EXPECT_EQ(read_text(bar(10, 1000, "2.0it/s") +
                      "\n{'loss': 3.5, 'learning_rate': 2.0e-06, 'epoch': 0.01}\n")
                .progress.size(),
            2u);
}

// Data without a length: Lightning counts, and begins again with each epoch.
TEST(ProgressBar, WithoutATotal) {
  const Rows rows = read_text(
      "2026-02-18T09:03:20+01:00 Epoch 0: |    200/? [2.89it/s, v_num=41, loss=0.12]\n"
      "2026-02-18T09:04:28+01:00 Epoch 0: |          | 400/? [02:18<00:00, 2.92it/s, v_num=41]\n"
      "2026-02-18T09:05:38+01:00 Epoch 1: |          | 100/? [00:34<00:00, 2.00it/s, v_num=41]\n"
      "2026-02-18T09:05:39+01:00 Validation: |          | 100/? [00:34<00:00, 2.00it/s]\n");
  ASSERT_EQ(rows.progress.size(), 3u);
  EXPECT_EQ(rows.progress[1].iteration, 400);
  EXPECT_EQ(rows.progress[2].iteration, 500);
  EXPECT_EQ(rows.progress[2].iteration_ms, 500);
  EXPECT_FALSE(rows.progress[2].total);
}

}  // namespace
}  // namespace culprit::ingest
