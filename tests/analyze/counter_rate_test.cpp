#include "analyze/metrics/counter_rate.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace culprit::analyze {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();

struct Case {
  const char* name;
  std::vector<double> values;  // a second apart
  double ceiling;
  std::vector<double> rates;
  std::size_t resets, saturated, unusable;
};
class CounterRates : public testing::TestWithParam<Case> {};

TEST_P(CounterRates, AreRight) {
  const Case& c = GetParam();
  std::vector<Nanoseconds> times;
  for (std::size_t i = 0; i < c.values.size(); ++i)
    times.push_back(static_cast<Nanoseconds>(i) * kSecond);
  const CounterRate r = counter_rate(times, c.values, c.ceiling);
  EXPECT_EQ(r.rates, c.rates);
  EXPECT_EQ(r.times.size(), r.rates.size());
  EXPECT_EQ(r.resets, c.resets);
  EXPECT_EQ(r.saturated, c.saturated);
  EXPECT_EQ(r.unusable, c.unusable);
}

INSTANTIATE_TEST_SUITE_P(
    Table, CounterRates,
    testing::Values(
        Case{"plain", {10, 12, 12, 20}, 0, {2, 0, 8}, 0, 0, 0},
        Case{"reset", {10, 12, 3, 5}, 0, {2, 2}, 1, 0, 0},
        Case{"hole", {10, kNan, 14}, 0, {2}, 0, 0, 1},
        Case{"sticks at its ceiling", {250, 254, 255, 255, 255}, 255, {4, 1}, 0, 3, 0},
        Case{"stood at its ceiling all the time", {255, 255, 255}, 255, {}, 0, 3, 0},
        Case{"cleared", {255, 0, 2}, 255, {2}, 1, 1, 0},
        Case{"infinite", {1, std::numeric_limits<double>::infinity(), 3}, 0, {1}, 0, 0, 1},
        Case{"one", {5}, 0, {}, 0, 0, 0}, Case{"none", {}, 0, {}, 0, 0, 0}),
    [](const auto& tested) {
      std::string n = tested.param.name;
      for (char& ch : n)
        if (ch == ' ') ch = '_';
      return n;
    });

TEST(CounterRate, TimesThatStandStillOrGoBackAreUnusable) {
  const std::vector<Nanoseconds> times{0, kSecond, kSecond, 0, 3 * kSecond};
  const std::vector<double> values{0, 1, 5, 9, 5};
  const CounterRate r = counter_rate(times, values);
  EXPECT_EQ(r.rates, (std::vector<double>{1, 2}));
  EXPECT_EQ(r.unusable, 2u);
  const std::vector<Nanoseconds> far{std::numeric_limits<Nanoseconds>::min(),
                                     std::numeric_limits<Nanoseconds>::max()};
  EXPECT_EQ(counter_rate(far, std::vector<double>{0, 1}).rates.size(), 1u);
}

}  // namespace
}  // namespace culprit::analyze
