#include "kit.hpp"
#include "line/timestamp.hpp"

namespace culprit::line {
namespace {

using test::at;

struct Stamp {
  const char* text;
  std::size_t used;
  Clock clock = Clock::none;
  Nanoseconds ns = 0;
  Nanoseconds precision = 0;
};

void check(std::size_t (*parse)(std::string_view, Timestamp&), const std::vector<Stamp>& table) {
  for (const Stamp& want : table) {
    Timestamp stamp;
    const test::Exact exact(want.text);
    ASSERT_EQ(parse(exact.view(), stamp), want.used) << want.text;
    if (want.used == 0) continue;
    EXPECT_EQ(name(stamp.clock), name(want.clock)) << want.text;
    EXPECT_EQ(stamp.ns, want.ns) << want.text;
    EXPECT_EQ(stamp.precision, want.precision) << want.text;
  }
}

TEST(NamesMoment, ByItsWords) {
  for (const char* name : {"ts", "ts_unix", "unix_ms", "Timestamp (UTC)", "@timestamp", "epoch_s",
                           "wall_time", "created_at_time", "datetime", "call_time_ns"})
    EXPECT_TRUE(names_moment(name)) << name;
  for (const char* name : {"step_time", "time_per_iter", "ms", "data_time", "uptime", "at", "t0_ts",
                           "elapsed", "timeout_s"})
    EXPECT_FALSE(names_moment(name)) << name;
}

TEST(Timestamp, Iso) {
  check(parse_iso,
        {
            {"2026-11-21 03:19:38,601 x", 23, Clock::local,
             at(2026, 11, 21, 3, 19, 38, 601'000'000), 1'000'000},
            {"2026-11-21 03:19:38.867309]", 26, Clock::local,
             at(2026, 11, 21, 3, 19, 38, 867'309'000), 1'000},
            {"2026-11-21 03:19:38", 19, Clock::local, at(2026, 11, 21, 3, 19, 38), kSecond},
            {"2026-11-21T03:19:38.123456789Z stderr", 30, Clock::utc,
             at(2026, 11, 21, 3, 19, 38, 123'456'789), 1},
            {"2026-11-21T03:19:38.1234567891Z", 31, Clock::utc,
             at(2026, 11, 21, 3, 19, 38, 123'456'789), 1},
            {"2025-01-21T04:41:44,285060+00:00 x", 32, Clock::utc,
             at(2025, 1, 21, 4, 41, 44, 285'060'000), 1'000},
            {"2026-11-21T03:19:38+05:30", 25, Clock::utc, at(2026, 11, 20, 21, 49, 38), kSecond},
            {"2026-11-21 03:19:38 -0800 x", 25, Clock::utc, at(2026, 11, 21, 11, 19, 38), kSecond},
            {"2026-11-21 03:19:38+01", 22, Clock::utc, at(2026, 11, 21, 2, 19, 38), kSecond},
            {"2026-11-21 03:19:38 UTC", 23, Clock::utc, at(2026, 11, 21, 3, 19, 38), kSecond},
            {"2026-11-21 03:19:38 -1 left", 19, Clock::local, at(2026, 11, 21, 3, 19, 38), kSecond},
            {"2026-11-21 03:19:38 - root", 19, Clock::local, at(2026, 11, 21, 3, 19, 38), kSecond},
            {"2024/09/08 13:03:31.000, x", 23, Clock::local, at(2024, 9, 8, 13, 3, 31), 1'000'000},
            {"2026-11-21_03:19:39", 19, Clock::local, at(2026, 11, 21, 3, 19, 39), kSecond},
            {"2016-12-31 23:59:60", 19, Clock::local, at(2017, 1, 1, 0, 0, 0), kSecond},
            {"2026-11-21", 0},
            {"2026-11-21 03:19", 0},
            {"2026-13-21 03:19:38", 0},
            {"2026-11-32 03:19:38", 0},
            {"2026-11/21 03:19:38", 0},
            {"1026-11-21 03:19:38", 0},
            {"2026-11-21x03:19:38", 0},
            {"2026-11-21 25:19:38", 0},
            {"2026-11-21 03:60:38", 0},
            {"", 0},
            {"26-11-21 03:19:38   ", 0},
        });
}

TEST(Timestamp, Sheet) {
  check(parse_sheet,
        {
            {"2025-08-07 06:00", 16, Clock::local, at(2025, 8, 7, 6, 0, 0), kMinute},
            {"07.08.2025 06:00", 16, Clock::local, at(2025, 8, 7, 6, 0, 0), kMinute},
            {"07.08.2025 06:00:30\t61", 19, Clock::local, at(2025, 8, 7, 6, 0, 30), kSecond},
            {"2025/08/07T06:00Z", 17, Clock::utc, at(2025, 8, 7, 6, 0, 0), kMinute},
            {"2025-08-07 06:00+02:00", 22, Clock::utc, at(2025, 8, 7, 4, 0, 0), kMinute},
            {"07/08/2025 06:00 PM", 19, Clock::local, at(2025, 7, 8, 18, 0, 0), kMinute},
            {"07/08/2025 12:00:30 AM", 22, Clock::local, at(2025, 7, 8, 0, 0, 30), kSecond},
            {"13/08/2025 06:00 PM", 0},
            {"07/08/2025 06:00", 0},  // a day or a month first: nobody knows
            {"32.08.2025 06:00", 0},
            {"07.13.2025 06:00", 0},
            {"07.08.2025 06-00", 0},
            {"07.08.2025 06:61", 0},
            {"07.08.2025 06:0", 0},
            {"", 0},
        });
}

TEST(Timestamp, ShortDates) {
  check(
      parse_short_date,
      {
          {"03-Nov-2025 00:59:44 step 1", 20, Clock::local, at(2025, 11, 3, 0, 59, 44), kSecond},
          {"03/Nov/2025:00:59:44 +0200", 26, Clock::utc, at(2025, 11, 2, 22, 59, 44), kSecond},
          {"04/22/2024 17:30:11 - INFO", 19, Clock::local, at(2024, 4, 22, 17, 30, 11), kSecond},
          {"04/22/2024 05:30:11 PM step 1", 22, Clock::local, at(2024, 4, 22, 17, 30, 11), kSecond},
          {"22/04/2024 17:30:11", 19, Clock::local, at(2024, 4, 22, 17, 30, 11), kSecond},
          {"25/03/07 10:00:00 INFO", 17, Clock::local, at(2025, 3, 7, 10, 0, 0), kSecond},
          {"13/03/26 10:00:00", 17, Clock::local_no_date, 10 * kHour, kSecond},
          // Two readings are dates of our time: the time of day is sure.
          {"07/09/25 12:33:12]", 17, Clock::local_no_date, 12 * kHour + 1992 * kSecond, kSecond},
          {"03/04/2026 00:00:09", 19, Clock::local_no_date, 9 * kSecond, kSecond},
          {"04/04/2026 00:00:09", 19, Clock::local, at(2026, 4, 4, 0, 0, 9), kSecond},
          {"12/03/ab 10:10:01", 0},
          {"26-11-02 04:00:12 INFO", 17, Clock::local, at(2026, 11, 2, 4, 0, 12), kSecond},
          {"12-31-2024 10:00:00", 0},  // the day or the month first: both are written
          {"45/45/2024 17:30:11", 0},
          {"04/22/2024 17:30", 0},
          {"04/22/2024", 0},
          {"17/18 of 20 done at 10:00:00", 0},
          {"", 0},
      });
}

TEST(Timestamp, Calendar) {
  check(
      parse_calendar,
      {
          {"Nov 21 03:19:38 host", 15, Clock::local_no_year, at(2000, 11, 21, 3, 19, 38), kSecond},
          {"Nov  1 03:19:38.123456 host", 22, Clock::local_no_year,
           at(2000, 11, 1, 3, 19, 38, 123'456'000), 1'000},
          {"Feb 29 00:00:00", 15, Clock::local_no_year, at(2000, 2, 29, 0, 0, 0), kSecond},
          {"Feb 25 2025 13:59:45]", 20, Clock::local, at(2025, 2, 25, 13, 59, 45), kSecond},
          {"Sun Feb 23 16:24:18 2025]", 24, Clock::local, at(2025, 2, 23, 16, 24, 18), kSecond},
          {"Sat Nov 21 03:26:24 UTC 2026", 28, Clock::utc, at(2026, 11, 21, 3, 26, 24), kSecond},
          {"Sat Nov 21 03:26:24 JST 2026", 28, Clock::utc, at(2026, 11, 20, 18, 26, 24), kSecond},
          {"Nov 21 03:19:38 EST host", 19, Clock::local_no_year, at(2000, 11, 21, 8, 19, 38),
           kSecond},
          {"Nov 21 03:19:38 CST host", 15, Clock::local_no_year, at(2000, 11, 21, 3, 19, 38),
           kSecond},
          {"2025 Jul  2 06:56:57.749644 host", 27, Clock::local,
           at(2025, 7, 2, 6, 56, 57, 749'644'000), 1'000},
          {"04 Aug, 14:03:32", 16, Clock::local_no_year, at(2000, 8, 4, 14, 3, 32), kSecond},
          {"kwi 15 07:56:59 host", 15, Clock::local_no_year, at(2000, 4, 15, 7, 56, 59), kSecond},
          {"M\xc3\xa4r  3 07:56:59 host", 16, Clock::local_no_year, at(2000, 3, 3, 7, 56, 59),
           kSecond},
          {"11\xe6\x9c\x88 15 14:15:47", 17, Clock::local_no_year, at(2000, 11, 15, 14, 15, 47),
           kSecond},
          {"abc 15 07:56:59 host", 15, Clock::local_no_date, (7 * 3600 + 56 * 60 + 59) * kSecond,
           kSecond},
          {"Nov 21", 0},
          {"Nov 32 03:19:38", 0},
          {"Nov 21 3:19:38 x", 0},
          {"", 0},
          {"November the 21st", 0},
          {"iteration 45/ 120", 0},
          {"mlx5_core 0000:08:00.0", 0},
      });
}

TEST(Timestamp, Glog) {
  check(parse_glog, {
                        {"0611 02:50:04.977000 3766697", 20, Clock::local_no_year,
                         at(2000, 6, 11, 2, 50, 4, 977'000'000), 1'000},
                        {"621 06:24:44.903881913 X", 22, Clock::local_no_year,
                         at(2000, 6, 21, 6, 24, 44, 903'881'913), 1},
                        {"1206 06:24:44.903881913 X", 23, Clock::local_no_year,
                         at(2000, 12, 6, 6, 24, 44, 903'881'913), 1},
                        {"20261121 03:19:26.319798 25480", 24, Clock::local,
                         at(2026, 11, 21, 3, 19, 26, 319'798'000), 1'000},
                        {"21 06:24:44", 0},
                        {"99999 06:24:44", 0},
                        {"1306 06:24:44", 0},
                        {"0600 06:24:44", 0},
                        {"0611", 0},
                        {"", 0},
                    });
}

TEST(Timestamp, TimeOfDayAndDigits) {
  check(parse_time_of_day,
        {{"03:19:38.5 x", 10, Clock::local_no_date, 11'978'500'000'000, 100'000'000},
         {"03:19", 0},
         {"3:19:38", 0},
         {"03-19-38", 0},
         {"03:19:61", 0}});
  std::size_t used = 0;
  std::int64_t value = 0;
  EXPECT_TRUE(parse_digits("0123x", used, value));
  EXPECT_EQ(used, 4u);
  EXPECT_EQ(value, 123);
  EXPECT_FALSE(parse_digits("", used, value));
  EXPECT_FALSE(parse_digits("-1", used, value));
  EXPECT_TRUE(parse_digits("999999999999999999", used, value));
  EXPECT_FALSE(parse_digits("1999999999999999999", used, value));
}

}  // namespace
}  // namespace culprit::line
