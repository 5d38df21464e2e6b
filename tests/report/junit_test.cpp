#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "report/report.hpp"
#include "support/hostile.hpp"

namespace {

using namespace culprit;

std::string junit(const report::Incident& incident) {
  return report::find_format("junit")->render(report::to_json(incident), {});
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size()))
    ++n;
  return n;
}

report::Incident broken() {
  report::Incident incident;
  incident.verdict.action = Action::isolate;
  incident.verdict.summary = std::string("node-3 lost a GPU.");
  incident.verdict.targets.push_back(
      {{SubjectKind::host, "node-3"}, 0.9, {"classify/x/host/node-3"}});
  incident.verdict.steps = {
      {StepId::bundle_empty, StepOutcome::ruled_out, std::string("there is")},
      {StepId::slow_job, StepOutcome::not_enough_evidence, std::string("no steps")},
      {StepId::critical_errors, StepOutcome::taken, std::string("it came first")}};
  Finding f;
  f.analysis = Analysis::classify;
  f.event_class = "x";
  f.id = "classify/x/host/node-3";
  f.subject = {SubjectKind::host, "node-3"};
  f.evidence.push_back({1, "dmesg.txt", 12, 700, 5, "Xid 79"});
  incident.findings.push_back(f);
  f.id = "classify/y/host/node-4";
  f.event_class = "y";
  incident.findings.push_back(f);
  f.id = "drift/none";
  f.outcome = Outcome::not_enough_evidence;
  incident.findings.push_back(f);
  return incident;
}

TEST(JUnit, WhatTheVerdictRestsOnFails) {
  const std::string xml = junit(broken());
  EXPECT_NE(xml.find("tests=\"6\" failures=\"2\" errors=\"0\" skipped=\"2\""), std::string::npos)
      << xml;
  EXPECT_EQ(times(xml, "<testcase "), 6u);
  EXPECT_EQ(times(xml, "<failure "), 2u);
  EXPECT_EQ(times(xml, "<skipped "), 2u);
  EXPECT_NE(xml.find("<failure type=\"isolate\" message=\"node-3 lost a GPU.\">"),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("dmesg.txt:12\n    Xid 79"), std::string::npos) << xml;
}

TEST(JUnit, NothingFailsWhereThereIsNothingToDo) {
  report::Incident incident = broken();
  incident.verdict.action = Action::none;
  EXPECT_EQ(times(junit(incident), "<failure "), 0u);
}

TEST(JUnit, EscapesWhatItQuotes) {
  const std::string xml = junit(test::hostile_incident());
  EXPECT_EQ(xml.find("<script"), std::string::npos);
  EXPECT_EQ(xml.find('\0'), std::string::npos);
  EXPECT_EQ(xml.find('\x1b'), std::string::npos);
  EXPECT_EQ(xml.find("\xe2\x80\xae"), std::string::npos);
  EXPECT_EQ(xml.find("\xef\xbf\xbf"), std::string::npos);
  EXPECT_NE(xml.find("&lt;script&gt;"), std::string::npos);
}

// What a foreign database holds need not be our document.
TEST(JUnit, TakesAnyDocument) {
  for (const char* document :
       {"", "[]", "{}", "{\"verdict\":3,\"findings\":[1,{\"id\":[]}],\"bundle\":null}"})
    EXPECT_NE(report::find_format("junit")->render(document, {}).find("</testsuites>"),
              std::string::npos);
}

class Schema : public testing::TestWithParam<bool> {};

TEST_P(Schema, TheCommonXsdTakesIt) {
  if (std::system("command -v xmllint >/dev/null 2>&1") != 0) GTEST_SKIP() << "no xmllint";
  const std::string file =
      testing::TempDir() + "culprit_junit_" + (GetParam() ? "a" : "b") + ".xml";
  std::ofstream(file) << junit(GetParam() ? broken() : test::hostile_incident());
  const std::string xsd = std::string(CULPRIT_SAMPLES_DIR) + "/../tests/report/junit.xsd";
  EXPECT_EQ(std::system(("xmllint --noout --schema '" + xsd + "' '" + file + "'").c_str()), 0);
  std::remove(file.c_str());
}

INSTANTIATE_TEST_SUITE_P(JUnit, Schema, testing::Bool());

}  // namespace
