#include "metric_kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_as_document;
using test::read_records;
using test::told;

using Values = std::vector<double>;
using Integers = std::vector<std::int64_t>;

constexpr std::string_view kRdma =
    "link mlx5_0/1 rx_write_requests 0 out_of_buffer 135 local_ack_timeout_err 7 \nlink mlx5_1/1 "
    "rx_write_requests 4 out_of_buffer 2147483632 local_ack_timeout_err 0 \n";

TEST(RdmaStatistic, ALineALink) {
  const auto rows = read_records(kRdma, "rdma.txt");
  EXPECT_TRUE(rows.rejects.empty()) << rows.reasons();
  EXPECT_EQ(told(rows)[4], "out_of_buffer kind=counter nic=mlx5_1/1");
  EXPECT_EQ(rows.points("out_of_buffer", "mlx5_0/1").values, Values{135});
  EXPECT_EQ(rows.points("out_of_buffer", "mlx5_1/1").values, Values{2147483632});
  EXPECT_EQ(rows.points("out_of_buffer", "mlx5_1/1").lines, Integers{2});
  test::check_cuts(kRdma, "rdma.txt");
  test::check_prefixes(kRdma, "rdma.txt");
}

TEST(RdmaStatistic, PrettySnapshotsAndDamage) {
  const auto pretty = read_records(
      "$ rdma statistic show -p\nlink mlx5_0/1 \n    rx_write_requests 0 \n    out_of_sequence 12 "
      "\nlink mlx5_1/1 \n\trx_write_requests 9 \n",
      "r");
  EXPECT_TRUE(pretty.rejects.empty()) << pretty.reasons();
  EXPECT_EQ(pretty.points("out_of_sequence", "mlx5_0/1").values, Values{12});
  EXPECT_EQ(pretty.points("rx_write_requests", "mlx5_1/1").values, Values{9});
  const auto loop = read_records(
      "2024-11-21T11:53:35Z\n" + std::string(kRdma) + "2024-11-21T11:53:45Z\n" + std::string(kRdma),
      "r");
  EXPECT_EQ(loop.points("out_of_buffer", "mlx5_0/1").times,
            (Integers{1'732'190'015 * kSecond, 1'732'190'025 * kSecond}));
  EXPECT_EQ(
      read_records(std::string(kRdma) + "link mlx5_2/1 a b\nlink here a 1\nhello\n  a 1\nlink "
                                        "mlx5_0/1 cntn 4 type RC\nlink mlx5_0/1 a 1 b\n",
                   "r")
          .reasons(),
      "3:rdma.value 4:rdma.link 5:rdma.line 6:rdma.no_link 8:rdma.value");
  EXPECT_EQ(detect({"r", "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0\n", true})
                .records,
            nullptr);
}

TEST(RdmaStatistic, Json) {
  const auto rows = read_as_document(
      "[{\"ifindex\":0,\"ifname\":\"mlx5_0\",\"port\":1,\"rx_write_requests\":5,\"out_of_"
      "sequence\":12},\n{\"ifindex\":1,\"ifname\":\"mlx5_1\",\"port\":1,\"rx_write_requests\":6}]",
      "rdma.json");
  EXPECT_EQ(told(rows), (std::vector<std::string>{"rx_write_requests kind=counter nic=mlx5_0/1",
                                                  "out_of_sequence kind=counter nic=mlx5_0/1",
                                                  "rx_write_requests kind=counter nic=mlx5_1/1"}));
  EXPECT_EQ(rows.points("rx_write_requests", "mlx5_1/1").values, Values{6});
  EXPECT_EQ(rows.points("rx_write_requests", "mlx5_1/1").lines, Integers{2});
  const auto cut = read_as_document(
      "[{\"ifindex\":0,\"ifname\":\"mlx5_0\",\"port\":1,\"rx_write_requests\":5,\"out_of_seq",
      "rdma.json");
  EXPECT_EQ(cut.points("rx_write_requests").values, Values{5});
  EXPECT_EQ(cut.reasons(), "0:rdma.cut");
  EXPECT_EQ(detect({"l.json", "[{\"ifindex\":1,\"ifname\":\"lo\",\"mtu\":65536}]", true}).document,
            nullptr);
}

constexpr std::string_view kGrep =
    "/sys/class/infiniband/mlx5_0/board_id:MT_0000000838\n/sys/class/infiniband/mlx5_0/ports/1/"
    "counters/link_downed:255\n/sys/class/infiniband/mlx5_0/ports/1/counters/"
    "port_rcv_data:230539874932483\n"
    "/sys/class/infiniband/mlx5_0/ports/1/counters/unicast_rcv_packets:N/A (no "
    "PMA)\n/sys/class/infiniband/mlx5_0/ports/1/hw_counters/lifespan:12\n/sys/class/infiniband/"
    "mlx5_0/ports/1/hw_counters/out_of_buffer:3\n"
    "/sys/class/infiniband/mlx5_0/ports/1/state:4: "
    "ACTIVE\n/sys/class/net/ens1f0np0/statistics/rx_errors:8\n/sys/devices/pci0000:00/0000:00:01.0/"
    "infiniband/mlx5_1/ports/1/counters/symbol_error:65535\n";

TEST(SysCounters, PathsAndValues) {
  const auto rows = read_records(kGrep, "ib.txt");
  EXPECT_TRUE(rows.rejects.empty()) << rows.reasons();
  EXPECT_EQ(told(rows),
            (std::vector<std::string>{
                "link_downed kind=counter nic=mlx5_0/1", "port_rcv_data kind=counter nic=mlx5_0/1",
                "out_of_buffer kind=counter nic=mlx5_0/1", "rx_errors kind=counter nic=ens1f0np0",
                "symbol_error kind=counter nic=mlx5_1/1"}));
  EXPECT_EQ(rows.points("link_downed").values, Values{255});
  EXPECT_EQ(rows.points("port_rcv_data").values, Values{230539874932483});
  EXPECT_EQ(rows.members[0].used, 5u);
  EXPECT_EQ(rows.members[0].skipped, 4u);
  test::check_cuts(kGrep, "ib.txt");
  test::check_prefixes(kGrep, "ib.txt");
}

TEST(SysCounters, HostsHeadingsAndDamage) {
  const auto hosts = read_records(
      "n1: /sys/class/infiniband/mlx5_0/ports/1/counters/link_downed:1\nn2: "
      "/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed:2\nn2: "
      "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error:x\n"
      "grep: /sys/class/infiniband/mlx5_0/ports/1/x: Invalid argument\nhello\n",
      "ib");
  EXPECT_EQ(told(hosts),
            (std::vector<std::string>{"link_downed kind=counter host=n1 nic=mlx5_0/1",
                                      "link_downed kind=counter host=n2 nic=mlx5_0/1"}));
  EXPECT_EQ(hosts.reasons(), "3:sys_counters.value 5:sys_counters.line");
  const auto headings = read_records(
      "==> /sys/class/infiniband/mlx5_0/ports/1/counters/link_downed <==\n4\n\n==> "
      "/sys/class/infiniband/mlx5_0/ports/2/counters/link_downed <==\n5\n",
      "ib");
  EXPECT_EQ(headings.points("link_downed", "mlx5_0/2").values, Values{5});
  EXPECT_EQ(headings.rejects.size(), 0u);
}

TEST(SysCounters, SingleFiles) {
  const auto rows = read_as_document(
      "17\n", "sos/sys/class/infiniband/mlx5_3/ports/1/hw_counters/local_ack_timeout_err");
  EXPECT_EQ(told(rows),
            (std::vector<std::string>{"local_ack_timeout_err kind=counter nic=mlx5_3/1"}));
  EXPECT_EQ(rows.points("local_ack_timeout_err").values, Values{17});
  EXPECT_TRUE(read_as_document("N/A (no PMA)\n", "mlx5_3/ports/1/counters/link_downed")
                  .series_rows.empty());
  EXPECT_EQ(detect({"mlx5_3/ports/1/counters/README", "how to read them\n", true}).document,
            nullptr);
  EXPECT_EQ(detect({"mlx5_3/ports/1/link_layer", "1\n", true}).document, nullptr);
}

TEST(Ethtool, TheDeviceOfTheFileOrTheCommand) {
  const std::string block =
      "NIC statistics:\n     rx_prio0_pause: 5\n     rx_discards_phy: 6\n     [0]: "
      "rx_ucast_packets: 7\n     odd: many\n";
  const auto file = read_records(block, "n1/ethtool_-S_ens1f0");
  EXPECT_EQ(told(file),
            (std::vector<std::string>{"rx_prio0_pause nic=ens1f0", "rx_discards_phy nic=ens1f0",
                                      "[0]: rx_ucast_packets nic=ens1f0"}));
  EXPECT_EQ(file.reasons(), "5:ethtool.value");
  const auto commands =
      read_records("$ ethtool -S eth0\n" + block + "$ ethtool -S eth1\n" + block, "net.txt");
  EXPECT_EQ(commands.points("rx_prio0_pause", "eth0").values, Values{5});
  EXPECT_EQ(commands.points("rx_prio0_pause", "eth1").values, Values{5});
  // Two blocks and one name: the second is of another interface, or is not.
  const auto two = read_records(block + block, "ethtool-S-eth0.txt");
  EXPECT_EQ(two.points("rx_prio0_pause", "eth0").values, Values{5});
  EXPECT_EQ(two.series_rows.size(), 6u);
  EXPECT_EQ(two.series_rows[3].nic, std::nullopt);
  const auto dated = read_records(
      "2024-11-21T11:53:35Z\n" + block + "2024-11-21T11:53:45Z\n" + block, "ethtool_-S_eth0");
  EXPECT_EQ(dated.points("rx_discards_phy", "eth0").times,
            (Integers{1'732'190'015 * kSecond, 1'732'190'025 * kSecond}));
  test::check_cuts(block, "ethtool_-S_ens1f0");
  test::check_prefixes(block, "ethtool_-S_ens1f0");
}

}  // namespace
}  // namespace culprit::ingest
