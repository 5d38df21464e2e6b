// Messages for Slack and Jira: the limits of the services hold, and no text of a bundle pings,
// links or ends its place.
#include <set>

#include <gtest/gtest.h>

#include "model/json.hpp"
#include "report/report.hpp"
#include "support/hostile.hpp"
#include "support/printed.hpp"

namespace {

using namespace culprit;
using nlohmann::json;

const std::string kUrl = "https://reports.example/{job}/{digest}";

std::string without(std::string text, const std::string& piece) {
  for (std::size_t at; (at = text.find(piece)) != std::string::npos;) text.erase(at, piece.size());
  return text;
}

// `link`: our own, which may stand in one text.
void check_text_object(const json& t, const std::string& link) {
  std::string text = t.at("text");
  EXPECT_FALSE(text.empty());
  EXPECT_LE(text.size(), 3000u);
  if (t.at("type") == "plain_text") {
    EXPECT_EQ(t.at("emoji"), false);
    EXPECT_EQ(without(text, "@\u2060").find('@'), std::string::npos) << text;
  } else {
    EXPECT_EQ(t.at("type"), "mrkdwn");
    EXPECT_EQ(t.at("verbatim"), true);
    if (!link.empty() && text == "<" + link + "|whole report>") return;
    // All of it is one code span or block.
    const std::string fence = text.starts_with("```\n") ? "```" : "`";
    ASSERT_TRUE(text.size() > 2 * fence.size() && text.starts_with(fence) && text.ends_with(fence));
    EXPECT_EQ(text.substr(fence.size(), text.size() - 2 * fence.size()).find('`'),
              std::string::npos);
  }
  EXPECT_EQ(text.find_first_of("<>"), std::string::npos) << text;
  for (const char* entity : {"&amp;", "&lt;", "&gt;"}) text = without(text, entity);
  EXPECT_EQ(text.find('&'), std::string::npos) << text;
}

void check_slack(const std::string& message, const std::string& link = "") {
  const json d = json::parse(message, nullptr, false);
  ASSERT_TRUE(d.is_object());
  EXPECT_EQ(d.size(), 2u);
  EXPECT_LE(d.at("text").get<std::string>().size(), 3000u);
  check_text_object({{"type", "plain_text"}, {"emoji", false}, {"text", d.at("text")}}, "");
  const json& blocks = d.at("blocks");
  ASSERT_FALSE(blocks.empty());
  EXPECT_LE(blocks.size(), 50u);
  EXPECT_EQ(blocks[0].at("type"), "header");
  EXPECT_EQ(blocks[0].at("text").at("type"), "plain_text");
  EXPECT_LE(blocks[0].at("text").at("text").get<std::string>().size(), 150u);
  for (const json& b : blocks) {
    EXPECT_TRUE((std::set<std::string>{"header", "section", "context"}).count(b.at("type")));
    if (b["type"] == "context") {
      ASSERT_TRUE(!b.at("elements").empty() && b["elements"].size() <= 10u);
      for (const json& e : b["elements"]) check_text_object(e, link);
    } else {
      check_text_object(b.at("text"), link);
    }
  }
}

// What of the format is used: the nodes and marks, and what may stand in which.
void check_adf(const json& node, const std::string& link) {
  static const std::map<std::string, std::set<std::string>> kMayHold{
      {"doc", {"heading", "paragraph", "bulletList", "codeBlock"}},
      {"heading", {"text"}},
      {"paragraph", {"text"}},
      {"codeBlock", {"text"}},
      {"bulletList", {"listItem"}},
      {"listItem", {"paragraph"}}};
  const std::string type = node.at("type");
  if (type == "text") {
    EXPECT_FALSE(node.at("text").get<std::string>().empty());
    for (const json& mark : node.value("marks", json::array())) {
      const std::string kind = mark.at("type");
      EXPECT_TRUE((std::set<std::string>{"strong", "em", "code", "link"}).count(kind)) << kind;
      if (kind == "link") {
        EXPECT_EQ(mark.at("attrs").at("href"), link);
        EXPECT_EQ(node["text"], "Whole report");
      }
    }
    return;
  }
  ASSERT_TRUE(kMayHold.count(type)) << type;
  ASSERT_FALSE(node.at("content").empty());
  for (const json& child : node["content"]) {
    EXPECT_TRUE(kMayHold.at(type).count(child.at("type"))) << child;
    if (type == "codeBlock") { EXPECT_FALSE(child.contains("marks")); }
    check_adf(child, link);
  }
}

void check_jira(const std::string& message, const std::string& link = "") {
  const json d = json::parse(message, nullptr, false);
  ASSERT_TRUE(d.is_object());
  EXPECT_LE(message.size(), 32767u);
  EXPECT_EQ(d.at("version"), 1);
  EXPECT_EQ(d.at("type"), "doc");
  check_adf(d, link);
}

std::string rendered(const char* format, const std::string& document, const std::string& url = "") {
  report::RenderOptions options;
  options.url = url;
  return report::find_format(format)->render(document, options);
}

TEST(Chat, SamplesKeepTheLimits) {
  for (const char* sample : {"gpu-off-bus", "clean-run", "hang-silent-rank", "leaf-switch"}) {
    const std::string command =
        std::string(CULPRIT_BINARY) + " diagnose -q --json " + CULPRIT_SAMPLES_DIR + "/" + sample;
    const std::string document = test::printed(command).text;
    check_slack(rendered("slack", document));
    check_jira(rendered("jira", document));
  }
}

TEST(Chat, HostileTextStaysText) {
  for (std::string evil :
       {test::hostile(), std::string("<!channel> @channel <@U1> <https://evil|x> &lt;!here&gt;"),
        std::string("``` <!here> ``` `x` *b* [~admin] @everyone https://evil/"),
        std::string(4000, '<'), std::string(4000, '@'), std::string(4000, '`')}) {
    report::Incident incident = test::hostile_incident();
    incident.verdict.summary = evil;
    incident.verdict.targets[0].subject.id = evil;
    incident.verdict.next[0].text = evil;
    incident.findings[0].title = Text(evil);
    incident.findings[0].evidence[0].path = evil;
    incident.findings[0].evidence[0].excerpt = evil;
    incident.identity.job_id = "../" + evil;
    const std::string document = report::to_json(incident);
    const json d = json::parse(rendered("slack", document, kUrl));
    // The one link: where it was configured, with nothing of the id that ends or climbs.
    const std::string text = d["blocks"].back()["elements"][0]["text"];
    const std::string link = text.substr(1, text.find('|') - 1);
    EXPECT_TRUE(link.starts_with("https://reports.example/..%2F")) << link;
    EXPECT_TRUE(link.ends_with("/report.html")) << link;
    check_slack(rendered("slack", document, kUrl), link);
    check_jira(rendered("jira", document, kUrl), link);
  }
}

TEST(Chat, SaysTheAnswerThreeFactsAndTheNextStep) {
  json d = {{"verdict",
             {{"action", "isolate"},
              {"precision", "exact"},
              {"summary", "It fell."},
              {"targets", {{{"kind", "host"}, {"id", "gpu-07"}, {"because", {"a"}}}}},
              {"next", {{{"kind", "command"}, {"text", "scontrol update x"}}}},
              {"chain", json::array()}}},
            {"job", {{"id", "41"}, {"name", nullptr}}},
            {"findings", json::array()}};
  for (const char* id : {"a", "b", "c", "d"}) {
    d["findings"].push_back({{"id", id},
                             {"title", std::string("title ") + id},
                             {"subject", {{"kind", "host"}, {"id", "gpu-07"}}},
                             {"evidence", {{{"path", "dmesg"}, {"line", 3}, {"excerpt", "Xid"}}}}});
    d["verdict"]["chain"].push_back({{"who", "gpu-07"}, {"what", id}, {"finding", id}});
  }
  const json slack = json::parse(rendered("slack", d.dump()));
  std::vector<std::string> texts;
  for (const json& b : slack["blocks"])
    texts.push_back(b["type"] == "context" ? b["elements"][0]["text"] : b["text"]["text"]);
  EXPECT_EQ(texts, (std::vector<std::string>{"ISOLATE gpu-07", "It fell.", "• title a (gpu-07)",
                                             "`dmesg:3  Xid`", "• gpu-07: b", "`dmesg:3  Xid`",
                                             "• gpu-07: c", "`dmesg:3  Xid`",
                                             "Next:", "```\nscontrol update x\n```", "job 41"}));
  EXPECT_EQ(slack["text"], "ISOLATE gpu-07: It fell.");
  const json jira = json::parse(rendered("jira", d.dump(), "https://reports.example"));
  ASSERT_EQ(jira["content"].size(), 7u);
  EXPECT_EQ(jira["content"][2]["content"].size(), 3u);
  EXPECT_EQ(jira["content"][6]["content"][0]["marks"][0]["attrs"]["href"],
            "https://reports.example/report.html");
}

TEST(Chat, LinksAreAddressesOfTheWeb) {
  for (const char* good : {"https://a", "http://a.b:80/c/", "https://a/{job}/{digest}"})
    EXPECT_TRUE(report::is_report_url(good)) << good;
  for (const char* bad :
       {"", "https://", "javascript:alert(1)", "file:///etc", "https://a b", "https://a|b",
        "https://a>b", "https://a\"b", "https://{job", "https://a/{user}", "https:///a"})
    EXPECT_FALSE(report::is_report_url(bad)) << bad;
  EXPECT_FALSE(report::is_report_url("https://" + std::string(1000, 'a')));
}

}  // namespace
