#include <set>

#include <gtest/gtest.h>

#include "model/json.hpp"
#include "schema/schema.hpp"
#include "support/printed.hpp"

namespace {

using culprit::schema::nearest;
using culprit::schema::parse_strict;
using culprit::schema::validate;
using nlohmann::json;

json schema_named(const char* name) { return json::parse(culprit::schema::text(name)); }

TEST(Validate, NamesPathAndReason) {
  const json schema = json::parse(R"({"type":"object","required":["a"],"additionalProperties":false,
      "properties":{"a":{"type":"integer","minimum":1},"list":{"type":"array","items":{"enum":["red","green"]}}}})");
  struct Case {
    const char* document;
    const char* path;
    const char* reason;
  };
  for (const Case& c :
       {Case{R"({"a":1})", nullptr, nullptr}, Case{R"({})", "", "the key 'a' is missing"},
        Case{R"({"a":0})", "a", "0 is below 1"},
        Case{R"({"a":"x"})", "a", "must be a value of type integer, is \"x\""},
        Case{R"({"a":1,"lisst":[]})", "", "unknown key 'lisst' (did you mean 'list'?)"},
        Case{R"({"a":1,"list":["red","gren"]})", "list[1]",
             "\"gren\" is none of red, green (did you mean 'green'?)"}}) {
    const auto found = validate(json::parse(c.document), schema);
    if (c.path == nullptr) {
      EXPECT_TRUE(found.empty()) << c.document;
      continue;
    }
    ASSERT_EQ(found.size(), 1u) << c.document;
    EXPECT_EQ(found[0].path, c.path);
    EXPECT_EQ(found[0].reason, c.reason);
  }
}

TEST(Validate, AnUnknownKeywordOfOursIsAnError) {
  EXPECT_EQ(validate(json(1), json::parse(R"({"multipleOf":2})")).size(), 1u);
}

TEST(ParseStrict, RefusesDuplicateKeysAndNamesTheLine) {
  const auto twice = parse_strict(R"({"a":1,"b":{"a":1},"a":2})", "f.json");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().what, "the key 'a' stands twice in one object");
  const auto torn = parse_strict("{\n\"a\": 1,\n\"b\" 2}", "f.json");
  ASSERT_FALSE(torn);
  EXPECT_EQ(torn.error().where->line, 3u);
  EXPECT_TRUE(parse_strict("// remark\n{\"a\": /* here */ 1}", "f.json"));
}

TEST(ParseChecked, NamesTheFirstAndCountsTheOthers) {
  using culprit::schema::parse_checked;
  const char* const text = R"({"causes": [], "more": 1, "again": 2})";
  const auto wrong = parse_checked(text, "f.json", "causes-v1.json", "the table may hold");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().what.find("more)"), std::string::npos) << wrong.error().what;
  EXPECT_EQ(wrong.error().where->file, "f.json");
  EXPECT_EQ(wrong.error().help, "`culprit schema causes-v1.json` prints what the table may hold");
  EXPECT_TRUE(parse_checked(text, "f.json", "causes-v1.json", "the table may hold", true));
}

TEST(Nearest, SuggestsOnlyWhatIsNear) {
  EXPECT_EQ(nearest("diagnsoe", {"diagnose", "ingest"}), "diagnose");
  EXPECT_EQ(nearest("xyz", {"diagnose", "ingest"}), "");
}

TEST(OurFiles, EveryRuleFileSatisfiesItsSchema) {
  const json schema = schema_named("rule-v1.json");
  int files = 0;
  for (const auto& file : culprit::embedded_schemas()) EXPECT_GT(file.size, 0u);
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(CULPRIT_SAMPLES_DIR) / "../rules")) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream stream(entry.path());
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    const auto document = parse_strict(text, entry.path().string());
    ASSERT_TRUE(document) << entry.path();
    for (const auto& violation : validate(*document, schema))
      ADD_FAILURE() << entry.path() << ": " << violation.path << ": " << violation.reason;
    ++files;
  }
  EXPECT_GT(files, 10);
}

TEST(OurFiles, EveryDiagnosisSatisfiesItsSchema) {
  const json schema = schema_named("diagnosis-v1.json");
  for (const auto& entry : std::filesystem::directory_iterator(CULPRIT_SAMPLES_DIR)) {
    const json document =
        json::parse(culprit::test::printed(std::string(CULPRIT_BINARY) + " diagnose -q --json " +
                                           entry.path().string())
                        .text,
                    nullptr, false);
    ASSERT_TRUE(document.is_object()) << entry.path();
    for (const auto& violation : validate(document, schema))
      ADD_FAILURE() << entry.path() << ": " << violation.path << ": " << violation.reason;
  }
}

void expect_document(const char* schema, const std::string& command, const std::string& bundle) {
  const json document = json::parse(
      culprit::test::printed(std::string(CULPRIT_BINARY) + " " + command + " -q --json " + bundle)
          .text,
      nullptr, false);
  ASSERT_TRUE(document.is_object()) << command << " " << bundle;
  for (const auto& violation : validate(document, schema_named(schema)))
    ADD_FAILURE() << command << " " << bundle << ": " << violation.path << ": " << violation.reason;
}

TEST(OurFiles, StacksAndCollectivesSatisfyTheirSchemas) {
  for (const auto& entry : std::filesystem::directory_iterator(CULPRIT_SAMPLES_DIR)) {
    expect_document("stacks-v1.json", "stacks --lacks --role all", entry.path().string());
    expect_document("collectives-v1.json", "collectives", entry.path().string());
  }
}

TEST(OurFiles, ProofsSatisfyTheirSchema) {
  for (const char* sample : {"gpu-off-bus", "crash-one-rank", "clean-run"})
    expect_document("prove-v1.json", "prove --most-runs 200",
                    std::string(CULPRIT_SAMPLES_DIR) + "/" + sample);
}

TEST(OurFiles, ClaimsSatisfyTheirSchema) {
  const std::string samples = std::string(CULPRIT_SAMPLES_DIR) + "/";
  expect_document("claim-v1.json", "claim --host gpu-ad05", samples + "gpu-off-bus");
  expect_document("claim-v1.json", "claim --host h100-22", samples + "config-drift");
}

TEST(OurFiles, WhatToCollectNextSatisfiesItsSchema) {
  for (const char* sample : {"hang-silent-rank", "crash-one-rank", "time-limit"})
    expect_document("next-v1.json", "next", std::string(CULPRIT_SAMPLES_DIR) + "/" + sample);
}

TEST(OurFiles, CardsSatisfyTheirSchemaAndStaySmall) {
  const std::string cards = testing::TempDir() + "cards-of-schema-test.jsonl";
  std::string text;
  std::set<std::string> ids;
  for (const auto& entry : std::filesystem::directory_iterator(CULPRIT_SAMPLES_DIR)) {
    const std::string line = culprit::test::printed(std::string(CULPRIT_BINARY) +
                                                    " export card -q " + entry.path().string())
                                 .text;
    const json card = json::parse(line, nullptr, false);
    ASSERT_TRUE(card.is_object()) << entry.path();
    for (const auto& violation : validate(card, schema_named("card-v1.json")))
      ADD_FAILURE() << entry.path() << ": " << violation.path << ": " << violation.reason;
    EXPECT_LT(line.size(), 10'000u) << entry.path();
    text += line;
    ids.insert(card["id"]);
  }
  std::ofstream(cards) << text;
  for (const std::string& id : ids)
    culprit::test::printed(std::string(CULPRIT_BINARY) + " outcome " + cards + " " + id +
                           " confirmed --time 2026-12-01");
  std::ifstream stream(cards);
  std::string last;
  for (std::string line; std::getline(stream, line);) last = line;
  const json outcome = json::parse(last, nullptr, false);
  EXPECT_EQ(outcome["outcome"], "confirmed");
  for (const auto& violation : validate(outcome, schema_named("card-v1.json")))
    ADD_FAILURE() << violation.path << ": " << violation.reason;
  expect_document("like-v1.json", "like " + cards,
                  std::string(CULPRIT_SAMPLES_DIR) + "/gpu-off-bus");
  std::filesystem::remove(cards);
}

TEST(OurFiles, StacksAndCollectivesOfRealDumpsSatisfyTheirSchemas) {
  const std::filesystem::path shared = CULPRIT_SHARED_DIR;
  if (shared.empty()) GTEST_SKIP() << "skipped: no corpus";
  for (const char* bundle : {"hang-a", "failslow-a"}) {
    expect_document("stacks-v1.json", "stacks --lacks --role all",
                    (shared / "bundles" / bundle).string());
    expect_document("collectives-v1.json", "collectives", (shared / "bundles" / bundle).string());
  }
}

}  // namespace
