// Lines of frameworks that write or read a checkpoint, and lines that only speak of one.
#include "kit.hpp"

namespace culprit::ingest::test {
namespace {

std::string checkpoints(const std::string& text) {
  const Rows rows = read_text(text);
  std::string out;
  for (const CheckpointRow& r : rows.checkpoints)
    out += fmt::format("{}:{}:{} ", r.place.line, name(r.event), r.iteration.value_or(-1));
  return out;
}

TEST(Checkpoints, FrameworksSayWhatTheyWrite) {
  EXPECT_EQ(
      checkpoints("saving checkpoint at iteration     300 to /scratch/a7/ckpt in torch format\n"
                  "  successfully saved checkpoint from iteration     300 to /scratch/a7/ckpt [ t "
                  "1/2, p 1/1 ]\n"),
      "1:saving:300 2:saved:300 ");
  EXPECT_EQ(checkpoints("[2026-11-18 02:10:05,868] [INFO] [torch_checkpoint_engine.py:19:save] "
                        "[Torch] Checkpoint global_step40 is about to be saved!\n"
                        "[2026-11-18 02:10:09,868] [INFO] [torch_checkpoint_engine.py:33:commit] "
                        "[Torch] Checkpoint global_step40 is ready now!\n"),
            "1:saving:40 2:saved:40 ");
  EXPECT_EQ(checkpoints("Saving model checkpoint to /data/step_study/out/checkpoint-1500\n"),
            "1:saving:1500 ");
  EXPECT_EQ(checkpoints("[titan] 2026-11-18 02:10:05,868 - root - INFO - Saving the checkpoint (or "
                        "staging if async is enabled).\n"
                        "[titan] 2026-11-18 02:10:08,112 - root - INFO - Finished saving the "
                        "checkpoint (or staging if async is enabled)in 2.24 seconds.\n"),
            "1:saving:-1 2:saved:-1 ");
  EXPECT_EQ(
      checkpoints("Async checkpoint save for step 250 (/ckpt/a7/step=249-last.ckpt) finalized "
                  "successfully.\n"),
      "1:saved:250 ");
}

TEST(Checkpoints, FrameworksSayWhatTheyRead) {
  EXPECT_EQ(
      checkpoints(" loading checkpoint from /scratch/a7/ckpt at iteration 300\n"
                  "  successfully loaded checkpoint from /scratch/a7/ckpt [ t 1/2, p 1/1 ] at "
                  "iteration 300\n"),
      "1:loading:300 2:loaded:300 ");
  EXPECT_EQ(checkpoints("Resuming from checkpoint /data/out/checkpoint-1500\n"), "1:loading:1500 ");
  EXPECT_EQ(checkpoints("Loading the checkpoint from outputs/checkpoint/step-100.\n"),
            "1:loading:100 ");
}

TEST(Checkpoints, WhatFailedOrIsPlannedIsNone) {
  EXPECT_EQ(checkpoints("failed to save checkpoint at iteration 300: No space left on device\n"
                        "Error saving checkpoint of step 40\n"
                        "could not find checkpoint metadata, starting from scratch\n"
                        "Loading checkpoint shards:  50%|#####     | 2/4 [00:03<00:03,  1.5s/it]\n"
                        "using activation checkpointing, saving memory\n"
                        "  save_interval ....... 100, saving a checkpoint every 100 steps\n"
                        "  load_checkpoint ................. None\n"
                        "WARNING checkpoint step_90 is truncated, skipping it\n"),
            "");
}

}  // namespace
}  // namespace culprit::ingest::test
