#include <cmath>

#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_records;
using test::Rows;

TEST(StepTable, WideTable) {
  const std::string text =
      "step,timestamp,hostname,rank,gpu,iter_ms,loss,util,phase\r\n"
      "1,2026-11-21 03:41:50.5,node-01,3,0,101.5,2.5,98 %,train\r\n"
      "2,2026-11-21 03:41:51.5,node-01,3,0,102.5,NaN,97 %,train\r\n"
      "3,2026-11-21 03:41:52.5,node-01,3,0,,2.25,N/A,eval\r\n"
      "4,2026-11-21 03:41:53.5,node-01,3,0,103.5\r\n"
      "step,timestamp,hostname,rank,gpu,iter_ms,loss,util,phase\r\n"
      "\r\n"
      "5,2026-11-21 03:41:54.5,node-01,3,0,104.5,2,96 %,\"train, second\"\r\n";
  const Rows rows = read_records(text, "steps.csv");
  EXPECT_EQ(rows.reasons(), "5:table.cells");
  EXPECT_EQ(rows.members[0].format, "metrics-table");
  ASSERT_EQ(rows.series_rows.size(), 3u);
  EXPECT_EQ(rows.series_rows[0].host, "node-01");
  EXPECT_EQ(rows.series_rows[0].rank, Rank(3));
  EXPECT_EQ(rows.series_rows[0].gpu, "0");
  EXPECT_EQ(rows.series_rows[0].clock, Clock::local);
  EXPECT_EQ(rows.points("iter_ms").steps, (std::vector<std::int64_t>{1, 2, 5}));
  EXPECT_TRUE(std::isnan(rows.points("loss").values[1]));
  EXPECT_EQ(rows.points("util").values, (std::vector<double>{98, 97, 96}));
  EXPECT_EQ(rows.series_rows[2].unit, "%");
  ASSERT_EQ(rows.progress.size(), 4u);
  EXPECT_EQ(rows.progress[0].iteration_ms, 101.5);
  EXPECT_TRUE(rows.progress[1].loss_nan);
  const std::string whole = rows.log;
  for (std::size_t cut = 1; cut < text.size(); ++cut)
    ASSERT_EQ(read_records(text, "steps.csv", {cut}).log, whole) << cut;
}

TEST(StepTable, LongTable) {
  const Rows rows = read_records(
      "time\thost\tmetric\tvalue\n1795232510\ta\tcpu\t5\n1795232510\tb\tcpu\t6\n1795232511\ta\tmem"
      "\t7\n1795232511\ta\t\t8\n",
      "long.tsv");
  EXPECT_EQ(rows.points("cpu", "b").values, (std::vector<double>{6}));
  EXPECT_EQ(rows.points("mem", "a").times, (std::vector<std::int64_t>{1795232511'000000000}));
  EXPECT_EQ(rows.reasons(), "5:table.no_name");
}

// Counters of eight cards in one series would be noise.
TEST(StepTable, CardsAndDevicesOwnTheirSeries) {
  const Rows rows = read_records(
      "timestamp,host,nic,port,ecn_marked\n1795232510,a,mlx5_0,1,5\n1795232510,a,mlx5_1,1,"
      "6\n1795232511,a,mlx5_0,1,7\n",
      "rdma.csv");
  ASSERT_EQ(rows.series_rows.size(), 2u);
  EXPECT_EQ(rows.series_rows[0].nic, "mlx5_0/1");
  EXPECT_EQ(rows.points("ecn_marked", "mlx5_0/1").values, (std::vector<double>{5, 7}));
  EXPECT_EQ(rows.points("ecn_marked", "mlx5_1/1").values, (std::vector<double>{6}));
  const Rows devices = read_records(
      "timestamp,host,device,value_x\n1795232510,a,bnxt_re0,5\n1795232510,a,3,6\n1795232510,a,cuda:"
      "4,7\n",
      "dev.csv");
  ASSERT_EQ(devices.series_rows.size(), 3u);
  EXPECT_EQ(devices.series_rows[0].nic, "bnxt_re0");
  EXPECT_EQ(devices.series_rows[1].gpu, "3");
  EXPECT_EQ(devices.series_rows[2].gpu, "cuda:4");
  const Rows lines = read_records(
      "{\"timestamp\": 1795232510, \"host\": \"a\", \"device\": \"mlx5_0\", \"port\": 2, \"x\": "
      "1}\n{\"timestamp\": 1795232511, \"host\": \"a\", \"device\": \"mlx5_1\", \"port\": 2, "
      "\"x\": 2}\n",
      "rdma.jsonl");
  ASSERT_EQ(lines.series_rows.size(), 2u);
  EXPECT_EQ(lines.series_rows[1].nic, "mlx5_1/2");
}

TEST(StepTable, CallsOfCollectives) {
  const Rows rows = read_records(
      "time,op,comm,bytes,rank\n1795232510.000001,AllReduce,0x1f,1048576,0\n1795232510.000002,"
      "AllReduce,0x2f,4096,0\n1795232510.000003,Broadcast,0x1f,8,1\n",
      "calls.csv");
  EXPECT_EQ(rows.points("AllReduce", "comm=0x2f").values, (std::vector<double>{4096}));
  EXPECT_EQ(rows.points("Broadcast", "comm=0x1f").times,
            (std::vector<std::int64_t>{1795232510'000003000}));
  EXPECT_TRUE(rows.progress.empty());
}

TEST(StepTable, WandbExports) {
  const Rows rows = read_records(
      "\"Step\",\"calm-fox-3 - train/loss\",\"calm-fox-3 - train/loss__MIN\",\"calm-fox-3 - "
      "train/loss__MAX\",\"calm-fox-3 - _step\",\"calm-fox-3 - _step__MIN\"\n"
      "\"10\",\"2.5\",\"2.5\",\"2.5\",\"10\",\"10\"\n\"20\",\"NaN\",\"NaN\",\"NaN\",\"20\","
      "\"20\"\n\"30\",\"\",\"\",\"\",\"30\",\"30\"\n\"40\",\"Infinity\",\"\",\"\",\"40\",\"40\"\n",
      "wandb_export_2026-11-21.csv");
  EXPECT_EQ(rows.reasons(), "");
  ASSERT_EQ(rows.series_rows.size(), 1u);
  EXPECT_EQ(rows.series_rows[0].name, "train/loss");
  EXPECT_EQ(rows.series_rows[0].labels, "run=calm-fox-3");
  EXPECT_EQ(rows.points("train/loss").steps, (std::vector<std::int64_t>{10, 20, 40}));
  EXPECT_EQ(rows.progress.size(), 3u);
  const Rows two = read_records("Step,a - train/loss,b - train/loss\n1,2,3\n2,2,3\n", "wandb.csv");
  EXPECT_EQ(two.points("train/loss", "run=b").values, (std::vector<double>{3, 3}));
  EXPECT_TRUE(two.progress.empty());  // of which run?
}

TEST(StepTable, TensorboardDownloads) {
  const Rows rows = read_records("Wall time,Step,Value\n1795232510.25,1,2.5\n1795232511.25,2,2.4\n",
                                 "run-exp_3-tag-train_loss.csv");
  EXPECT_EQ(rows.points("train_loss").steps, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(rows.progress.size(), 2u);
}

TEST(StepTable, TablesOfOthersAreLeftAlone) {
  const std::pair<const char*, const char*> cases[] = {
      {"gpu.csv",
       "timestamp, name, utilization.gpu [%], memory.used [MiB]\n2026/11/21 03:41:50.500, NVIDIA "
       "H100, 98 %, 5 MiB\n"},
      {"gpu2.csv", "timestamp,temperature.gpu,index\n2026/11/21 03:41:50.500,40,1\n"},
      {"gpu3.csv", "timestamp,index,power.draw\n2026/11/21 03:41:50.500,0,40\n"},
      {"hosts.csv", "host,tor,pod\nnode-01,tor-1,pod-1\n"},
      {"labels.tsv", "line\tlabel\nx\ty\n"},
      {"dates.csv", "date,count\n2026-11-21,3\n"},
      {"nohead.csv", "1,2,3\n4,5,6\n"},
      {"note.txt", "step,loss\n1,2\n"},
      {"one.csv", "step\n1\n2\n"},
      {"words.csv", "step,comment\n1,good\n2,bad\n"},
      {"ragged.csv", "step,loss\n1,2,3,4\n2,3,4,5\n"},
      {"empty.csv", "step,loss\n"}};
  for (const auto& [path, text] : cases)
    EXPECT_NE(detect({path, text, true}).format, "metrics-table") << path;
}

TEST(StepTable, DatesAndVersionsAreNoNumbers) {
  const Rows rows = read_records(
      "step,loss,day,version,quote\n1,2,2026-11-21,1.2.3,\"a "
      "\"\"b\"\"\"\n2,3,2026-11-22,1.2.4,c\n3,4,x,y,\"open\n",
      "a.csv");
  ASSERT_EQ(rows.series_rows.size(), 1u);
  EXPECT_EQ(rows.points("loss").values, (std::vector<double>{2, 3}));
  EXPECT_EQ(rows.reasons(), "4:table.cells");
}

TEST(StepTable, HalfANumberIsNone) {
  const std::string text = "step,loss,iter_ms\n1,2,100\n2,2,101\n3,2,10";
  const Rows rows = read_records(text, "a.csv");
  EXPECT_EQ(rows.points("loss").size(), 3u);
  EXPECT_EQ(rows.points("iter_ms").values, (std::vector<double>{100, 101}));
  EXPECT_EQ(rows.reasons(), "");
  EXPECT_EQ(read_records("loss,step\n2,10\n2,11\n2,1", "a.csv").reasons(), "4:table.cut");
  for (std::size_t n = 25; n < text.size(); ++n) {
    const Rows cut = read_records(std::string_view(text).substr(0, n), "a.csv");
    EXPECT_EQ(cut.members[0].used + cut.members[0].rejected, cut.members[0].lines) << n;
  }
}

// People keep tables under any name, and write the zone into the heading.
TEST(StepTable, UnderAnotherNameAndWithAZone) {
  const std::string text =
      "# from the dashboard\nhost;time(PST);step;data_wait_s;fwd_s\n"
      "n1;2026-11-09 09:00:04;1;0.03;4.40\nn1;2026-11-09 09:00:09;2;0.07;4.37\n";
  const Rows rows = read_records(text, "timing.txt");
  EXPECT_EQ(rows.points("data_wait_s", "n1").times.at(0), 1794243604'000000000);
  EXPECT_EQ(rows.series_rows.at(0).clock, Clock::utc);
  // Rows with prose are a log.
  const Head log{"export.txt", "time,host,message\n2026-11-09T09:00:04Z,n1,it all went well\n",
                 true};
  EXPECT_EQ(detect(log).records, nullptr);
  // A time of day is no address: this is no list of machines.
  const Head times{"t.csv", "host,time,loss\nn1,09:00:04,2.5\nn2,09:00:04,2.5\n", true};
  EXPECT_EQ(detect(times).format, "metrics-table");
}

TEST(StepTable, TimesOfADayWithoutSeconds) {
  const Rows rows =
      read_records("time,host,mem_available_gib\n09:00,a,1415\n09:03,a,1398\n", "mem.csv");
  EXPECT_EQ(rows.series_rows.at(0).clock, Clock::local_no_date);
  EXPECT_EQ(rows.points("mem_available_gib").times.at(1), 9 * kHour + 3 * kMinute);
}

// A column a machine, and a table of counters in which one port takes errors.
TEST(StepTable, ColumnsOfMachinesAndPortsThatTakeErrors) {
  const Rows wide = read_records(
      "time,step,gx1_compute_ms,gx2_compute_ms,gx3_compute_ms\n1795232510,1,10,11,24\n"
      "1795232512,2,10,12,25\n",
      "timers.csv");
  EXPECT_EQ(wide.points("compute_ms", "column=gx3").values, (std::vector<double>{24, 25}));
  EXPECT_EQ(wide.points("compute_ms", "column=gx1").values, (std::vector<double>{10, 10}));
  const Rows ports = read_records(
      "host,dev,SymbolErrorCounter,PortXmitWait\nn1,mlx5_0,0,7\nn1,mlx5_1,0,7\n"
      "n2,mlx5_0,48211,7\nn2,mlx5_1,0,7\n",
      "perfquery.csv");
  ASSERT_EQ(ports.events.size(), 1u);
  EXPECT_EQ(ports.events[0].event_class, "nic_port_errors");
  EXPECT_EQ(ports.events[0].host, "n2");
  EXPECT_EQ(ports.events[0].place.line, 4u);
}

// As people print them for themselves.
TEST(StepTable, BarsBetweenTheCells) {
  const Rows rows = read_records(
      "time(local, UTC+1) | step | loss | step time\n02:00:03 | 1 | 2.421 | 3.12s\n"
      "02:00:06 | 2 | 2.390 | 2.99s\n02:00:09 | 3 | 2.420 | 3.10s\n",
      "progress.txt");
  ASSERT_EQ(rows.progress.size(), 3u);
  EXPECT_EQ(rows.progress[1].iteration, 2);
  EXPECT_EQ(rows.progress[1].iteration_ms, 2990);
}

}  // namespace
}  // namespace culprit::ingest
