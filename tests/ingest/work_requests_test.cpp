// Tables of launches, work requests and completions.
#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::Folder;
using test::Rows;

Rows counters(const std::string& bytes, const std::string& name = "counters.csv") {
  const Folder folder;
  folder.write(name, bytes);
  return test::read_folder(folder.path());
}

const FrontierRow& of(const Rows& rows, std::int64_t rank, std::size_t nth = 0) {
  for (const FrontierRow& f : rows.frontiers)
    if (f.rank == Rank(rank) && nth-- == 0) return f;
  ADD_FAILURE() << "no row of rank " << rank;
  static const FrontierRow kNone{};
  return kNone;
}

TEST(WorkRequests, TheTableOfThePaper) {
  const Rows rows = counters(
      "communicator,rank,CL,WR,WC,bytes,time\n"
      "dp0,0,42,1260,1260,4194304,0.004\n"
      "dp0,1,42,1260,1254,4194304,0.004\n"
      "0x00AB,1,7,14,14,,\n");
  ASSERT_EQ(rows.frontiers.size(), 3u);
  EXPECT_EQ(rows.members.at(0).format, "work-requests");
  EXPECT_EQ(rows.members.at(0).rejected, 0u);
  const FrontierRow& f = of(rows, 1, 1);
  EXPECT_EQ(f.source, CollectiveSource::work_requests);
  EXPECT_EQ(f.enqueued, 42);
  EXPECT_EQ(f.completed, kUnknownSequence);
  EXPECT_EQ(f.requests, 1260);
  EXPECT_EQ(f.completions, 1254);
  EXPECT_EQ(f.recent_bytes, 4194304);
  EXPECT_DOUBLE_EQ(f.recent_ms, 4);
  EXPECT_EQ(f.peer, kNoRank);
  EXPECT_EQ(rows.groups.at(index_of(f.group)), (GroupRow{"dp0", "", {Rank(0), Rank(1)}, 0}));
  EXPECT_EQ(rows.groups.at(index_of(of(rows, 1).group)).name, "0xab");
  EXPECT_EQ(of(rows, 1).recent_bytes, 0);
}

// Section 5.2: the last five requests. By hand: 10 + 20 + 30 + 40 + 50 bytes in 1 + 2 + 3 + 4 + 5
// us.
TEST(WorkRequests, TheLastFiveRowsOfAHistory) {
  std::string text =
      "comm\trank\tlaunches\twork_requests\twork_completions\tbytes\ttime_us\tpeer\n";
  text += "tp\t3\t1\t2\t2\t9999\t9999\t4\n";
  for (int i = 1; i <= 5; ++i)
    text += fmt::format("tp\t3\t{}\t{}\t{}\t{}\t{}\t4\n", 1 + i, 2 + i, 2 + i, 10 * i, i);
  const Rows rows = counters(text, "counters.tsv");
  ASSERT_EQ(rows.frontiers.size(), 1u);
  const FrontierRow& f = rows.frontiers[0];
  EXPECT_EQ(f.enqueued, 6);
  EXPECT_EQ(f.recent_bytes, 150);
  EXPECT_DOUBLE_EQ(f.recent_ms, 0.015);
  EXPECT_EQ(f.peer, Rank(4));
  EXPECT_EQ(f.place.line, 7u);
}

TEST(WorkRequests, JsonLinesAndHosts) {
  const Rows rows = counters(
      R"({"communicator": "dp", "rank": 0, "host": "node-0", "CL": 5, "WR": 10, "WC": 10, "n": {"x": 1}})"
      "\n"
      R"({"communicator": "dp", "rank": 1, "host": "node-1", "CL": 4, "WR": 8, "WC": 8})"
      "\n"
      R"({"communicator": "dp", "rank": 1, "host": )"
      "\n",
      "counters.jsonl");
  ASSERT_EQ(rows.frontiers.size(), 2u);
  EXPECT_EQ(of(rows, 1).enqueued, 4);
  EXPECT_EQ(of(rows, 1).host, "node-1");
  ASSERT_EQ(rows.identities.size(), 2u);
  EXPECT_EQ(rows.identities[1].host, "node-1");
  EXPECT_EQ(rows.identities[1].rank, 1);
  EXPECT_EQ(rows.reasons(), "3:work_requests.torn");
}

// The newest by its moment, whatever the order of the lines.
TEST(WorkRequests, MomentsOrderRows) {
  for (const char* name : {"timestamp", "time"}) {
    const Rows rows =
        counters(fmt::format("communicator,rank,CL,WR,WC,{}\n"
                             "dp,0,9,18,18,2026-11-21T03:00:09Z\n"
                             "dp,0,8,16,16,2026-11-21T03:00:08Z\n",
                             name));
    ASSERT_EQ(rows.frontiers.size(), 1u);
    EXPECT_EQ(rows.frontiers[0].enqueued, 9);
    EXPECT_EQ(iso_utc(rows.frontiers[0].time.ns), "2026-11-21T03:00:09Z");
    EXPECT_EQ(rows.frontiers[0].recent_ms, 0);
  }
}

// A `time` that only grows is a clock, not how long something took.
TEST(WorkRequests, ATimeThatGrowsIsAClock) {
  std::string text = "communicator,rank,CL,WR,WC,bytes,time\n";
  for (int i = 0; i < 4; ++i)
    for (int r = 0; r < 2; ++r) text += fmt::format("dp,{},{},{},{},100,{}.5\n", r, i, i, i, i);
  for (const FrontierRow& f : counters(text).frontiers) EXPECT_EQ(f.recent_ms, 0);
}

// Whose a counter is stands in its name: a communicator, an operation of one, a rank.
TEST(WorkRequests, WideTables) {
  const Rows communicators = counters(
      "rank,dp0_CL,dp0_WR,dp0_WC,tp 1 CL,tp 1 WR,tp 1 WC\n"
      "0,42,252,252,9,18,18\n"
      "1,42,252,246,-,-,-\n");
  ASSERT_EQ(communicators.frontiers.size(), 3u);
  EXPECT_EQ(of(communicators, 1).completions, 246);
  EXPECT_EQ(communicators.groups.at(index_of(of(communicators, 1).group)).name, "dp0");
  EXPECT_EQ(communicators.groups.at(index_of(of(communicators, 1).group)).description, "");
  EXPECT_EQ(of(communicators, 0, 1).enqueued, 9);

  const Rows operations = counters(
      "communicator,rank,AllReduce_CL,AllReduce_WR,AllReduce_WC,Send_CL,Send_WR,Send_WC\n"
      "dp0,0,42,252,252,7,7,7\n");
  ASSERT_EQ(operations.frontiers.size(), 2u);
  EXPECT_EQ(of(operations, 0).operation, "all_reduce");
  EXPECT_TRUE(of(operations, 0, 1).p2p);
  EXPECT_EQ(operations.groups.at(0).name, "dp0");

  const Rows ranks = counters(
      "time,communicator,rank0_CL,rank1_CL,rank0_WR,rank1_WR,WC[0],WC[1]\n"
      "2026-11-21T03:00:09Z,dp0,42,42,252,252,252,246\n");
  ASSERT_EQ(ranks.frontiers.size(), 2u);
  EXPECT_EQ(of(ranks, 0).completions, 252);
  EXPECT_EQ(of(ranks, 1).completions, 246);
  EXPECT_EQ(iso_utc(of(ranks, 1).time.ns), "2026-11-21T03:00:09Z");

  const Rows objects = counters(
      R"({"rank": 1, "communicators": {"dp0": {"CL": 42, "WR": 252, "WC": 246}, "tp0": {"CL": null}}})"
      "\n",
      "counters.jsonl");
  ASSERT_EQ(objects.frontiers.size(), 1u);
  EXPECT_EQ(of(objects, 1).completions, 246);
  EXPECT_EQ(objects.groups.at(0).name, "dp0");
}

// Of a wide row all or nothing is taken.
TEST(WorkRequests, AWideRowThatIsBrokenIsRejected) {
  const Rows rows = counters(
      "rank,a1_CL,a1_WR,a1_WC,a2_CL,a2_WR,a2_WC\n"
      "0,1,2,2,x,2,2\n"
      "0,1,2,2,1,2\n"
      "0,1,2,2,1,2,2\n");
  EXPECT_EQ(rows.reasons(), "2:work_requests.count 3:work_requests.torn");
  EXPECT_EQ(rows.frontiers.size(), 2u);
}

// Without a communicator launches are sums; those of ranks that were equal before compare.
TEST(WorkRequests, SumsOverCommunicators) {
  const char* head = "time,rank,CL,WR,WC\n";
  std::string text = head;
  for (int r = 0; r < 3; ++r) text += fmt::format("2026-11-21T03:00:00Z,{},40,80,80\n", r);
  for (int i = 1; i < 9; ++i)
    for (int r = 0; r < 3; ++r)
      text += fmt::format("2026-11-21T03:00:0{}Z,{},{},84,84\n", i, r, r == 1 ? 41 : 42);
  const Rows equal = counters(text);
  ASSERT_EQ(equal.groups.size(), 1u);
  EXPECT_EQ(equal.groups[0].description, "");
  for (const char* rows : {"2026-11-21T03:00:00Z,0,40,80,80\n2026-11-21T03:00:00Z,1,41,84,84\n",
                           "2026-11-21T03:00:00Z,0,30,80,80\n2026-11-21T03:00:00Z,1,31,84,84\n"
                           "2026-11-21T03:00:01Z,0,40,80,80\n2026-11-21T03:00:01Z,1,41,84,84\n"}) {
    const Rows other = counters(std::string(head) + rows);
    ASSERT_EQ(other.groups.size(), 1u);
    EXPECT_EQ(other.groups[0].description, kSumOfCommunicators);
  }
}

TEST(WorkRequests, BrokenRowsAreRejectedWithTheirReason) {
  const Rows rows = counters(
      "communicator,rank,CL,WR,WC\n"
      "dp,0,5,10,10\n"
      ",1,5,10,10\n"
      "dp,x,5,10,10\n"
      "dp,1,-5,10,10\n"
      "dp,1,5.5,10,10\n"
      "dp,1,5,10\n"
      "dp,1,5,,\n"
      "communicator,rank,CL,WR,WC\n"
      "dp,2,5,10,1");
  EXPECT_EQ(rows.reasons(),
            "3:work_requests.whose 4:work_requests.whose 5:work_requests.count "
            "6:work_requests.count 7:work_requests.torn 10:work_requests.torn");
  ASSERT_EQ(rows.frontiers.size(), 2u);
  EXPECT_EQ(of(rows, 1).requests, kUnknownSequence);
}

// Without all of these it is another table.
TEST(WorkRequests, OtherTablesAreNot) {
  for (const char* header : {"communicator,rank,CL,WR", "rank,CL,WR", "time,dp0_CL,dp0_WR,dp0_WC",
                             "step,loss,rank", "communicator,CL,WR,WC"})
    EXPECT_NE(counters(fmt::format("{}\n1,2,3,4,5\n", header)).members.at(0).format,
              "work-requests")
        << header;
}

}  // namespace
}  // namespace culprit::ingest
