#include <set>

#include <gtest/gtest.h>

#include "model/json.hpp"
#include "report/report.hpp"
#include "support/hostile.hpp"
#include "support/ranks.hpp"
#include "support/hosts.hpp"

namespace {

using namespace culprit;

std::string html(const report::Incident& incident) {
  return report::find_format("html")->render(report::to_json(incident), {});
}

// Everything that a browser would load or run.
void expect_inert(const std::string& page) {
  for (const char* part : {"<script", "<link", "<img", "<iframe", "<object", "<embed", "<form",
                           "javascript:", " src=", "url(", "@import", "<a href=\"http", "xlink:"})
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  EXPECT_NE(
      page.find(
          "Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\""),
      std::string::npos);
}

TEST(Html, EscapesWhatItQuotes) {
  const std::string page = html(test::hostile_incident());
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find('\0'), std::string::npos);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_EQ(page.find("\xe2\x80\xae"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;"), std::string::npos);
  EXPECT_EQ(page.find("\" onload"), std::string::npos);
  EXPECT_NE(page.find("Content-Security-Policy"), std::string::npos);
}

report::Incident usual() {
  report::Incident incident;
  Verdict& v = incident.verdict;
  v.action = Action::isolate;
  v.summary = std::string("node-3 lost a GPU.");
  v.start = 1'700'000'000 * kSecond;
  v.targets.push_back({{SubjectKind::host, "node-3"}, 0.9, {"f"}});
  v.chain.push_back({v.start, std::string("node-3"), std::string("GPU lost"), "f"});
  Finding f;
  f.id = "f";
  f.analysis = Analysis::classify;
  f.title = std::string("GPU lost");
  f.role = Role::root;
  f.severity = Severity::critical;
  f.subject = {SubjectKind::host, "node-3"};
  f.hosts = Hosts({"node-3"});
  f.start = f.end = v.start;
  f.evidence.push_back({1, "dmesg.txt", 12, 700, 5, "Xid 79"});
  incident.findings.push_back(f);
  incident.map.total = 16;
  incident.map.hosts = {{"node-2", Ranks({0, 1, 2, 3, 4, 5, 6, 7})},
                        {"node-3", Ranks({8, 9, 10, 11, 12, 13, 14, 15})}};
  incident.map.ranks.resize(kRankStates);
  incident.map.ranks[0] = Ranks({9});
  incident.map.ranks[5] = Ranks({0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15});
  for (int i = 0; i < 60; ++i) {
    incident.steps.iteration.push_back(i);
    incident.steps.ms.push_back(i < 30 ? 100 : 160);
  }
  incident.steps.rows = 60;
  incident.steps.baseline = 100;
  incident.steps.slow.push_back({30, 60, 30, 59, 1.6, true});
  incident.time = {{"training", 50 * kSecond}, {"slow", 10 * kSecond}};
  return incident;
}

// All pictures at once; `name` stands wherever the bundle's text may.
report::Incident full(const std::string& name = "node-3") {
  report::Incident incident = usual();
  incident.waits.source = "stacks";
  incident.waits.nodes = {{Ranks({0, 1}), 2, name, name, 1, false},
                          {Ranks({9}), 1, name, name, 0, true}};
  incident.waits.edges = {{0, 1, name}};
  incident.stacks.processes = 3;
  incident.stacks.nodes = {
      {{name, name}, 0, 3, 1, "0-2"}, {{name}, 1, 2, 0, "0-1"}, {{name}, 1, 1, 1, "2"}};
  incident.stacks.odd = {{"2", name, name, {name, name}}};
  MetricPanel panel;
  panel.metric = panel.unit = panel.entity = panel.crowd_name = name;
  panel.begin = 1'700'000'000 * kSecond;
  panel.end = panel.begin + 600 * kSecond;
  panel.out_begin = panel.begin + 300 * kSecond;
  panel.out_end = panel.end;
  panel.value = {1, 1, 9, 9};
  panel.low = {1, 1, 1, 1};
  panel.middle = {2, 2, 2, 2};
  panel.high = {3, 3, 3, 3};
  panel.crowd = 7;
  incident.metrics = {panel};
  incident.settings.lines = {{name, {{name, name, 2}, {name + "2", name, 1}}, name, true},
                             {name, {{name, name, 3}}, "", false}};
  incident.settings.same = incident.settings.differing = 1;
  incident.steps.loss.assign(60, 2.5);
  incident.steps.loss[3] = -1;
  incident.steps.grad_norm.assign(60, 0.1);
  incident.steps.bad = {59};
  incident.steps.restarts = {30};
  Finding& f = incident.findings.front();
  f.alerts = {{f.start, *f.start + 9 * kSecond, {}, true}, {*f.start + kSecond, {}, {}, false}};
  return incident;
}

TEST(Html, DrawsEveryPicture) {
  const std::string page = html(full());
  expect_inert(page);
  for (const char* id :
       {"timeline", "waits", "ranks", "stacks", "steps", "time", "metrics", "evidence", "settings"})
    EXPECT_NE(page.find(std::string("<h2 id=\"") + id + "\">"), std::string::npos) << id;
  // A sentence leads to what proves it.
  EXPECT_NE(page.find("<a href=\"#finding-1\">GPU lost</a>"), std::string::npos);
  EXPECT_NE(page.find("<h3 id=\"finding-1\">"), std::string::npos);
  EXPECT_NE(page.find("class=\"cleared\""), std::string::npos);
  EXPECT_NE(page.find("class=\"open\""), std::string::npos);
}

TEST(Html, EscapesWhatItDraws) {
  const std::string page = html(full("<script>\"'&\x1b]]>--></svg>"));
  expect_inert(page);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_EQ(page.find("></svg>\""), std::string::npos);
}

TEST(Html, HasASectionForEachKindOfData) {
  const std::string page = html(usual());
  expect_inert(page);
  for (const char* id : {"timeline", "ranks", "steps", "time", "evidence"})
    EXPECT_NE(page.find(std::string("<h2 id=\"") + id + "\">"), std::string::npos) << id;
  EXPECT_NE(page.find("culprit show f -d incident.db"), std::string::npos);
  EXPECT_NE(page.find("dmesg.txt:12"), std::string::npos);
  EXPECT_NE(page.find("+60 %"), std::string::npos);
  const std::string bare = html({});
  for (const char* id : {"timeline", "ranks", "steps", "time", "evidence"})
    EXPECT_EQ(bare.find(std::string("<h2 id=\"") + id + "\">"), std::string::npos) << id;
}

// Every picture has words for those who do not see it, and ids are not given twice.
TEST(Html, PicturesHaveTextAlternatives) {
  const std::string page = html(full());
  std::size_t pictures = 0;
  for (std::size_t at = page.find("<svg "); at != std::string::npos;
       at = page.find("<svg ", at + 1)) {
    ++pictures;
    const std::string head = page.substr(at, 500);
    EXPECT_NE(head.find("role=\"img\""), std::string::npos);
    EXPECT_NE(head.find("<title id="), std::string::npos);
    EXPECT_NE(head.find("<desc id="), std::string::npos);
  }
  EXPECT_EQ(pictures, 7u);
  std::set<std::string> ids;
  for (std::size_t at = page.find(" id=\""); at != std::string::npos;
       at = page.find(" id=\"", at + 1))
    EXPECT_TRUE(ids.insert(page.substr(at + 5, page.find('"', at + 5) - at - 5)).second);
}

// A hundred thousand ranks with as many findings as there may be: three megabytes.
TEST(Html, StaysSmall) {
  report::Incident incident = usual();
  incident.map.total = CULPRIT_RANKS_OF_A_PAGE;
  incident.map.hosts.clear();
  incident.map.ranks.assign(kRankStates, {});
  for (std::int64_t r = 0; r < CULPRIT_RANKS_OF_A_PAGE; ++r) {
    if (r % 8 == 0) incident.map.hosts.push_back({"node-" + std::to_string(r / 8), {}});
    incident.map.hosts.back().second.push_back(Rank(r));
    incident.map.ranks[r % 3 == 0 ? 5 : 7].push_back(Rank(r));
  }
  Finding f = incident.findings.front();
  f.evidence.assign(64, f.evidence.front());
  std::vector<MemberRow> members;
  for (auto& e : f.evidence) e.excerpt.assign(1000, '<');
  for (int i = 0; i < CULPRIT_RANKS_OF_A_PAGE / 33; ++i) {
    f.id = "f" + std::to_string(i);
    f.hosts = Hosts({"node-" + std::to_string(i)});
    *f.start += kSecond;
    f.end = f.start;
    incident.findings.push_back(f);
    MemberRow m;
    m.id = i + 1;
    m.path = "logs/node-" + std::to_string(i) + "/rank.log";
    members.push_back(m);
  }
  incident.members = members;
  const std::string page = html(incident);
  EXPECT_LT(page.size(), 3'000'000u);
  expect_inert(page);
}

TEST(Html, TakesAnyDocument) {
  for (const char* document :
       {"", "[]", "{}",
        "{\"verdict\":3,\"findings\":[1,{\"id\":[]}],\"bundle\":null,\"steps\":{\"ms\":[1,null,-2,"
        "1e308],"
        "\"iteration\":[\"a\"],\"slow\":[3,{\"begin\":-1e300,\"end\":1e300}],\"restarts\":[-1,99]},"
        "\"rank_map\":{\"total\":9,"
        "\"hosts\":[1,{\"host\":2,\"ranks\":\"0-99,3\"}],\"states\":{\"failed\":\"-1\",\"slow\":"
        "\"7-3\"}},\"time\":[{\"seconds\":1e300}]}",
        "{\"waits\":{\"nodes\":[{\"layer\":1e9},{\"layer\":18446744073709551615}],\"edges\":[{"
        "\"from\":9,"
        "\"to\":-1}]},\"stack_tree\":{\"processes\":0,\"nodes\":[{\"frames\":[\"a\"],\"depth\":7},"
        "{\"frames\":[3],\"processes\":-1},{}]},\"metrics\":[1,{\"value\":[null,1e308,-1e308],"
        "\"start\":\"x\"}],\"settings\":{\"lines\":[{\"values\":[1,{}]},2]},\"findings\":[{\"id\":"
        "\"a\","
        "\"alerts\":[3,{\"start\":\"2026-99-01T00:00:00Z\",\"cleared\":7}]}]}",
        "{\"stack_tree\":{\"nodes\":[{\"frames\":[\"a\"],\"depth\":0},{\"frames\":[\"b\"],"
        "\"depth\":1},"
        "{\"frames\":[],\"depth\":1}]}}",
        "{\"rank_map\":{\"total\":18446744073709551615},\"findings\":[{\"id\":\"x\",\"outcome\":"
        "\"fired\",\"interval\":"
        "{\"start\":\"2026-99-99T99:99:99Z\",\"end\":\"xxxxxxxxxxTxxxxxxxxxZ\",\"uncertainty_ns\":"
        "1e300}}]}"})
    EXPECT_NE(report::find_format("html")->render(document, {}).find("</html>"), std::string::npos);
}

}  // namespace
