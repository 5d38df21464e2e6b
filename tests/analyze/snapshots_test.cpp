// Who stands out in one reading of each machine: hand-made crowds.
#include "analyze/metrics/snapshots.hpp"

#include <gtest/gtest.h>

#include "report/phrases.hpp"

namespace culprit::analyze {
namespace {

MetricSeries readings(const char* metric, const std::vector<double>& values) {
  MetricSeries out;
  out.name = metric;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string host = "n" + std::to_string(i / 2);
    out.entities.push_back(
        {host + "/gpu" + std::to_string(i % 2), "", Host(host), {}, {values[i]}});
  }
  return out;
}

std::vector<std::string> odd(const MetricSeries& series) {
  std::vector<std::string> out;
  for (const MetricOutlier& o : snapshot_outliers({series}, rules::Catalogue::built_in()))
    out.push_back(o.outlier.entity);
  return out;
}

using Names = std::vector<std::string>;

TEST(Snapshots, AClockFarBelowItsPeersStandsOut) {
  EXPECT_EQ(odd(readings("DCGM_FI_DEV_SM_CLOCK", {1935, 1950, 1935, 1920, 905, 960, 1950, 1935})),
            (Names{"n2/gpu0", "n2/gpu1"}));
  const auto found = snapshot_outliers(
      {readings("DCGM_FI_DEV_SM_CLOCK", {1935, 1950, 1935, 1920, 905, 960, 1950, 1935})},
      rules::Catalogue::built_in());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].outlier.method, "reading");
  EXPECT_EQ(found[0].outlier.start, kNoValue);
  EXPECT_EQ(found[0].host, Host("n2"));
  EXPECT_DOUBLE_EQ(found[0].outlier.value, 905);
}

TEST(Snapshots, ATenthLessIsWhatHealthyOnesDo) {
  EXPECT_EQ(odd(readings("DCGM_FI_DEV_SM_CLOCK", {1935, 1950, 1935, 1920, 1740, 1950})), Names{});
}

TEST(Snapshots, AnIdleOneIsNotSlow) {
  EXPECT_EQ(odd(readings("DCGM_FI_DEV_SM_CLOCK", {1935, 1950, 1935, 1920, 345, 1950})), Names{});
  EXPECT_EQ(odd(readings("DCGM_FI_DEV_SM_CLOCK", {1935, 1950, 1935, 1920, 0, 1950})), Names{});
}

TEST(Snapshots, AnotherModelIsNotSlow) {
  EXPECT_EQ(odd(readings("DCGM_FI_DEV_SM_CLOCK", {1980, 1980, 1980, 1980, 1410, 1980})), Names{});
}

TEST(Snapshots, HalfOfACrowdIsASecondCrowd) {
  EXPECT_EQ(odd(readings("DCGM_FI_DEV_SM_CLOCK", {1935, 1935, 1935, 905, 905, 905})), Names{});
}

TEST(Snapshots, AReasonThatHealthyOnesNeverHave) {
  EXPECT_EQ(odd(readings("clocks_event_reasons.hw_slowdown", {0, 0, 0, 0, 0, 1, 0, 0})),
            Names{"n2/gpu1"});
}

TEST(Snapshots, HeatAloneSlowsNothing) {
  EXPECT_EQ(odd(readings("DCGM_FI_DEV_GPU_TEMP", {60, 61, 60, 62, 60, 92, 61, 60})), Names{});
}

std::vector<Finding> held(const std::vector<double>& values, double utilization = 99) {
  OutlierReport report;
  report.readings =
      snapshot_outliers({readings("DCGM_FI_DEV_SM_CLOCK", values)}, rules::Catalogue::built_in());
  const std::vector<double> busy(values.size(), utilization);
  return held_devices(report, {readings("DCGM_FI_DEV_GPU_UTIL", busy)},
                      rules::Catalogue::built_in());
}

TEST(HeldDevices, AllOfOneMachineAreASettingOfIt) {
  const auto found = held({1935, 1950, 1935, 1920, 905, 960, 1950, 1935});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].host, Host("n2"));
  const auto* setting = std::get_if<SettingFacts>(&found[0].facts);
  ASSERT_NE(setting, nullptr);
  EXPECT_TRUE(setting->slows && setting->device && setting->far_below);
  EXPECT_EQ(setting->value, "905 MHz, the others 1935");
  EXPECT_EQ(report::words(found[0].advice).find("{host}"), std::string::npos);
}

TEST(HeldDevices, OneDeviceOrTwoMachinesAreNone) {
  EXPECT_TRUE(held({1935, 1950, 1935, 1920, 905, 1950, 1950, 1935}).empty());
  EXPECT_TRUE(held({1935, 1950, 905, 1920, 905, 1950, 1950, 1935, 1935, 1950, 1935, 1950}).empty());
  EXPECT_EQ(held({1935, 1950, 905, 960, 1935, 1920}).size(), 1u);
  EXPECT_TRUE(held({1935, 1950, 905, 960, 1935, 1920}, 3).empty()) << "a spare";
}

}  // namespace
}  // namespace culprit::analyze
