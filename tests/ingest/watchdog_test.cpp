#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_text;
using test::Rows;

const GroupRow& group(const Rows& rows, GroupId id) { return rows.groups.at(index_of(id)); }
std::string named(const Rows& rows, GroupId id) {
  return group(rows, id).name + "/" + group(rows, id).description;
}

const std::string kGlog = "E714 11:22:09.118274635 ProcessGroupNCCL.cpp:632] ";
std::string caught(const std::string& prefix, int rank, int sequence,
                   const std::string& operation = "ALLREDUCE") {
  return fmt::format(
      "{}[Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={}, OpType={}, "
      "NumelIn=512, NumelOut=4096, Timeout(ms)=600000) ran for 600020 milliseconds before timing "
      "out.\n",
      prefix, rank, sequence, operation);
}
std::string exception(const std::string& prefix, const std::string& tag, int at, int enqueued,
                      int completed) {
  return fmt::format(
      "{}[{}] Exception (either an error or timeout) detected by watchdog at work: {}, last "
      "enqueued NCCL work: {}, last completed NCCL work: {}.\n",
      prefix, tag, at, enqueued, completed);
}

TEST(Watchdog, TheLineBelowNamesTheGroup) {
  const std::string prefix = "[rank5]:[" + kGlog;
  const std::string text = caught(prefix, 1, 808, "_ALLGATHER_BASE") +
                           exception(prefix, "PG ID 2 PG GUID 13(mesh_dp) Rank 1", 808, 811, 807);
  const auto rows = read_text(text);
  ASSERT_EQ(rows.collectives.size(), 1u);
  const CollectiveRow& c = rows.collectives[0];
  EXPECT_EQ(named(rows, c.group), "13/mesh_dp");
  EXPECT_EQ(c.source, CollectiveSource::watchdog);
  EXPECT_EQ(c.rank, Rank(5));
  EXPECT_EQ(c.sequence, 808);
  EXPECT_EQ(c.operation, "_all_gather_base");
  EXPECT_EQ(c.backend, "nccl");
  EXPECT_EQ(c.state, "timeout");
  EXPECT_EQ(c.sizes, "numel in 512 out 4096");
  EXPECT_EQ(c.timeout_ms, 600000);
  EXPECT_EQ(c.duration_ms, 600020);
  EXPECT_EQ(c.place.line, 1u);
  EXPECT_EQ(c.time.clock, Clock::local_no_year);
  ASSERT_EQ(rows.frontiers.size(), 1u);
  const FrontierRow& f = rows.frontiers[0];
  EXPECT_EQ(f.group, c.group);
  EXPECT_EQ(f.rank, Rank(5));
  EXPECT_EQ(f.group_rank, 1);
  EXPECT_EQ(f.enqueued, 811);
  EXPECT_EQ(f.completed, 807);
  EXPECT_EQ(f.started, kUnknownSequence);
  EXPECT_EQ(rows.members[0].used, 2u);
  EXPECT_EQ(rows.reasons(), "");
  test::check_places(rows, text);
}

TEST(Watchdog, EveryGenerationOfFrontier) {
  struct Case {
    const char* line;
    const char* group;
    std::int64_t rank, group_rank, enqueued, completed;
  };
  for (const Case& c :
       {Case{"12: [rank12]:[E ProcessGroupNCCL.cpp:1182] [Rank 12] Timeout at NCCL work: 96, last "
             "enqueued NCCL work: 97, last completed NCCL work: 95.",
             "/default_pg?", 12, 12, 97, 95},
        {"[E ProcessGroupNCCL.cpp:1182] [Rank 3] Timeout at NCCL work: 96, last enqueued NCCL "
         "work: 97, last completed NCCL work: 95.",
         "/default_pg?", -2, 3, 97, 95},
        {"[rank4]:[E321 02:07:08.46 ProcessGroupNCCL.cpp:1537] [PG 0 Rank 4] Timeout at NCCL work: "
         "1, last enqueued NCCL work: 1, last completed NCCL work: -1.",
         "0/default_pg", 4, 4, 1, -1},
        {"[rank4]:[E321 02:07:08.46 ProcessGroupNCCL.cpp:1664] [PG 7 (tp) Rank 0] Exception "
         "(either an error or timeout) detected by watchdog at work: 5, last enqueued NCCL work: "
         "6, last completed NCCL work: 4.",
         "7/tp", 4, 0, 6, 4},
        {"[rank4]:[E321 02:07:08.46 ProcessGroupNCCL.cpp:1785] [PG ID 1 PG GUID ab12 Rank 0] "
         "Exception (either an error or timeout) detected by watchdog at work: 5, last enqueued "
         "NCCL work: 6, last completed NCCL work: 4.",
         "ab12/", 4, 0, 6, 4},
        {"[rank4]:[E321 02:07:08.46 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank "
         "4] Received a dump signal due to a collective timeout from  rank 3 and we will try our "
         "best to dump the debug info. Last enqueued NCCL work: 21, last completed NCCL work: 20.",
         "0/default_pg", 4, 4, 21, 20},
        {"[rank4]:[E321 02:07:08.46 ProcessGroupNCCL.cpp:1895] [PG ID 3 PG GUID 41(undefined) Rank "
         "2]  failure detected by watchdog at work sequence id: 5 PG status: last enqueued work: "
         "6, last completed work: 4",
         "41/", 4, 2, 6, 4}}) {
    const auto rows = read_text(std::string(c.line) + "\n");
    ASSERT_EQ(rows.frontiers.size(), 1u) << c.line;
    const FrontierRow& f = rows.frontiers[0];
    EXPECT_EQ(named(rows, f.group), c.group) << c.line;
    EXPECT_EQ(number_of(f.rank).value_or(-2), c.rank) << c.line;
    EXPECT_EQ(f.group_rank, c.group_rank) << c.line;
    EXPECT_EQ(f.enqueued, c.enqueued) << c.line;
    EXPECT_EQ(f.completed, c.completed) << c.line;
    EXPECT_EQ(f.operation, "");
    EXPECT_EQ(rows.reasons(), "");
  }
}

TEST(Watchdog, EveryGenerationOfTimeout) {
  struct Case {
    const char* line;
    const char* operation;
    std::int64_t sequence;
    const char* sizes;
    double ran;
  };
  for (const Case& c :
       {Case{"[E ProcessGroupNCCL.cpp:587] [Rank 2] Caught collective operation timeout: "
             "WorkNCCL(OpType=BROADCAST, TensorShape=[4, 8], Timeout(ms)=1800000) ran for 1803321 "
             "milliseconds before timing out.",
             "broadcast", -2, "in [[4, 8]]", 1803321},
        {"[E ProcessGroupNCCL.cpp:458] [Rank 0] Watchdog caught collective operation timeout: "
         "WorkNCCL(SeqNum=96, OpType=ALLTOALL_BASE, Timeout(ms)=1800000) ran for 25625 "
         "milliseconds before timing out.",
         "all_to_all", 96, "", 25625},
        {"[rank1]:[E626 06:24:44.9 ProcessGroupXCCL.cpp:616] [Rank 1] Watchdog caught collective "
         "operation timeout: WorkXCCL(SeqNum=8, OpType=COALESCED, NumelIn=1, NumelOut=1, "
         "Timeout(ms)=5) ran for 6 milliseconds before timing out.",
         "coalesced", 8, "numel in 1 out 1", 6},
        {"[rank1]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective "
         "operation timeout: WorkNCCL(SeqNum=8, OpType=RECVANYSOURCE, NumelIn=1, NumelOut=1, "
         "Timeout(ms)=5) ran for 6 milliseconds",
         "recv", 8, "numel in 1 out 1", 6}}) {
    const auto rows = read_text(std::string(c.line) + "\n");
    ASSERT_EQ(rows.collectives.size(), 1u) << c.line;
    EXPECT_EQ(rows.collectives[0].operation, c.operation);
    EXPECT_EQ(rows.collectives[0].sequence, c.sequence);
    EXPECT_EQ(rows.collectives[0].sizes, c.sizes);
    EXPECT_EQ(rows.collectives[0].duration_ms, c.ran);
    EXPECT_EQ(rows.collectives[0].p2p, std::string(c.operation) == "recv");
    EXPECT_EQ(named(rows, rows.collectives[0].group), "/default_pg?") << c.line;
  }
}

TEST(Watchdog, GroupsOfOneProcessDoNotMerge) {
  const std::string at = "E321 02:07:08.465150152 ProcessGroupNCCL.cpp:1664] ";
  const std::string text = exception("[rank0]:[" + at, "PG 1 Rank 0", 5, 6, 4) +
                           exception("[rank1]:[" + at, "PG 1 Rank 1", 5, 6, 4) +
                           exception("[rank2]:[" + at, "PG 1 Rank 0", 5, 6, 4) +
                           exception("[rank3]:[" + at, "PG 1 Rank 1", 5, 6, 4) +
                           exception("[" + at, "PG 1 Rank 0", 5, 6, 4) +
                           exception("[default1]:[" + at, "PG 1 Rank 0", 5, 6, 4);
  const auto rows = read_text(text);
  ASSERT_EQ(rows.frontiers.size(), 6u);
  EXPECT_EQ(
      rows.frontiers[0].group,
      rows.frontiers[1].group);  // number in the group = number in the job: no other group has that
  std::set<GroupId> different;
  for (const auto& f : rows.frontiers) different.insert(f.group);
  EXPECT_EQ(different.size(), 5u);
}

TEST(Watchdog, UnnamedTimeoutsOfOneProcessDoNotMerge) {
  const std::string prefix = "[rank0]:[" + kGlog;
  const auto rows =
      read_text(caught(prefix, 0, 7) + caught(prefix, 0, 900, "REDUCE_SCATTER") +
                caught("[rank1]:[" + kGlog, 1, 7) + caught("[rank2]:[" + kGlog, 0, 7));
  ASSERT_EQ(rows.collectives.size(), 4u);
  std::set<GroupId> different;
  for (const auto& c : rows.collectives) different.insert(c.group);
  EXPECT_EQ(different.size(), 4u);
  EXPECT_EQ(named(rows, rows.collectives[2].group), "/default_pg?");
  // Two groups that wait at the same number: the line that names one of them does not say which.
  const auto same = read_text(caught(prefix, 0, 7) + caught(prefix, 0, 7, "BROADCAST") +
                              exception(prefix, "PG ID 1 PG GUID 5(dp) Rank 0", 7, 8, 6));
  ASSERT_EQ(same.collectives.size(), 2u);
  for (const auto& c : same.collectives) EXPECT_EQ(group(same, c.group).name, "");
}

TEST(Watchdog, TheExceptionThatStopsTheProcessRepeatsTheLine) {
  const std::string prefix = "[rank5]:[" + kGlog;
  const std::string repeat = caught(
      "  what():  [PG 3 Rank 5] Process group watchdog thread terminated with exception: ", 5, 91);
  const auto rows = read_text(
      caught(prefix, 5, 91) +
      "terminate called after throwing an instance of 'c10::DistBackendError'\n" + repeat);
  ASSERT_EQ(rows.collectives.size(), 1u);
  EXPECT_EQ(rows.collectives[0].rank, Rank(5));
  EXPECT_EQ(named(rows, rows.collectives[0].group), "pg 3/ranks as in the job");
  const auto alone = read_text(repeat);
  ASSERT_EQ(alone.collectives.size(), 1u);
  EXPECT_EQ(alone.collectives[0].rank, std::nullopt);
}

TEST(Watchdog, BehindABarAndInWrappers) {
  const std::string line =
      "[rank5]:[E602 11:17:52.185053341 ProcessGroupNCCL.cpp:632] [Rank 5] Watchdog caught "
      "collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
      "Timeout(ms)=600000) ran for 600001 milliseconds before timing out.";
  for (const std::string& text :
       {"  1%|#         | 24/1752 [01:08<1:22:56,  2.88s/it]" + line,
        "2026-11-21T03:19:38.5Z stderr F " + line, "[default5]:" + line,
        "{\"log\":\"" + line +
            "\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-21T03:19:38.5Z\"}"}) {
    const auto rows = read_text(text + "\n");
    ASSERT_EQ(rows.collectives.size(), 1u) << text;
    EXPECT_EQ(rows.collectives[0].rank, Rank(5)) << text;
    EXPECT_EQ(rows.collectives[0].sequence, 12);
  }
}

TEST(Watchdog, DesyncReport) {
  const std::string text =
      caught("[rank0]:[" + kGlog, 0, 119) +
      "\t - [0] Timeout at collective: BROADCAST, #119\n"
      "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
      "\t   - [3] joined but didn't finish collective #118 (count from 1)\n"
      "\t     [5, 6] finished collective #118, but didn't join collective #119 (count from 1)\n"
      "\t - Snapshot of ranks' latest states:\n"
      "\t   #118 started ranks:\n\t     [3] started ALLREDUCE\n"
      "\t   #118 finished ranks:\n\t     [5, 6] finished ALLREDUCE\n"
      "\t   #119 started ranks:\n\t     [0, 1, 2] started BROADCAST\n\t     [4] started ALLREDUCE\n"
      "step 18 done\n";
  const auto rows = read_text(text);
  std::map<std::int64_t, std::string> got;
  for (const auto& f : rows.frontiers) {
    EXPECT_EQ(f.source, CollectiveSource::desync);
    EXPECT_EQ(f.rank, std::nullopt);
    EXPECT_EQ(named(rows, f.group), "/default_pg?");
    got[f.group_rank] = fmt::format("{} {} {}", f.enqueued, f.started, f.completed);
  }
  EXPECT_EQ(rows.frontiers.size(), 7u);
  EXPECT_EQ(got, (std::map<std::int64_t, std::string>{{0, "-2 119 118"},
                                                      {1, "-2 119 118"},
                                                      {2, "-2 119 118"},
                                                      {3, "-2 118 117"},
                                                      {4, "-2 119 118"},
                                                      {5, "118 118 118"},
                                                      {6, "118 118 118"}}));
  EXPECT_EQ(rows.members[0].skipped, 1u + 0u);
  // No counters in it: the rules say what it means.
  const auto missing = read_text(
      "\t - To our best knowledge, ranks [6, 7] are the lagging ranks that caused this timeout. "
      "They never joined any collectives\n");
  EXPECT_TRUE(missing.frontiers.empty());
  EXPECT_EQ(missing.events.size(), 1u);
}

TEST(Watchdog, TornAndHostile) {
  for (const char* line :
       {"[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8, OpTy",
        "Watchdog caught collective operation timeout",
        "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8) ran for 5 "
        "milliseconds",
        "[PG 1 Rank 0] last enqueued NCCL work: 1582, last compl",
        "last enqueued NCCL work: 99999999999999999999999, last completed NCCL work: 1",
        "last enqueued NCCL work: -7, last completed NCCL work: -9"}) {
    const auto rows = read_text(std::string(line) + "\n", "", {}, false);
    EXPECT_EQ(rows.reasons(), "1:watchdog.torn") << line;
    EXPECT_TRUE(rows.collectives.empty() && rows.frontiers.empty()) << line;
  }
  const auto odd = read_text(
      "[PG ID 99999999999999999999 PG GUID x(y) Rank 0] last enqueued NCCL work: 1, last completed "
      "NCCL work: 1\n[Rank 99999999999] last enqueued NCCL work: 1, last completed NCCL work: 1\n");
  EXPECT_EQ(odd.frontiers.size(), 2u);
  for (const auto& f : odd.frontiers) EXPECT_EQ(f.group_rank, kUnknownSequence);
  const std::string text =
      caught("[rank5]:[" + kGlog, 1, 808) +
      exception("[rank5]:[" + kGlog, "PG ID 2 PG GUID 13(dp) Rank 1", 808, 811, 807) +
      "\t   #118 started ranks:\n\t     [3] started ALLREDUCE\n";
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

TEST(Watchdog, RowsDoNotHangOnBlocks) {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += caught(fmt::format("[rank{}]:[", i) + kGlog, i % 4, 808) +
            exception(fmt::format("[rank{}]:[", i) + kGlog,
                      fmt::format("PG ID 2 PG GUID {}(dp) Rank {}", i / 4, i % 4), 808, 811, 807);
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') ends.push_back(i + 1);
  const auto whole = read_text(text);
  EXPECT_EQ(whole.log, read_text(text, "", ends).log);
  EXPECT_EQ(whole.collectives.size(), 40u);
  EXPECT_EQ(whole.groups.size(), 10u);
}

TEST(Watchdog, Corpus) {
  const std::string folder = CULPRIT_SHARED_DIR;
  if (!std::filesystem::is_directory(folder + "/formats")) GTEST_SKIP() << "no samples here";
  const auto read = [&](const std::string& name) {
    std::ifstream stream(folder + name, std::ios::binary);
    std::stringstream all;
    all << stream.rdbuf();
    return read_text(all.str());
  };
  const auto guid = read("/formats/nccl/watchdog_pgid_guid_basicsr737.log");
  ASSERT_EQ(guid.collectives.size(), 2u);
  ASSERT_EQ(guid.frontiers.size(), 2u);
  for (const auto& c : guid.collectives) EXPECT_EQ(named(guid, c.group), "0/default_pg");
  const auto bare = read("/formats/nccl/watchdog_timeout_llamafactory7396.log");
  ASSERT_EQ(bare.frontiers.size(), 2u);
  EXPECT_EQ(bare.frontiers[0].group, bare.frontiers[1].group);
  ASSERT_EQ(bare.collectives.size(), 2u);
  EXPECT_EQ(bare.collectives[0].sequence, 1580);
  EXPECT_EQ(read("/formats/stacks/cxx_exception_frames_torch.txt").reasons(), "");
}

}  // namespace
}  // namespace culprit::ingest
