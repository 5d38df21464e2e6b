// Numbers of ranks, machines and devices in tables of all layouts, and in lines of tests.
#include <cmath>

#include "metric_kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_as_document;
using test::read_records;
using test::read_text;
using test::Rows;

// A column each, and the file says what is measured.
TEST(NumberTables, ColumnsOfRanksMachinesAndDevices) {
  const Rows ranks =
      read_records("step,r0,r1,r2\n10,1.5,1.4,2.9\n20,1.5,1.6,2.8\n", "compute_time_by_rank.csv");
  ASSERT_EQ(ranks.series_rows.size(), 3u);
  EXPECT_EQ(ranks.series_rows[2].name, "compute_time");
  EXPECT_EQ(ranks.series_rows[2].rank, Rank(2));
  const Rows hosts = read_records(
      "time,gx-07,gx-08,gx-09\n2026-03-04 08:00:00,1980,1005,1980\n"
      "2026-03-04 08:01:00,1980,1005,1980\n",
      "sm_clock.csv");
  ASSERT_EQ(hosts.series_rows.size(), 3u);
  EXPECT_EQ(hosts.series_rows[1].name, "sm_clock");
  EXPECT_EQ(hosts.series_rows[1].labels, "column=gx-08");
  const Rows devices = read_records(
      "time,gpu0,gpu1,gpu2\n2026-03-04 08:00:00,1980,1005,1980\n"
      "2026-03-04 08:01:00,1980,1005,1980\n",
      "gx-07_sm_clock.csv");
  ASSERT_EQ(devices.series_rows.size(), 3u);
  EXPECT_EQ(devices.series_rows[1].name, "sm_clock");
  EXPECT_EQ(devices.series_rows[1].gpu, "1");
}

// Layers are no machines.
TEST(NumberTables, ColumnsOfOtherThingsKeepTheirNames) {
  const Rows rows =
      read_records("step,layer1,layer2,layer3\n10,1.5,1.4,2.9\n20,1.5,1.6,2.8\n", "norms.csv");
  ASSERT_EQ(rows.series_rows.size(), 3u);
  EXPECT_EQ(rows.series_rows[0].name, "layer1");
}

TEST(NumberTables, UnitsInBrackets) {
  const Rows rows = read_records("host,gpu,temp (C),sm clock (MHz)\ngx-07,0,61,1980\n", "gpus.csv");
  ASSERT_EQ(rows.series_rows.size(), 2u);
  EXPECT_EQ(rows.series_rows[0].name, "temp");
  EXPECT_EQ(rows.series_rows[0].unit, "C");
}

// Names of several words stand two blanks apart.
TEST(NumberTables, HeadingsForPeople) {
  const Rows rows = read_records(
      "NODE    GPU   SM MHz   GPU TEMP\ngx-07     0     1980         61\n"
      "gx-07     1     1005         62\ngx-08     0     1980         60\n",
      "state.csv");
  EXPECT_EQ(rows.points("SM_MHz", "gx-08").values, (std::vector<double>{1980}));
}

TEST(NumberTables, JsonOfRecords) {
  const Rows list = read_as_document(
      R"({"step": 1200, "ranks": [
 {"rank": 0, "host": "gx-07", "compute_ms": 1500.5},
 {"rank": 1, "host": "gx-07", "compute_ms": 1510.5},
 {"rank": 2, "host": "gx-08", "compute_ms": 2910.5}]})",
      "report.json");
  ASSERT_EQ(list.series_rows.size(), 3u);
  EXPECT_EQ(list.series_rows[2].rank, Rank(2));
  EXPECT_EQ(list.points("compute_ms", "gx-08").steps, (std::vector<std::int64_t>{1200}));
  const Rows map = read_as_document(
      R"({"0": {"compute": 1.5, "wait": 0.5}, "1": {"compute": 2.5, "wait": 0.1},
          "2": {"compute": 1.5, "wait": 0.5}})",
      "rank_times.json");
  ASSERT_EQ(map.series_rows.size(), 6u);
  EXPECT_EQ(map.series_rows[2].rank, Rank(1));
  const Rows lists = read_as_document(
      R"({"rank_compute_ms": [1.5, 1.6, 2.9], "rank_wait_ms": [1, 1, 0]})", "t.json");
  EXPECT_EQ(lists.series_rows.size(), 6u);
  const Rows lines = read_as_document(
      "{\"host\": \"gx-07\", \"gpu\": 0, \"tflops\": 640}\n{\"host\": \"gx-07\", \"gpu\": 1, "
      "\"tflops\": 380}\n{\"host\": \"gx-08\", \"gpu\": 0, \"tflops\": 641}\n",
      "gemm.jsonl");
  EXPECT_EQ(lines.series_rows.size(), 3u);
}

// What is no table of anybody's numbers stays a configuration.
TEST(NumberTables, JsonOfSettings) {
  for (const char* text : {R"({"nodes": [{"host": "a1"}, {"host": "a2"}, {"host": "a3"}]})",
                           R"({"compute_ms": [1, 2, 3]})",
                           R"({"compute_ms": {"1": 1.5, "2": 1.6, "3": 2.9}})",  // of steps
                           R"([[[[[[[[{"rank": 1, "compute_ms": 2}]]]]]]]])",
                           "{\"step\": 1, \"rank\": 0, \"compute_ms\": 2}\n"
                           "{\"step\": 1, \"rank\": 1, \"compute_ms\": 2}\n"
                           "{\"step\": 1, \"rank\": 2, \"compute_ms\": 2}\n"})
    EXPECT_NE(detect({"c.json", text, true}).format, "number-document") << text;
}

TEST(NumberTables, AHeadingWithinAReport) {
  const Rows rows = read_text(
      "Per-rank timing at step 1200\n"
      " rank     host  compute(ms)  comm (ms)\n"
      "    0   gx-07       1500.1      500.2\n"
      "    1   gx-07       2900.1        0.2\n"
      "done\n");
  EXPECT_EQ(rows.points("compute(ms)").values, (std::vector<double>{1500.1}));
  ASSERT_EQ(rows.series_rows.size(), 4u);
  EXPECT_EQ(rows.series_rows[2].rank, Rank(1));
}

TEST(NumberTables, WhomAProgramNames) {
  const Rows rows = read_text(
      "step 20: slowest rank 13 (gx-07) 2857 ms, median 1500 ms\n"
      "step 40 fwd min 1.48 (rank 4) max 2.85 (rank 12) mean 1.54\n"
      "  Worst performing 5/32 ranks:\n"
      "    Rank=11 Node=gx-08 Score=0.53\n"
      "    Rank=4 Node=gx-08 Score=0.97\n"
      "  Worst performing 5/32 ranks:\n"
      "    Rank=9 Node=gx-08 Score=0.96\n"
      "STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: "
      "{StragglerId(rank=10, node='gx-08')}\n"
      "STRAGGLER DETECTION WARNING: Some GPUs performance dropped. Affected ranks: "
      "{StragglerId(rank=1, node='gx-07'), StragglerId(rank=2, node='gx-07')}\n");
  EXPECT_EQ(rows.points("slowest rank").values, (std::vector<double>{13, 12, 11, 10}));
  EXPECT_EQ(rows.points("slowest rank").steps, (std::vector<std::int64_t>{20, 40, 40, 40}));
}

std::string said(const std::string& text) {
  std::string out;
  for (const EventRow& e : read_text(text).events) out += e.message + "\n";
  return out;
}

// A machine or a device a line, whatever the words.
TEST(MeasuredLines, OneFarBelowAllOthers) {
  const auto lines = [](const std::string& pattern) {
    std::string out;
    for (int host = 1; host <= 4; ++host)
      for (int gpu = 0; gpu < 4; ++gpu)
        out += fmt::format(fmt::runtime(pattern), fmt::arg("host", host), fmt::arg("gpu", gpu),
                           fmt::arg("rate", host == 2 && gpu == 3 ? 380.5 : 640.0 + host + gpu));
    return out;
  };
  for (const char* pattern : {"gx-0{host} GPU{gpu} bf16 gemm 8192x8192x8192: {rate} TFLOPS\n",
                              "gx-0{host}: gpu {gpu} matmul {rate} TFLOP/s ok\n",
                              "gx-0{host} | device={gpu} | h2d={rate} GB/s\n"})
    EXPECT_NE(said(lines(pattern)).find("measured rate of GPU 3 of gx-02 is low: 380.5"),
              std::string::npos)
        << said(lines(pattern)) << pattern;
  EXPECT_NE(said("gx-01: Triad: 371000.0 MB/s\ngx-02: Triad: 372000.0 MB/s\ngx-03: Triad: 90000.1 "
                 "MB/s\ngx-04: Triad: 370100.0 MB/s\n")
                .find("measured rate of gx-03 is low"),
            std::string::npos);
}

// Steps, transfers and limits are no tests; what repeats is no test either.
TEST(MeasuredLines, WhatIsNoTest) {
  std::string steps, again, limits;
  for (int i = 0; i < 8; ++i) {
    steps += fmt::format("gx-0{} step 10 throughput {} TFLOPS\n", i, i == 3 ? 100 : 400);
    limits += fmt::format("gx-0{} link limit {} GB/s\n", i, i == 3 ? 100 : 400);
    for (int k = 0; k < 8; ++k)
      again += fmt::format("gx-0{} read {} MB/s\n", i, i == 3 ? 100 : 400);
  }
  std::string copies, sizes;
  for (int i = 0; i < 8; ++i) {
    copies += fmt::format("gx-0{} stage-in of container image: {} MB/s (cached)\n", i,
                          i == 3 ? 120 : 900);
    sizes += fmt::format("gx-0{} all_reduce_perf {} GPUs busbw {} GB/s\n", i, i == 3 ? 2 : 16,
                         i == 3 ? 190 : 370);
  }
  EXPECT_EQ(said(copies), "");
  EXPECT_EQ(said(sizes), "");
  EXPECT_EQ(said(steps), "");
  EXPECT_EQ(said(limits), "");
  EXPECT_EQ(said(again), "");
}

}  // namespace
}  // namespace culprit::ingest
