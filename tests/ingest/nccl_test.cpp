#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_text;

TEST(Nccl, DirectRdmaOfEachNic) {
  const auto rows = read_text(
      "gpu-a:12:34 [3] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 2 'mlx5_2'\n"
      "gpu-b:12:34 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'\n");
  ASSERT_EQ(rows.configs.size(), 2u);
  EXPECT_EQ(rows.configs[0].name, "nccl.gpu_direct_rdma[mlx5_2]");
  EXPECT_EQ(rows.configs[0].value, "disabled");
  EXPECT_EQ(rows.configs[0].host, "gpu-a");
  EXPECT_EQ(rows.configs[1].value, "enabled");
}

TEST(Nccl, InitOfEveryGeneration) {
  struct Case {
    const char* line;
    const char* source;
    std::int64_t rank, size;
    const char* gpu;
    const char* communicator;
    std::int64_t device;
  };
  for (const Case& c :
       {Case{"gpu-a:12:34 [3] NCCL INFO comm 0x7f00 rank 3 nranks 8 cudaDev 3 nvmlDev 3 - Init "
             "COMPLETE",
             "nccl-init", 3, 8, "", "nccl-8", 3},
        {"gpu-a:12:34 [3] NCCL INFO comm 0x7f00 rank 3 nranks 8 cudaDev 3 busId 53000 - Init "
         "COMPLETE",
         "nccl-init", 3, 8, "0000:53:00", "nccl-8", 3},
        {"gpu-a:12:34 [3] NCCL INFO comm 0x7f00 rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId b9000 "
         "commId 0xf9c2 - Init START",
         "nccl-init-start", 3, 8, "0000:b9:00", "0xf9c2", 3},
        {"gpu-a:12:34 [3] NCCL INFO ncclCommInitRankConfig comm 0x7f00 rank 3 nranks 8 cudaDev 3 "
         "nvmlDev 3 busId 53000 commId 0xf9c2 - Init COMPLETE",
         "nccl-init", 3, 8, "0000:53:00", "0xf9c2", 3},
        {"gpu-a:12:34 [3] NCCL INFO [Rank 3] ncclCommInitRank comm 0x7f00 rank 3 nranks 8 cudaDev "
         "3 nvmlDev 3 busId 801000 commId 0xf9c2 - Init START",
         "nccl-init-start", 3, 8, "0008:01:00", "0xf9c2", 3},
        {"[2026-11-21 03:19:38] gpu-a:12:34 [3] init.cc:9 (f) NCCL INFO ncclCommInitRank comm "
         "(nil) rank 0 nRanks 1 commId 0xf9c2 - Init COMPLETE",
         "nccl-init", 0, 1, "", "0xf9c2", -1}}) {
    const auto rows = read_text(std::string(c.line) + "\n");
    ASSERT_EQ(rows.identities.size(), 1u) << c.line;
    const IdentityRow& got = rows.identities[0];
    EXPECT_EQ(got.source, c.source);
    EXPECT_EQ(got.host, "gpu-a");
    EXPECT_EQ(got.pid, 12);
    EXPECT_EQ(got.rank, c.rank);
    EXPECT_EQ(got.world_size, c.size);
    EXPECT_EQ(got.gpu.value_or(""), c.gpu);
    EXPECT_EQ(got.communicator, c.communicator);
    EXPECT_EQ(got.device.value_or(-1), c.device);
  }
  const auto rows = read_text(
      "[rank11]: gpu-a:12:34 [3] NCCL INFO comm 0x7f00 rank 3 nranks 8 cudaDev 3 busId 53000 "
      "commId 0xf9c2 - Init COMPLETE\n");
  ASSERT_EQ(rows.identities.size(), 2u);
  EXPECT_EQ(rows.identities[1].rank, 11);
  EXPECT_EQ(rows.identities[1].source, "prefix");
}

TEST(Nccl, TornInitIsRejected) {
  for (const char* line :
       {"000 commId 0xf9c27b9b4212767e - Init COMPLETE",
        "gpu-a:12:34 [3] NCCL INFO comm 0x7f00 rank 9 nranks 8 commId 0x1 - Init COMPLETE",
        "comm 0x7f00 rank 3 nranks 8 commId 0x1 - Init COMPLETE",
        "gpu-a:12:34 [3] NCCL INFO comm 0x7f00 rank 3 nranks 99999999999999999999 commId 0x1 - "
        "Init COMPLETE"}) {
    const auto rows = read_text(std::string(line) + "\n");
    EXPECT_EQ(rows.reasons(), "1:nccl.init_torn") << line;
    EXPECT_TRUE(rows.identities.empty()) << line;
  }
}

TEST(Nccl, APieceWithoutTheWordsIsNoReject) {
  const std::string text =
      "gpu-a:1:1 [0] NCCL INFO Init timings - rank 0 nranks 8 total 3.72gpu-a:2:2 [1] NCCL INFO "
      "comm 0x7f00 rank 1 nranks 8 cudaDev 1 busId 53000 commId 0xf9c2 - Init COMPLETE\n";
  const auto rows = read_text(text);
  EXPECT_EQ(rows.reasons(), "");
  ASSERT_EQ(rows.identities.size(), 1u);
  EXPECT_EQ(rows.identities[0].rank, 1);
  EXPECT_EQ(rows.members[0].used, 1u);
  test::check_places(rows, text);
}

TEST(Nccl, WrappedHeadsKeepTheirWrapper) {
  const std::string init =
      "gpu-a:12:34 [3] NCCL INFO comm 0x7f00 rank 3 nranks 8 cudaDev 3 busId 53000 commId 0xf9c2 - "
      "Init COMPLETE";
  for (const std::string& line :
       {"{\"log\":\"" + init + "\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-21T03:19:38.5Z\"}",
        "2026-11-21T03:19:38.5Z stderr F " + init,
        "{\"MESSAGE\":\"" + init + "\",\"__REALTIME_TIMESTAMP\":\"5\"}"}) {
    const auto rows = read_text(line + "\n");
    ASSERT_EQ(rows.identities.size(), 1u) << line;
    EXPECT_EQ(rows.identities[0].host, "gpu-a");
    EXPECT_EQ(rows.identities[0].place.offset, 0u) << line;
    EXPECT_EQ(rows.reasons(), "");
  }
}

TEST(Nccl, NetworkAndSettings) {
  const auto rows = read_text(
      "gpu-a:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>\ngpu-a:1:1 [0] NCCL INFO NET/IB "
      ": Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB bond0:10.0.0.8<0>\n"
      "gpu-a:1:1 [0] NCCL INFO NCCL_IB_HCA set by environment to mlx5_0,mlx5_1.\nNCCL version "
      "2.27.3+cuda12.9\ngpu-a:1:1 [0] NCCL INFO Bootstrap : Using lo:127.0.0.1<0>\n");
  std::vector<std::string> seen;
  for (const auto& row : rows.identities)
    seen.push_back(row.address.value_or("") + row.nic.value_or(""));
  EXPECT_EQ(seen, (std::vector<std::string>{"10.0.0.7", "10.0.0.8", "mlx5_0", "mlx5_1"}));
  ASSERT_EQ(rows.configs.size(), 2u);
  EXPECT_EQ(rows.configs[0].name + "=" + rows.configs[0].value, "env.NCCL_IB_HCA=mlx5_0,mlx5_1");
  EXPECT_EQ(rows.configs[1].name + "=" + rows.configs[1].value, "nccl_version=2.27.3+cuda12.9");
}

}  // namespace
}  // namespace culprit::ingest
