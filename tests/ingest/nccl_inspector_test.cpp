#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::Folder;
using test::read_text;
using test::Rows;

const GroupRow& group(const Rows& rows, GroupId id) { return rows.groups.at(index_of(id)); }

std::string record(int sequence, double us, int rank = 2, const std::string& id = "0x7f8c",
                   const std::string& coll = "AllReduce",
                   const std::string& name = ", \"comm_name\": \"DP Group 0\"") {
  return fmt::format(
      R"({{"header":{{"id":"{}","rank":{},"n_ranks":8,"nnodes":1{}}},"metadata":{{"inspector_output_format_version":"v4.0","git_rev":"","rec_mechanism":"profiler_plugin","dump_timestamp_us":{},"hostname":"gpu-a","pid":163}},)"
      R"("coll_perf":{{"coll":"{}","coll_sn":{},"coll_msg_size_bytes":65536,"coll_exec_time_us":{},"coll_algobw_gbs":277.2,"coll_busbw_gbs":485.1}}}})"
      "\n",
      id, rank, name, 1'795'231'961'000'000 + sequence, coll, sequence, us);
}

TEST(Inspector, HighestNumberAndHistory) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += record(100 + i, 61.5 + i);
  text += record(7, 12, 0, "0x99", "AllGather", "");
  const auto rows = read_text(text, "data", {}, false);
  ASSERT_EQ(rows.frontiers.size(), 2u);
  const FrontierRow& f = rows.frontiers[0];
  EXPECT_EQ(f.source, CollectiveSource::inspector);
  EXPECT_EQ(group(rows, f.group), (GroupRow{"0x7f8c", "DP Group 0", {}, 8}));
  EXPECT_EQ(f.completed, 149);
  EXPECT_EQ(f.enqueued, kUnknownSequence);
  EXPECT_EQ(f.group_rank, 2);
  EXPECT_EQ(f.rank, std::nullopt);
  EXPECT_EQ(f.host, "gpu-a");
  EXPECT_EQ(f.pid, 163);
  EXPECT_EQ(f.time.clock, Clock::utc);
  EXPECT_EQ(f.time.ns, (1'795'231'961'000'000 + 149) * 1'000LL);
  EXPECT_EQ(f.place.line, 50u);
  ASSERT_EQ(rows.histories.size(), 2u);
  ASSERT_EQ(rows.histories[0].entries.size(), 50u);
  EXPECT_EQ(rows.histories[0].entries[3].sequence, 103);
  EXPECT_FLOAT_EQ(rows.histories[0].entries[3].duration_ms, 0.0645f);
  EXPECT_EQ(rows.histories[0].entries[3].state, 2);
  EXPECT_EQ(rows.histories[0].entries[3].created_ns, 0);  // when it was dumped is not when it ran
  EXPECT_EQ(rows.histories[0].entries[3].signature, rows.histories[0].entries[4].signature);
  EXPECT_NE(rows.histories[0].entries[3].signature, rows.histories[1].entries[0].signature);
  ASSERT_EQ(rows.recorders.size(), 1u);
  EXPECT_EQ(rows.recorders[0].entries, 51);
  EXPECT_EQ(rows.recorders[0].version, "v4.0");
  ASSERT_EQ(rows.identities.size(), 2u);
  EXPECT_EQ(rows.identities[0].communicator, "0x7f8c");
  EXPECT_EQ(rows.members[0].used, 51u);
}

TEST(Inspector, PointToPointAndNeighbouringReleases) {
  const auto rows = read_text(
      R"({"metadata": {"pid": 5, "hostname": "a"}, "header": {"n_ranks": 2, "rank": 1, "id": "00ab", "later": {"x": [1, 2]}}, "p2p_perf": {"p2p": "Send", "p2p_sn": 9, "p2p_peer": 0, "p2p_msg_size_bytes": 8, "p2p_exec_time_us": 3.5, "event_trace_ts": {"p2p_start_ts": 1795231961000001, "p2p_stop_ts": 1795231961000004}}})"
      "\n",
      "data", {}, false);
  ASSERT_EQ(rows.frontiers.size(), 1u);
  EXPECT_TRUE(rows.frontiers[0].p2p);
  EXPECT_EQ(rows.frontiers[0].completed, 9);
  EXPECT_EQ(group(rows, rows.frontiers[0].group).name, "0xab");
  ASSERT_EQ(rows.histories.size(), 1u);
  EXPECT_EQ(rows.histories[0].entries[0].p2p, 1);
  EXPECT_EQ(rows.histories[0].entries[0].completed_ns - rows.histories[0].entries[0].created_ns,
            3'000);
}

TEST(Inspector, AFileIsStreamedAndTheLastAreKept) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 70'000; ++i) text += record(i, i % 100);
  text += record(70'000, 1).substr(0, 200);
  folder.write("nccl-inspector-71/gpu-a-pid163.log", text);
  const auto rows = test::read_folder(folder.path(), 2);
  ASSERT_EQ(rows.members.size(), 1u);
  EXPECT_EQ(rows.members[0].format, "nccl-inspector");
  EXPECT_EQ(rows.members[0].used, 70'000u);
  EXPECT_TRUE(rows.members[0].tail_truncated);
  ASSERT_EQ(rows.histories.size(), 1u);
  ASSERT_EQ(rows.histories[0].entries.size(), 65'536u);
  EXPECT_EQ(rows.histories[0].entries.front().sequence, 70'000 - 65'536);
  EXPECT_EQ(rows.histories[0].entries.back().sequence, 69'999);
  EXPECT_TRUE(rows.events.empty());
}

TEST(Inspector, TornAndHostile) {
  const std::string good = record(3, 4);
  for (const std::string& line :
       {good.substr(0, good.size() - 3), good.substr(0, good.find("\"coll_sn\"")), record(3, 4, -1),
        record(3, 4, 1, "zz"), record(3, 4, 1, "")}) {
    const auto rows = read_text(line + (line.ends_with("\n") ? "" : "\n"), "data", {}, false);
    EXPECT_EQ(rows.reasons(), "1:inspector.torn") << line;
    EXPECT_TRUE(rows.frontiers.empty()) << line;
  }
  const auto quoted = read_text(
      record(3, 4, 2, "0x7f8c", "AllReduce", R"(, "comm_name": "a\",\"coll_sn\":99,\"rank\":7")"),
      "data", {}, false);
  ASSERT_EQ(quoted.frontiers.size(), 1u);
  EXPECT_EQ(quoted.frontiers[0].completed, 3);
  EXPECT_EQ(quoted.frontiers[0].group_rank, 2);
  test::Random random;
  for (int i = 0; i < 3000; ++i) {
    std::string broken =
        good + record(4, 4, 2, "0x7f8c", "AllReduce", R"(, "comm_name": "x\\\"y")");
    for (int n = 0; n < 3; ++n) {
      const std::size_t at = random.below(broken.size());
      if (random.below(2) == 0)
        broken[at] = static_cast<char>(random.below(256));
      else
        broken.erase(at, 1 + random.below(20));
    }
    read_text(broken, "data", {}, false);
  }
}

TEST(Inspector, Corpus) {
  const std::string path =
      std::string(CULPRIT_SHARED_DIR) + "/formats/nccl/inspector_v4_node-pid1639453.log";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no samples here";
  std::ifstream stream(path, std::ios::binary);
  std::stringstream all;
  all << stream.rdbuf();
  const auto rows = read_text(all.str(), "data", {}, false);
  ASSERT_EQ(rows.frontiers.size(), 1u);
  EXPECT_EQ(rows.frontiers[0].completed, 1407);
  EXPECT_EQ(rows.frontiers[0].group_rank, 2);
}

}  // namespace
}  // namespace culprit::ingest
