// What all slow measurements of a table have in common.
#include "ingest/engine/rate_factors.hpp"
#include "kit.hpp"

namespace culprit::ingest {
namespace {

using namespace test;

std::string told(const std::string& text, const std::string& path = "net/pairs.tsv") {
  return told_by_document("measured-rates", path, text);
}

// Neighbours in a ring, each pair once.
std::string pairs(int hosts, int slow, const std::string& between = " ", int step = 1) {
  std::string out;
  for (int i = 0; i < hosts; i += step) {
    const int j = (i + 1) % hosts;
    out +=
        fmt::format("n{:02}{}n{:02}\t{}\n", i, between, j, i == slow || j == slow ? 70.5 : 187.2);
  }
  return out;
}

TEST(MeasuredRates, AMachineThatIsAnEndOfEachSlowPair) {
  EXPECT_EQ(told("# all_reduce_perf, pairs, busbw GB/s\n" + pairs(12, 7, "\t")),
            "8:host_measured_slow measured rate of n07 is low: 70.5 where 187.2 is usual (rate), "
            "in 2 of 12 measurements\n");
  EXPECT_EQ(told("src\tdst\tbusbw\n" + pairs(12, 7, "\t")),
            "8:host_measured_slow measured rate of n07 is low: 70.5 where 187.2 is usual (busbw), "
            "in 2 of 12 measurements\n");
}

// Nobody says which end of one pair it is.
TEST(MeasuredRates, BothEndsOfOnePair) {
  const std::string out = told("src\tdst\tbusbw\n" + pairs(12, 6, "\t", 2));
  EXPECT_NE(out.find("wherever n06 or one of 1 others takes part"), std::string::npos) << out;
  EXPECT_NE(out.find("wherever n07 or one of 1 others takes part"), std::string::npos) << out;
}

// Each of the two is as quick as others with everybody else.
TEST(MeasuredRates, TheWayBetweenTwoMachines) {
  std::string text = "src,dst,busbw_GBps\n";
  for (int i = 1; i <= 6; ++i)
    for (int j = 1; j <= 6; ++j)
      if (i != j) text += fmt::format("n{},n{},{}\n", i, j, i + j == 9 && i * j == 18 ? 11 : 46);
  const std::string out = told(text, "pairs.csv");
  for (const char* host : {"n3", "n6"})
    EXPECT_NE(out.find(fmt::format("between {} and ", host)), std::string::npos) << out;
}

// What stays below it is quick, and the columns may have any name of an end.
TEST(MeasuredRates, TheWayOutOfASwitch) {
  std::string text = "pairs_in,pairs_to,algbw_GBps,busbw_GBps\n";
  for (int i = 1; i <= 4; ++i)
    for (int j = 1; j <= 4; ++j) {
      const double rate = i != j && (i == 3 || j == 3) ? 19.1 : 48.2;
      text += fmt::format("leaf0{},leaf0{},{},{}\n", i, j, rate, rate);
    }
  EXPECT_NE(told(text, "sweep.csv").find("through switch leaf03 is low"), std::string::npos)
      << told(text, "sweep.csv");
}

// Several machines of which no measurement is usual, each beside one that is: a group.
TEST(MeasuredRates, SeveralMachinesBelowOneSwitch) {
  std::string text = "src\tdst\tbusbw\n";
  for (int i = 0; i < 24; ++i)
    for (const int apart : {1, 5, 7}) {
      const int j = (i + apart) % 24;
      const bool slow = i % 8 == 3 || j % 8 == 3;
      text += fmt::format("n{:02}\tn{:02}\t{}\n", i, j, slow ? 70.5 + i % 3 : 187.2 + i % 5);
    }
  const std::string out = told(text);
  for (const char* host : {"n03", "n11", "n19"})
    EXPECT_NE(out.find(fmt::format("wherever {} or one of 2 others takes part", host)),
              std::string::npos)
        << out;
}

std::string ports(const std::function<double(int, int)>& rate,
                  const std::string& heading = "host,rail,BW_avg_Gbps\n") {
  std::string out = heading;
  for (int host = 1; host <= 4; ++host)
    for (int rail = 0; rail < 4; ++rail)
      out += fmt::format("n{},{},{}\n", host, rail, rate(host, rail));
  return out;
}

TEST(MeasuredRates, APortAMachineARail) {
  EXPECT_EQ(told(ports([](int h, int r) { return h == 2 && r == 3 ? 196.4 : 391.0; })),
            "9:device_measured_slow measured rate of rail3 of n2 is low: 196.4 where 391 is usual "
            "(BW_avg_Gbps), in 1 of 16 measurements\n");
  EXPECT_EQ(told(ports([](int h, int) { return h == 2 ? 152.0 : 391.0; })),
            "6:host_measured_slow measured rate of n2 is low: 152 where 391 is usual "
            "(BW_avg_Gbps), in 4 of 16 measurements\n");
  EXPECT_EQ(told(ports([](int, int r) { return r == 1 ? 108.0 : 391.0; })),
            "3:switch_measured_slow measured rate of rail1 is low on all machines: 108 where 391 "
            "is usual (BW_avg_Gbps), in 4 of 16 measurements\n");
}

TEST(MeasuredRates, TheSwitchBelowWhichAllAreSlow) {
  std::string text = "host,switch_port,BW_avg_Gbps\n";
  for (int i = 1; i <= 8; ++i)
    text += fmt::format("n{},leaf-{}:Ethernet{},{}\n", i, i % 2, i, i % 2 == 1 ? 120 : 386);
  EXPECT_EQ(told(text, "bw.csv"),
            "2:switch_measured_slow measured rate through switch leaf-1 is low: 120 where 386 is "
            "usual (BW_avg_Gbps), in 4 of 8 measurements\n");
}

// Each rail is quick within a row of machines.
TEST(MeasuredRates, TheWayBetweenTwoRows) {
  std::string text = "src\tdst\trail\tbusbw_GBs\n";
  for (int rail = 0; rail < 4; ++rail)
    for (int i = 1; i <= 3; ++i) {
      text += fmt::format("p-a{}\tp-b{}\t{}\t{}\n", i, i, rail, rail == 3 ? 20.1 : 48.4);
      text += fmt::format("p-a{}\tp-a{}\t{}\t48.5\n", i, i + 1, rail);
    }
  EXPECT_NE(told(text).find("rail3-between-p-a-and-p-b"), std::string::npos);
}

TEST(MeasuredRates, HalvesOfABisection) {
  const std::string text =
      "run\tnodes\tcmd (mpirun -N 1)\tavg_busbw_GBps\n"
      "A\tx-[01-16]\tall_reduce_perf\t18.0\n"
      "B\tx-[01-08]\tall_reduce_perf\t46.4\n"
      "C\tx-[09-16]\tall_reduce_perf\t18.1\n"
      "D\tx-[13-16]\tall_reduce_perf\t46.6\n"
      "E\tx-[09-12]\tall_reduce_perf\t18.0\n"
      "F\tx-[11-12]\tall_reduce_perf\t46.7\n";
  const std::string out = told(text);
  EXPECT_NE(out.find("wherever x-09 or one of 1 others"), std::string::npos) << out;
  EXPECT_NE(out.find("wherever x-10 or one of 1 others"), std::string::npos) << out;
  EXPECT_EQ(out.find("x-11 or"), std::string::npos) << out;
}

// The same stage on whatever machines it stands is no machine's.
TEST(MeasuredRates, AStageOfAPipeline) {
  std::string text = "stage\thosts\tfwd_compute_ms\tp2p_recv_wait_ms\n";
  for (int i = 0; i < 8; ++i)
    text += fmt::format("{}\tn{},n{}\t{}\t{}\n", i, 2 * i, 2 * i + 1, i == 7 ? 1504 : 880 + i,
                        i == 7 ? 17 : 1820);
  EXPECT_EQ(told(text, "stage_timers.tsv"),
            "9:uneven_stages work of pipeline stage 7 takes longer: 1504 where 881 is usual "
            "(fwd_compute_ms), in 1 of 8 measurements\n");
}

TEST(MeasuredRates, RacksOfMachines) {
  const std::string text =
      "nodes\tbusbw_GBs\n"
      "x-r1+r2+r3 (12)\t152.3\nx-r1+r2 (8)\t152.0\nx-r1+r3 (8)\t368.4\nx-r3 (4)\t367.9\n";
  EXPECT_EQ(told(text),
            "3:group_measured_slow measured rate of group x-r2 is low: 152 where 367.9 is usual "
            "(busbw_GBs), in 2 of 4 measurements\n");
}

TEST(MeasuredRates, PairsInHeadingsOfATool) {
  std::string text = "# ib_write_bw -d mlx5_3\n";
  for (int i = 0; i < 10; ++i)
    text += fmt::format(
        "n{:02} <-> n{:02}\n"
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        " 1048576    116265           395.47             {}             0.045\n",
        i, (i + 1) % 10, i == 4 || i == 5 ? 98.2 : 394.6);
  EXPECT_NE(told(text, "pairs.txt").find("measured rate of n05 is low: 98.2 where 394.6"),
            std::string::npos);
}

// Operations and sizes are quick and slow by themselves.
TEST(MeasuredRates, OnlyLikeIsComparedWithLike) {
  std::string text = "host\tsize\tbusbw\tcoll\n";
  for (int i = 1; i <= 4; ++i)
    text += fmt::format("n{}\t4096\t457\tall_reduce\nn{}\t4096\t128\talltoall\n", i, i);
  EXPECT_EQ(told(text), "");
}

TEST(MeasuredRates, WithoutAGapNobodyIsSlow) {
  EXPECT_EQ(told(ports([](int h, int r) { return 300.0 + 12 * h + r; })), "");
  EXPECT_EQ(told(ports([](int h, int r) { return (h + r) % 2 == 0 ? 390.0 : 120.0; })), "");
}

// A rate at one moment after another is a series, and steps of a training are none of tests.
TEST(MeasuredRates, SeriesAreOthers) {
  std::string series = "time,host,nic_bandwidth_gbps\n", steps = "step,host,tflops\n";
  for (int i = 0; i < 40; ++i) {
    series += fmt::format("{},n{},{}\n", 1700000000 + i, i % 2, 390);
    steps += fmt::format("{},n{},{}\n", i, i % 4, 390);
  }
  EXPECT_EQ(told(series, "metrics.csv"), "read as metrics-table");
  EXPECT_EQ(told(steps, "steps.csv"), "read as metrics-table");
  EXPECT_NE(told(ports([](int, int r) { return r == 1 ? 40.0 : 90.0; }, "host,hca,tx_Gbps_avg\n"),
                 "roce_counters.csv")
                .find("read as"),
            std::string::npos)
      << "traffic";
}

}  // namespace
}  // namespace culprit::ingest
