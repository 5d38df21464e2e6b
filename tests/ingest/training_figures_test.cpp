#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_text;
using test::Rows;

constexpr std::string_view kMegatron =
    " [2026-11-21 03:33:15.347855] iteration       45/     120 | consumed samples:          720 | "
    "elapsed time per iteration (ms): 92.1 | throughput per GPU (TFLOP/s/GPU): 412.3 | learning "
    "rate: 5.000000E-02 | lm loss: 4.187842E-01 | grad norm: nan | number of nan iterations:   0 "
    "|\n"
    "(min, max) time across ranks (ms):\n"
    "    forward-backward ...............................: (1234.56, 1250.12)\n"
    "    optimizer ......................................: (12.50, 13.75)\n"
    "saving: (1, 2) things\n"
    " [2026-11-21 03:33:16.447855] iteration       46/     120 | consumed samples:          736 | "
    "elapsed time per iteration (ms): 93.1 | throughput per GPU (TFLOP/s/GPU): 410.3 | lm loss: "
    "4.1E-01 | grad norm: 0.5 | number of nan iterations:   0 |\n"
    "(min, max) time across ranks (ms):\n"
    "    forward-backward ...............................: (1235.56, 1251.12)\n";

TEST(TrainingFigures, MegatronFieldsAndTimers) {
  const Rows rows = read_text(kMegatron);
  EXPECT_EQ(rows.reasons(), "");
  EXPECT_EQ(rows.progress.size(), 2u);
  const SeriesPoints ms = rows.points("elapsed time per iteration (ms)");
  EXPECT_EQ(ms.values, (std::vector<double>{92.1, 93.1}));
  EXPECT_EQ(ms.steps, (std::vector<std::int64_t>{45, 46}));
  EXPECT_EQ(ms.lines, (std::vector<std::int64_t>{1, 6}));
  EXPECT_EQ(rows.points("throughput per GPU (TFLOP/s/GPU)").values,
            (std::vector<double>{412.3, 410.3}));
  EXPECT_EQ(rows.points("grad norm").size(), 2u);
  EXPECT_EQ(rows.points("forward-backward", "stat=min").values,
            (std::vector<double>{1234.56, 1235.56}));
  EXPECT_EQ(rows.points("forward-backward", "stat=max").steps, (std::vector<std::int64_t>{45, 46}));
  EXPECT_EQ(rows.points("optimizer", "stat=max").values, (std::vector<double>{13.75}));
  for (const SeriesRow& s : rows.series_rows) {
    EXPECT_NE(s.name, "saving");
    if (s.name == "elapsed time per iteration (ms)" || s.name == "optimizer") {
      EXPECT_EQ(s.unit, "ms");
    }
    if (s.name == "grad norm") { EXPECT_EQ(s.clock, Clock::local); }
  }
}

TEST(TrainingFigures, TimersOfOtherShapes) {
  const Rows rows = read_text(
      "max time across ranks (ms):\n    forward-compute ................................: 12.34\n  "
      "  after: 3\n"
      "[default7]:times across ranks (ms):\n[default7]:  forward-compute:\n[default7]:     rank  "
      "3: 12.34\n[default7]:     rank 11: 13.34\n[default7]:  optimizer:\n[default7]:     rank  3: "
      "2.50\n[default7]:done: 5\n");
  ASSERT_EQ(rows.series_rows.size(), 4u);
  EXPECT_EQ(rows.points("forward-compute", "stat=max").values, (std::vector<double>{12.34}));
  EXPECT_TRUE(
      rows.points("forward-compute", "stat=max").steps.empty());  // no iteration was told of
  EXPECT_EQ(rows.series_rows[2].name, "forward-compute");
  EXPECT_EQ(rows.series_rows[2].rank, Rank(11));
  EXPECT_EQ(rows.series_rows[3].name, "optimizer");
  EXPECT_EQ(rows.series_rows[3].rank, Rank(3));
}

TEST(TrainingFigures, StragglerDetector) {
  const Rows rows = read_text(
      " iteration       45/     120 | elapsed time per iteration (ms): 92.1 | lm loss: 1.5E+00 |\n"
      "[2026-11-21 03:33:15] INFO:megatron.core.utils:2026-11-21 03:33:15 | MnRtt/Rnk: 3453.08ms/8 "
      "| MxRtt/Rnk: 3468.20ms/0 | MnPwr/Rnk: 601.796W/8 | MnTmp/Rnk: 52C/0 | MnUtl/Rnk: 97%/8 | "
      "MxEtpt/Rnk: 298.65TF/8\n"
      "INFO:megatron.core.utils:^^^^ Bottom 2 Ranks with lowest  Etpt(TF): 296.02TF/0, "
      "296.21TF/16,\n"
      "INFO:megatron.core.utils:^^^^ Top 2 Ranks with highest Etpt(TF): 298.01TF/9, 298.65TF/8,\n"
      "| MnRtt/Rnk: soon\n");
  EXPECT_EQ(rows.reasons(), "5:straggler.torn");
  const auto find = [&](std::string_view name, std::int64_t rank) -> const SeriesRow* {
    for (const SeriesRow& s : rows.series_rows)
      if (s.name == name && s.rank == Rank(rank)) return &s;
    return nullptr;
  };
  ASSERT_NE(find("MnRtt", 8), nullptr);
  EXPECT_EQ(find("MnRtt", 8)->unit, "ms");
  EXPECT_EQ(rows.points("MxRtt").values, (std::vector<double>{3468.2}));
  EXPECT_EQ(rows.points("MxRtt").steps, (std::vector<std::int64_t>{45}));
  ASSERT_NE(find("MnUtl", 8), nullptr);
  EXPECT_EQ(find("MnUtl", 8)->unit, "%");
  ASSERT_NE(find("Etpt", 16), nullptr);
  EXPECT_EQ(find("Etpt", 16)->labels, "list=bottom");
  ASSERT_NE(find("Etpt", 9), nullptr);
  EXPECT_EQ(find("Etpt", 9)->labels, "list=top");
}

TEST(TrainingFigures, OtherFrameworks) {
  const Rows rows = read_text(
      "[2023-07-25 21:03:17,269] [INFO] [timer.py:215:stop] epoch=0/micro_step=34/global_step=34, "
      "RunningAvgSamplesPerSec=7.864669709950182, CurrSamplesPerSec=8.00912418308922, "
      "MemAllocated=59.65GB, MaxMemAllocated=63.31GB\n"
      "[2023-07-25 21:03:17,269] [INFO] [logging.py:96:log_dist] [Rank 0] rank=0 time (ms) | "
      "forward_microstep: 652.42 | step: 1172.13\n"
      " samples/sec: 7.799 | iteration       35/   10000 | elapsed time per iteration (ms): 4103.1 "
      "| approx flops per GPU: 112.9TFLOPS | lm_loss: 1.118665E+01 | number of nan iterations:   0 "
      "|\n"
      "time (ms) | forward: 659.86 | backward-backward: 2164.66\n"
      "Training epoch 0, iteration 97/99 | lr: 1.469e-05 | global_batch_size: 128 | global_step: "
      "98 | reduced_train_loss: 6.265 | train_step_timing in s: 12.22 | consumed_samples: 12544\n"
      "[titan] 2025-06-10 21:58:27,008 - root - INFO - \x1b[31mstep: 1,200  \x1b[32mloss:  0.7052  "
      "memory: 76.79GiB(96.97%)  tps: 1,541,366  \x1b[36mtflops: 101.50  mfu: N/A\x1b[0m\n");
  EXPECT_EQ(rows.points("CurrSamplesPerSec").steps, (std::vector<std::int64_t>{34}));
  EXPECT_EQ(rows.points("MemAllocated").values, (std::vector<double>{59.65}));
  EXPECT_EQ(rows.points("forward_microstep").steps, (std::vector<std::int64_t>{34}));
  EXPECT_EQ(rows.points("samples/sec").steps, (std::vector<std::int64_t>{35}));
  EXPECT_EQ(rows.points("approx flops per GPU").values, (std::vector<double>{112.9}));
  EXPECT_EQ(rows.points("backward-backward").steps, (std::vector<std::int64_t>{35}));
  EXPECT_EQ(rows.points("train_step_timing in s").steps, (std::vector<std::int64_t>{98}));
  EXPECT_EQ(rows.points("tps").values, (std::vector<double>{1'541'366}));
  EXPECT_EQ(rows.points("tps").steps, (std::vector<std::int64_t>{1'200}));
  EXPECT_EQ(rows.points("memory").values, (std::vector<double>{76.79}));
  EXPECT_TRUE(rows.points("mfu").values.empty());
  for (const SeriesRow& s : rows.series_rows) {
    if (s.name == "forward_microstep") { EXPECT_EQ(s.rank, Rank(0)); }
    if (s.name == "memory") { EXPECT_EQ(s.unit, "GiB"); }
    EXPECT_NE(s.name, "iteration");
  }
}

TEST(TrainingFigures, BlocksAndCuts) {
  const std::string text(kMegatron);
  const std::string whole = read_text(text).log;
  for (std::size_t at = text.find('\n'); at != std::string::npos && at + 1 < text.size();
       at = text.find('\n', at + 1))
    EXPECT_EQ(read_text(text, "", {at + 1}).log, whole) << at;
  for (std::size_t n = 1; n < text.size(); n += 7) read_text(text.substr(0, n));
}

TEST(Progress, StepTimesOfHomeMadeLoops) {
  struct {
    const char* line;
    double ms;
  } const cases[] = {{"step=10 loss=2.5 step_time=1.5s", 1500},
                     {"step: 10 | loss: 2.5 | iter_time (ms): 812.5", 812.5},
                     {"step: 10 | loss: 2.5 | iter_time_ms: 812.5", 812.5},
                     {"iteration: 10 loss: 2.5 batch time: 0.5 s", 500},
                     {"step=10 loss=2.5 time per step: 90 ms", 90},
                     {"step=10, loss=2.5, time 90.5ms", 90.5},
                     {"step=10 loss=2.5 step_time=1.5", -1},
                     {"step=10 loss=2.5 time=300s", -1},
                     {"step=10 loss=2.5 data_time=5ms", -1},
                     {"step=10 loss=2.5 time=03:19:20", -1}};
  for (const auto& c : cases) {
    const Rows rows = read_text(std::string("x ") + c.line + "\n");
    ASSERT_EQ(rows.progress.size(), 1u) << c.line;
    EXPECT_NEAR(rows.progress[0].iteration_ms.value_or(-1), c.ms, 1e-9) << c.line;
  }
}

TEST(Progress, AStepTimeWithoutUnitIsInThatWhichFitsTheClock) {
  for (const double unit : {1.0, 1000.0}) {
    std::string text;
    for (int i = 0; i < 6; ++i)
      text += fmt::format("2025-11-04T11:45:{:02}Z step={} step_time={} loss=2\n", 2 * i, i,
                          1.5 * unit);
    const Rows rows = read_text(text);
    ASSERT_EQ(rows.progress.size(), 6u);
    EXPECT_EQ(rows.progress[5].iteration_ms, 1500.0) << unit;
  }
}

TEST(LoopFigures, TimesMemoryAndRatesOfAnyPunctuation) {
  const Rows rows = read_text(
      "[07/09/25 12:33:12] [x] INFO: step 20 | loss 1.98 | lr 9.1e-05 | fwd+bwd 3.2s | allreduce "
      "0.65 s | samples/s 247.5\n"
      "[07/09/25 12:33:16] [x] INFO: step 21 | loss 1.97 | lr 9.1e-05 | fwd+bwd 3.3s | allreduce "
      "0.66 s | samples/s 246.5\n");
  EXPECT_EQ(rows.reasons(), "");
  EXPECT_EQ(rows.progress.size(), 2u);
  EXPECT_EQ(rows.progress[0].time.clock, Clock::local_no_date);
  EXPECT_EQ(rows.points("fwd+bwd").values, (std::vector<double>{3.2, 3.3}));
  EXPECT_EQ(rows.points("allreduce").steps, (std::vector<std::int64_t>{20, 21}));
  EXPECT_EQ(rows.points("samples/s").values, (std::vector<double>{247.5, 246.5}));
  EXPECT_EQ(rows.points("lr").values, (std::vector<double>{9.1e-05, 9.1e-05}));
  EXPECT_EQ(rows.series_rows.size(), 4u);  // not the loss
  const Rows other = read_text("epoch: 1 step: 20 loss: 2.5 data_time: 0.012 peak mem: 43.1GB\n");
  EXPECT_EQ(other.points("data_time").values, (std::vector<double>{0.012}));
  EXPECT_EQ(other.points("peak mem").values, (std::vector<double>{43.1}));
}

TEST(WorkBar, TheLastStateOfWorkThatWasNotDone) {
  const Rows rows = read_text(
      "Map:   1%|          | 10/1000 [00:30<48:55, 1.08 examples/s]\r"
      "Map:  20%|##        | 200/1000 [10:30<48:55, 1.08 examples/s]\r"
      "Map:  47%|####      | 470/1000 [30:11<38:27, 1.58 examples/s][E ProcessGroupNCCL.cpp:475] "
      "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2)\n"
      "Filter: 100%|##########| 1000/1000 [30:11<00:00, 1.58 examples/s]\n");
  std::vector<std::string> messages;
  for (const EventRow& e : rows.events)
    if (e.event_class == "work_unfinished") messages.push_back(e.message);
  EXPECT_EQ(messages, std::vector<std::string>{
                          "Map:  47%|####      | 470/1000 [30:11<38:27, 1.58 examples/s]"});
  EXPECT_EQ(rows.events.size(), 2u);  // and the watchdog's
}

}  // namespace
}  // namespace culprit::ingest
