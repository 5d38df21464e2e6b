#include "model/series.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include <rapidcheck/gtest.h>

namespace culprit {
namespace {

bool same(const SeriesPoints& a, const SeriesPoints& b) {
  if (a.steps != b.steps || a.times != b.times || a.lines != b.lines || a.offsets != b.offsets ||
      a.size() != b.size())
    return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<std::uint64_t>(a.values[i]) != std::bit_cast<std::uint64_t>(b.values[i]))
      return false;
  return true;
}

void comes_back(const SeriesPoints& points) {
  SeriesPoints out;
  ASSERT_TRUE(unpack(pack(points), out));
  EXPECT_TRUE(same(points, out));
}

TEST(Series, EveryValueComesBackBitByBit) {
  SeriesPoints points;
  points.values = {0,
                   1.5,
                   -0.0,
                   0.1,
                   1e300,
                   std::numeric_limits<double>::quiet_NaN(),
                   std::numeric_limits<double>::infinity(),
                   123456.789,
                   -7};
  comes_back(points);
  points.values = {592.74, 100, 0, 88.01};
  points.times = {1'700'000'000'000'000'000, 1'700'000'000'001'000'000, kNoValue,
                  1'700'000'000'002'000'000};
  points.steps = {1, 2, 3, std::numeric_limits<std::int64_t>::max()};
  points.lines = {2, 3, 4, 5};
  points.offsets = {40, 80, 120, 160};
  comes_back(points);
  comes_back({});
}

RC_GTEST_PROP(Series, AnyColumnsComeBack,
              (const std::vector<double>& values, const std::vector<std::int64_t>& numbers)) {
  SeriesPoints points;
  points.values = values;
  points.steps = numbers;
  points.steps.resize(values.size(), 0);
  points.offsets = points.steps;
  SeriesPoints out;
  RC_ASSERT(unpack(pack(points), out));
  RC_ASSERT(same(points, out));
}

RC_GTEST_PROP(Series, DamagedBytesAreRefusedOrReadWithoutHarm, (std::string bytes)) {
  SeriesPoints out;
  if (unpack(bytes, out)) RC_ASSERT(out.steps.empty() || out.steps.size() == out.size());
}

TEST(Series, ACutChunkIsRefused) {
  SeriesPoints points;
  points.values = {1, 2, 3};
  points.times = {10, 20, 30};
  const std::string bytes = pack(points);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    SeriesPoints out;
    EXPECT_FALSE(unpack(std::string_view(bytes).substr(0, n), out)) << n;
  }
}

TEST(Series, ARegularReadingIsSmall) {
  SeriesPoints points;
  for (int i = 0; i < 4096; ++i) {
    points.values.push_back(60 + (i * 7) % 11 * 0.5);
    points.times.push_back(1'700'000'000'000'000'000 + i * std::int64_t{1'000'000'000});
    points.lines.push_back(i + 2);
    points.offsets.push_back(i * 40);
  }
  EXPECT_LT(pack(points).size(), points.size() * 5);
}

TEST(Series, AColumnThatOnlyOneHasIsFilledUp) {
  SeriesPoints a, b;
  a.values = {1};
  b.values = {2};
  b.steps = {7};
  append(a, b);
  EXPECT_EQ(a.steps, (std::vector<std::int64_t>{kNoValue, 7}));
  EXPECT_EQ(a.values, (std::vector<double>{1, 2}));
}

}  // namespace
}  // namespace culprit
