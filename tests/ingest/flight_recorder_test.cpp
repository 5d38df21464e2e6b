#include "ingest/collectives/flight_recorder.hpp"

#include <fstream>
#include <iterator>

#include "ingest/engine/document.hpp"
#include "kit.hpp"
#include "pickle_kit.hpp"
#include "support/ranks.hpp"

namespace culprit::ingest {
namespace {

using test::Pickler;
using test::Rows;

Rows read(const std::string& path, const std::string& bytes) {
  Rows rows;
  MemberRow member;
  member.path = path;
  member.id = rows.begin_member(member);
  const Detected found =
      detect({path, std::string_view(bytes).substr(0, 64 << 10), bytes.size() <= 64 << 10});
  if (found.document == nullptr) {
    rows.problems.push_back("not recognised");
    return rows;
  }
  Reading reading{rows, test::pack(), "", "", ""};
  const std::string reason = found.document->read(bytes, member, reading);
  if (!reason.empty()) rows.problems.push_back(reason);
  return rows;
}

struct Op {
  std::int64_t record = 0;
  std::int64_t pg = 0;
  std::string group = "0", description = "default_pg";
  std::int64_t sequence = 1;
  bool p2p = false;
  std::string name = "nccl:all_reduce";
  std::string state = "completed";
};

void status(Pickler& p, const std::string& id, std::int64_t enqueued, std::int64_t completed) {
  p.text(id)
      .op("}(")
      .text("last_enqueued_collective")
      .number(enqueued)
      .text("last_started_collective")
      .number(-1)
      .text("last_completed_collective")
      .number(completed)
      .op("u");
}
void group(Pickler& p, const std::string& name, const std::string& description,
           const std::string& ranks) {
  p.text(name)
      .op("}(")
      .text("name")
      .text(name)
      .text("desc")
      .text(description)
      .text("ranks")
      .text(ranks)
      .op("u");
}
void entry(Pickler& p, const Op& op) {
  p.op("}(")
      .text("record_id")
      .number(op.record)
      .text("pg_id")
      .number(op.pg)
      .text("process_group")
      .text(op.group)
      .text(op.description)
      .op("\x86");
  p.text("collective_seq_id")
      .number(op.p2p ? 26 : op.sequence)
      .text("p2p_seq_id")
      .number(op.p2p ? op.sequence : 0)
      .text("op_id")
      .number(op.sequence)
      .text("profiling_name")
      .text(op.name);
  p.text("time_created_ns")
      .number(1'795'231'961'000'000'000 + op.record)
      .text("input_sizes")
      .op("]")
      .numbers({64, 32})
      .op("a")
      .text("input_dtypes")
      .op("]")
      .text("BFloat16")
      .op("a");
  p.text("output_sizes")
      .op("]")
      .numbers({64, 32})
      .op("a")
      .text("output_dtypes")
      .op("]")
      .text("BFloat16")
      .op("a")
      .text("state")
      .text(op.state)
      .text("time_discovered_started_ns")
      .none();
  p.text("time_discovered_completed_ns");
  if (op.state == "completed")
    p.number(1'795'231'962'000'000'000);
  else
    p.none();
  p.text("retired")
      .yes(op.state == "completed")
      .text("timeout_ms")
      .number(600'000)
      .text("is_p2p")
      .yes(op.p2p)
      .op("u");
}

struct Part {
  std::vector<std::array<std::string, 3>> groups;
  std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> status;
  std::vector<Op> entries;
  std::string version = "2.9";
};

std::string dump(const Part& part) {
  Pickler p;
  p.op("}(").text("version").text(part.version).text("pg_config").op("}(");
  for (const auto& [name, description, ranks] : part.groups) group(p, name, description, ranks);
  p.op("u").text("nccl_version").text("2.27.3").text("pg_status").op("}(");
  for (const auto& [id, enqueued, completed] : part.status) status(p, id, enqueued, completed);
  p.op("u").text("entries").op("](");
  for (const Op& op : part.entries) entry(p, op);
  return p.op("eu.").out;
}

// "name(p2p) enqueued/started/completed" of each frontier
std::vector<std::string> frontiers(const Rows& rows) {
  std::vector<std::string> out;
  for (const FrontierRow& f : rows.frontiers)
    out.push_back(fmt::format("{}{} {}/{}/{}", rows.groups[index_of(f.group)].name,
                              f.p2p ? "p" : "", f.enqueued, f.started, f.completed));
  return out;
}
// "sequence operation state" of each collective
std::vector<std::string> collectives(const Rows& rows) {
  std::vector<std::string> out;
  for (const CollectiveRow& c : rows.collectives)
    out.push_back(fmt::format("{} {} {}", c.sequence, c.operation, c.state));
  return out;
}
using Lines = std::vector<std::string>;

TEST(FlightRecorder, RankOfAName) {
  for (const auto& [name, rank] : std::vector<std::pair<const char*, std::optional<std::int64_t>>>{
           {"nccl_trace_rank_0", 0},
           {"a/rank_3.json", 3},
           {"trace_rank_container-node02_5", 5},
           {"_dump_12", 12},
           {"comm_lib_trace_rank_7", 7},
           {"hccl_trace_rank_1", 1},
           {"x/rank_9/nccl_trace_rank_10.pkl.gz", 10},
           {"rank3_dump_20260101.pickle", 3},
           {"17", 17},
           {"dump.json", {}},
           {"trace_20261121.json", {}},
           {"local_rank_3", {}},
           {"fr_node_rank_2.json", {}},
           {"", {}},
           {"a/", {}},
           {"rank", {}},
           {"rank_", {}}})
    EXPECT_EQ(number_of(rank_in_name(name)), rank) << name;
}

TEST(FlightRecorder, StatusAndEntries) {
  const Rows rows =
      read("fr/nccl_trace_rank_5", dump({{{"0", "default_pg", "[0, 1, 2, 3, 4, 5, 6, 7]"},
                                          {"7", "TENSOR_MODEL_PARALLEL_GROUP", "[4, 5]"},
                                          {"9", "IDLE", "[5]"}},
                                         {{"0", 3, 3}, {"1", 12, 10}, {"4", -1, -1}},
                                         {{100, 0, "0", "default_pg", 3},
                                          {101, 1, "7", "TENSOR_MODEL_PARALLEL_GROUP", 10},
                                          {102, 1, "7", "TENSOR_MODEL_PARALLEL_GROUP", 11, false,
                                           "nccl:_all_gather_base", "scheduled"},
                                          {103, 1, "7", "TENSOR_MODEL_PARALLEL_GROUP", 12, false,
                                           "nccl:all_reduce", "scheduled"}}}));
  EXPECT_EQ(rows.problems, Lines{});
  EXPECT_EQ(rows.reasons(), "");
  ASSERT_EQ(rows.recorders.size(), 1u);
  const RecorderRow& r = rows.recorders[0];
  EXPECT_EQ(r.rank, Rank(5));
  EXPECT_EQ(r.version, "2.9");
  EXPECT_EQ(r.library, "2.27.3");
  EXPECT_EQ(r.entries, 4);
  EXPECT_EQ(r.pending, 2);
  EXPECT_TRUE(r.has_status);
  EXPECT_FALSE(r.only_active);
  EXPECT_FALSE(r.truncated);
  ASSERT_EQ(rows.groups.size(), 3u);
  EXPECT_EQ(rows.groups[1], (GroupRow{"7", "TENSOR_MODEL_PARALLEL_GROUP", Ranks({4, 5}), 2}));
  EXPECT_EQ(frontiers(rows), (Lines{"0 3/-2/3", "7 12/-2/10", "9 -1/-1/-1"}));
  EXPECT_EQ(collectives(rows), (Lines{"3 all_reduce completed", "10 all_reduce completed",
                                      "11 _all_gather_base scheduled", "12 all_reduce scheduled"}));
  const CollectiveRow& c = rows.collectives[2];
  EXPECT_EQ(c.backend, "nccl");
  EXPECT_EQ(c.record, 102);
  EXPECT_EQ(c.sizes, "in [[64, 32]] out [[64, 32]]");
  EXPECT_EQ(c.types, "BFloat16 -> BFloat16");
  EXPECT_EQ(c.bytes, 4096);
  EXPECT_EQ(c.timeout_ms, 600'000);
  EXPECT_EQ(c.time.ns, 1'795'231'961'000'000'102);
  EXPECT_EQ(c.time.clock, Clock::utc);
  EXPECT_FALSE(c.completed_ns);
  EXPECT_EQ(c.rank, Rank(5));
  ASSERT_EQ(rows.histories.size(), 2u);
  EXPECT_EQ(rows.histories[1].entries.size(), 3u);
  EXPECT_EQ(rows.histories[1].entries[0].signature, rows.histories[1].entries[2].signature);
  EXPECT_NE(rows.histories[1].entries[0].signature, rows.histories[1].entries[1].signature);
}

TEST(FlightRecorder, WithoutStatusRebuilt) {
  Part part{{{"0", "default_pg", "[0, 1]"}}, {}, {}};
  for (int i = 1; i <= 8; ++i)
    part.entries.push_back({i, 0, "0", "default_pg", i, false, "nccl:all_reduce",
                            i == 6 || i == 8 ? "scheduled" : "completed"});
  const Rows rows = read("nccl_trace_rank_1", dump(part));
  EXPECT_EQ(frontiers(rows), (Lines{"0 8/-2/5"}));
  EXPECT_FALSE(rows.recorders[0].has_status);
  EXPECT_EQ(collectives(rows),
            (Lines{"3 all_reduce completed", "4 all_reduce completed", "5 all_reduce completed",
                   "6 all_reduce scheduled", "7 all_reduce completed", "8 all_reduce scheduled"}));
  for (Op& op : part.entries) op.state = "scheduled";
  part.entries.erase(part.entries.begin(), part.entries.begin() + 4);
  EXPECT_EQ(frontiers(read("nccl_trace_rank_1", dump(part))), (Lines{"0 8/-2/4"}));
}

TEST(FlightRecorder, SendAndReceive) {
  const Rows rows =
      read("nccl_trace_rank_8", dump({{{"0", "default_pg", "[0, 4, 8, 12]"},
                                       {"43", "PIPELINE_MODEL_PARALLEL_GROUP", "[12, 8, 4, 0]"}},
                                      {{"0", 5, 5}, {"6", 11986, 11983}},
                                      {{1, 6, "43", "PIPELINE_MODEL_PARALLEL_GROUP", 11984, true,
                                        "nccl:send 2->3", "scheduled"},
                                       {2, 6, "43", "PIPELINE_MODEL_PARALLEL_GROUP", 11985, true,
                                        "nccl:recv 2<-0", "scheduled"},
                                       {3, 6, "43", "PIPELINE_MODEL_PARALLEL_GROUP", 11986, true,
                                        "nccl2:send 2->9", "started"}}}));
  EXPECT_EQ(frontiers(rows), (Lines{"0 5/-2/5", "43p 11986/-2/11983"}));
  ASSERT_EQ(rows.collectives.size(), 3u);
  EXPECT_EQ(rows.collectives[0].operation, "send");
  EXPECT_EQ(rows.collectives[0].peer, Rank(12));
  EXPECT_EQ(rows.collectives[1].operation, "recv");
  EXPECT_EQ(rows.collectives[1].peer, Rank(0));
  EXPECT_EQ(rows.collectives[2].peer, kUnknownRank);  // there is no ninth
  EXPECT_EQ(rows.collectives[2].backend, "nccl2");
  EXPECT_TRUE(rows.collectives[0].p2p);
  EXPECT_TRUE(rows.recorders[0].only_active);
  const Rows unknown =
      read("nccl_trace_rank_8",
           dump({{}, {}, {{1, 6, "43", "", 2, true, "gloo:send 2->3", "scheduled"}}}));
  EXPECT_EQ(unknown.collectives.at(0).peer, kUnknownRank);
  EXPECT_EQ(frontiers(unknown), (Lines{"43p 2/-2/1"}));
  // Both kinds on one group: the status counts the last.
  const Rows both =
      read("nccl_trace_rank_8",
           dump({{{"0", "default_pg", "[0, 8]"}},
                 {{"0", 7, 6}},
                 {{1, 0, "0", "default_pg", 3},
                  {2, 0, "0", "default_pg", 6, true, "nccl:send 1->0"},
                  {3, 0, "0", "default_pg", 7, true, "nccl:recv 1<-0", "scheduled"}}}));
  EXPECT_EQ(frontiers(both), (Lines{"0 3/-2/3", "0p 7/-2/6"}));
  // A status that does not count them.
  const Rows gloo =
      read("nccl_trace_rank_8", dump({{{"0", "default_pg", "[0, 8]"}},
                                      {{"0", -1, -1}},
                                      {{2, 0, "0", "default_pg", 81, true, "gloo:send 1->0"}}}));
  EXPECT_EQ(frontiers(gloo), (Lines{"0p 81/-2/81"}));
}

TEST(FlightRecorder, StatusIsNamedOrDropped) {
  const std::vector<std::array<std::string, 3>> groups{
      {"0", "default_pg", "[0, 1]"}, {"41", "A", "[0, 1]"}, {"112", "B", "[0]"}};
  // Both counters rise with each creation.
  EXPECT_EQ(frontiers(read("rank_0", dump({groups, {{"0", 1, 1}, {"16", 3, 3}, {"5", 2, 2}}, {}}))),
            (Lines{"0 1/-2/1", "112 3/-2/3", "41 2/-2/2"}));
  // An entry contradicts: only what entries name, and what is left over.
  const Rows odd = read(
      "rank_0", dump({groups, {{"0", 1, 1}, {"16", 3, 3}, {"5", 2, 2}}, {{1, 16, "41", "A", 3}}}));
  EXPECT_EQ(frontiers(odd), (Lines{"41 3/-2/3"}));
  EXPECT_EQ(odd.reasons(), "0:recorder.status_unnamed");
  EXPECT_EQ(
      frontiers(read("rank_0", dump({groups,
                                     {{"0", 1, 1}, {"16", 3, 3}, {"5", 2, 2}},
                                     {{1, 16, "41", "A", 3}, {2, 0, "0", "default_pg", 1}}}))),
      (Lines{"0 1/-2/1", "112 2/-2/2", "41 3/-2/3"}));
  // Names that count nothing.
  const std::vector<std::array<std::string, 3>> hashed{
      {"0", "default_pg", "[0, 1]"}, {"9f3a", "A", "[0, 1]"}, {"77c1", "B", "[0]"}};
  const Rows none = read("rank_0", dump({hashed, {{"0", 1, 1}, {"1", 3, 3}, {"2", 2, 2}}, {}}));
  EXPECT_EQ(frontiers(none), Lines{});
  ASSERT_EQ(none.rejects.size(), 1u);
  EXPECT_EQ(none.rejects[0].excerpt, "3 of 3: pg_id 0, 1, 2");
  EXPECT_EQ(none.recorders.at(0).entries, 0);
  EXPECT_TRUE(none.recorders.at(0).only_active);
  EXPECT_EQ(none.groups.size(), 3u);
  // More of the one than of the other.
  EXPECT_EQ(frontiers(read("rank_0", dump({groups, {{"0", 1, 1}, {"5", 2, 2}}, {}}))), Lines{});
}

TEST(FlightRecorder, ANameThatContradictsTheGroups) {
  const Part part{
      {{"0", "default_pg", "[0, 1, 2, 3]"}, {"1", "TP", "[2, 3]"}}, {{"0", 1, 1}, {"1", 1, 1}}, {}};
  EXPECT_EQ(read("rank_2", dump(part)).recorders.at(0).rank, Rank(2));
  EXPECT_EQ(read("fr/rank_2", dump(part)).recorders.at(0).time.clock, Clock::none);
  EXPECT_EQ(read("fr/rank_2.20260917T221530Z", dump(part)).recorders.at(0).time.ns,
            1'789'683'330 * kSecond);
  const Rows rows = read("rank_1", dump(part));
  EXPECT_FALSE(rows.recorders.at(0).rank);
  EXPECT_FALSE(rows.frontiers.at(0).rank);
  EXPECT_EQ(rows.reasons(), "0:recorder.rank_contradicted");
}

TEST(FlightRecorder, CoalescedOperationsFollowTheirLaunch) {
  const std::vector<Op> ops{{1, 0, "0", "default_pg", 4, true, "nccl:send 0->1", "scheduled"},
                            {2, 0, "0", "default_pg", 4, true, "nccl:recv 0<-1", "scheduled"},
                            {3, 0, "0", "default_pg", 4, true, "nccl:coalesced", "completed"},
                            {4, 0, "0", "default_pg", 5, true, "nccl:send 0->1", "scheduled"}};
  const Rows rows = read("rank_0", dump({{{"0", "default_pg", "[0, 1]"}}, {}, ops}));
  EXPECT_EQ(collectives(rows), (Lines{"4 send completed", "4 recv completed",
                                      "4 coalesced completed", "5 send scheduled"}));
  EXPECT_EQ(frontiers(rows), (Lines{"0p 5/-2/4"}));
}

TEST(FlightRecorder, Json) {
  const std::string text =
      R"({"version":"2.4","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":[1,0]}},
"pg_status":{"0":{"last_enqueued_collective":"8","last_started_collective":"8","last_completed_collective":"7"}},
"entries":[{"record_id":1,"pg_id":"0","process_group":["0","default_pg"],"collective_seq_id":7,"p2p_seq_id":0,"profiling_name":"xccl:ALLGATHER_coalesced","input_sizes":[[2,3],[4]],"input_dtypes":"Float","state":"completed","time_discovered_completed_ns":0,"duration_ms":NaN,"retired":true},
{"record_id":2,"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":8,"p2p_seq_id":0,"profiling_name":"barrier","input_sizes":[],"state":"started","time_discovered_started_ns":5,"duration_ms":2,"frames":[{"name":"f","filename":"a.py","line":3},"g"],"new_key":{"a":[1]}}]})";
  const Rows rows = read("rank_1.json", text);
  EXPECT_EQ(rows.problems, Lines{});
  EXPECT_EQ(rows.reasons(), "");
  EXPECT_EQ(frontiers(rows), (Lines{"0 8/8/7"}));
  EXPECT_EQ(collectives(rows), (Lines{"7 allgather_coalesced completed", "8 barrier started"}));
  EXPECT_EQ(rows.collectives[0].bytes, 40);
  EXPECT_EQ(rows.collectives[0].types, "Float -> ");
  EXPECT_EQ(rows.collectives[0].backend, "xccl");
  EXPECT_FALSE(rows.collectives[0].completed_ns);
  EXPECT_FALSE(rows.collectives[0].duration_ms);
  EXPECT_EQ(rows.collectives[1].backend, "");
  EXPECT_EQ(rows.collectives[1].frames,
            (std::vector<Frame>{{"f", "a.py", "", 3, false}, {"g", "", "", 0, false}}));
  EXPECT_EQ(rows.groups.at(0).ranks, Ranks({0, 1}));
  EXPECT_EQ(rows.collectives[1].place.line, 4u);
  EXPECT_EQ(text[rows.collectives[1].place.offset], '{');
  EXPECT_EQ(text[rows.collectives[1].place.offset + rows.collectives[1].place.length - 1], '}');
  for (std::size_t size = 0; size < text.size(); ++size) {
    const Rows cut = read("rank_1.json", text.substr(0, size));
    for (const CollectiveRow& c : cut.collectives)
      EXPECT_TRUE(c.state == (c.sequence == 7 ? "completed" : "started")) << size;
    for (const RecorderRow& r : cut.recorders)
      EXPECT_TRUE(r.truncated && r.rank == Rank(1)) << size;
    for (const FrontierRow& f : cut.frontiers) EXPECT_EQ(f.enqueued, 8) << size;
  }
  EXPECT_EQ(read("rank_1.json", text.substr(0, text.find(",\n{"))).collectives.size(), 1u);
}

// What FlightRecorderHook of torchcomms writes: no status, groups described by their backend.
std::string of_torchcomms(const std::vector<std::string>& entries) {
  return fmt::format(
      R"({{"comm_lib_version":"2.27","entries":[{}],"pg_config":{{"main_comm":{{"desc":"nccl","name":"main_comm","ranks":"[0,1]"}},"stage":{{"desc":"nccl","name":"stage","ranks":"[0,1]"}}}},"pg_status":{{}},"version":"2.10"}})",
      fmt::join(entries, ","));
}
std::string of_torchcomms(std::int64_t record, const std::string& group, const std::string& name,
                          const std::string& state, bool retired) {
  return fmt::format(
      R"({{"collective_seq_id":{0},"input_dtypes":["Float"],"input_sizes":[[4]],"is_p2p":false,"op_id":{0},"p2p_seq_id":0,"pg_id":0,"process_group":["{1}","nccl"],"profiling_name":"nccl:{2}","record_id":{0},"retired":{4},"state":"{3}","time_created_ns":{5},"time_discovered_completed_ns":{6},"time_discovered_started_ns":0,"timeout_ms":600000}})",
      record, group, name, state, retired, 1'795'231'961'000'000'000 + record,
      state == "completed" ? 1'795'231'961'500'000'000 : 0);
}

// An operation is over when it is retired: an event that is not recorded counts as over, and
// without CUDA there are no events.
TEST(FlightRecorder, TorchcommsRetiresWhatIsOver) {
  const Rows rows =
      read("comm_lib_trace_rank_1",
           of_torchcomms({of_torchcomms(7, "main_comm", "all_reduce", "scheduled", true),
                          of_torchcomms(8, "main_comm", "broadcast", "completed", true),
                          of_torchcomms(9, "main_comm", "all_reduce", "completed", false)}));
  EXPECT_EQ(rows.reasons(), "");
  EXPECT_EQ(collectives(rows),
            (Lines{"7 all_reduce completed", "8 broadcast completed", "9 all_reduce scheduled"}));
  EXPECT_EQ(frontiers(rows), (Lines{"main_comm 9/-2/8"}));
  EXPECT_FALSE(rows.collectives[2].completed_ns);
}

// One counter counts the operations of all groups, sends too: as long as the dump has all of them,
// each is counted by itself.
TEST(FlightRecorder, TorchcommsCountsEachGroupByItself) {
  const Rows rows = read(
      "rank_0", of_torchcomms({of_torchcomms(0, "main_comm", "all_reduce", "started", true),
                               of_torchcomms(1, "stage", "send", "started", true),
                               of_torchcomms(2, "stage", "all_gather", "started", true),
                               of_torchcomms(3, "stage", "send", "started", false),
                               of_torchcomms(4, "main_comm", "all_reduce", "started", false)}));
  EXPECT_EQ(rows.reasons(), "");
  EXPECT_EQ(frontiers(rows), (Lines{"main_comm 1/-2/0", "stage 0/-2/0", "stagep 1/-2/0"}));
  const Rows part =
      read("rank_0", of_torchcomms({of_torchcomms(101, "stage", "send", "started", true),
                                    of_torchcomms(102, "stage", "all_gather", "started", false)}));
  EXPECT_EQ(part.reasons(), "0:recorder.counts_of_process");
  EXPECT_EQ(frontiers(part), Lines{});
  EXPECT_EQ(collectives(part), (Lines{"-2 send completed", "-2 all_gather scheduled"}));
}

// What PyTorch's debug server shows of the recorders of all ranks, saved from a browser or by curl.
TEST(FlightRecorder, PageOfAllRanks) {
  const auto part = [](int rank, const std::string& body) {
    return fmt::format(
        "\n        <h2>Rank {}: http://node-0{}:64509/handler/torchcomms_fr_trace_json?</h2>\n{}",
        rank, rank, body);
  };
  const auto dumped = [](std::int64_t last) {
    std::vector<std::string> entries;
    for (std::int64_t i = 0; i <= last; ++i)
      entries.push_back(of_torchcomms(i, "main_comm", "all_reduce", "scheduled", i < 2));
    return "<pre>" + of_torchcomms(entries) + "</pre>\n";
  };
  const std::string page =
      "<!doctype html>\n<head>\n<title>TorchComms FlightRecorder</title>\n</head>\n" +
      part(0, dumped(2)) + part(1, dumped(1)) +
      part(2, "<p>Failed to fetch: status=503</p>\n<pre>ConnectionError: refused</pre>\n");
  const Rows rows = read("fr.html", page);
  EXPECT_EQ(rows.problems, Lines{});
  EXPECT_EQ(rows.reasons(), "12:recorder.rank_without_answer");
  EXPECT_EQ(frontiers(rows), (Lines{"main_comm 2/-2/1", "main_comm 1/-2/1"}));
  ASSERT_EQ(rows.recorders.size(), 2u);
  EXPECT_EQ(rows.recorders[1].rank, Rank(1));
  EXPECT_EQ(rows.frontiers[1].rank, Rank(1));
  ASSERT_EQ(rows.identities.size(), 3u);
  EXPECT_EQ(rows.identities[1].host, Host("node-01"));
  for (const CollectiveRow& c : rows.collectives) {
    EXPECT_EQ(page[c.place.offset], '{');
    EXPECT_EQ(page[c.place.offset + c.place.length - 1], '}');
    EXPECT_EQ(c.place.line, c.rank == Rank(0) ? 7u : 10u);
  }
  for (std::size_t size = 0; size < page.size(); size += 7)
    for (const FrontierRow& f : read("fr.html", page.substr(0, size)).frontiers)
      EXPECT_EQ(f.completed, 1) << size;
}

TEST(FlightRecorder, PickleCutAnywhere) {
  const std::string bytes =
      dump({{{"0", "default_pg", "[0, 1, 5]"}, {"7", "TP", "[4, 5]"}},
            {{"0", 3, 3}, {"1", 12, 10}},
            {{100, 0, "0", "default_pg", 3},
             {101, 1, "7", "TP", 11, false, "nccl:all_reduce", "scheduled"},
             {102, 1, "7", "TP", 12, false, "nccl:all_reduce", "scheduled"}}});
  const Rows whole = read("nccl_trace_rank_5", bytes);
  const auto all = collectives(whole);
  const auto ahead = frontiers(whole);
  std::size_t most = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Rows cut = read("nccl_trace_rank_5", bytes.substr(0, size));
    for (const RecorderRow& r : cut.recorders)
      EXPECT_TRUE(r.truncated && r.rank == Rank(5) && !r.only_active) << size;
    for (const std::string& line : collectives(cut))
      EXPECT_NE(std::find(all.begin(), all.end(), line), all.end()) << size << line;
    for (const std::string& line : frontiers(cut))
      EXPECT_NE(std::find(ahead.begin(), ahead.end(), line), ahead.end()) << size << line;
    most = std::max(most, cut.collectives.size());
  }
  EXPECT_EQ(most, 3u);
}

TEST(FlightRecorder, OddDumps) {
  Part part{{{"0", "default_pg", ""}}, {}, {{1}}};
  part.version = "3.1";
  const Rows later = read("rank_0", dump(part));
  EXPECT_EQ(later.reasons(), "0:recorder.version");
  EXPECT_EQ(later.collectives.size(), 1u);
  EXPECT_EQ(later.groups.at(0).size, 0);
  // The first versions: a list, one sequence number, no group names. Such a group is no other
  // process's.
  Pickler p;
  p.op("](}(")
      .text("record_id")
      .number(4)
      .text("pg_id")
      .number(2)
      .text("seq_id")
      .number(9)
      .text("profiling_name")
      .text("nccl:all_reduce")
      .text("state")
      .text("scheduled")
      .op("ue.");
  const Rows first = read("a/rank_0", p.out);
  EXPECT_EQ(collectives(first), (Lines{"9 all_reduce scheduled"}));
  EXPECT_EQ(first.groups.at(0).description, "pg_id 2 of a/rank_0");
  // Code.
  const std::string good = dump({{{"0", "default_pg", "[0]"}}, {}, {{1}}});
  const Rows evil = read("rank_0", good.substr(0, good.size() - 1) + "cos\nsystem\n(S'x'\ntR.");
  EXPECT_EQ(evil.problems, (Lines{fmt::format("pickle.refused_GLOBAL at {}", good.size() - 1)}));
  EXPECT_TRUE(evil.recorders.empty() && evil.groups.empty() && evil.rejects.empty());
  EXPECT_EQ(read("model.bin", std::string("\x80\x02}q\0.", 6)).problems, (Lines{"not recognised"}));
  EXPECT_EQ(read("x.json", "{\"level\": \"info\", \"profiling_name\": 3}").problems,
            (Lines{"not recognised"}));
  // A list that holds one entry a hundred thousand times, whose shape holds itself.
  Pickler loops;
  loops.op("}(")
      .text("version")
      .text("2.4")
      .text("pg_config")
      .op("}")
      .text("entries")
      .op("](}q\x64(")
      .text("profiling_name")
      .text("nccl:x")
      .text("input_sizes")
      .op("]q\x65(");
  for (int i = 0; i < 2000; ++i) loops.op("h\x65");
  loops.op("eu");
  for (int i = 0; i < 50'000; ++i) loops.op("h\x64");
  const Rows many = read("rank_0", loops.op("eu.").out);
  EXPECT_EQ(many.recorders.size(), 1u);
  EXPECT_NE(many.reasons().find("recorder.too_much"), std::string::npos);
}

std::string file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(FlightRecorder, RealDumps) {
  const std::string folder = std::string(CULPRIT_SHARED_DIR) + "/formats/flight_recorder";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no samples here";
  for (int rank = 0; rank < 16; ++rank) {
    const Rows rows = read(fmt::format("_dump_{}", rank),
                           file(fmt::format("{}/nvrx_lock_gil_1st/_dump_{}", folder, rank)));
    ASSERT_EQ(rows.recorders.size(), 1u);
    EXPECT_EQ(rows.reasons(), "");
    EXPECT_EQ(rows.recorders[0].entries == 0, rank == 9 || rank == 14) << rank;
    EXPECT_EQ(rows.recorders[0].rank, Rank(rank));
    EXPECT_TRUE(rows.recorders[0].only_active);
    EXPECT_EQ(rows.frontiers.size(), rows.groups.size()) << rank;
    const Rows other = read(fmt::format("_dump_{}", rank),
                            file(fmt::format("{}/nvrx_gpu_error_1st/_dump_{}", folder, rank)));
    EXPECT_EQ(other.problems, Lines{});
    for (std::size_t i = 0; i < other.frontiers.size(); ++i)
      EXPECT_GE(other.frontiers[i].enqueued, other.frontiers[i].completed);
  }
  const Rows rows = read("_dump_12", file(folder + "/nvrx_gpu_error_1st/_dump_12"));
  const auto ahead = frontiers(rows);
  EXPECT_NE(std::find(ahead.begin(), ahead.end(), "43p 11980/-2/11976"), ahead.end());
  EXPECT_NE(std::find(ahead.begin(), ahead.end(), "41 42817/-2/42805"), ahead.end());
  const Rows json = read("_dump_12", file(folder + "/nvrx_gpu_error_1st_dump_12_as_json.json"));
  EXPECT_EQ(frontiers(json), ahead);
  EXPECT_EQ(collectives(json), collectives(rows));
}

TEST(FlightRecorder, PickleAndJsonTellTheSame) {
  const std::string folder = std::string(CULPRIT_SHARED_DIR) + "/bundles/hang-a/bundle";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no samples here";
  for (const int rank : {0, 4, 5}) {
    Rows a = read(fmt::format("rank_{}", rank),
                  file(fmt::format("{}/flight_recorder/nccl_trace_rank_{}", folder, rank)));
    Rows b = read(fmt::format("rank_{}", rank),
                  file(fmt::format("{}/flight_recorder_json/rank_{}.json", folder, rank)));
    EXPECT_EQ(frontiers(a), frontiers(b));
    EXPECT_EQ(collectives(a), collectives(b));
    EXPECT_EQ(a.groups, b.groups);
    ASSERT_EQ(a.collectives.size(), b.collectives.size());
    for (std::size_t i = 0; i < a.collectives.size(); ++i) {
      const CollectiveRow &x = a.collectives[i], &y = b.collectives[i];
      EXPECT_EQ(std::tie(x.record, x.backend, x.peer, x.sizes, x.types, x.bytes, x.started_ns,
                         x.completed_ns, x.timeout_ms, x.retired, x.p2p, x.group),
                std::tie(y.record, y.backend, y.peer, y.sizes, y.types, y.bytes, y.started_ns,
                         y.completed_ns, y.timeout_ms, y.retired, y.p2p, y.group));
      EXPECT_NEAR(x.duration_ms.value_or(-1), y.duration_ms.value_or(-1), 1e-5);
      EXPECT_TRUE(y.frames.empty());
    }
    ASSERT_EQ(a.histories.size(), b.histories.size());
    for (std::size_t i = 0; i < a.histories.size(); ++i)
      for (std::size_t k = 0; k < a.histories[i].entries.size(); ++k)
        EXPECT_EQ(a.histories[i].entries[k].signature, b.histories[i].entries[k].signature);
    EXPECT_TRUE(std::any_of(a.collectives.begin(), a.collectives.end(),
                            [](const CollectiveRow& c) { return !c.frames.empty(); }));
  }
}

}  // namespace
}  // namespace culprit::ingest
