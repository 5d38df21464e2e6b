// The table of programs: it is as its schema says, and each list says what it should.
#include "analyze/facts/programs.hpp"

#include <gtest/gtest.h>

#include "model/json.hpp"
#include "schema/schema.hpp"

namespace culprit::analyze {
namespace {

TEST(Programs, TableIsAsItsSchemaSays) {
  const auto schema = nlohmann::json::parse(schema::text("programs-v1.json"));
  const std::string_view table = embedded_rule("tables/programs.json");
  ASSERT_FALSE(table.empty());
  EXPECT_TRUE(schema::validate(nlohmann::json::parse(table), schema).empty());
}

TEST(Programs, WholeNamesInAnyCase) {
  EXPECT_TRUE(carries_kernel("rsyslogd"));
  EXPECT_FALSE(carries_kernel("nv-hostengine"));
  EXPECT_TRUE(carries_jobs("python3.11"));
  EXPECT_FALSE(carries_jobs("xinetd"));
  EXPECT_TRUE(runs_jobs("slurmd"));
  EXPECT_FALSE(runs_jobs("sshd"));
  EXPECT_TRUE(serves_others("xinetd"));
  EXPECT_FALSE(serves_others("accelerate"));
}

TEST(Programs, FilesOfACollectorMayHaveEndings) {
  EXPECT_TRUE(of_collector("collect.log"));
  EXPECT_FALSE(of_collector("collective.log"));
  EXPECT_TRUE(of_tool("nvidia-smi.txt"));
  EXPECT_FALSE(of_tool("train.txt"));
}

TEST(Programs, TrainersBeginAWord) {
  EXPECT_TRUE(names_trainer("Killed process 4431 (pt_main_thread)"));
  EXPECT_FALSE(names_trainer("Killed process 4431 (strain-gauge)"));
}

}  // namespace
}  // namespace culprit::analyze
