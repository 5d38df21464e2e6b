#include "kit.hpp"

namespace culprit::ingest {
namespace {

using namespace test;

constexpr std::string_view kHead = R"(=== TorchComms FR Trace ===
--- Groups ---
id         desc      size
main_comm  gloo         3
--- Memberships ---
group_id      global_rank
main_comm               0
main_comm               1
main_comm               2
--- Collectives ---
  id  group_id    pass_check      collective_seq_id  collective_name    input_sizes    expected_ranks    collective_state      missing_ranks  mismatch_collectives
   0  main_comm   True                            0  nccl:all_reduce    [[1024]]       {0, 1, 2}         completed
)";

Rows read_tables(const std::string& text) {
  Rows rows;
  MemberRow member;
  member.path = "dumps/torchcomms_fr_trace_20260401_192104.txt";
  member.id = rows.begin_member(member);
  const Detected detected = detect({member.path, text, true});
  EXPECT_EQ(detected.format, "recorder-tables");
  if (detected.document == nullptr) return rows;
  Reading reading{rows, pack(), "", {}, {}, member.path};
  const std::string reason = detected.document->read(text, member, reading);
  if (!reason.empty()) rows.put(RejectRow{{member.id, 0, 0, 0}, reason, {}});
  return rows;
}

TEST(RecorderTables, WhoIsMissingHasNotLaunched) {
  const Rows rows = read_tables(
      std::string(kHead) +
      "   1  main_comm   True                            1  nccl:all_reduce    [[1024]]       "
      "{0, 1, 2}         scheduled                       {1}\n");
  EXPECT_EQ(rows.reasons(), "");
  ASSERT_EQ(rows.groups.size(), 1u);
  EXPECT_EQ(rows.groups[0].name, "main_comm");
  EXPECT_EQ(rows.groups[0].ranks, (std::vector<Rank>{Rank(0), Rank(1), Rank(2)}));
  ASSERT_EQ(rows.frontiers.size(), 3u);
  EXPECT_EQ(rows.frontiers[0].enqueued, 1);
  EXPECT_EQ(rows.frontiers[0].completed, 0);
  EXPECT_EQ(rows.frontiers[1].enqueued, 0);
  EXPECT_EQ(rows.frontiers[1].place.line, 12u);
  EXPECT_EQ(rows.frontiers[0].time.ns, 1775071264'000000000);
  ASSERT_EQ(rows.collectives.size(), 2u);
  EXPECT_EQ(rows.collectives[0].operation, "all_reduce");
  EXPECT_EQ(rows.collectives[0].sizes, "in [[1024]]");
}

TEST(RecorderTables, WhoCallsAnotherCollective) {
  const Rows rows = read_tables(
      std::string(kHead) +
      "   1  main_comm   False                           1  nccl:all_reduce    [[1024]]       "
      "{0, 1, 2}         scheduled                            {2: Collective(id=1, "
      "group_id='main_comm', collective_name='nccl:broadcast', missing_ranks=None)}\n");
  ASSERT_EQ(rows.collectives.size(), 3u);
  EXPECT_EQ(rows.collectives[1].operation, "all_reduce");
  EXPECT_EQ(rows.collectives[2].operation, "broadcast");
}

// Without CUDA torchcomms has no events: all is "scheduled" for ever, and the operation that a rank
// is missing from is the one that is not over.
TEST(RecorderTables, TorchcommsWithoutEventsHasNoStates) {
  std::string text(kHead);
  text.replace(text.find("completed\n"), 9, "scheduled");
  const Rows over = read_tables(text);
  EXPECT_EQ(over.frontiers[0].completed, 0);
  EXPECT_TRUE(over.collectives.empty());
  const Rows rows = read_tables(
      text +
      "   1  main_comm   True                            1  nccl:all_reduce    [[1024]]       "
      "{0, 1, 2}         scheduled                       {1}\n");
  ASSERT_EQ(rows.frontiers.size(), 3u);
  EXPECT_EQ(rows.frontiers[0].enqueued, 1);
  EXPECT_EQ(rows.frontiers[0].completed, 0);
  EXPECT_EQ(rows.frontiers[1].enqueued, 0);
  EXPECT_EQ(rows.frontiers[1].completed, 0);
  ASSERT_EQ(rows.collectives.size(), 2u);
  EXPECT_EQ(rows.collectives[0].sequence, 1);
}

// An event that is not recorded yet counts as over: that a rank is missing says more.
TEST(RecorderTables, WhatARankIsMissingFromIsNotOver) {
  const Rows rows = read_tables(
      std::string(kHead) +
      "   1  main_comm   True                            1  nccl:all_reduce    [[1024]]       "
      "{0, 1, 2}         completed                       {1}\n");
  ASSERT_EQ(rows.frontiers.size(), 3u);
  EXPECT_EQ(rows.frontiers[0].completed, 0);
  ASSERT_EQ(rows.collectives.size(), 2u);
  EXPECT_EQ(rows.collectives[0].state, "started");
}

TEST(RecorderTables, TwoRecordersCountByThemselves) {
  std::string first(kHead), second(kHead);
  first.replace(0, first.find('\n'), "=== FR Trace ===");
  second.replace(0, second.find('\n'), "\n=== FR Trace NCCL ===");
  second.replace(second.find("  0  nccl"), 3, "500");
  const Rows rows = read_tables(first + second);
  ASSERT_EQ(rows.groups.size(), 2u);
  EXPECT_EQ(rows.groups[0].name, "main_comm");
  EXPECT_EQ(rows.groups[1].name, "main_comm (FR Trace NCCL)");
  ASSERT_EQ(rows.frontiers.size(), 6u);
  EXPECT_EQ(rows.frontiers[0].completed, 0);
}

TEST(RecorderTables, RanksThatDidNotAnswer) {
  const std::string partial =
      "PARTIAL DATA: 2/3 workers responded\n  Rank 2: ConnectionError: refused\n";
  EXPECT_EQ(read_tables(partial + std::string(kHead)).reasons(),
            "2:recorder_tables.rank_without_answer");
  EXPECT_EQ(read_tables(std::string(kHead) + "\n=== TorchComms FR Dump File ===\nRank 0: OK - "
                                             "Flight Recorder dump initiated for rank 0\n")
                .reasons(),
            "");
}

TEST(RecorderTables, ARowWithoutItsNumberIsRejected) {
  EXPECT_EQ(read_tables(std::string(kHead) + "   1  main_comm   True\n").reasons(),
            "13:recorder_tables.row");
  EXPECT_EQ(read_tables("=== FR Trace ===\n--- Groups ---\n").reasons(), "0:recorder_tables.empty");
}

}  // namespace
}  // namespace culprit::ingest
