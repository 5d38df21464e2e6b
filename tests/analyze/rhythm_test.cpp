// Steps that are slow now and again: by the clock, by the count, or at no distance at all.
#include "analyze/pace/rhythm.hpp"

#include <gtest/gtest.h>

#include "support/steps.hpp"

namespace culprit::analyze {
namespace {

constexpr Nanoseconds kRhythmBegin = 1'700'000'000 * kSecond;

// Steps of some two seconds; slow(i, now) tells how many times as long one is.
template <class Slow>
JobSteps steps_with(std::size_t n, Slow slow) {
  JobSteps out;
  Nanoseconds now = kRhythmBegin;
  for (std::size_t i = 0; i < n; ++i) {
    const double ms = (2000 + static_cast<double>(i * 7 % 11) * 20) * slow(i, now);
    add_step(out, ms, now);
  }
  return out;
}

TEST(Rhythm, ATimerBesideTheJob) {
  const auto found = rhythm_of(steps_with(2000, [](std::size_t, Nanoseconds now) {
    return (now - kRhythmBegin) / kSecond % 600 < 60 && now > kRhythmBegin + kMinute ? 2.5 : 1.0;
  }));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->by_clock);
  EXPECT_NEAR(static_cast<double>(found->every) / 1e9, 600, 6);
  EXPECT_NEAR(found->factor, 2.5, 0.2);
}

TEST(Rhythm, AnIntervalOfTheProgram) {
  const auto found = rhythm_of(steps_with(2000, [](std::size_t i, Nanoseconds) {
    return i % 100 > 93 ? 4.0 : i / 500 % 2 == 0 ? 1.0 : 1.2;
  }));
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->by_clock);
  EXPECT_EQ(found->steps, 100);
}

TEST(Rhythm, NothingAtUnevenDistancesOrOfLittleCost) {
  EXPECT_FALSE(rhythm_of(steps_with(
      2000, [](std::size_t i, Nanoseconds) { return i * i * 2654435761u % 97 < 4 ? 3.0 : 1.0; })));
  EXPECT_FALSE(rhythm_of(
      steps_with(2000, [](std::size_t i, Nanoseconds) { return i % 200 == 0 ? 2.0 : 1.0; })));
  EXPECT_FALSE(
      rhythm_of(steps_with(30, [](std::size_t i, Nanoseconds) { return i % 5 == 0 ? 2.0 : 1.0; })));
}

}  // namespace
}  // namespace culprit::analyze
