#include "rules/drift.hpp"

#include <gtest/gtest.h>

namespace culprit::rules {
namespace {

TEST(DriftRules, TheBuiltInTableIsReadAndTheNearestNameWins) {
  const DriftRules& table = DriftRules::built_in();
  EXPECT_EQ(table.find("nccl_version").severity, Severity::critical);
  EXPECT_EQ(table.find("driver_version").label, "driver version");
  EXPECT_EQ(table.find("env.NCCL_IB_HCA").severity, Severity::warning);
  EXPECT_EQ(table.find("env.NCCL_SOMETHING_NEW").severity, Severity::info);
  EXPECT_FALSE(table.find("env.NCCL_SOMETHING_NEW").ignored);
  EXPECT_TRUE(table.find("env.NCCL_DEBUG_FILE").ignored);
  EXPECT_TRUE(table.find("env.LOCAL_RANK").ignored);
  EXPECT_TRUE(table.find("slurm.nodelist").ignored);
  EXPECT_EQ(table.find("sysctl.vm.swappiness").explains, "performance");
  EXPECT_EQ(table.find("what.nobody.knows").severity, Severity::info);
}

TEST(DriftRules, KeysOfSpellings) {
  EXPECT_EQ(drift_key("2.19.3+cuda12.3", DriftCompare::version),
            drift_key("2.19.3", DriftCompare::version));
  EXPECT_NE(drift_key("2.19.3", DriftCompare::version),
            drift_key("2.19.30", DriftCompare::version));
  EXPECT_EQ(drift_key("v5.1.", DriftCompare::version), "5.1");
  EXPECT_EQ(drift_key("none", DriftCompare::version), "none");
  EXPECT_EQ(drift_key("700.00 W", DriftCompare::number), drift_key("700 W", DriftCompare::number));
  EXPECT_NE(drift_key("700 W", DriftCompare::number), drift_key("500 W", DriftCompare::number));
  EXPECT_NE(drift_key("2.19.3+a", DriftCompare::exact), drift_key("2.19.3", DriftCompare::exact));
  EXPECT_EQ(drift_key("nan", DriftCompare::number), "nan");
}

TEST(DriftRules, ABadTableIsRefusedWithAReason) {
  const auto parse = [](std::string settings) {
    return DriftRules::parse(R"({"about": "x", "settings": [)" + settings + "]}", "my.json");
  };
  EXPECT_TRUE(parse(R"({"names": ["a.*"], "severity": "info"})"));
  EXPECT_FALSE(parse(R"({"names": ["a"], "severity": "bad"})"));
  EXPECT_FALSE(parse(R"({"names": ["a"], "severity": "info", "colour": 1})"));
  const auto twice =
      parse(R"({"names": ["a"], "severity": "info"}, {"names": ["a"], "severity": "warning"})");
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().what.find("stands twice"), std::string::npos);
}

}  // namespace
}  // namespace culprit::rules
