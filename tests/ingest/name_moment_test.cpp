#include "ingest/engine/name_moment.hpp"

#include "metric_kit.hpp"

namespace culprit::ingest {
namespace {

std::string moment(const char* path) {
  Timestamp stamp;
  if (!moment_of_name(path, stamp)) return "none";
  return std::string(name(stamp.clock)) + " " + iso_utc(stamp.ns);
}

TEST(NameMoment, AllSpellings) {
  EXPECT_EQ(moment("node-1/rdma_20260514T101500.txt"), "local 2026-05-14T10:15:00Z");
  EXPECT_EQ(moment("rdma_20260514T101500Z.txt"), "utc 2026-05-14T10:15:00Z");
  EXPECT_EQ(moment("ethtool-S-eth0-2026-05-14_10-15-00.log"), "local 2026-05-14T10:15:00Z");
  EXPECT_EQ(moment("a.20260514101500"), "local 2026-05-14T10:15:00Z");
  EXPECT_EQ(moment("counters-1715680000"), "utc 2024-05-14T09:46:40Z");
  EXPECT_EQ(moment("c.1715680000250.json"), "utc 2024-05-14T09:46:40.250Z");
  EXPECT_EQ(moment("1715680000/c.json"), "none") << "a folder may be a job's number";
  EXPECT_EQ(moment("rdma_20260514.txt"), "none") << "a day is no moment";
  EXPECT_EQ(moment("rdma_20261314T101500.txt"), "none");
  EXPECT_EQ(moment("rdma_202605141015001.txt"), "none") << "a longer number is something else";
  EXPECT_EQ(moment("a_1715680000_1715690000"), "none") << "which of the two?";
  EXPECT_EQ(moment("a_1715680000_1715680000"), "utc 2024-05-14T09:46:40Z");
  EXPECT_EQ(moment("job-4000000000.txt"), "none");
  EXPECT_EQ(moment(""), "none");
}

TEST(NameMoment, SnapshotsTakeItWhenNothingElseTells) {
  using test::read_records;
  const std::string_view rdma = "link mlx5_0/1 out_of_sequence 12 \n",
                         ethtool = "NIC statistics:\n     rx_prio3_pause: 4\n";
  const auto snapshot = read_records(rdma, "rdma_20260514T101500Z.txt");
  EXPECT_EQ(
      test::told(snapshot),
      (std::vector<std::string>{"out_of_sequence kind=counter nic=mlx5_0/1 {time=file name}"}))
      << "it is said where the time comes from";
  ASSERT_EQ(snapshot.points("out_of_sequence", "mlx5_0/1").times.size(), 1u);
  EXPECT_EQ(iso_utc(snapshot.points("out_of_sequence", "mlx5_0/1").times[0]),
            "2026-05-14T10:15:00Z");
  const auto told_inside =
      read_records("2024-11-21T11:53:35Z\n" + std::string(rdma), "rdma_20260514T101500Z.txt");
  EXPECT_EQ(iso_utc(told_inside.points("out_of_sequence", "mlx5_0/1").times[0]),
            "2024-11-21T11:53:35Z");
  const auto driver = read_records(ethtool, "ethtool_-S_eth0_1715680000.txt");
  ASSERT_EQ(driver.chunks.size(), 1u);
  EXPECT_EQ(driver.series_rows[0].clock, Clock::utc);
  EXPECT_EQ(read_records(ethtool, "ethtool_-S_eth0.txt").series_rows[0].clock, Clock::none);
  // A scrape; of a loop of them only the first can be meant.
  const std::string scrape = "# TYPE node_load1 gauge\nnode_load1 6\n";
  const auto scraped = read_records(scrape, "eth02/20261115T203840Z.prom");
  ASSERT_EQ(scraped.series_rows.size(), 1u);
  EXPECT_EQ(scraped.series_rows[0].labels, "time=file name");
  EXPECT_EQ(iso_utc(scraped.points("node_load1").times.at(0)), "2026-11-15T20:38:40Z");
  const auto loop = read_records(scrape + scrape, "eth02/20261115T203840Z.prom");
  ASSERT_EQ(loop.series_rows.size(), 2u);
  EXPECT_EQ(loop.series_rows[1].clock, Clock::none);
}

}  // namespace
}  // namespace culprit::ingest
