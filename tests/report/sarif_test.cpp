// The members that SARIF 2.1.0 requires, and what code-scanning services need besides.
#include <set>

#include <gtest/gtest.h>

#include "model/json.hpp"
#include "report/report.hpp"
#include "support/hostile.hpp"
#include "support/printed.hpp"

namespace {

using namespace culprit;
using nlohmann::json;

void check_result(const json& result, const json& rules) {
  ASSERT_LT(result.at("ruleIndex").get<std::size_t>(), rules.size());
  EXPECT_EQ(rules[result["ruleIndex"].get<std::size_t>()]["id"], result.at("ruleId"));
  EXPECT_FALSE(result.at("message").at("text").get<std::string>().empty());
  const std::string kind = result.at("kind"), level = result.at("level");
  EXPECT_TRUE((std::set<std::string>{"pass", "open", "fail"}).count(kind)) << kind;
  EXPECT_TRUE((std::set<std::string>{"none", "note", "warning", "error"}).count(level)) << level;
  EXPECT_EQ(kind == "fail", level != "none");
  EXPECT_FALSE(result.at("partialFingerprints").empty());
  for (const json& l : result.value("locations", json::array())) {
    if (!l.contains("physicalLocation")) continue;
    const json& physical = l["physicalLocation"];
    const std::string uri = physical.at("artifactLocation").at("uri");
    EXPECT_EQ(uri.find_first_not_of(
                  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/%"),
              std::string::npos);
    const json& region = physical.at("region");
    EXPECT_TRUE(region.contains("byteOffset") || region.at("startLine").get<int>() >= 1);
  }
}

void check_sarif(const std::string& text) {
  const json d = json::parse(text, nullptr, false);
  ASSERT_TRUE(d.is_object());
  EXPECT_EQ(d.at("version"), "2.1.0");
  ASSERT_EQ(d.at("runs").size(), 1u);
  const json& run = d["runs"][0];
  const json& driver = run.at("tool").at("driver");
  EXPECT_EQ(driver.at("name"), "culprit");
  std::set<std::string> ids;
  for (const json& rule : driver.at("rules")) {
    EXPECT_TRUE(ids.insert(rule.at("id").get<std::string>()).second) << rule;
    EXPECT_FALSE(rule.at("shortDescription").at("text").get<std::string>().empty());
    EXPECT_FALSE(rule.at("help").at("text").get<std::string>().empty());
  }
  ASSERT_FALSE(run.at("results").empty());
  for (const json& result : run["results"]) check_result(result, driver["rules"]);
  for (const json& i : run.at("invocations")) EXPECT_TRUE(i.at("executionSuccessful").is_boolean());
}

TEST(Sarif, HasTheRequiredMembers) {
  for (const char* sample : {"gpu-off-bus", "clean-run", "hang-silent-rank"}) {
    const std::string command = std::string(CULPRIT_BINARY) + " diagnose -q --format sarif " +
                                CULPRIT_SAMPLES_DIR + "/" + sample;
    check_sarif(test::printed(command).text);
  }
}

TEST(Sarif, EscapesWhatItQuotes) {
  const std::string text =
      report::find_format("sarif")->render(report::to_json(test::hostile_incident()), {});
  check_sarif(text);
  EXPECT_EQ(text.find('\0'), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
}

TEST(Sarif, TakesAnyDocument) {
  for (const char* document :
       {"", "[]", "{}", "{\"verdict\":3,\"findings\":[1,{\"id\":[]}],\"bundle\":null}"})
    check_sarif(report::find_format("sarif")->render(document, {}));
}

}  // namespace
