// The table of observations, the names that scripts refuse, and what they hold of a verdict.
// tests/cli/collect_test.sh runs them.
#include "collect/script.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "collect/wishes.hpp"
#include "model/json.hpp"
#include "redact/pseudonyms.hpp"
#include "schema/schema.hpp"

namespace culprit::collect {
namespace {

TEST(Collectors, TheTableFollowsItsSchemaAndNamesWhatThereIs) {
  const auto schema = nlohmann::json::parse(schema::text("collectors-v1.json"));
  const auto document = nlohmann::json::parse(embedded_rule("tables/collectors.json"));
  for (const schema::Violation& v : schema::validate(document, schema))
    ADD_FAILURE() << v.path << ": " << v.reason;
  std::set<std::string> ways, files;
  std::set<Source> sources;
  for (const Way& way : table().ways) EXPECT_TRUE(ways.insert(way.name).second) << way.name;
  for (const PlaceOfJob& place : table().places)
    for (const std::string& way : place.ways) EXPECT_EQ(ways.count(way), 1u) << way;
  for (const Observation& o : table().observations) {
    EXPECT_TRUE(files.insert(o.file).second) << o.file;
    EXPECT_EQ(o.on_job, o.file.starts_with("scheduler/") || o.each == Each::host) << o.file;
    sources.insert(o.sources.begin(), o.sources.end());
  }
  EXPECT_EQ(sources.size(), static_cast<std::size_t>(Source::manifest));  // a verdict asks for any
}

TEST(Collectors, NoCommandRunsWithAQuoteLeftOpen) {
  for (const Observation& o : table().observations)
    EXPECT_EQ(std::count(o.command.begin(), o.command.end(), '"') % 2, 0) << o.file;
}

std::string refusal(const Request& request) {
  const auto script = collector(request);
  return script ? "" : script.error().what;
}

TEST(Script, RefusesNamesThatAreNone) {
  for (const char* host : {"", "-oProxyCommand=x", "a;rm -rf x", "$(id)", "`id`", "a b", "a'b",
                           "../x", ".x", "a\nb", "a*", "user@host", "a\\b", "n\xc3\xb6"}) {
    Request request;
    request.place = "hosts";
    request.hosts = {"node-1", host};
    EXPECT_NE(refusal(request), "") << host;
    request.hosts = {"node-1"};
    EXPECT_EQ(refusal(request), "");
    request.wishes = {{Source::kernel_log, {host}, "kernel log"}};
    EXPECT_NE(refusal(request), "") << host;
  }
  for (const char* job :
       {"", "x", "1;id", "-1", "1_", "1_2_3", "$(id)", "1 2", "1111111111111111111111111111"})
    EXPECT_NE(refusal({"slurm", job, "", {}, "", "quick", {}}), "") << job;
  for (const char* job : {"41207", "41207_3", "41207+1"})
    EXPECT_EQ(refusal({"slurm", job, "", {}, "", "quick", {}}), "") << job;
  for (const char* job : {"", "A", "-a", "a-", "a/b", "a;b", "$(id)"}) {
    EXPECT_NE(refusal({"kubernetes", job, "ns", {}, "", "quick", {}}), "") << job;
    EXPECT_NE(refusal({"kubernetes", "job", job, {}, "", "quick", {}}), "") << job;
  }
  EXPECT_EQ(refusal({"kubernetes", "llama-70b", "training", {}, "", "quick", {}}), "");
  EXPECT_NE(refusal({"here", "", "", {}, "ssh", "quick", {}}), "");
  EXPECT_NE(refusal({"hosts", "", "", {"a"}, "shh", "quick", {}}), "");
}

TEST(Script, ATierHoldsTheOnesBefore) {
  const auto script = [](const char* tier) {
    return *collector({"here", "", "", {}, "", tier, {}});
  };
  for (const Observation& o : table().observations) {
    if (o.on_job) continue;
    const std::string call = " " + o.file + " " + std::to_string(o.seconds) + " ";
    EXPECT_EQ(script("quick").find(call) != std::string::npos, o.tier == "quick") << o.file;
    EXPECT_EQ(script("hang").find(call) != std::string::npos, o.tier != "full") << o.file;
    EXPECT_NE(script("full").find(call), std::string::npos) << o.file;
  }
  EXPECT_EQ(script("full").find('@'), script("full").find("@["));  // no mark is left
}

TEST(Script, HoldsOfAVerdictWhatItAsksForAndNothingElse) {
  const std::string document = R"({"verdict": {"next": [
    {"kind": "command", "text": "true"},
    {"kind": "collect", "text": "kernel log of n3\nrm -rf x", "source": "kernel_log",
     "of": {"kind": "host", "id": "n3"}},
    {"kind": "collect", "text": "stack of rank 9", "source": "stacks",
     "of": {"kind": "rank", "id": "9"}}]}})";
  const auto wishes = wishes_of(document, {{Rank{9}, Host("n1")}});
  ASSERT_TRUE(wishes);
  ASSERT_EQ(wishes->size(), 2u);
  EXPECT_EQ(wishes->at(1).hosts, std::vector<std::string>{"n1"});
  const auto made = collector({"hosts", "", "", {"n1", "n3"}, "", "quick", *wishes});
  ASSERT_TRUE(made);
  EXPECT_NE(made->find("\ncase $host in 'n3')\n"), std::string::npos);
  EXPECT_NE(made->find("\ncase $host in 'n1')\n"), std::string::npos);
  EXPECT_NE(made->find("\nobserve dmesg.txt "), std::string::npos);
  EXPECT_NE(made->find("\neach_rank pyspy "), std::string::npos);
  EXPECT_EQ(made->find("nvidia-smi"), std::string::npos);
  EXPECT_EQ(made->find("\nrm -rf x"), std::string::npos);  // a text cannot end its comment
  EXPECT_FALSE(wishes_of("{}", {}));
  EXPECT_FALSE(wishes_of("no document", {}));
}

}  // namespace
}  // namespace culprit::collect
