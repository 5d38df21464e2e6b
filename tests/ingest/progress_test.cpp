#include <cmath>

#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_text;

struct Step {
  const char* line;
  const char* framework;  // nullptr: no row
  std::int64_t iteration = -1, total = -1;
  double ms = -1, loss = -1;
  bool loss_nan = false;
  double norm = -1;
  bool norm_nan = false;
};

#define MEGATRON                                                                                  \
  " [2026-11-21 03:33:15.347855] iteration       45/     120 | consumed samples:          720 | " \
  "elapsed time per iteration (ms): 92.1 | throughput per GPU (TFLOP/s/GPU): 412.3 | learning "   \
  "rate: 5.000000E-02 | global batch size:    16 |"
#define TAIL " number of skipped iterations:   0 | number of nan iterations:   "

TEST(Progress, LinesOfEveryFramework) {
  for (
      const Step& want :
      {Step{"steps: 52770 loss: 1.9656 iter time (s): 8.112 samples/sec: 126.239", "deepspeed",
            52770, -1, 8112, 1.9656},
       {MEGATRON " lm loss: 4.187842E-01 | loss scale: 1.0 | grad norm: 0.198 |" TAIL "0 |",
        "megatron", 45, 120, 92.1, 0.4187842, false, 0.198},
       {MEGATRON " loss scale: 1.0 | grad norm: nan |" TAIL "1 |", "megatron", 45, 120, 92.1, -1,
        true, -1, true},  // the NaN loss is the missing loss
       {MEGATRON " loss scale: 1.0 | grad norm: nan |" TAIL "0 |", "megatron", 45, 120, 92.1, -1,
        true, -1, true},
       {MEGATRON " load_balancing_loss: 1.030000E+00 | loss scale: 1.0 | grad norm: 0.2 |" TAIL
                 "1 |",
        "megatron", 45, 120, 92.1, -1, true, 0.2},  // another loss is not the loss
       {MEGATRON " lm loss: INF | loss scale: 1.0 | grad norm: inf |" TAIL "0 |", "megatron", 45,
        120, 92.1, -1, true, -1, true},
       {MEGATRON " loss scale: 1.0 | grad norm: 0.198 |" TAIL "0 |", "megatron", 45, 120, 92.1, -1,
        false, 0.198},  // skipped, not NaN
       {" iteration       45/     120 | elapsed time per iteration (ms): 92.1 | lm loss: 1.5E+00 |",
        "megatron", 45, 120, 92.1, 1.5},
       {" samples/sec: 7.799 | iteration       34/   10000 | elapsed time per iteration (ms): "
        "4103.1 | learning rate: 2.111E-06 | lm_loss: 1.118665E+01 |" TAIL "0 |",
        "megatron", 34, 10000, 4103.1, 11.18665},
       {"[2023-07-25 21:03:17,269] [INFO] [logging.py:96:log_dist] [Rank 0] step=35, skipped=0, "
        "lr=[0.1], mom=[[0.9, 0.95]]",
        "deepspeed", 35},
       {"Training epoch 0, iteration 97/99 | lr: 1.469e-05 | global_batch_size: 128 | global_step: "
        "97 | reduced_train_loss: 6.265 | train_step_timing in s: 12.22 | consumed_samples: 12544",
        "nemo", 97, -1, 12220, 6.265},
       {"retraining/0 [default0]:Training epoch 0, iteration 97/99 | global_step: 98 | "
        "reduced_train_loss: nan | train_step_timing in s: 2 | grad_norm: 1.5",
        "nemo", 98, -1, 2000, -1, true},
       {"Epoch 0:   6%|## | 32040/500150 [6:28:43<94:39:17,  1.37it/s, loss=2.6, v_num=95nc, "
        "reduced_train_loss=2.590, global_step=3.2e+4, x=1]",
        "nemo", 32000, -1, -1, 2.59},
       {"[titan] 2025-06-10 21:58:27,008 - root - INFO - step: 700  loss:  0.7052  grad_norm:  "
        "2.0000  memory: 76.79GiB(96.97%)  tps: 1,541,366  tflops: 0.00  mfu: 0.00%",
        "torchtitan", 700, -1, -1, 0.7052, false, 2},
       {"[titan] 2025-06-10 21:58:27,008 - root - INFO - step: 700  loss:  nan  memory: "
        "76.79GiB(96.97%)  tps: 1,541  tflops: 0.00  mfu: N/A",
        "torchtitan", 700, -1, -1, -1, true},
       {"[titan] 2025-06-10 21:58:27,008 - root - INFO - \x1b[31mstep: 1,200  \x1b[32mloss:  0.5  "
        "\x1b[38;2;54;234;195mgrad_norm:  2.0\x1b[39m",
        "torchtitan", 1200, -1, -1, 0.5, false, 2},
       {"{'loss': 3.5534, 'grad_norm': 1.5, 'learning_rate': 2.0e-06, 'epoch': 0.01}",
        "huggingface", -1, -1, -1, 3.5534, false, 1.5},
       {"{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2.0e-06, 'epoch': 0.01}", "huggingface",
        -1, -1, -1, 0, false, -1, true},
       {"{'loss': 2.5, 'grad_norm': 14.5, 'learning_rate': 3e-04, 'step': 7809, 'x': '0'}",
        "huggingface", 7809, -1, -1, 2.5, false, 14.5},
       {"{'loss': '3.5', 'grad_norm': 'nan', 'learning_rate': '2e-06', 'epoch': '0.01'}",
        "huggingface", -1, -1, -1, 3.5, false, -1, true},
       {R"q([2025-04-21T23:53:58.605964] [426] [17b6] [Trainer] [#log] [INSTANT] {"logs": {"elapsed time per iteration (ms)": 1374427.3, "loss scale": 1.0}})q",
        nullptr},
       {" validation loss at iteration 1000 | lm loss value: 1.0 | lm loss PPL: 2.0 |", nullptr},
       {"completed step: 12, seconds: 3.871, TFLOP/s/device: 187.300, Tokens/s/device: 2116.000, "
        "total_weights: 65536, loss: 10.871",
        "generic", 12, -1, 3871, 10.871},
       {"step 120/400 | loss 3.2 | 41 ms/step", "generic", 120, 400, 41, 3.2},
       {"iter 7 | loss 3.25 | lr 1e-4 | 1.5 s/it", "generic", 7, -1, 1500, 3.25},
       {"[worker 3] step 9, loss: 0.5, 120ms/step", "generic", 9, -1, 120, 0.5},
       {"step 9 | loss scale 3.2 | 4 ms/step", "generic", 9, -1, 4},
       {"step 9 | 4 ms/step", "generic", 9, -1, 4},
       // Parts of a step without its time, and with it.
       {"n7 step=510 data_time=0.09s fwd_bwd=5.70s optim=0.41s", "generic", 510, -1, 6200},
       {"[8] step 33 fwd 2.2s bwd 4.5s wait_reduce 3.3s total 10.5s", "generic", 33, -1, 10500},
       {"[rank0] it=30 loss=0.3 iter=2.1s data=0.01s fwd=0.7s", "generic", 30, -1, 2100, 0.3},
       {"sampling: prompt lang: de it: 43 en: 3 loss 1.0", nullptr},
       {"iter=2.14s data=0.01s fwd=0.7s bwd=1.3s", nullptr},  // how long, not which one
       {">> step 340: 12.5s/10it, 1,020 tok/s/gpu", "generic", 340, -1, 1250},
       {"step 340: 1,020 tok/s/gpu", nullptr},
       {"loaded 12 shards, 0.4 s/it", nullptr},
       {"2026-10-12,00:11:14 | INFO | Train Epoch: 3 [  800/1000 (80%)] Data (t): 0.326 Batch (t): "
        "8.191, 4044.9/s, 126.4/s/gpu LR: 0.000412",
        "epoch", 3800, -1, 8191},
       {"Epoch: [3]  [ 120/1250]  eta: 0:10:11  loss: 2.30 (2.41)  time: 0.51  data: 0.0002",
        "epoch", 3870, -1, 510, 2.3},
       {"Epoch: [3][ 121/5000]\tTime  0.312 ( 0.340)\tData  0.010 ( 0.012)\tLoss 2.3e+00 (1.2)",
        "epoch", 15121, -1, 312, 2.3},
       {"Train: 3 [ 123/1250 ( 10%)]  Loss: 6.9 (6.9)  Time: 0.312s, 3281/s", "epoch", 3873, -1,
        312, 6.9},
       {"Epoch(train) [1][50/1000] lr: 1e-3, time: 0.5, data_time: 0.01, loss: nan", "epoch", 1050,
        -1, 500, -1, true},
       {"Test: [ 10/196]\tTime  0.312 ( 0.340)\tLoss 2.3e+00", nullptr},
       {"Epoch: [3][ 121/50]  Loss 2.3e+00", nullptr},
       {"Val Epoch: [3][ 12/50]  Time 5.0  Loss 2.3e+00", nullptr},
       {"Train Epoch: 0 [10/1000 (1%)] Loss: 0.5 Time: 08:02:00", "epoch", 10, -1, -1, 0.5},
       {"Train Epoch: 0 [10/1000 (1%)] Loss: 0.5 batch 64, elapsed time: 3171.0s", "epoch", 10, -1,
        -1, 0.5},
       {"(TaskRunner pid=3317) step:63 - actor/entropy:0.351 - actor/pg_loss:-0.5 - "
        "actor/grad_norm:0.2 - timing_s/gen:81.41 - timing_s/step:156.5",
        "verl", 63, -1, 156500, -0.5, false, 0.2},
       {"step:nine - actor/pg_loss:-0.5", nullptr},
       {"{'loss': 'what'}", nullptr}}) {
    const auto rows = read_text(std::string(want.line) + "\n");
    EXPECT_EQ(rows.reasons(), "") << want.line;
    ASSERT_EQ(rows.progress.size(), want.framework ? 1u : 0u) << want.line;
    if (!want.framework) continue;
    const ProgressRow& got = rows.progress[0];
    EXPECT_EQ(got.framework, want.framework) << want.line;
    EXPECT_EQ(got.iteration.value_or(-1), want.iteration) << want.line;
    if (want.total >= 0) { EXPECT_EQ(got.total.value_or(-1), want.total) << want.line; }
    EXPECT_NEAR(got.iteration_ms.value_or(-1), want.ms, 1e-6) << want.line;
    EXPECT_NEAR(got.loss.value_or(-1), want.loss, 1e-9) << want.line;
    EXPECT_NEAR(got.grad_norm.value_or(-1), want.norm, 1e-9) << want.line;
    EXPECT_EQ(got.loss_nan, want.loss_nan) << want.line;
    EXPECT_EQ(got.grad_norm_nan, want.norm_nan) << want.line;
  }
}

// A heading, and a figure a line below it.
TEST(Progress, ComposersBatches) {
  const auto rows = read_text(
      "[batch=6101/48000]:\n\t Train time/batch: 6100\n"
      "\t Train metrics/train/LanguageCrossEntropy: 2.2156\n"
      "\t Train throughput/batches_per_sec: 0.0800\n"
      "[batch=6102/48000]:\n\t Train metrics/train/LanguageCrossEntropy: nan\n"
      "\t Train throughput/batches_per_sec: 0.1000\n");
  ASSERT_EQ(rows.progress.size(), 2u);
  EXPECT_EQ(rows.progress[0].iteration, 6101);
  EXPECT_EQ(rows.progress[0].total, 48000);
  EXPECT_NEAR(*rows.progress[0].iteration_ms, 12'500, 1);
  EXPECT_NEAR(*rows.progress[0].loss, 2.2156, 1e-6);
  EXPECT_TRUE(rows.progress[1].loss_nan);
}

// What people add to DeepSpeed's line is read with it: one step, not two.
TEST(Progress, DeepspeedWithALoss) {
  const auto rows = read_text(
      "[2025-10-07 10:30:03] [Rank 0] step=7, skipped=0, lr=[7.5e-06], mom=[(0.9, 0.95)] "
      "loss=10.3761 grad_norm=1.145\n");
  ASSERT_EQ(rows.progress.size(), 1u);
  EXPECT_NEAR(*rows.progress[0].loss, 10.3761, 1e-6);
  EXPECT_NEAR(*rows.progress[0].grad_norm, 1.145, 1e-6);
}

TEST(Progress, TornMegatronIsARejectedLine) {
  const auto rows =
      read_text("ion       45/     120 | elapsed time per iteration (ms): 92.1 | lm loss: 1.0 |\n");
  EXPECT_EQ(rows.reasons(), "1:megatron.no_iteration");
  EXPECT_EQ(rows.members[0].rejected, 1u);
}

TEST(Progress, BarsRewrittenInPlace) {
  std::string text = "{'loss': 3.0, 'grad_norm': 1.5, 'epoch': 0.01}";
  for (int i = 0; i < 50; ++i)
    text += fmt::format("\r {}%|##   | {}/50 [00:01<00:02,  1.2s/it]", i * 2, i);
  text +=
      "\r 99%|#### | 49/50 [00:01<00:02,  1.2s/it]{'loss': 2.0, 'grad_norm': 1.5, 'epoch': "
      "0.02}\nnext\n{'loss': 1.0, 'epoch': 1}\n";
  const auto rows = read_text(text);
  ASSERT_EQ(rows.progress.size(), 52u);  // three of the Trainer, then the steps of the bar
  EXPECT_EQ(rows.progress[1].loss, 2.0);
  EXPECT_EQ(rows.progress[51].iteration, 49);
  EXPECT_EQ(rows.progress[1].place.line, 1u);
  EXPECT_EQ(rows.progress[2].place.line, 3u);
  EXPECT_EQ(rows.members[0].used, 2u);
  test::check_places(rows, text);
}

// A loop of somebody's own with NeMo's names.
TEST(Progress, NamesOfNemoInAnotherOrder) {
  const auto rows = test::read_text(
      "Epoch 0: step=40152 reduced_train_loss=21.342 global_grad_norm=321.91 lr=3.00e-03 "
      "step_timing in s=3.20\n"
      "Epoch 0: step=40199 reduced_train_loss=nan global_grad_norm=nan lr=3.00e-03 step_timing in "
      "s=3.19\n");
  ASSERT_EQ(rows.progress.size(), 2u);
  EXPECT_EQ(rows.progress[0].iteration, 40152);
  EXPECT_EQ(rows.progress[0].loss, 21.342);
  EXPECT_EQ(rows.progress[0].grad_norm, 321.91);
  EXPECT_EQ(rows.progress[0].iteration_ms, 3200);
  EXPECT_TRUE(rows.progress[1].loss_nan);
}

}  // namespace
}  // namespace culprit::ingest
