// What pages share: whose names stand in them, where texts are cut, what an open verdict shows.
#include "report/fields.hpp"

#include <gtest/gtest.h>

namespace culprit::report {
namespace {

using nlohmann::json;

json finding(const char* id, const char* severity, const char* role) {
  return {{"id", id},
          {"outcome", "fired"},
          {"severity", severity},
          {"role", role},
          {"class", "nccl_rank_twice"},
          {"title", "rank given twice"},
          {"evidence", {{{"path", "a.log"}, {"line", 1}}}}};
}

TEST(Fields, TextsAreCutBetweenWords) {
  EXPECT_EQ(shortened("short", 10), "short");
  EXPECT_EQ(shortened("timed out waiting for the others", 24), "timed out waiting for…");
  EXPECT_EQ(shortened("error: reason of it all", 8), "error…");
  EXPECT_EQ(shortened("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 10), "aaaaaaaaa…");
  EXPECT_EQ(shortened("äöüäöü", 4), "äöü…");
  EXPECT_EQ(cut_at("one two", 5), 3u);
}

TEST(Fields, TargetsAreCalledAsPeopleCallThem) {
  json d = {{"verdict", {{"action", "repair"}}},
            {"findings", {finding("classify/x", "critical", "root")}}};
  const auto target = [](const char* kind, const char* id) {
    return json{{"kind", kind}, {"id", id}, {"because", {"classify/x"}}};
  };
  EXPECT_EQ(target_name(d, target("config", "nccl_rank_twice")), "rank given twice");
  EXPECT_EQ(target_name(d, target("config", "n1: nccl_rank_twice")), "n1: rank given twice");
  EXPECT_EQ(target_name(d, target("config", "size of /dev/shm")), "config size of /dev/shm");
  EXPECT_EQ(target_name(d, target("job", "job")), "rank given twice");
  EXPECT_EQ(target_name(d, target("host", "0000:db:00")), "the host of GPU 0000:db:00");
  EXPECT_EQ(target_name(d, target("host", "node-07")), "node-07");
  EXPECT_EQ(target_name(d, target("rank", "3")), "rank 3");
  d["verdict"]["action"] = "checks";
  EXPECT_EQ(target_name(d, target("job", "job")), "the job");
}

TEST(Fields, LinksOfTheChainSayWhichRanks) {
  json f = finding("x", "warning", "cascade");
  f["ranks"] = "0-7";
  json d = {{"findings", {f}}};
  const auto who = [&](const char* words) {
    return chain_who(d, {{"who", words}, {"finding", "x"}});
  };
  EXPECT_EQ(who("8 ranks"), "ranks 0-7");
  EXPECT_EQ(who("node-1"), "node-1");
  d["findings"][0]["ranks"] = "0,2,4,6,8,10,12,14,16-19";
  EXPECT_EQ(who("12 ranks"), "ranks 0,2,4,6,8 and 7 more");
  d["findings"][0]["subject"] = {{"kind", "rank"}, {"id", "5"}};
  EXPECT_EQ(who("5"), "rank 5");
  d["findings"][0]["hosts"] = "node[0-1]";
  EXPECT_EQ(who("2 hosts"), "node[0-1]");
}

TEST(Fields, TheLedgerIsLeftOutOfTheTextOfADocument) {
  const json row = {{"path", "a]\"}[{\\,\n"}, {"lines", 3}};
  const json d = {
      {"findings", json::array()}, {"ledger", {row, row}}, {"verdict", {{"ledger", {row}}}}};
  for (const int indent : {-1, 2}) {
    const json page = without_ledger(d.dump(indent));
    EXPECT_EQ(page["ledger"], json::array());
    EXPECT_EQ(page["verdict"], d["verdict"]);
    EXPECT_EQ(with_grounds(d.dump(indent)), page);
  }
  EXPECT_EQ(without_ledger(R"({"ledger": 7})")["ledger"], 7);
  EXPECT_EQ(without_ledger(R"({"ledger": []})")["ledger"], json::array());
  for (const char* broken : {R"({"ledger": [{"a": 1})", "[1", "", R"({"ledger": [] "x"})"})
    EXPECT_TRUE(without_ledger(broken).is_discarded()) << broken;
}

TEST(Fields, AnOpenVerdictShowsTheStrongestThatFired) {
  json d = {{"verdict", {{"action", "investigate"}, {"targets", json::array()}}},
            {"findings",
             {finding("a", "warning", "root"), finding("b", "critical", "cascade"),
              finding("c", "critical", "root"), finding("d", "info", "root")}}};
  const std::vector<std::string> strongest{"c", "b", "a"};
  EXPECT_EQ(shown_grounds(d), strongest);
  EXPECT_EQ(shown_grounds(with_grounds(d.dump(2))), strongest);
  d["verdict"]["action"] = "none";
  EXPECT_TRUE(shown_grounds(d).empty());
}

}  // namespace
}  // namespace culprit::report
