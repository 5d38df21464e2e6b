#include "analyze/metrics/stall_hints.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "analyze/pace/effective_time.hpp"

namespace culprit::analyze {
namespace {

std::vector<MetricPoint> traffic(int minutes, int from, int to, double inside) {
  std::vector<MetricPoint> out;
  for (int m = 0; m < minutes; ++m)
    out.push_back({m * 60 * kSecond, m >= from && m < to ? inside : 40.0 + m % 7});
  return out;
}

TEST(StallHints, TenMinutesOfNothing) {
  const auto stalls = stall_hints(traffic(120, 60, 75, 0));
  ASSERT_EQ(stalls.size(), 1u);
  EXPECT_EQ(stalls[0].begin, 60 * 60 * kSecond);
  EXPECT_EQ(stalls[0].end, 74 * 60 * kSecond);
  EXPECT_TRUE(stalls[0].zero);
  EXPECT_FALSE(stalls[0].open);
  EXPECT_TRUE(stall_hints(traffic(120, 60, 69, 0)).empty()) << "nine minutes";
}

TEST(StallHints, LowIsToldApartFromZero) {
  const auto stalls = stall_hints(traffic(120, 100, 120, 1.5));
  ASSERT_EQ(stalls.size(), 1u);
  EXPECT_FALSE(stalls[0].zero);
  EXPECT_TRUE(stalls[0].open);
  EXPECT_TRUE(stall_hints(traffic(120, 100, 120, 15)).empty()) << "a third of the usual is no hang";
}

TEST(StallHints, NoSamplesSayNothing) {
  auto series = traffic(120, 60, 80, 0);
  series.erase(series.begin() + 62, series.begin() + 78);
  EXPECT_TRUE(stall_hints(series).empty());
  EXPECT_TRUE(stall_hints({}).empty());
  EXPECT_TRUE(stall_hints(traffic(60, 0, 60, 0)).empty()) << "nothing ever ran there";
  EXPECT_TRUE(stall_hints(traffic(60, 0, 60, std::nan(""))).empty());
}

// FT-HSDP section 6.1.
TEST(EffectiveTime, WorkedFigures) {
  const EffectiveTime t =
      effective_time({18 * 60 * kSecond, 10 * 60 * kSecond, 3 * 60 * kSecond, 12});
  ASSERT_TRUE(t.valid);
  EXPECT_DOUBLE_EQ(t.synchronous, 8.0 / 18);
  EXPECT_NEAR(t.synchronous, 0.44, 0.005);
  EXPECT_NEAR(t.replicated, (8 + 7 * 11.0 / 12) / 18, 1e-12);
  EXPECT_NEAR(t.replicated, 0.80, 0.005);
  EXPECT_FALSE(t.overlapping);
}

TEST(EffectiveTime, Edges) {
  EXPECT_FALSE(effective_time({}).valid);
  EXPECT_FALSE(effective_time({10, 5, 6, 2}).valid);
  EXPECT_FALSE(effective_time({10, 5, 5, 0}).valid);
  const EffectiveTime one = effective_time({10, 5, 2, 1});
  EXPECT_DOUBLE_EQ(one.synchronous, one.replicated);
  const EffectiveTime hopeless = effective_time({10, 50, 2, 4});
  EXPECT_DOUBLE_EQ(hopeless.synchronous, 0);
  EXPECT_DOUBLE_EQ(hopeless.replicated, 0);
  EXPECT_TRUE(hopeless.overlapping);
  // 2.3 a day and 1,000 servers; 98,000 GPUs at 8 a server.
  EXPECT_NEAR(static_cast<double>(time_between_failures(2.3, 12'250)) / 60e9, 51.1, 0.1);
  EXPECT_EQ(time_between_failures(0, 100), 0);
}

}  // namespace
}  // namespace culprit::analyze
