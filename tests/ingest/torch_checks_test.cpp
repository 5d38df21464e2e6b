#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_text;

std::string told(const test::Rows& rows) {
  std::string out;
  for (const FrontierRow& f : rows.frontiers)
    out += fmt::format("{} {}:{}/{} ", name(f.source), f.rank.value_or(kNoRank), f.enqueued,
                       f.completed);
  for (const CollectiveRow& c : rows.collectives)
    out += fmt::format("{} {}#{} {} {} ", c.rank.value_or(kNoRank), c.sequence, c.operation,
                       c.sizes, c.types);
  return out;
}

TEST(TorchChecks, TheMonitoredBarrierNamesWhoDidNotCome) {
  EXPECT_EQ(told(read_text("[E ProcessGroupGloo.cpp:2811] [Rank 0]: Ranks 2, 5 failed to pass "
                           "monitoredBarrier in 60000 ms\n")),
            "barrier 0:1/0 barrier 2:0/0 barrier 5:0/0 ");
  EXPECT_EQ(told(read_text("[rank0]: RuntimeError: [Rank 0]: Rank 7 failed to pass "
                           "monitoredBarrier in 1800000 ms\n")),
            "barrier 0:1/0 barrier 7:0/0 ");
  EXPECT_EQ(
      told(read_text(
          "RuntimeError: Rank 3 successfully reached monitoredBarrier, but received errors while "
          "waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.\n")),
      "barrier 3:1/0 ");
  // A barrier of another group than all ranks': its rank 0 is the job's rank 4.
  EXPECT_EQ(
      told(read_text(
          "[rank4]: RuntimeError: [Rank 0]: Rank 1 failed to pass monitoredBarrier in 60000 ms\n")),
      "");
}

const std::string kDifferent =
    "RuntimeError: Detected mismatch between collectives on ranks. Rank {} is running collective: "
    "CollectiveFingerPrint(SequenceNumber={}, OpType=ALLREDUCE, TensorShape=[3, 64], "
    "TensorDtypes=Float, "
    "TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda)), but Rank 2 is running "
    "collective: CollectiveFingerPrint(SequenceNumber={}OpType={}).";

// torchfrtrace, over the dumps of all ranks that left one.
TEST(RecorderAnalysis, RanksThatDidNotJoin) {
  const auto rows = read_text(
      "Not all ranks joining collective, sequence number: 88120\n"
      "internal record id: 1201\n"
      "group info: 41:EXPERT_MODEL_PARALLEL_GROUP\n"
      "collective: nccl:all_to_all\n"
      "missing ranks: {64, 72}\n"
      "input sizes: [[8192, 6144]]\n"
      "expected ranks: {0, 8, 64, 72}\n"
      "collective state: scheduled\n"
      "internal record id: 1202\n"
      "group info: 0:default_pg\n"
      "collective: nccl:all_reduce\n"
      "missing ranks: {1}\n"
      "expected ranks: 3\n");
  ASSERT_EQ(rows.groups.size(), 2u);
  EXPECT_EQ(rows.groups[0].description, "EXPERT_MODEL_PARALLEL_GROUP");
  ASSERT_EQ(rows.frontiers.size(), 7u);
  EXPECT_EQ(rows.frontiers[0].rank, Rank(0));
  EXPECT_EQ(rows.frontiers[0].enqueued, 88120);
  EXPECT_EQ(rows.frontiers[0].completed, 88119);
  EXPECT_EQ(rows.frontiers[3].rank, Rank(72));
  EXPECT_EQ(rows.frontiers[3].enqueued, 88119);
  EXPECT_EQ(rows.frontiers[5].rank, Rank(1));
  EXPECT_EQ(rows.frontiers[5].enqueued, 88119);
  ASSERT_EQ(rows.collectives.size(), 4u);
  EXPECT_EQ(rows.collectives[0].operation, "all_to_all");
}

TEST(RecorderAnalysis, Hostile) {
  EXPECT_TRUE(read_text("Not all ranks joining collective, sequence number: x\n"
                        "missing ranks: {1}\nexpected ranks: {1, 2}\n")
                  .frontiers.empty());
  EXPECT_TRUE(read_text("Not all ranks joining collective, sequence number: 7\n"
                        "group info: 0:default_pg\nmissing ranks: {1}\n"
                        "expected ranks: 99999999999\n")
                  .frontiers.empty());
}

TEST(TorchChecks, FingerprintsTellWhatEachRankCalls) {
  EXPECT_EQ(told(read_text("[rank1]: " + fmt::format(fmt::runtime(kDifferent), 1, 9, 9, "BARRIER") +
                           "\n")),
            "fingerprint 1:9/8 fingerprint 2:9/8 1 9#all_reduce [3, 64] Float 2 9#barrier   ");
  EXPECT_EQ(told(read_text(fmt::format(fmt::runtime(kDifferent), 1, 9, 8, "ALLREDUCE") + "\n")),
            "fingerprint 1:8/7 fingerprint 2:8/7 1 8#all_reduce [3, 64], its call 9 Float 2 "
            "8#all_reduce its call 8  ");
  EXPECT_EQ(
      read_text(
          "RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running coll\n")
          .reasons(),
      "1:fingerprint.torn");
}

TEST(TorchChecks, AnExceptionOfATracebackIsReadToo) {
  const auto rows = read_text(
      "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/srv/t/loop.py\", line 9, in "
      "step\n[rank1]:     dist.all_reduce(x)\n[rank1]: " +
      fmt::format(fmt::runtime(kDifferent), 1, 9, 9, "BROADCAST") + "\n");
  EXPECT_EQ(rows.tracebacks.size(), 1u);
  EXPECT_EQ(rows.collectives.size(), 2u);
}

}  // namespace
}  // namespace culprit::ingest
