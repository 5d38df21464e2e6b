#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::Folder;
using test::read_text;
using test::Rows;

const GroupRow& group(const Rows& rows, GroupId id) { return rows.groups.at(index_of(id)); }

std::string status(const std::string& rows, const std::string& sections) {
  return "NCCL version 2.26.2 compiled with CUDA 12.8\nCUDA runtime version 12080, driver version "
         "12080\n\nJob summary\n===========\n\n"
         "  Nodes  Processes         GPUs  Processes     GPUs\n(total)   per node  per process    "
         "(total)  (total)\n      2          4            1          8        8\n\n"
         "Communicators... (0.00s)\n=============\n\n"
         "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n    #  in "
         "group  per comm  per node  per comm  in group\n" +
         rows + "\n" + sections;
}
std::string member(int rank, const char* extra = "") {
  return fmt::format("  Rank {}{} -- GPU {} managed by process {} on node gpu-{}\n", rank, extra,
                     rank % 4, 4000 + rank, rank / 4);
}

TEST(Ras, CountersThatDiffer) {
  const std::string text = status(
      "    0         1         2         4         8         8   RUNNING  MISMATCH\n    1         "
      "4         1         2         2         8   RUNNING        OK\n",
      "Warnings\n========\n\n#0-0 (00a079b828ff1a75) MISMATCH\n  Communicator ranks have different "
      "collective operation counts\n  6 ranks have launched up to operation 6650\n  2 ranks have "
      "launched up to operation 6649\n" +
          member(2) + member(3));
  const auto rows = read_text(text);
  ASSERT_EQ(rows.frontiers.size(), 8u);
  std::map<std::int64_t, std::int64_t> came;
  for (const auto& f : rows.frontiers) {
    came[f.group_rank] = f.enqueued;
    EXPECT_EQ(f.source, CollectiveSource::ras);
    EXPECT_EQ(f.operation, "");
    EXPECT_EQ(f.rank, std::nullopt);
    EXPECT_EQ(f.completed, kUnknownSequence);
    EXPECT_EQ(group(rows, f.group), (GroupRow{"0xa079b828ff1a75", "", {}, 8}));
  }
  EXPECT_EQ(
      came,
      (std::map<std::int64_t, std::int64_t>{
          {0, 6650}, {1, 6650}, {2, 6649}, {3, 6649}, {4, 6650}, {5, 6650}, {6, 6650}, {7, 6650}}));
  ASSERT_EQ(rows.identities.size(), 2u);
  EXPECT_EQ(rows.identities[0].host, "gpu-0");
  EXPECT_EQ(rows.identities[0].pid, 4002);
  EXPECT_EQ(rows.identities[0].rank, 2);
  EXPECT_EQ(rows.identities[0].world_size, 8);
  EXPECT_EQ(rows.identities[0].device, 2);
  EXPECT_EQ(rows.identities[0].communicator, "0xa079b828ff1a75");
  EXPECT_TRUE(rows.recorders.empty());
  EXPECT_EQ(rows.reasons(), "");
  test::check_places(rows, text);
}

TEST(Ras, CountersOfEachOperation) {
  const auto rows = read_text(
      status("    3         1         2         4         8         8   RUNNING  MISMATCH\n",
             "#3-0 (27a079b828ff1a75) MISMATCH\n  Communicator ranks have different AllReduce "
             "operation counts\n  7 ranks have launched up to operation 12\n" +
                 member(5, " has launched up to operation 11") +
                 "  Communicator ranks have different AllGather operation counts\n  4 ranks have "
                 "launched up to operation 3\n  4 ranks have launched up to operation 2\n"
                 "  Communicator ranks have different status\n  7 ranks have status RUNNING\n" +
                 member(6, " has status INIT")));
  std::map<std::string, int> seen;
  for (const auto& f : rows.frontiers)
    ++seen[fmt::format("{} {} {}", f.operation, f.enqueued,
                       f.group_rank == 5                  ? "five"
                       : f.group_rank == kUnknownSequence ? "some"
                                                          : "rest")];
  EXPECT_EQ(seen, (std::map<std::string, int>{{"all_reduce 12 rest", 7},
                                              {"all_reduce 11 five", 1},
                                              {"all_gather 3 some", 1},
                                              {"all_gather 2 some", 1}}));
}

TEST(Ras, RanksThatDoNotAnswer) {
  const auto rows = read_text(
      status("    0         1         2       3-4         8         8   RUNNING  INCOMPLETE\n",
             "Errors\n======\n\nINCOMPLETE\n  Missing communicator data from 1 job process\n  "
             "Process 4005 on node 10.0.0.7 managing GPU 1\n\n"
             "#0-0 (27a079b828ff1a75) INCOMPLETE\n  Missing communicator data from 2 ranks\n  The "
             "missing ranks: 5,7\n\nDEAD\n  1 job process is considered dead (unreachable via the "
             "RAS network)\n  Process 4007 on node gpu-1 managing GPU 3\n\n"
             "Warnings\n========\n\nTIMEOUT\n  Encountered 1 communication timeout while gathering "
             "communicator data\n\n"
             "#0-0 (27a079b828ff1a75) MISMATCH\n  Communicator ranks have different AllReduce "
             "operation counts\n  5 ranks have launched up to operation 9\n" +
                 member(0, " has launched up to operation 8")));
  ASSERT_EQ(rows.recorders.size(), 4u);
  for (const auto& r : rows.recorders) EXPECT_TRUE(r.unresponsive);
  EXPECT_EQ(rows.recorders[0].pid, 4005);
  EXPECT_EQ(rows.recorders[0].host, std::nullopt);
  EXPECT_EQ(rows.identities.at(0).address, "10.0.0.7");
  EXPECT_EQ(rows.recorders[1].rank, Rank(5));  // of a communicator of all eight GPUs
  EXPECT_EQ(rows.recorders[2].rank, Rank(7));
  EXPECT_EQ(rows.recorders[3].host, "gpu-1");
  std::map<std::int64_t, std::int64_t> came;
  for (const auto& f : rows.frontiers) came[f.group_rank] = f.enqueued;
  EXPECT_EQ(came, (std::map<std::int64_t, std::int64_t>{
                      {0, 8}, {1, 9}, {2, 9}, {3, 9}, {4, 9}, {5, -2}, {6, 9}, {7, -2}}));
}

TEST(Ras, TwoSnapshotsInOneFile) {
  const std::string one = status(
      "    0         1         2         1         2         2   RUNNING  MISMATCH\n",
      "#0-0 (27) MISMATCH\n  Communicator ranks have different collective operation counts\n  Rank "
      "0 has launched up to operation 5 -- GPU 0 managed by process 1 on node a\n  Rank 1 has "
      "launched up to operation 4 -- GPU 1 managed by process 2 on node a\n\n");
  const auto rows = read_text(one + one);
  ASSERT_EQ(rows.frontiers.size(), 4u);
  EXPECT_EQ(rows.frontiers[0].enqueued, 5);
  EXPECT_EQ(rows.frontiers[1].enqueued, 4);
  EXPECT_LT(rows.frontiers[1].place.line, rows.frontiers[2].place.line);
  EXPECT_EQ(rows.groups.size(), 1u);
}

TEST(Ras, Monitor) {
  const auto rows = read_text(
      "RAS Monitor Mode - watching for peer changes (Ctrl+C to exit)...\n[2026-11-21 13:07:07] "
      "PEER_DEAD: Process 152 on node 10.0.0.9 managing GPU 1\n[2026-11-21 13:07:08] "
      "PEER_RECOVERED: Process 153 on node gpu-2 managing GPU 2\n"
      "{\"timestamp\":\"2026-11-21 "
      "13:07:09\",\"group\":\"lifecycle\",\"event\":\"PEER_DEAD\",\"peer\":{\"host\":\"gpu-3\","
      "\"pid\":7}}\n");
  ASSERT_EQ(rows.recorders.size(), 3u);
  EXPECT_TRUE(rows.recorders[0].unresponsive);
  EXPECT_EQ(rows.recorders[0].pid, 152);
  EXPECT_EQ(rows.recorders[0].time.clock, Clock::local);
  EXPECT_FALSE(rows.recorders[1].unresponsive);
  EXPECT_EQ(rows.recorders[2].host, "gpu-3");
  EXPECT_EQ(rows.recorders[2].time.clock, Clock::local);
  EXPECT_EQ(rows.reasons(), "");
}

const std::string kJson =
    R"({"nccl_version": "2.28.9", "timestamp": "2026-11-21 13:06:53", "communicators_count": 2, "communicators": [
 {"hash": "0x00ab", "size": 3, "ranks_count": 2, "ranks": [
   {"rank": 0, "host": "gpu-0", "pid": 10, "cuda_dev": 0, "status": {"init_state": 0, "abort_flag": false}, "collective_counts": {"Broadcast": 0, "AllReduce": 71}},
   {"rank": 1, "host": "gpu-0", "pid": 11, "cuda_dev": 1, "status": {}, "collective_counts": {"Broadcast": 0, "AllReduce": 70}}],
  "missing_ranks": [{"rank": 2, "host": "10.0.0.7", "pid": 12, "cuda_dev": 0, "status": {"unresponsive": true, "considered_dead": false}}]},
 {"hash": "0xcd", "size": 2, "ranks": [{"rank": 0, "host": "gpu-0", "pid": 10, "cuda_dev": 0, "collective_counts": {"AllGather": 5}},
   {"rank": 1, "host": "gpu-0", "pid": 11, "cuda_dev": 1, "collective_counts": {"AllGather": 5}}], "missing_ranks": []}],
 "ras": {"timeouts_count": 0}})";

Rows read_json(const std::string& bytes) {
  const Folder folder;
  folder.write("ras.json", bytes);
  return test::read_folder(folder.path());
}

TEST(Ras, Json) {
  const auto rows = read_json(kJson);
  EXPECT_EQ(rows.members.at(0).format, "nccl-ras-json");
  ASSERT_EQ(rows.frontiers.size(), 7u);
  EXPECT_EQ(rows.frontiers[1].operation, "broadcast");
  EXPECT_EQ(rows.frontiers[0].operation, "all_reduce");
  EXPECT_EQ(rows.frontiers[0].enqueued, 71);
  EXPECT_EQ(rows.frontiers[0].host, "gpu-0");
  EXPECT_EQ(rows.frontiers[0].time.clock, Clock::local);
  EXPECT_EQ(group(rows, rows.frontiers[0].group), (GroupRow{"0xab", "", {}, 3}));
  EXPECT_EQ(rows.frontiers[4].group_rank, 2);
  EXPECT_EQ(rows.frontiers[4].enqueued, kUnknownSequence);
  EXPECT_EQ(group(rows, rows.frontiers[5].group), (GroupRow{"0xcd", "", {}, 2}));
  ASSERT_EQ(rows.recorders.size(), 3u);
  std::map<std::int64_t, std::string> ranks;
  for (const auto& r : rows.recorders)
    ranks[r.pid.value_or(-1)] =
        fmt::format("{} {} {}", r.rank.value_or(kNoRank), r.unresponsive, r.library);
  EXPECT_EQ(ranks, (std::map<std::int64_t, std::string>{
                       {10, "0 false 2.28.9"}, {11, "1 false 2.28.9"}, {12, "2 true 2.28.9"}}));
  EXPECT_EQ(rows.identities.size(), 5u);
  ASSERT_EQ(rows.configs.size(), 1u);
  EXPECT_EQ(rows.configs[0].value, "2.28.9");
}

TEST(Ras, JsonCutAndHostile) {
  const auto cut = read_json(kJson.substr(0, kJson.find("\"missing_ranks\": [{")));
  EXPECT_EQ(cut.frontiers.size(), 4u);
  ASSERT_EQ(cut.recorders.size(), 2u);
  EXPECT_TRUE(cut.recorders[0].truncated);
  EXPECT_EQ(read_json(kJson.substr(0, 120)).reasons(), "0:nccl_ras.not_json");
  EXPECT_EQ(
      read_json(
          R"({"nccl_version": 5, "communicators": [{"hash": "zz", "size": -4, "ranks": [{"rank": 1e30, "pid": -1}]}, 7, {"hash": []}]})")
          .reasons(),
      "");
  EXPECT_TRUE(
      read_json(
          R"({"nccl_version": "2", "communicators": [{"hash": "0x1", "size": 2, "ranks": [{"rank": 99999999999, "pid": 1, "collective_counts": {"AllReduce": -4}}]}]})")
          .frontiers.empty());
  test::Random random;
  const Folder folder;
  for (int i = 0; i < 300; ++i) {
    std::string broken = kJson;
    for (int n = 0; n < 3; ++n)
      broken[random.below(broken.size())] = static_cast<char>(random.below(128));
    folder.write(fmt::format("ras_{}.json", i), broken);
  }
  EXPECT_EQ(test::read_folder(folder.path()).members.size(), 300u);
}

TEST(Ras, TornAndHostile) {
  for (const char* line :
       {"  6 ranks have launched up to operation", "  Rank 3 -- GPU 3 managed by process 48 on",
        "  Rank x has launched up to operation 7 -- GPU"})
    EXPECT_EQ(read_text(std::string(line) + "\n").reasons(), "1:nccl_ras.torn") << line;
  EXPECT_EQ(read_text("#0-0 (27a0) INCOMPLETE\n  The missing ranks: 5-999999999999\n").reasons(),
            "2:nccl_ras.torn");
  EXPECT_EQ(read_text("Job summary\nStatus  Errors\n1 2 3 4 5 6 7 8\n").reasons(), "");
  const std::string text =
      status("    0         1         2         4         8         8   RUNNING  MISMATCH\n",
             "#0-0 (27a079b828ff1a75) MISMATCH\n  Communicator ranks have different collective "
             "operation counts\n  6 ranks have launched up to operation 6650\n  2 ranks have "
             "launched up to operation 6649\n" +
                 member(2) + member(3));
  test::Random random;
  for (int i = 0; i < 2000; ++i) {
    std::string broken = text;
    for (int n = 0; n < 4; ++n) {
      const std::size_t at = random.below(broken.size());
      switch (random.below(3)) {
        case 0: broken[at] = static_cast<char>(random.below(256)); break;
        case 1: broken.erase(at, 1 + random.below(20)); break;
        default: broken.insert(at, broken.substr(random.below(broken.size()), random.below(40)));
      }
    }
    read_text(broken);
  }
}

TEST(Ras, Corpus) {
  const std::string folder = CULPRIT_SHARED_DIR;
  if (!std::filesystem::is_directory(folder + "/formats/nccl")) GTEST_SKIP() << "no samples here";
  const auto read = [&](const std::string& name) {
    std::ifstream stream(folder + "/formats/nccl/" + name, std::ios::binary);
    std::stringstream all;
    all << stream.rdbuf();
    return all.str();
  };
  const auto text = read_text(read("ras_mismatch.txt"));
  EXPECT_EQ(text.frontiers.size(), 32u);
  EXPECT_EQ(text.reasons(), "");
  EXPECT_EQ(read_text(read("ras_monitor.txt")).recorders.size(), 1u);
  const auto json = read_json(read("ras_status_json_missing_rank.json"));
  EXPECT_EQ(json.frontiers.size(), 6u);
  EXPECT_EQ(json.recorders.size(), 2u);
}

}  // namespace
}  // namespace culprit::ingest
