#include <cmath>

#include "metric_kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_records;
using test::told;

using Values = std::vector<double>;
using Integers = std::vector<std::int64_t>;

constexpr std::string_view kScrape = R"(# HELP node_load1 1m load average.
# TYPE node_load1 gauge
node_load1 6.1
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total { code = "400" , method="post", }   3   1395066363000
# TYPE lat histogram
lat_bucket{le="0.05"} 24054
lat_bucket{le="+Inf"} 144320
lat_sum 53423
lat_count 144320
# TYPE rpc summary
rpc{quantile="0.5"} NaN
rpc_sum 1.7560473e+07
# free text
metric_without_timestamp_and_labels 12.47
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find:\n\"FILE}.TXT\" # {"} 1.458255915e9
something_weird{problem="division by zero"} +Inf -3982045
)";

TEST(PrometheusText, TheExampleOfItsOwnPage) {
  const auto rows = read_records(kScrape, "metrics.txt");
  EXPECT_TRUE(rows.rejects.empty()) << rows.reasons();
  EXPECT_EQ(told(rows),
            (std::vector<std::string>{
                "node_load1 kind=gauge", "http_requests_total kind=counter {code=200,method=post}",
                "http_requests_total kind=counter {code=400,method=post}",
                "lat_bucket kind=counter {le=0.05}", "lat_bucket kind=counter {le=+Inf}",
                "lat_sum kind=counter", "lat_count kind=counter", "rpc kind=gauge {quantile=0.5}",
                "rpc_sum kind=counter", "metric_without_timestamp_and_labels",
                "msdos_file_access_time_seconds {error=Cannot find:\n\"FILE}.TXT\" # "
                "{,path=C:\\DIR\\FILE.TXT}",
                "something_weird {problem=division by zero}"}));
  EXPECT_EQ(rows.points("http_requests_total", "code=400,method=post").times,
            (Integers{1'395'066'363 * kSecond}));
  EXPECT_EQ(rows.points("http_requests_total").values, Values{1027});
  EXPECT_EQ(rows.series_rows[1].clock, Clock::utc);
  EXPECT_EQ(rows.series_rows[0].clock, Clock::none);
  EXPECT_TRUE(std::isnan(rows.points("rpc").values.at(0)));
  EXPECT_TRUE(std::isinf(rows.points("something_weird").values.at(0)));
  EXPECT_EQ(rows.points("something_weird").times, (Integers{-3'982'045 * 1'000'000LL}));
  EXPECT_EQ(rows.points("msdos_file_access_time_seconds").values, Values{1458255915});
  EXPECT_EQ(rows.points("node_load1").lines, Integers{3});
  EXPECT_EQ(rows.points("node_load1").offsets, Integers{59});
  EXPECT_EQ(rows.members[0].lines, 18u);
  EXPECT_EQ(rows.members[0].used, 12u);
  EXPECT_EQ(rows.members[0].skipped, 6u);
}

TEST(PrometheusText, BlocksAndPrefixes) {
  test::check_cuts(kScrape, "metrics.txt");
  test::check_prefixes(kScrape, "metrics.txt");
}

TEST(PrometheusText, OpenMetrics) {
  const auto rows = read_records(R"(# TYPE acme_http_router_request_seconds summary
# UNIT acme_http_router_request_seconds seconds
acme_http_router_request_seconds_sum{path="/api/v1",method="GET"} 9036.32 1605301325.123456789
acme_http_router_request_seconds_count{path="/api/v1",method="GET"} 807283.0
acme_http_router_request_seconds_created{path="/api/v1",method="GET"} 1605281325.0
# TYPE go_goroutines gauge
go_goroutines 69 1605301325
# TYPE process_cpu_seconds counter
# UNIT process_cpu_seconds seconds
process_cpu_seconds_total 4.20072246e+06
# TYPE foo histogram
foo_bucket{le="0.01"} 0
foo_bucket{le="1"} 11 # {trace_id="KOO5S4vxi0o"} 0.67
foo_bucket{le="10"} 17 1605301326.5 # {trace_id="oHg5SJYRHA0"} 9.8 1520879607.789
# EOF
)",
                                 "scrape.prom");
  EXPECT_TRUE(rows.rejects.empty()) << rows.reasons();
  EXPECT_EQ(
      told(rows)[0],
      "acme_http_router_request_seconds_sum unit=seconds kind=counter {method=GET,path=/api/v1}");
  EXPECT_EQ(told(rows)[2],
            "acme_http_router_request_seconds_created kind=gauge {method=GET,path=/api/v1}");
  EXPECT_EQ(told(rows)[4], "process_cpu_seconds_total unit=seconds kind=counter");
  EXPECT_EQ(rows.points("acme_http_router_request_seconds_sum").times,
            Integers{1'605'301'325'123'456'789});
  EXPECT_EQ(rows.points("go_goroutines").times, Integers{1'605'301'325 * kSecond});
  EXPECT_EQ(rows.points("foo_bucket", "le=1").values, Values{11});
  EXPECT_EQ(rows.points("foo_bucket", "le=10").times, Integers{1'605'301'326'500'000'000});
}

TEST(PrometheusText, ExportersOfGpusNicsAndRanks) {
  const auto rows = read_records(R"(# TYPE DCGM_FI_DEV_GPU_TEMP gauge
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1",pci_bus_id="00000000:0F:00.0",device="nvidia0",modelName="NVIDIA H100",Hostname="n7",DCGM_FI_DRIVER_VERSION="535.1",container="c",namespace="x",pod="p"} 41
DCGM_FI_DEV_GPU_TEMP{gpu="1", UUID="GPU-2",container="",namespace="",pod=""} 42
DCGM_FI_DEV_GPU_TEMP{gpu="1", UUID="GPU-3",GPU_I_PROFILE="1g.10gb",GPU_I_ID="7",hostname="n7"} 43
DCGM_FI_DEV_NVLINK_BANDWIDTH{nvlink="3",gpu="2",gpu_uuid="GPU-9",model_name="H100",hostname="n7"} 5
DCGM_FI_DEV_XID_ERRORS{gpu="0",UUID="GPU-1",err_code="79",err_msg="GPU has fallen off the bus"} 79
DCGM_EXP_XID_ERRORS_COUNT{gpu="0",UUID="GPU-1",xid="79",window_size_in_ms="300000"} 1
DCGM_FI_DEV_MEMORY_TEMP{gpu="0",UUID="GPU-1"} 9223372036854775794
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-1"} 2147483632
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-1"} 140737488355328.000000
DCGM_FI_DEV_FAN_SPEED{UUID="GPU-1"} 30
node_infiniband_port_data_received_bytes_total{device="mlx5_0",port="1"} 2147483632
node_network_receive_bytes_total{device="eth0",instance="n7:9100",job="node"} 7.01956824e+08
node_disk_read_bytes_total{device="sda",instance="10.0.0.3:9100"} 12
node_cpu_seconds_total{cpu="0",mode="idle",instance="localhost:9100"} 1104.06
XPU_TIMER_COMMON_HANG{ip="11.36.23.0",job_name="j",local_rank="2",pod_name="w-0",rank="10"} 1
XPU_TIMER_MM_KERNEL_AVG_LATENCY{dtype="bf16",ip="11.36.23.0",job_name="j",level="7",local_rank="2",operation="Matmul",pod_name="w-0",rank="10"} 19063
nccl_bus_bandwidth_gbs{slurm_job_id="7",node="n7",gpu="GPU0",comm_name="dp",n_nodes="2",nranks="16",collective="AllReduce",message_size="4-5GB",algo_proto="RING_SIMPLE"} 201.5
kube_pod_status_ready{namespace="x",pod="p",condition="true"} 1
)",
                                 "m.prom");
  EXPECT_TRUE(rows.rejects.empty()) << rows.reasons();
  EXPECT_EQ(
      told(rows),
      (std::vector<std::string>{
          "DCGM_FI_DEV_GPU_TEMP kind=gauge host=n7 gpu=0", "DCGM_FI_DEV_GPU_TEMP kind=gauge gpu=1",
          "DCGM_FI_DEV_GPU_TEMP kind=gauge host=n7 gpu=1 {GPU_I_ID=7}",
          "DCGM_FI_DEV_NVLINK_BANDWIDTH host=n7 gpu=2 {nvlink=3}", "DCGM_FI_DEV_XID_ERRORS gpu=0",
          "DCGM_EXP_XID_ERRORS_COUNT gpu=0 {window_size_in_ms=300000,xid=79}",
          "DCGM_FI_DEV_FAN_SPEED gpu=GPU-1",
          "node_infiniband_port_data_received_bytes_total nic=mlx5_0/1",
          "node_network_receive_bytes_total host=n7 nic=eth0 {job=node}",
          "node_disk_read_bytes_total host=10.0.0.3 {device=sda}",
          "node_cpu_seconds_total {cpu=0,mode=idle}",
          "XPU_TIMER_COMMON_HANG host=11.36.23.0 rank=10 local_rank=2",
          "XPU_TIMER_MM_KERNEL_AVG_LATENCY host=11.36.23.0 rank=10 local_rank=2 "
          "{dtype=bf16,level=7,operation=Matmul}",
          "nccl_bus_bandwidth_gbs host=n7 gpu=GPU0 "
          "{algo_proto=RING_SIMPLE,collective=AllReduce,comm_name=dp,message_size=4-5GB,n_nodes=2,"
          "nranks=16}",
          "kube_pod_status_ready {condition=true,namespace=x,pod=p}"}));
  // The blanks are of DCGM alone: a counter of bytes may well stand at 2147483632.
  EXPECT_EQ(rows.points("node_infiniband_port_data_received_bytes_total").values,
            Values{2147483632});
}

TEST(PrometheusText, WhatIsNoSampleIsRejectedAndTold) {
  const auto rows = read_records(
      "# TYPE a gauge\na 1\na{b=\"c\n0a 1\na{b=c} 1\na{b=\"c\"}1\na 1e\na\na 1 2 3\na 1 "
      "soon\nh{x=\"y\"} {count:1}\na 0x1p3\na 1_000\na --1\na nano\na{b=\"c\",,d=\"e\"} 1\na 5 "
      "x\na 1 99999999999999999999\n",
      "m.prom");
  EXPECT_EQ(rows.reasons(),
            "3:prometheus.name 4:prometheus.name 5:prometheus.labels 6:prometheus.labels "
            "7:prometheus.value 8:prometheus.value 9:prometheus.tail 10:prometheus.timestamp "
            "11:prometheus.native_histogram 12:prometheus.value "
            "13:prometheus.value 14:prometheus.value 15:prometheus.value 16:prometheus.labels "
            "17:prometheus.timestamp 18:prometheus.timestamp");
  EXPECT_EQ(rows.points("a").values, Values{1});
  EXPECT_EQ(rows.members[0].rejected, 16u);
}

TEST(PrometheusText, ALineThatMayBeCutIsNotBelieved) {
  EXPECT_EQ(read_records("# TYPE a counter\na 1\nb{c=\"d\"} 123", "m.prom").reasons(),
            "3:prometheus.cut");
  EXPECT_EQ(read_records("# TYPE a counter\na 1\n# TYPE DCGM_FI_DEV_GP", "m.prom").reasons(), "");
  EXPECT_EQ(read_records("# TYPE a counter\na 1\n# EOF", "m.prom").reasons(), "");
}

TEST(PrometheusText, ALoopOfScrapes) {
  // Without times the number of the scrape is all there is; a series that was away comes back in
  // the right one.
  const std::string one = "# TYPE a gauge\na{g=\"0\"} 1\na{g=\"1\"} 2\n";
  const auto plain = read_records(one + "# TYPE a gauge\na{g=\"0\"} 3\n" + one, "m.prom");
  EXPECT_EQ(plain.points("a", "g=0").values, (Values{1, 3, 1}));
  EXPECT_EQ(plain.points("a", "g=0").steps, (Integers{0, 1, 2}));
  EXPECT_EQ(plain.points("a", "g=1").values, (Values{2, 2}));
  // A scrape that lacks a series cannot be told from the first half of a longer one: the next
  // repetition begins a scrape.
  EXPECT_EQ(plain.points("a", "g=1").steps, (Integers{0, 2}));

  const auto dated = read_records("# 1732190000\n" + one + "# collected 2024-11-21T11:53:35Z\n" +
                                      one + "Thu Nov 21 11:53:50 UTC 2024\n" + one + one,
                                  "m.prom");
  EXPECT_TRUE(dated.rejects.empty()) << dated.reasons();
  EXPECT_EQ(dated.points("a", "g=1").times,
            (Integers{1'732'190'000 * kSecond, 1'732'190'015 * kSecond, 1'732'190'030 * kSecond}));
  // The last has no time of its own, so it is of no series with times.
  ASSERT_EQ(dated.series_rows.size(), 4u);
  EXPECT_EQ(dated.series_rows[0].clock, Clock::utc);
  EXPECT_EQ(dated.series_rows[2].clock, Clock::none);

  // Moments that follow their scrape, and remarks with a number in them, date nothing.
  for (const char* mark :
       {"# 1732190000\n", "# driver 535 of 2024-11-21 is installed here since\n", "# 17321900\n"}) {
    const auto behind = read_records(one + mark + one, "m.prom");
    EXPECT_TRUE(behind.points("a", "g=0").times.empty()) << mark;
    EXPECT_EQ(behind.points("a", "g=0").values, (Values{1, 1})) << mark;
  }
  test::check_cuts("# 1732190000\n" + one + "# 1732190015\n" + one, "m.prom");
}

TEST(PrometheusText, TheSameSeriesInAnyOrderOfLabels) {
  std::string text = "# TYPE a gauge\n";
  for (int i = 0; i < 50; ++i)
    text += i % 2 == 0 ? "a{x=\"1\",y=\"2\"} " + std::to_string(i) + "\na 7\n"
                       : "a {y=\"2\",x=\"1\"} " + std::to_string(i) + "\na{} 7\n";
  const auto rows = read_records(text, "m.prom");
  EXPECT_TRUE(rows.rejects.empty());
  EXPECT_EQ(rows.series_rows.size(), 2u);
  EXPECT_EQ(rows.points("a", "x=1,y=2").size(), 50u);
  EXPECT_EQ(rows.points("a", "x=1,y=2").values[49], 49);
}

TEST(PrometheusText, NamesInQuotes) {
  const auto rows =
      read_records("# TYPE a gauge\n{\"gpu.temp\",\"host.name\"=\"n\"} 5\n", "m.prom");
  EXPECT_EQ(told(rows), (std::vector<std::string>{"gpu.temp {host.name=n}"}));
}

TEST(PrometheusText, OtherTextsAreNotClaimed) {
  for (const auto& [path, text] :
       std::map<std::string, std::string>{{"vmstat", "nr_free_pages 123\nnr_zone 4\n"},
                                          {"hostfile", "node01 8\nnode02 8\n"},
                                          {"a.log", "loss 3.5\nstep 4\n"},
                                          {"env", "A=1\nB=2\n"}})
    EXPECT_EQ(detect({path, text, true}).records, nullptr) << path;
  EXPECT_NE(detect({"x", "a{b=\"c\"} 1\n", true}).records, nullptr);
  EXPECT_NE(detect({"x", "\xEF\xBB\xBF# HELP a b\n", true}).records, nullptr);
}

TEST(PrometheusText, WhoUsesAGpuIsAPodOnItsMachine) {
  const auto rows = read_records(
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",Hostname=\"n7\",pod=\"vit-worker-2\"} 41\n"
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",Hostname=\"n7\",pod=\"vit-worker-2\"} 40\n"
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"2\",Hostname=\"n7\",pod=\"\"} 0\n",
      "dcgm.prom");
  ASSERT_EQ(rows.identities.size(), 1u);
  EXPECT_EQ(rows.identities[0].source, "pod");
  EXPECT_EQ(name_of(rows.identities[0].host), "n7");
  EXPECT_EQ(rows.identities[0].address, "vit-worker-2");
}

}  // namespace
}  // namespace culprit::ingest
