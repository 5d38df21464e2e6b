#include <cmath>

#include "ingest/training/step_names.hpp"
#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_records;
using test::Rows;

std::string own_rows(int count) {
  std::string out;
  for (int i = 1; i <= count; ++i)
    out += fmt::format(
        R"({{"ts": {}.{:06}, "rank": 6, "iteration": {}, "iter_ms": {}, "timers": {{"fwd": {}.5, "bwd": 7}}, "loss": {}, "phase": "train", "lrs": [1, 2], "ok": true}})"
        "\n",
        1795232510 + i / 10, i * 1000, i, 100 + i % 7, i % 3, i == 7 ? "NaN" : "0.5");
  return out;
}

// JSON has no NaN: null is none where a loss stood at every step before, and what is not logged at
// each step where it stood among the first.
TEST(StepJsonl, ALossThatIsNull) {
  const auto gone = [](bool from_first) {
    std::string text;
    for (int i = 1; i <= 40; ++i)
      text += fmt::format(R"({{"ts": 1795232{}, "step": {}, "loss": {}, "lr": 0.1}})"
                          "\n",
                          500 + i, i, i > 30 || (from_first && i % 5 != 0) ? "null" : "2.1");
    std::int64_t count = 0;
    for (const ProgressRow& row : read_records(text, "metrics.jsonl").progress)
      count += row.loss_nan;
    return count;
  };
  EXPECT_EQ(gone(false), 10);
  EXPECT_EQ(gone(true), 0);
}

TEST(Names, WhatKeysMean) {
  EXPECT_EQ(meaning_of("global_step").role, KeyRole::step);
  EXPECT_EQ(meaning_of("Step").role, KeyRole::step);
  EXPECT_EQ(meaning_of("Wall time").role, KeyRole::time);
  EXPECT_EQ(meaning_of("steps_per_s").role, KeyRole::value);
  EXPECT_GT(meaning_of("global_step").grade, meaning_of("_step").grade);
  struct {
    const char* key;
    Figure figure;
    double to_ms;
  } const cases[] = {{"loss", Figure::loss, 0},
                     {"train/loss", Figure::loss, 0},
                     {"lm loss", Figure::loss, 0},
                     {"eval/loss", Figure::none, 0},
                     {"val.loss", Figure::none, 0},
                     {"eval_loss", Figure::none, 0},
                     {"lm loss vs samples", Figure::none, 0},
                     {"load_balancing_loss", Figure::none, 0},
                     {"grad-norm", Figure::grad_norm, 0},
                     {"iter_ms", Figure::iteration_time, 1},
                     {"step_time_s", Figure::iteration_time, 1e3},
                     {"iter_time", Figure::iteration_time, 0},
                     {"elapsed time per iteration (ms)", Figure::iteration_time, 1},
                     {"iteration-time", Figure::iteration_time, 1e3},
                     {"train_step_timing in s", Figure::iteration_time, 1e3},
                     {"time_metrics/end_to_end(s)", Figure::iteration_time, 1e3},
                     {"data_ms", Figure::none, 0},
                     {"eval/iter_ms", Figure::none, 0},
                     {"iters", Figure::none, 0}};
  for (const auto& c : cases) {
    EXPECT_EQ(figure_of(c.key).figure, c.figure) << c.key;
    EXPECT_EQ(figure_of(c.key).to_ms, c.to_ms) << c.key;
  }
}

TEST(Names, Moments) {
  struct {
    const char* text;
    Clock clock;
    std::int64_t ns;
  } const cases[] = {{"1795232510.77647", Clock::utc, 1795232510776470000},
                     {"1795232510", Clock::utc, 1795232510000000000},
                     {"1795232510776", Clock::utc, 1795232510776000000},
                     {"1795232510776470", Clock::utc, 1795232510776470000},
                     {"1795232510776470123", Clock::utc, 1795232510776470123},
                     {"1795232510776.5", Clock::utc, 1795232510776500000},
                     {"2026-11-21T03:41:50.5Z", Clock::utc, 1795232510500000000},
                     {"2026-11-21 03:41:50", Clock::local, 1795232510000000000},
                     {"1.79523251077e+09", Clock::utc, 1795232510770000000}};
  for (const auto& c : cases) {
    Timestamp t;
    ASSERT_TRUE(moment(c.text, t)) << c.text;
    EXPECT_EQ(t.clock, c.clock) << c.text;
    EXPECT_EQ(t.ns, c.ns) << c.text;
  }
  for (const char* text : {"", "0.41", "410", "999999999", "4200000000", "9223372036854775807",
                           "99999999999999999999999", "1.795e+09", "-1795232510", "1795232510x",
                           "soon", "2026-11-21", "2026-11-21 03:41:50 later"}) {
    Timestamp t;
    EXPECT_FALSE(moment(text, t)) << text;
  }
}

TEST(StepJsonl, SeriesAndProgress) {
  const Rows rows = read_records(own_rows(40), "metrics/rank_6.jsonl");
  EXPECT_EQ(rows.reasons(), "");
  EXPECT_EQ(rows.members[0].format, "metrics-jsonl");
  EXPECT_EQ(rows.members[0].used, 40u);
  ASSERT_EQ(rows.series_rows.size(), 4u);  // strings, lists, flags, step, time and rank are none
  for (const SeriesRow& s : rows.series_rows) {
    EXPECT_EQ(s.rank, Rank(6)) << s.name;
    EXPECT_EQ(s.clock, Clock::utc) << s.name;
  }
  const SeriesPoints ms = rows.points("iter_ms");
  ASSERT_EQ(ms.size(), 40u);
  EXPECT_EQ(ms.steps[39], 40);
  EXPECT_EQ(ms.times[0], 1795232510'001000000);
  EXPECT_EQ(ms.lines[39], 40);
  EXPECT_EQ(rows.points("timers/fwd").values[3], 1.5);
  EXPECT_TRUE(std::isnan(rows.points("loss").values[6]));
  ASSERT_EQ(rows.progress.size(), 40u);
  EXPECT_EQ(rows.progress[6].framework, "jsonl");
  EXPECT_EQ(rows.progress[6].iteration, 7);
  EXPECT_EQ(rows.progress[6].iteration_ms, 100.0);
  EXPECT_TRUE(rows.progress[6].loss_nan);
  EXPECT_FALSE(rows.progress[6].loss);
  EXPECT_EQ(rows.progress[7].loss, 0.5);
  EXPECT_EQ(rows.progress[7].time.ns, 1795232510'008000000);
}

TEST(StepJsonl, RowsDoNotDependOnWhereBlocksAreCut) {
  const std::string text = own_rows(12);
  const std::string whole = read_records(text, "m.jsonl").log;
  for (std::size_t cut = 1; cut < text.size(); ++cut)
    ASSERT_EQ(read_records(text, "m.jsonl", {cut, std::min(cut + 3, text.size() - 1)}).log, whole)
        << cut;
}

TEST(StepJsonl, TornRowsAreRejectedAndTheRestIsRead) {
  const std::string good =
      "{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"loss\": 2}\n{\"step\": 3, \"loss\": "
      "2}\n{\"step\": 4, \"loss\": 2}\n{\"step\": 5, \"loss\": 2}\n{\"step\": 6, \"loss\": "
      "2}\n{\"step\": 7, \"loss\": 2}\n";
  for (const std::string bad :
       {"{\"step\": 8, \"lo", "{\"step\": 8, \"loss\": 2.", "{\"step\": 8, \"loss\": 1.2.3}",
        "{\"step\": 8, \"loss\": }", "{\"step\": 8 \"loss\": 2}",
        "{\"step\": 8, \"loss\": 2}{\"step\": 9, \"loss\": 3}", "{\"step\": 8, \"loss\": nul}",
        "{\"step\": 8, \"loss\": 2, \"x\": {\"a\": 1}", "{\"step\": 8, \"loss\": 2,}",
        "{\"step\": 8, \"loss\": 2, \"x\": [1, \"]\"}", "{\"step\": 8, \"loss\": 2, \"x\": \"\\"}) {
    const Rows rows = read_records(good + bad + "\n" + good, "m.jsonl");
    EXPECT_EQ(rows.reasons(), "8:jsonl.torn") << bad;
    EXPECT_EQ(rows.points("loss").size(), 14u) << bad;
  }
  // Within the head it would make the file a log.
  std::string many;
  while (many.size() < 128 * 1024) many += good;
  const auto lines = std::count(many.begin(), many.end(), '\n');
  EXPECT_EQ(read_records(many + "Traceback\n\n", "m.jsonl").reasons(),
            fmt::format("{}:jsonl.not_object", lines + 1));
  EXPECT_EQ(read_records(good + "{\"step\": 8, \"" + std::string(600, 'x') + "\": 2}\n", "m.jsonl")
                .reasons(),
            "8:jsonl.key_too_long");
}

TEST(StepJsonl, EveryPrefixIsRead) {
  const std::string text = own_rows(5);
  for (std::size_t n = text.find('\n') + 2; n <= text.size(); ++n) {
    const Rows rows = read_records(std::string_view(text).substr(0, n), "m.jsonl");
    EXPECT_LE(rows.rejects.size(), 1u) << n;
    EXPECT_EQ(rows.members[0].used + rows.members[0].rejected, rows.members[0].lines) << n;
  }
}

TEST(StepJsonl, OwnersOfRows) {
  std::string text;
  for (int i = 1; i <= 6; ++i)
    for (int rank : {0, 1})
      text += fmt::format(
          R"({{"step": {}, "time": "2026-11-21 03:41:5{}", "global_rank": {}, "rank": 9, "local_rank": {}, "hostname": "node-0{}", "gpu": {}, "sm": {}}})"
          "\n",
          i, i, 16 + rank, rank, 1 + rank, rank, 10 * rank + i);
  const Rows rows = read_records(text, "all.jsonl");
  ASSERT_EQ(rows.series_rows.size(), 2u);
  EXPECT_EQ(rows.series_rows[1].rank, Rank(17));  // global_rank is surer than rank
  EXPECT_EQ(rows.series_rows[1].local_rank, LocalRank(1));
  EXPECT_EQ(rows.series_rows[1].host, "node-02");
  EXPECT_EQ(rows.series_rows[1].gpu, "1");
  EXPECT_EQ(rows.series_rows[1].clock, Clock::local);
  EXPECT_EQ(rows.points("sm", "node-02").values, (std::vector<double>{11, 12, 13, 14, 15, 16}));
  EXPECT_TRUE(rows.progress.empty());  // a step, but nothing that tells of training
}

TEST(StepJsonl, AGlobalStepIsSurerThanALoggersOwn) {
  const Rows rows = read_records(
      "{\"_step\": 1, \"train/global_step\": 100, \"train/loss\": 2}\n{\"_step\": 2, "
      "\"system/load\": 5}\n{\"_step\": 3, \"train/global_step\": 200, \"train/loss\": "
      "1}\n{\"train/global_step\": 250, \"eval/loss\": 1}\n",
      "x.jsonl");
  EXPECT_EQ(rows.points("train/loss").steps, (std::vector<std::int64_t>{100, 200}));
  EXPECT_TRUE(rows.points("system/load").steps.empty());
  EXPECT_TRUE(rows.points("_step").values.empty());
  EXPECT_EQ(rows.progress.size(), 2u);  // a loss of validation is no progress
}

TEST(StepJsonl, UnitsOfIterationTimesComeFromTheClock) {
  for (const double unit : {1.0, 1000.0}) {  // seconds, milliseconds
    std::string text;
    for (int i = 0; i < 8; ++i)
      text +=
          fmt::format("{{\"ts\": {}, \"step\": {}, \"step_time\": {}, \"loss\": 1}}\n",
                      1795232510 + i * 2 * 10, 10 * i, 1.5 * unit);  // every tenth step is logged
    const Rows rows = read_records(text, "m.jsonl");
    ASSERT_EQ(rows.progress.size(), 8u);
    EXPECT_FALSE(rows.progress[2].iteration_ms);
    EXPECT_EQ(rows.progress[7].iteration_ms, 1500.0) << unit;
  }
  const Rows untimed = read_records(
      "{\"step\": 1, \"step_time\": 1.5}\n{\"step\": 2, \"step_time\": 1.5}\n{\"step\": 3, "
      "\"step_time\": 1.5}\n{\"step\": 4, \"step_time\": 1.5}\n{\"step\": 5, \"step_time\": 1.5}\n",
      "m.jsonl");
  for (const ProgressRow& row : untimed.progress) EXPECT_FALSE(row.iteration_ms);
  EXPECT_EQ(untimed.points("step_time").size(), 5u);
}

TEST(StepJsonl, WandbHistory) {
  const Rows rows = read_records(
      R"({"_step":4,"_runtime":4.1,"_timestamp":1644345412.9,"loss":"NaN","hist":{"_type":"histogram","values":[1,2],"packedBins":{"min":1},"count":3}})"
      "\n"
      R"({"_step":5,"_runtime":5.1,"_timestamp":1644345413.9,"loss":"-Infinity","note":"Infinity war"})"
      "\n"
      R"({"_step":6,"_runtime":5.1,"_timestamp":1644345413.9,"loss":null,"lr":1e-400})"
      "\n",
      "wandb-history.jsonl");
  EXPECT_EQ(rows.reasons(), "");
  EXPECT_EQ(rows.points("loss").size(), 2u);
  EXPECT_EQ(rows.points("loss").values[1], -HUGE_VAL);
  EXPECT_EQ(rows.points("loss").times[0], 1644345412'900000000);
  EXPECT_EQ(rows.points("lr").values, (std::vector<double>{0}));
  EXPECT_TRUE(rows.points("hist/count").values.empty());
  ASSERT_EQ(rows.progress.size(), 2u);
  EXPECT_EQ(rows.progress[0].framework, "wandb");
  EXPECT_TRUE(rows.progress[0].loss_nan && rows.progress[1].loss_nan);
}

TEST(StepJsonl, WandbSummary) {
  const test::Folder folder;
  folder.write(
      "wandb/files/wandb-summary.json",
      R"({"_step": 99, "_timestamp": 1644345412.5, "loss": 0.25, "_wandb": {"runtime": 12}, "name": "x"})");
  folder.write("broken/wandb-summary.json", R"({"_step": 99, "loss": 0.2)");
  const Rows rows = test::read_folder(folder.path());
  EXPECT_EQ(rows.reasons(), "0:wandb_summary.torn");
  EXPECT_EQ(rows.points("loss").values, (std::vector<double>{0.25}));
  EXPECT_EQ(rows.points("loss").steps, (std::vector<std::int64_t>{99}));
  EXPECT_EQ(rows.points("_wandb/runtime").size(), 1u);
  EXPECT_TRUE(rows.progress.empty());
}

TEST(StepJsonl, CallsAndLongForm) {
  const Rows calls = read_records(
      "{\"time\": 1795232510.5, \"op\": \"AllReduce\", \"comm\": \"0xab\", \"bytes\": 1024, "
      "\"us\": 12, \"rank\": 3}\n{\"time\": 1795232510.6, \"op\": \"AllGather\", \"comm\": "
      "\"0xab\", \"bytes\": 2048, \"us\": 13, \"rank\": 3}\n",
      "calls.jsonl");
  EXPECT_EQ(calls.points("AllReduce", "comm=0xab").values, (std::vector<double>{1024}));
  EXPECT_EQ(calls.points("AllGather/us").values, (std::vector<double>{13}));
  const Rows named = read_records(
      "{\"step\": 1, \"metric\": \"mfu\", \"value\": 0.4, \"run\": \"b\"}\n{\"step\": 1, "
      "\"metric\": \"tps\", \"value\": 9, \"run\": \"b\"}\n",
      "m.jsonl");
  EXPECT_EQ(named.points("mfu", "run=b").values, (std::vector<double>{0.4}));
  EXPECT_TRUE(named.points("value").values.empty());
}

TEST(StepJsonl, LogsAndDocumentsAreNotMetrics) {
  const std::pair<const char*, std::string> cases[] = {
      {"a.jsonl",
       "{\"time\": 1795232510, \"level\": \"info\", \"msg\": \"step done\", \"step\": 4, \"loss\": "
       "1}\n{\"time\": 1795232511, \"level\": \"info\", \"msg\": \"step done\", \"step\": 5, "
       "\"loss\": 1}\n"},
      {"b.log", "{\"log\":\"x\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-21T03:41:50Z\"}\n"},
      {"c.json",
       "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"count\":3,\"timestamp\":\"2026-11-21T03:41:"
       "50Z\"}\n"},
      {"d.jsonl", "{\"event\":\"oom\",\"ts\":1795232510,\"pid\":4}\n"},
      {"e.json", "{\"a\": 1, \"ts\": 1795232510}\n"},
      {"f.jsonl", "{\"a\": 1, \"b\": 2}\n{\"a\": 1, \"b\": 2}\n"},
      {"g.jsonl", "{\"step\": 1, \"name\": \"x\"}\n"},
      {"h.json",
       "{\"lm loss\": {\"start_step\": 1, \"end_step\": 2, \"step_interval\": 1, \"values\": "
       "{\"1\": 3}}}"},
      {"i.jsonl", "{\"MESSAGE\":\"x\",\"PRIORITY\":\"3\",\"step\":1,\"loss\":2}\n"}};
  for (const auto& [path, text] : cases)
    EXPECT_EQ(detect({path, text, true}).records, nullptr) << path;
  for (const auto& [path, text] : std::initializer_list<std::pair<const char*, std::string>>{
           {"k", "{\"event\":\"step\",\"step\":1,\"loss\":2}\n"},
           {"m.jsonl", "\xEF\xBB\xBF{\"loss\": 1.5}\n"},
           {"n", "{\"loss\": 1.5}\n{\"loss\": 1.4}\n"}})
    EXPECT_EQ(detect({path, text, true}).format, "metrics-jsonl") << path;
}

TEST(StepJsonl, TheRankThatFailedSlowHasAllItsSteps) {
  std::ifstream stream(
      std::string(CULPRIT_SHARED_DIR) + "/bundles/failslow-a/bundle/metrics/rank_6.jsonl",
      std::ios::binary);
  if (!stream) GTEST_SKIP() << "no samples here";
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const Rows rows = read_records(text, "metrics/rank_6.jsonl");
  const SeriesPoints ms = rows.points("iter_ms");
  ASSERT_EQ(ms.size(), 420u);
  for (std::size_t i = 0; i < ms.size(); ++i)
    EXPECT_EQ(ms.steps[i], static_cast<std::int64_t>(i) + 1);
  EXPECT_EQ(ms.times.size(), 420u);
  EXPECT_EQ(rows.series_rows[0].rank, Rank(6));
  EXPECT_EQ(rows.progress.size(), 420u);
  EXPECT_EQ(rows.reasons(), "");
}

// A record a step, without a number: they are counted.
TEST(StepJsonl, StepsThatNobodyNumbers) {
  const Rows rows = read_records(
      "{\"ts\": \"2026-07-29T05:35:00Z\", \"host\": \"a\", \"data_wait_s\": 0.07, \"loss\": 2.5}\n"
      "{\"ts\": \"2026-07-29T05:35:05Z\", \"host\": \"a\", \"data_wait_s\": 0.08, \"loss\": 2.4}\n",
      "steps.jsonl");
  ASSERT_EQ(rows.progress.size(), 2u);
  EXPECT_EQ(rows.progress[1].iteration, 1);
  EXPECT_EQ(rows.points("data_wait_s", "a").steps, (std::vector<std::int64_t>{0, 1}));
}

// What a program records beside its numbers reaches the rules.
TEST(StepJsonl, ErrorsBetweenTheRecords) {
  std::string text;
  for (int step = 1; step <= 20; ++step)
    text +=
        fmt::format("{{\"step\": {}, \"time\": {}.0, \"loss\": 2.5}}\n", step, 1793851200 + step);
  text +=
      R"({"event": "exception", "time": 1793851226.0, "exc": "OSError: [Errno 116] Stale file handle: '/a'"})"
      "\n";
  const Rows rows = read_records(text, "steps.jsonl");
  ASSERT_EQ(rows.events.size(), 1u);
  EXPECT_EQ(rows.events[0].event_class, "fs_stale_handle");
  EXPECT_EQ(rows.events[0].place.line, 21u);
  const std::string steps = text.substr(0, text.rfind('{', text.size() - 2));
  const Rows raised = read_records(
      steps +
          R"({"event": "exception", "time": 1793851226.0, "rank": 5, "traceback": )"
          R"("Traceback (most recent call last):\n  File \"/w/a.py\", line 4, in f\nKeyError: 'k'"})"
          "\n",
      "steps.jsonl");
  ASSERT_EQ(raised.raised(), (std::vector<std::string>{"KeyError: 'k'"}));
  EXPECT_EQ(raised.tracebacks[0].rank, Rank(5));
  const Rows bare = read_records(steps + R"({"rank": 3, "exc": "OSError: Stale file handle: '/a'"})"
                                         "\n",
                                 "steps.jsonl");
  EXPECT_EQ(bare.events.size(), 1u);
}

}  // namespace
}  // namespace culprit::ingest
