#include "analyze/pace/grown_part.hpp"

#include <gtest/gtest.h>

#include "model/json.hpp"
#include "schema/schema.hpp"

namespace culprit::analyze {
namespace {

// Two hundred iterations, slow from the hundredth on.
struct Steps {
  std::vector<std::int64_t> iterations;
  std::vector<double> whole;
  std::vector<PartSeries> parts;

  Steps() {
    for (std::int64_t i = 0; i < 200; ++i) {
      iterations.push_back(i);
      whole.push_back(i < 100 ? 1000 : 3000);
    }
  }
  void part(Rank rank, const std::string& name, double before, double since) {
    PartSeries series{rank, name, {}};
    for (const std::int64_t i : iterations) series.ms.push_back(i < 100 ? before : since);
    parts.push_back(std::move(series));
  }
  std::optional<GrownPart> grown() const {
    return grown_part({iterations, parts, whole, 100, 199});
  }
};

TEST(GrownPart, TheOneThatExplainsWhatTheStepsGrewBy) {
  Steps steps;
  for (int rank = 0; rank < 4; ++rank) {
    steps.part(Rank(rank), "forward_ms", 500, 520);
    steps.part(Rank(rank), "data_time", 20, 2000);
  }
  const auto grown = steps.grown();
  ASSERT_TRUE(grown);
  EXPECT_EQ(grown->name, "data_time");
  EXPECT_EQ(grown->part, rules::StepPart::data);
  EXPECT_NEAR(grown->explains, 0.99, 1e-9);
  EXPECT_EQ(grown->outside_ms, 20);
}

TEST(DominantPart, IsLoadedByAllAndFillsTheStep) {
  Steps steps;
  for (int rank = 0; rank < 4; ++rank) {
    steps.part(Rank(rank), "forward_ms", 300, 900);
    steps.part(Rank(rank), "data_time", 600, 2000);
  }
  const auto whole_run = [&] {
    return dominant_part({steps.iterations, steps.parts, steps.whole, 0, 199});
  };
  ASSERT_TRUE(whole_run());
  EXPECT_EQ(whole_run()->name, "data_time");
  EXPECT_EQ(whole_run()->outside_ms, 0);
  steps.part(Rank(4), "data_time", 20, 20);
  EXPECT_FALSE(whole_run()) << "one of them has its data at once";
}

TEST(GrownPart, APartOfAPartIsMoreExact) {
  Steps steps;
  steps.part(Rank(0), "forward-backward", 800, 2800);
  steps.part(Rank(0), "fwd-recv", 100, 2050);
  ASSERT_TRUE(steps.grown());
  EXPECT_EQ(steps.grown()->part, rules::StepPart::communication);
}

TEST(GrownPart, NobodyGrewOrTheUnitIsAnother) {
  Steps steps;
  steps.part(Rank(0), "forward_ms", 500, 900);
  EXPECT_FALSE(steps.grown());
  steps.part(Rank(0), "allreduce", 200000, 2200000);
  EXPECT_FALSE(steps.grown());
  steps.part(Rank(0), "elapsed", 1000, 3000);  // the whole step
  EXPECT_FALSE(steps.grown());
  EXPECT_FALSE(grown_part({}));
}

TEST(StepParts, TheTableFollowsItsSchemaAndNamesKnownSymptoms) {
  const auto schema = nlohmann::json::parse(schema::text("step-parts-v1.json"));
  const auto table = nlohmann::json::parse(embedded_rule("tables/step_parts.json"));
  EXPECT_TRUE(schema::validate(table, schema).empty());
  for (const auto& part : table["parts"])
    for (const auto& symptom : part["symptoms"])
      EXPECT_TRUE(term_named<Symptom>(symptom.get<std::string>())) << symptom;
  EXPECT_TRUE(rules::made_longer_by(rules::StepPart::data, Symptom::filesystem_mount));
  EXPECT_FALSE(rules::made_longer_by(rules::StepPart::compute, Symptom::filesystem_mount));
  EXPECT_EQ(rules::part_named("data"), rules::StepPart::data);
  EXPECT_EQ(rules::part_named("lunch"), rules::StepPart::none);
}

}  // namespace
}  // namespace culprit::analyze
