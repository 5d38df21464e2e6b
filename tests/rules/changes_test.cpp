// The table of changed settings: its form, and which row a name belongs to.
#include "rules/changes.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

#include "rules/rule.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {
namespace {

nlohmann::json table() { return nlohmann::json::parse(embedded_rule("tables/changes.json")); }

TEST(Changes, TheTableSatisfiesItsSchemaAndNamesEachOnce) {
  const auto schema = nlohmann::json::parse(schema::text("changes-v1.json"));
  for (const auto& v : schema::validate(table(), schema))
    ADD_FAILURE() << v.path << ": " << v.reason;
  std::set<std::string> names;
  for (const auto& setting : table()["settings"])
    for (const auto& name : setting["names"])
      EXPECT_TRUE(names.insert(name.get<std::string>()).second) << name;
}

TEST(Changes, TheRowWithMostFixedCharactersCounts) {
  EXPECT_EQ(change_rule("lr").label, "learning rate");
  EXPECT_EQ(change_rule("optim.lr").label, "learning rate");
  EXPECT_EQ(change_rule("moe_aux_loss_coeff").label, "routing of experts");
  EXPECT_EQ(change_rule("save_interval").label, "saving of checkpoints");
  EXPECT_EQ(change_rule("env.NCCL_IB_DISABLE").label, "setting of communication");
  EXPECT_TRUE(change_rule("seed").explains.empty());
  EXPECT_TRUE(change_rule("seed").known);
  EXPECT_FALSE(change_rule("frobnicate").known);
}

TEST(Changes, HowAnImageIsPulledIsNotTheImage) {
  EXPECT_FALSE(change_rule("image").explains.empty());
  EXPECT_TRUE(change_rule("imagepullpolicy").explains.empty());
}

}  // namespace
}  // namespace culprit::rules
