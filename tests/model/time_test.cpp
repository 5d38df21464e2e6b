#include <gtest/gtest.h>

#include <limits>

#include "model/time.hpp"

namespace culprit {
namespace {

struct Moment {
  const char* name;
  Nanoseconds ns;
  const char* text;
};
class IsoUtc : public testing::TestWithParam<Moment> {};
TEST_P(IsoUtc, Prints) { EXPECT_EQ(iso_utc(GetParam().ns), GetParam().text); }
INSTANTIATE_TEST_SUITE_P(
    Moments, IsoUtc,
    testing::Values(Moment{"epoch", 0, "1970-01-01T00:00:00Z"},
                    Moment{"ms", 1'601'000'000, "1970-01-01T00:00:01.601Z"},
                    Moment{"us", 1'000'001'000, "1970-01-01T00:00:01.000001Z"},
                    Moment{"ns", 1, "1970-01-01T00:00:00.000000001Z"},
                    Moment{"before_epoch", -1, "1969-12-31T23:59:59.999999999Z"},
                    Moment{"whole_second_before", -kSecond, "1969-12-31T23:59:59Z"},
                    Moment{"leap_day", 951'827'696 * kSecond, "2000-02-29T12:34:56Z"},
                    Moment{"november", 1'795'231'178'601'000'000, "2026-11-21T03:19:38.601Z"},
                    Moment{"earliest", std::numeric_limits<Nanoseconds>::min(),
                           "1677-09-21T00:12:43.145224192Z"},
                    Moment{"latest", std::numeric_limits<Nanoseconds>::max(),
                           "2262-04-11T23:47:16.854775807Z"}),
    [](const auto& one) { return std::string(one.param.name); });

bool leap(std::int64_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

TEST(CivilDate, AgreesWithCountingDays) {
  static constexpr unsigned kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  std::int64_t days = 0;
  for (std::int64_t year = 1970; year <= 2410; ++year)
    for (unsigned month = 1; month <= 12; ++month)
      for (unsigned day = 1; day <= kDays[month - 1] + (month == 2 && leap(year)); ++day, ++days) {
        ASSERT_EQ(days_from_civil(year, month, day), days) << year << '-' << month << '-' << day;
        const CivilDate back = civil_from_days(days);
        ASSERT_TRUE(back.year == year && back.month == month && back.day == day) << days;
      }
  days = 0;
  for (std::int64_t year = 1969; year >= -410; --year)
    for (unsigned month = 12; month >= 1; --month)
      for (unsigned day = kDays[month - 1] + (month == 2 && leap(year)); day >= 1; --day) {
        ASSERT_EQ(days_from_civil(year, month, day), --days);
        const CivilDate back = civil_from_days(days);
        ASSERT_TRUE(back.year == year && back.month == month && back.day == day) << days;
      }
}

TEST(HumanDuration, ChoosesTheUnit) {
  struct Case {
    Nanoseconds ns;
    const char* text;
  };
  for (const Case& c : {Case{0, "0 ms"}, Case{42'000'000, "42 ms"}, Case{1'500'000'000, "1.5 s"},
                        Case{42 * kSecond, "42 s"}, Case{2100 * kSecond, "35 min"},
                        Case{5 * 3600 * kSecond, "5.0 h"}, Case{10 * 86400 * kSecond, "10.0 days"},
                        Case{-1'500'000'000, "-1.5 s"}})
    EXPECT_EQ(human_duration(c.ns), c.text);
  EXPECT_EQ(human_duration(std::numeric_limits<Nanoseconds>::min())[0], '-');
}

TEST(ClockNames, ComeBack) {
  for (const Clock clock : {Clock::none, Clock::utc, Clock::local, Clock::local_no_year,
                            Clock::local_no_date, Clock::boot})
    EXPECT_EQ(clock_named(name(clock)), clock);
  EXPECT_EQ(clock_named("sundial"), Clock::none);
}

}  // namespace
}  // namespace culprit
