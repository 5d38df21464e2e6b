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
  for (const char* header : {"communicator,rank,CL,WR", "rank,CL,WR,WC", "time,rank,CL,WR,WC",
                             "step,loss,rank", "communicator,CL,WR,WC"})
    EXPECT_NE(counters(fmt::format("{}\n1,2,3,4,5\n", header)).members.at(0).format,
              "work-requests")
        << header;
}

}  // namespace
}  // namespace culprit::ingest
