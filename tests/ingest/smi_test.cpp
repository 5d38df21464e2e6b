#include "metric_kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_records;
using test::told;

using Values = std::vector<double>;
using Integers = std::vector<std::int64_t>;

constexpr std::string_view kCsv =
    "timestamp, index, utilization.gpu [%], power.draw [W], pstate, "
    "clocks_event_reasons.hw_slowdown, clocks_event_reasons.active, \"name\"\n"
    "2024/09/08 13:03:31.000, 0, 100 %, 592.74 W, P0, Not Active, 0x0000000000000001, \"NVIDIA "
    "H100, 80GB\"\n"
    "2024/09/08 13:03:31.002, 1, 98 %, [N/A], P2, Active, 0x0000000000000040, NVIDIA H100\n"
    "2024/09/08 13:03:32.000, 0, 97 %, 590.1 W, P0, Not Active, 0x0000000000000000, NVIDIA H100\n"
    "2024/09/08 13:03:32.001, 1, [Unknown Error], [GPU requires reset], [N/A], [Not Supported], "
    "[N/A], NVIDIA H100\n";

std::int64_t at(int second, int ms) {
  return days_from_civil(2024, 9, 8) * 86'400 * kSecond + (13 * 3600 + 3 * 60 + second) * kSecond +
         ms * 1'000'000LL;
}

TEST(SmiCsv, ReadingsOfEachGpu) {
  const auto rows = read_records(kCsv, "smi.csv");
  EXPECT_EQ(told(rows),
            (std::vector<std::string>{
                "utilization.gpu unit=% gpu=0", "power.draw unit=W gpu=0", "pstate gpu=0",
                "clocks_event_reasons.hw_slowdown gpu=0", "clocks_event_reasons.active gpu=0",
                "utilization.gpu unit=% gpu=1", "pstate gpu=1",
                "clocks_event_reasons.hw_slowdown gpu=1", "clocks_event_reasons.active gpu=1"}));
  EXPECT_EQ(rows.points("utilization.gpu", "0").values, (Values{100, 97}));
  EXPECT_EQ(rows.points("utilization.gpu", "0").times, (Integers{at(31, 0), at(32, 0)}));
  EXPECT_EQ(rows.points("clocks_event_reasons.active", "1").values, Values{64});
  EXPECT_EQ(rows.points("clocks_event_reasons.hw_slowdown", "1").values, Values{1});
  EXPECT_EQ(rows.points("pstate", "1").values, Values{2});
  EXPECT_EQ(rows.series_rows[0].clock, Clock::local);
  EXPECT_TRUE(rows.points("utilization.gpu", "0").steps.empty());
  // A GPU that no longer answers is evidence: its words are kept.
  ASSERT_EQ(rows.reasons(), "5:smi_csv.gpu_requires_reset");
  EXPECT_NE(rows.rejects[0].excerpt.find("[Unknown Error]"), std::string::npos);
}

TEST(SmiCsv, BlocksAndPrefixes) {
  test::check_cuts(kCsv, "smi.csv");
  test::check_prefixes(kCsv, "smi.csv");
}

TEST(SmiCsv, NoUnitsUuidAndBus) {
  const auto rows = read_records(
      "uuid, pci.bus_id, utilization.gpu [%], memory.used [MiB], "
      "ecc.errors.uncorrected.volatile.total\nGPU-a, 00000000:1B:00.0, 5, 10, 0\nGPU-b, "
      "00000000:43:00.0, 6, 11, 2\nGPU-a, 00000000:1B:00.0, 7, 12, 0\n",
      "x.txt");
  EXPECT_TRUE(rows.rejects.empty()) << rows.reasons();
  EXPECT_EQ(rows.points("memory.used", "GPU-a").values, (Values{10, 12}));
  EXPECT_EQ(rows.points("memory.used", "GPU-a").steps, (Integers{0, 1}));
  EXPECT_EQ(rows.points("ecc.errors.uncorrected.volatile.total", "GPU-b").steps, Integers{0});
  EXPECT_EQ(rows.series_rows[0].unit, "%");
  EXPECT_EQ(told(read_records("pci.bus_id, temperature.gpu\n00000000:1B:00.0, 50\n", "x.txt")),
            (std::vector<std::string>{"temperature.gpu gpu=00000000:1B:00.0"}));
}

TEST(SmiCsv, WithoutAnIndexTheOrderNamesTheGpuIfTheTimeRepeats) {
  const auto row = [](int second, int value) {
    return "2024/09/08 13:03:" + std::to_string(second) + ".000, " + std::to_string(value) + " %\n";
  };
  const std::string head = "timestamp, utilization.gpu [%]\n";
  const auto one = read_records(head + row(31, 1) + row(32, 2) + row(33, 3), "x.csv");
  EXPECT_EQ(told(one), (std::vector<std::string>{"utilization.gpu unit=%"}));
  EXPECT_EQ(one.points("utilization.gpu").values, (Values{1, 2, 3}));
  const auto two = read_records(head + row(31, 1) + row(31, 2) + row(32, 3) + row(32, 4), "x.csv");
  EXPECT_EQ(told(two), (std::vector<std::string>{"utilization.gpu unit=% gpu=0",
                                                 "utilization.gpu unit=% gpu=1"}));
  EXPECT_EQ(two.points("utilization.gpu", "1").values, (Values{2, 4}));
  // One fell off the bus: which of them, nobody can say.
  const auto lost = read_records(head + row(31, 1) + row(31, 2) + row(32, 9) + row(33, 9), "x.csv");
  EXPECT_EQ(lost.reasons(), "4:smi_csv.rows_missing 5:smi_csv.rows_missing");
  EXPECT_EQ(lost.points("utilization.gpu", "0").values, Values{1});
  test::check_cuts(head + row(31, 1) + row(31, 2) + row(32, 3) + row(32, 4), "x.csv");
}

TEST(SmiCsv, WhatIsNoRow) {
  EXPECT_EQ(
      read_records("2024/09/08 13:03:31.000, 0, 100 %, 41\n2024/09/08 13:03:32.000, 0, 99 %, 41\n",
                   "smi.log")
          .reasons(),
      "1:smi_csv.no_header 2:smi_csv.no_header");
  EXPECT_EQ(read_records("index, utilization.gpu [%], power.draw [W]\n0, 1 %\n0, 1 %, 2 W, 3\n0, 1 "
                         "%, 2 MW\n0, x %, 2 W\n0, 3 %, 5 W\n0, 3 %, what\nUnable to determine the "
                         "device handle for GPU 0000:3B:00.0: Unknown Error\n\n"
                         "index, utilization.gpu [%]\n0, 77 %\n",
                         "x.csv")
                .reasons(),
            "2:smi_csv.columns 3:smi_csv.columns 4:smi_csv.unit 5:smi_csv.value 7:smi_csv.value "
            "8:smi_csv.device_lost");
  EXPECT_EQ(
      read_records("timestamp, index, temperature.gpu\nyesterday, 0, 50\n", "x.csv").reasons(),
      "2:smi_csv.timestamp");
}

TEST(SmiCsv, ManyHostsAndTheFieldsOfTheCommandAbove) {
  const std::string_view command =
      "# pdsh -w r4u[1-2] nvidia-smi --query-gpu=index,clocks.sm,temperature.gpu "
      "--format=csv,noheader\n";
  const std::string text =
      std::string(command) + "r4u1: 0, 1935 MHz, 54\nr4u2: 0, 905 MHz, 88\nr4u1: 1, 1950 MHz, 60\n";
  const auto rows = read_records(text, "smi.csv");
  EXPECT_TRUE(rows.rejects.empty()) << rows.reasons();
  EXPECT_EQ(told(rows),
            (std::vector<std::string>{
                "clocks.sm unit=MHz host=r4u1 gpu=0", "temperature.gpu host=r4u1 gpu=0",
                "clocks.sm unit=MHz host=r4u2 gpu=0", "temperature.gpu host=r4u2 gpu=0",
                "clocks.sm unit=MHz host=r4u1 gpu=1", "temperature.gpu host=r4u1 gpu=1"}));
}

TEST(SmiCsv, OtherTablesAreNotClaimed) {
  for (const char* text :
       {"host,tor\na,b\n", "step,loss\n1,2\n", "a\nb\n",
        "2024/09/08 13:03:31.000, something happened, in words\n", "1,2,3\n4,5,6\n", ""})
    EXPECT_NE(detect({"x.csv", text, true}).format, "nvidia-smi-csv") << text;
}

constexpr std::string_view kDmon =
    "# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk\n# Idx      W      C      C      %     "
    " %    MHz    MHz\n"
    "    0     64     30     46      0      0   1593    210\n    1     61     28      -      0     "
    " 0   1593    210\n"
    "# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk\n# Idx      W      C      C      %     "
    " %    MHz    MHz\n"
    "    0     76     30     46      5      0   1593    210\n    1     62     28      -      6     "
    " 0   1593    210\n";

TEST(SmiDmon, RowsOfARoundWithoutTime) {
  const auto rows = read_records(kDmon, "dmon.txt");
  EXPECT_TRUE(rows.rejects.empty()) << rows.reasons();
  EXPECT_EQ(told(rows)[0], "pwr unit=W gpu=0");
  EXPECT_EQ(rows.series_rows.size(), 13u);
  EXPECT_EQ(rows.points("pwr", "1").values, (Values{61, 62}));
  EXPECT_EQ(rows.points("pwr", "1").steps, (Integers{0, 1}));
  EXPECT_EQ(rows.points("mtemp", "1").size(), 0u);
  EXPECT_EQ(rows.members[0].used, 4u);
  EXPECT_EQ(rows.members[0].skipped, 4u);
  test::check_cuts(kDmon, "dmon.txt");
  test::check_prefixes(kDmon, "dmon.txt");
}

TEST(SmiDmon, WithDateAndTime) {
  const auto both = read_records(
      "#Date       Time        gpu    pwr  gtemp\n#YYYYMMDD   HH:MM:SS    Idx      W      C\n "
      "20240908   13:03:31      0     64     30\n 20240908   13:03:32      0     65     31\n",
      "dmon.txt");
  EXPECT_TRUE(both.rejects.empty()) << both.reasons();
  EXPECT_EQ(both.points("gtemp", "0").times, (Integers{at(31, 0), at(32, 0)}));
  EXPECT_EQ(both.series_rows[0].clock, Clock::local);
  EXPECT_EQ(told(both), (std::vector<std::string>{"pwr unit=W gpu=0", "gtemp unit=C gpu=0"}));
  const auto time = read_records(
      "#Time        gpu    pwr\n#HH:MM:SS    Idx      W\n 13:03:31      0     64\n later  0 5\n",
      "dmon.txt");
  EXPECT_EQ(time.series_rows[0].clock, Clock::local_no_date);
  EXPECT_EQ(time.points("pwr").times, Integers{(13 * 3600 + 3 * 60 + 31) * kSecond});
  EXPECT_EQ(time.reasons(), "4:smi_dmon.time");
}

TEST(SmiDmon, OfDcgmi) {
  const auto dcgmi = read_records(
      "#Entity   GPUTL  MCUTL   SMCLK\nID\nGPU 0     98   45   9223372036854775794\nGPU 1     97   "
      "N/A   1980\nSwitch 0  1 2 3\n#Entity   GPUTL  MCUTL   SMCLK\nID\nGPU 0     96   45   "
      "1980\nGPU 0 1\n",
      "dcgmi.txt");
  EXPECT_EQ(dcgmi.points("GPUTL", "0").values, (Values{98, 96}));
  EXPECT_EQ(dcgmi.points("SMCLK", "0").steps, Integers{1});
  EXPECT_EQ(dcgmi.points("GPUTL", "entity=Switch 0").values, Values{1});
  EXPECT_EQ(dcgmi.reasons(), "9:smi_dmon.columns");
}

// The programs that compute, each once, whatever else looks at the GPU.
TEST(SmiPmon, ProgramsOfEachGpu) {
  const auto pmon = read_records(
      "# gpu        pid  type    sm   mem   command\n# Idx          #   C/G     %     %   name\n   "
      " 0      14835     C    45    15   python\n    0      14901     C    40     9   burn\n    0  "
      "    14835     C    44    15   python\n    1       2301     C     0     0   monitor\n    2   "
      " "
      "      -     -     -     -   -\n    x\n",
      "pmon.txt");
  EXPECT_TRUE(pmon.series_rows.empty());
  EXPECT_EQ(pmon.reasons(), "8:smi_pmon.columns");
  ASSERT_EQ(pmon.configs.size(), 1u);
  EXPECT_EQ(pmon.configs[0].name + "=" + pmon.configs[0].value, "gpu.program[0]=burn python");
}

TEST(SmiDmon, BlocksWithinAnotherLog) {
  const std::string head = "# gpu    pwr  gtemp\n# Idx      W      C\n";
  const auto rows = test::read_text(
      "start of training\n" + head +
      "    0    590     61\n    1    592     60\nat step=17 loss=2.25\n    0    588     62\n" +
      head + "    1    300     83\nthe end of it 3 4\n");
  EXPECT_EQ(rows.points("pwr", "0").values, (Values{590, 588}));
  EXPECT_EQ(rows.points("gtemp", "1").values, (Values{60, 83}));
  EXPECT_EQ(rows.points("gtemp", "1").lines, (Integers{5, 10}));
  EXPECT_EQ(rows.progress.size(), 1u) << "the program's own lines are read as ever";
  const auto timed = test::read_text(
      "[2026-11-21 10:00:00] # gpu    pwr  gtemp\n[2026-11-21 10:00:01]     0    590     61\n");
  ASSERT_EQ(timed.series_rows.size(), 2u);
  EXPECT_EQ(timed.series_rows[0].clock, Clock::local);
  const auto dated = test::read_text(
      "hello\n#Date       Time        gpu    pwr\n#YYYYMMDD   HH:MM:SS    Idx      W\n 20240908   "
      "13:03:31      0    590\n");
  EXPECT_EQ(dated.points("pwr", "0").values, Values{590});
  EXPECT_EQ(dated.points("pwr", "0").times, Integers{at(31, 0)});
  EXPECT_TRUE(
      test::read_text("# gpu cards are in rack 3\n 0 1 2 3 4 5\n# cost\n").series_rows.empty());
}

}  // namespace
}  // namespace culprit::ingest
