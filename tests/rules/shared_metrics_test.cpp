// The table of shared metrics: its form, and which row a name belongs to.
#include "rules/shared_metrics.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

#include "rules/rule.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {
namespace {

TEST(SharedMetrics, TheTableSatisfiesItsSchemaAndNamesEachOnce) {
  const auto table = nlohmann::json::parse(embedded_rule("tables/shared_metrics.json"));
  const auto schema = nlohmann::json::parse(schema::text("shared-metrics-v1.json"));
  for (const auto& v : schema::validate(table, schema)) ADD_FAILURE() << v.path << ": " << v.reason;
  std::set<std::string> names;
  for (const auto& row : table["metrics"]) {
    EXPECT_TRUE(term_named<Symptom>(row["symptom"].get<std::string>())) << row["label"];
    for (const auto& name : row["names"])
      EXPECT_TRUE(names.insert(name.get<std::string>()).second) << name;
  }
  EXPECT_EQ(shared_metric("AWS/EFS PercentIOLimit_Max")->label, "share of the limit of I/O");
  EXPECT_EQ(shared_metric("loss"), nullptr);
}

}  // namespace
}  // namespace culprit::rules
