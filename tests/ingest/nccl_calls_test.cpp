#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_text;
using test::Rows;

const GroupRow& group(const Rows& rows, GroupId id) { return rows.groups.at(index_of(id)); }

std::string call(const std::string& host, int pid, const std::string& comm, unsigned sequence,
                 const std::string& operation = "AllReduce", int count = 1024, int type = 9,
                 int nranks = 4, int root = 0, const std::string& tail = "") {
  return fmt::format(
      "{}:{}:{} [2] NCCL INFO {}: opCount {:x} sendbuff 0x7f00 recvbuff (nil) count {} datatype {} "
      "op 0 root {} comm {} [nranks={}] stream 0x55e1{}\n",
      host, pid, pid + 9, operation, sequence, count, type, root, comm, nranks, tail);
}
std::string init(const std::string& host, int pid, const std::string& comm, int rank,
                 const std::string& id, int nranks = 4, const char* phase = "COMPLETE") {
  return fmt::format(
      "{}:{}:{} [2] NCCL INFO ncclCommInitRank comm {} rank {} nranks {} cudaDev 2 nvmlDev 2 busId "
      "53000 commId {} - Init {}\n",
      host, pid, pid, comm, rank, nranks, id, phase);
}

TEST(NcclCalls, LastOfEachCommunicator) {
  std::string text = init("gpu-a", 45, "0x55be", 1, "0xf9c27b9b", 4, "START") +
                     init("gpu-a", 45, "0x55be", 1, "0xf9c27b9b");
  for (unsigned i = 0; i <= 0x28d; ++i) text += call("gpu-a", 45, "0x55be", i);
  text += call("gpu-b", 45, "0x55be", 0x28c, "AllGather", 77, 0) +
          call("gpu-a", 46, "0x66be", 3, "Broadcast", 5, 7, 2, 1, " task 0 globalrank 12");
  const auto rows = read_text(text);
  ASSERT_EQ(rows.frontiers.size(), 3u);
  const FrontierRow& f = rows.frontiers[0];
  EXPECT_EQ(group(rows, f.group), (GroupRow{"0xf9c27b9b", "", {}, 4}));
  EXPECT_EQ(f.source, CollectiveSource::nccl_call);
  EXPECT_EQ(f.host, "gpu-a");
  EXPECT_EQ(f.pid, 45);
  EXPECT_EQ(f.group_rank, 1);
  EXPECT_EQ(f.rank, std::nullopt);
  EXPECT_EQ(f.enqueued, 0x28d);
  EXPECT_EQ(f.completed, kUnknownSequence);
  EXPECT_EQ(f.operation, "");
  EXPECT_FALSE(f.p2p);
  EXPECT_EQ(f.place.line, 2u + 0x28d + 1);
  EXPECT_EQ(group(rows, rows.frontiers[1].group), (GroupRow{"0x55be@gpu-b:45", "", {}, 4}));
  EXPECT_EQ(rows.frontiers[2].rank, Rank(12));
  ASSERT_EQ(rows.collectives.size(), 18u);
  EXPECT_EQ(rows.collectives[0].sequence, 0x28d - 15);
  EXPECT_EQ(rows.collectives[15].sequence, 0x28d);
  EXPECT_EQ(rows.collectives[15].operation, "all_reduce");
  EXPECT_EQ(rows.collectives[15].types, "bfloat16");
  EXPECT_EQ(rows.collectives[15].sizes, "count 1024");
  EXPECT_EQ(rows.collectives[15].bytes, 2048);
  EXPECT_EQ(rows.collectives[15].place.line, f.place.line);
  EXPECT_EQ(rows.collectives[16].operation, "all_gather");
  EXPECT_EQ(rows.collectives[17].operation, "broadcast");
  ASSERT_EQ(rows.histories.size(), 3u);
  EXPECT_EQ(group(rows, rows.histories[0].group),
            (GroupRow{"0xf9c27b9b", "0x55be@gpu-a:45", {}, 4}));
  ASSERT_EQ(rows.histories[0].entries.size(), 0x28eu);
  EXPECT_EQ(rows.histories[0].entries[0x28c].sequence, 0x28c);
  EXPECT_NE(rows.histories[0].entries[0x28c].signature, rows.histories[1].entries[0].signature);
  EXPECT_EQ(rows.histories[0].entries[0].signature, rows.histories[0].entries[1].signature);
  EXPECT_EQ(rows.members[0].used, rows.members[0].lines);
  EXPECT_EQ(rows.reasons(), "");
}

TEST(NcclCalls, InitAfterTheCallsOrInAnotherFile) {
  const auto late =
      read_text(call("gpu-a", 45, "0x55be", 7) + init("gpu-a", 45, "0x55be", 3, "0x00f9c2"));
  ASSERT_EQ(late.frontiers.size(), 1u);
  EXPECT_EQ(group(late, late.frontiers[0].group).name, "0xf9c2");
  EXPECT_EQ(late.frontiers[0].group_rank, 3);
  const auto calls = read_text(call("gpu-a", 45, "0x55be", 7));
  const auto inits = read_text(init("gpu-a", 45, "0x55be", 3, "0xf9c2"));
  ASSERT_EQ(inits.groups.size(), 1u);
  EXPECT_EQ(inits.groups[0], (GroupRow{"0xf9c2", "0x55be@gpu-a:45", {}, 4}));
  EXPECT_EQ(group(calls, calls.frontiers.at(0).group).name, inits.groups[0].description);
  EXPECT_EQ(inits.identities.at(0).communicator, "0xf9c2");
  EXPECT_TRUE(inits.frontiers.empty());
}

TEST(NcclCalls, ACommunicatorAtTheSamePlace) {
  std::string text = init("gpu-a", 45, "0x55be", 1, "0xaaaa");
  for (unsigned i = 0; i < 500; ++i) text += call("gpu-a", 45, "0x55be", i);
  text += init("gpu-a", 45, "0x55be", 0, "0xbbbb", 2);
  for (unsigned i = 0; i < 5; ++i) text += call("gpu-a", 45, "0x55be", i, "AllReduce", 1, 7, 2);
  const auto rows = read_text(text);
  ASSERT_EQ(rows.frontiers.size(), 2u);
  EXPECT_EQ(group(rows, rows.frontiers[0].group).name, "0xaaaa");
  EXPECT_EQ(rows.frontiers[0].enqueued, 499);
  EXPECT_EQ(group(rows, rows.frontiers[1].group).name, "0xbbbb");
  EXPECT_EQ(rows.frontiers[1].enqueued, 4);
  // Without an Init line the counter tells.
  std::string bare;
  for (unsigned i = 0; i < 500; ++i) bare += call("gpu-a", 45, "0x55be", i);
  for (unsigned i = 0; i < 5; ++i) bare += call("gpu-a", 45, "0x55be", i);
  EXPECT_EQ(read_text(bare).frontiers.size(), 2u);
  // Threads a little out of order are no restart.
  const auto order = read_text(call("gpu-a", 45, "0x55be", 7) + call("gpu-a", 45, "0x55be", 9) +
                               call("gpu-a", 45, "0x55be", 8));
  ASSERT_EQ(order.frontiers.size(), 1u);
  EXPECT_EQ(order.frontiers[0].enqueued, 9);
}

TEST(NcclCalls, SendsAndReceives) {
  const auto rows = read_text(call("gpu-a", 45, "0x55be", 0xd60, "Send", 100, 7, 2, 1) +
                              call("gpu-a", 45, "0x55be", 0xd60, "Recv", 100, 7, 2, 1));
  ASSERT_EQ(rows.frontiers.size(), 1u);
  EXPECT_TRUE(rows.frontiers[0].p2p);
  ASSERT_EQ(rows.collectives.size(), 2u);
  EXPECT_EQ(rows.collectives[0].operation, "send");
  EXPECT_TRUE(rows.collectives[0].p2p);
  EXPECT_EQ(rows.collectives[1].peer, Rank(1));
  EXPECT_EQ(rows.collectives[1].bytes, 400);
}

TEST(NcclCalls, HistoryKeepsTheLast) {
  std::string text;
  for (unsigned i = 0; i < 40000; ++i) text += call("gpu-a", 45, "0x55be", i);
  const auto rows = read_text(text);
  ASSERT_EQ(rows.histories.size(), 1u);
  ASSERT_EQ(rows.histories[0].entries.size(), 16384u);
  for (std::size_t i = 0; i < 16384; ++i)
    ASSERT_EQ(rows.histories[0].entries[i].sequence, static_cast<std::int64_t>(i + 40000 - 16384));
}

TEST(NcclCalls, BehindPrefixes) {
  const std::string line = call("ray-worker-4-8", 615, "0x78cf", 0x139d);
  for (const std::string& text :
       {"(RayTrainWorker pid=615, ip=10.72.7.6) " + line, "[rank5]: " + line, "  5: " + line,
        "2026-11-21T03:19:38.5Z stderr F " + line, "[2026-11-21 03:19:38] " + line}) {
    const auto rows = read_text(text);
    ASSERT_EQ(rows.frontiers.size(), 1u) << text;
    EXPECT_EQ(rows.frontiers[0].enqueued, 0x139d);
    EXPECT_EQ(rows.frontiers[0].host, "ray-worker-4-8");
    EXPECT_EQ(number_of(rows.frontiers[0].rank).value_or(-1),
              text[0] == '[' && text[1] == 'r' ? 5 : -1);
  }
}

TEST(NcclCalls, TornAndHostile) {
  for (const char* line :
       {"gpu-a:45:54 [2] NCCL INFO AllReduce: opCount 139d sendbuff 0x78d0 recvbuff 0x78d0 count "
        "7382 dat",
        "gpu-a:45:54 [2] NCCL INFO AllReduce: opCount zz sendbuff 0x1 recvbuff 0x1 count 1 "
        "datatype 7 op 0 root 0 comm 0x78cf [nranks=4] stream 0x1",
        "gpu-a:45:54 [2] NCCL INFO AllReduce: opCount 1 sendbuff 0x1 recvbuff 0x1 count "
        "99999999999999999999 datatype 7 op 0 root 0 comm 0x78cf [nranks=4] stream 0x1",
        "gpu-a:45:54 [2] NCCL INFO AllReduce: opCount 1 sendbuff 0x1 recvbuff 0x1 count 1 datatype "
        "7 op 0 root 0 comm 78cf [nranks=4] stream 0x1",
        "gpu-a:45:54 [2] NCCL INFO AllReduce: opCount 1 sendbuff 0x1 recvbuff 0x1 count 1 datatype "
        "7 op 0 root 0 comm 0x78cf [nranks=",
        "NCCL INFO : opCount 1 sendbuff 0x1"}) {
    const auto rows = read_text(std::string(line) + "\n");
    EXPECT_EQ(rows.reasons(), "1:nccl_call.torn") << line;
    EXPECT_TRUE(rows.frontiers.empty()) << line;
  }
  EXPECT_EQ(read_text("somebody's profile: opCount 12\n").reasons(), "");
  // The head of a torn record stands behind the end of another: its host has swallowed a field.
  std::string torn;
  for (unsigned i = 0; i < 20; ++i) torn += call("gpu-a", 45, "0x55be", i);
  torn += "gpu-a:46:46 [1] NCCL INFO Init timings total 53" + call("gpu-a", 45, "0x55be", 20);
  const auto rows = read_text(torn);
  ASSERT_EQ(rows.frontiers.size(), 1u);
  EXPECT_EQ(rows.frontiers[0].host, "gpu-a");
  EXPECT_EQ(rows.frontiers[0].enqueued, 20);
  const std::string text = init("gpu-a", 45, "0x55be", 1, "0xaaaa") +
                           call("gpu-a", 45, "0x55be", 1) +
                           call("gpu-a", 45, "0x55be", 2, "Send", 5, 99);
  test::Random random;
  for (int i = 0; i < 2000; ++i) {
    std::string broken = text;
    for (int n = 0; n < 3; ++n) {
      const std::size_t at = random.below(broken.size());
      switch (random.below(3)) {
        case 0: broken[at] = static_cast<char>(random.below(256)); break;
        case 1: broken.erase(at, 1 + random.below(20)); break;
        default: broken.insert(at, broken.substr(random.below(broken.size()), random.below(40)));
      }
      if (broken.empty()) broken = "x";
    }
    read_text(broken);
  }
}

TEST(NcclCalls, RowsDoNotHangOnBlocks) {
  std::string text;
  for (unsigned i = 0; i < 100; ++i)
    for (int p = 0; p < 8; ++p) text += call("gpu-a", 45 + p, fmt::format("0x55{:x}", p), i);
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n' && i % 3 == 0) ends.push_back(i + 1);
  EXPECT_EQ(read_text(text).log, read_text(text, "", ends).log);
}

TEST(NcclCalls, Corpus) {
  const std::string folder = CULPRIT_SHARED_DIR;
  if (!std::filesystem::is_directory(folder + "/formats/nccl")) GTEST_SKIP() << "no samples here";
  struct Case {
    const char* file;
    std::size_t frontiers, collectives;
  };
  for (const Case& c : {Case{"coll_hang_rank2_mismatch_rccl429.log", 2, 4},
                        {"coll_ray_prefix_128ranks_issue1193.log", 3, 4},
                        {"coll_sendrecv_issue584.log", 2, 4},
                        {"rccl_coll_task_globalrank.log", 3, 3}}) {
    std::ifstream stream(folder + "/formats/nccl/" + c.file, std::ios::binary);
    std::stringstream all;
    all << stream.rdbuf();
    const auto rows = read_text(all.str());
    EXPECT_EQ(rows.frontiers.size(), c.frontiers) << c.file;
    EXPECT_EQ(rows.collectives.size(), c.collectives) << c.file;
    EXPECT_EQ(rows.reasons(), "") << c.file;
  }
}

}  // namespace
}  // namespace culprit::ingest
