// The lines that bound the parts of a start, and the table of them.
#include "rules/restart_parts.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include "line/line.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {
namespace {

nlohmann::json table() { return nlohmann::json::parse(embedded_rule("tables/restart_parts.json")); }

TEST(RestartParts, TheTableSatisfiesItsSchema) {
  const auto schema = nlohmann::json::parse(schema::text("restart-parts-v1.json"));
  for (const auto& v : schema::validate(table(), schema))
    ADD_FAILURE() << v.path << ": " << v.reason;
}

TEST(RestartParts, EachRowReadsItsSample) {
  for (const auto& row : table()["lines"]) {
    const std::string sample = row["sample"].get<std::string>();
    EXPECT_TRUE(re2::RE2(row["pattern"].get<std::string>(), re2::RE2::Latin1).ok()) << sample;
    const auto said = restart_line(line::peel(sample).message);
    ASSERT_TRUE(said) << sample;
    EXPECT_EQ(said->part, row["part"].get<std::string>()) << sample;
    EXPECT_EQ(said->edge, row["edge"].get<std::string>()) << sample;
    EXPECT_EQ(said->seconds.has_value(), said->edge == "took") << sample;
  }
}

TEST(RestartParts, DurationsInTheirUnits) {
  EXPECT_EQ(restart_line("    load-checkpoint ....: (41200.11, 41500.00)")->seconds, 41.5);
  EXPECT_EQ(restart_line("NCCL INFO Init timings - ncclCommInitRank: rank 0 nranks 8 total 17.25 (")
                ->seconds,
            17.25);
  EXPECT_EQ(go_duration("1m2.5s"), 62.5);
  EXPECT_EQ(go_duration("1h850ms"), 3600.85);
  for (const char* text : {"", "5", "m", "5x", "-5s", "1e400s", "nans"})
    EXPECT_FALSE(go_duration(text)) << text;
}

// Kubelets of several versions write the list of pods in three ways.
TEST(RestartParts, APodIsNamedHoweverItIsQuoted) {
  for (const char* pods : {R"(["ml/w-0"])", "[ml/w-0]", R"("[ml/w-0]")"}) {
    const auto said = restart_line(std::string(R"("SyncLoop ADD" source="api" pods=)") + pods);
    ASSERT_TRUE(said) << pods;
    EXPECT_EQ(said->about, "w-0") << pods;
  }
}

TEST(RestartParts, OtherLinesBoundNothing) {
  for (const char* text :
       {"iteration 12 | lm loss: 2.0", "Pulling image", "Init COMPLETE",
        "the rendezvous is not complete for workers", "job queued and waiting for resources"})
    EXPECT_FALSE(restart_line(text)) << text;
}

}  // namespace
}  // namespace culprit::rules
