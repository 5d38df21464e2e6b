#include "line/zone.hpp"
#include "line/zone_in_name.hpp"

#include <gtest/gtest.h>

namespace culprit::line {
namespace {

Nanoseconds at(std::int64_t year, unsigned month, unsigned day, std::int64_t hour,
               std::int64_t minute = 0) {
  return days_from_civil(year, month, day) * 86400 * kSecond + hour * kHour + minute * 60 * kSecond;
}

TEST(Zone, Offsets) {
  struct Case {
    const char* text;
    Nanoseconds offset;
  };
  for (const Case& c : {Case{"UTC", 0},
                        {"Z", 0},
                        {"GMT", 0},
                        {"+08:00", 8 * kHour},
                        {"-0330", -(7 * kHour / 2)},
                        {"+8", 8 * kHour},
                        {"+08", 8 * kHour},
                        {"UTC+8", 8 * kHour},
                        {"GMT-05:00", -5 * kHour}}) {
    const auto zone = Zone::named(c.text);
    ASSERT_TRUE(zone) << c.text;
    EXPECT_EQ(zone->utc(at(2026, 5, 2, 12)), at(2026, 5, 2, 12) - c.offset) << c.text;
    EXPECT_EQ(zone->offset(at(2026, 5, 2, 12)), c.offset) << c.text;
  }
}

TEST(Zone, NamesThatAreNone) {
  for (const char* text : {"", "+", "+123456", "+8:0", "+25:00", "-05:75", "Mars/Olympus",
                           "/etc/passwd", "../../etc/passwd", "Europe/../../../etc/passwd",
                           "file:Europe/Berlin", "libc:localtime", "Europe/", "Asia\n"})
    EXPECT_FALSE(Zone::named(text)) << text;
  EXPECT_FALSE(Zone::named(std::string("UTC\0x", 5)));
  EXPECT_FALSE(Zone::named(std::string(1000, 'A')));
}

TEST(Zone, DaylightSaving) {
  const auto berlin = Zone::named("Europe/Berlin");
  if (!berlin) GTEST_SKIP() << "no zoneinfo on this system";
  Nanoseconds uncertainty = 0;
  EXPECT_EQ(berlin->utc(at(2026, 1, 15, 12) + 250, uncertainty), at(2026, 1, 15, 11) + 250);
  EXPECT_EQ(berlin->utc(at(2026, 7, 15, 12), uncertainty), at(2026, 7, 15, 10));
  EXPECT_EQ(uncertainty, 0);
  // The night of 25 October 2026: 02:30 comes twice.
  EXPECT_EQ(berlin->utc(at(2026, 10, 25, 2, 30), uncertainty), at(2026, 10, 25, 0, 30));
  EXPECT_EQ(uncertainty, kHour);
  EXPECT_EQ(berlin->offset(at(2026, 7, 1, 0)), 2 * kHour);
  EXPECT_EQ(berlin->offset(at(2026, 12, 1, 0)), kHour);
  // Beyond the rules of the file, and far outside of them.
  EXPECT_EQ(berlin->utc(at(2199, 1, 15, 12)), at(2199, 1, 15, 11));
  berlin->utc(std::numeric_limits<Nanoseconds>::min() + 2 * kSecond);
  berlin->utc(std::numeric_limits<Nanoseconds>::max());
}

TEST(ZoneInName, AWordOfThePath) {
  const auto hours = [](std::string_view path) {
    const auto zone = zone_in_name(path);
    return zone ? std::optional(zone->offset(0) / kHour) : std::nullopt;
  };
  EXPECT_EQ(hours("syslog_utc/gx-07.log"), 0);
  EXPECT_EQ(hours("gpu_export_MESZ.csv"), 2);
  EXPECT_EQ(hours("trainer_pst.log"), -8);
  EXPECT_EQ(hours("wk-60/syslog.cet.txt"), 1);
  EXPECT_EQ(hours("slurmctld.log.utc"), 0);
  // Words that only look like one, two zones, and the zone of a moment in the name.
  for (const std::string_view other :
       {"est/best.log", "pod-west/train.log", "WEST-3.log", "utc-to-pdt.txt",
        "journal-20260311-1200-utc.log", "dmesg_2026-03-11T1200Z.utc.log", "utcoffset.log",
        "kern_2026-03-11_12-30-00_UTC.log", "look_12h30_UTC.txt", "mdt/oss-mdt.log", "gmt.log"})
    EXPECT_FALSE(hours(other)) << other;
}

}  // namespace
}  // namespace culprit::line
