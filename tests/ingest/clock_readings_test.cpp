// Clocks of several machines that were asked at one moment.
#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_text;

std::string told(const std::string& text) {
  std::string out(detect(Head{"clocks.txt", text, true}).kind);
  EXPECT_EQ(out, "clocks") << text;
  out.clear();
  for (const EventRow& e : read_text(text, "clocks").events)
    out += fmt::format("{} {}; ", name_of(e.host), e.message);
  return out;
}

TEST(ClockReadings, TheOneThatIsApart) {
  EXPECT_EQ(told("$ pdsh -w mu[01-04] date +%T.%N\nmu01: 08:04:20.523\nmu02: 08:04:20.159\n"
                 "mu03: 07:58:09.131\nmu04: 08:04:20.018\n"),
            "mu03 clock is 371 s behind those of 3 other machines; ");
  EXPECT_EQ(told("gx1: Wed Aug 19 07:02:30 UTC 2026\ngx2: Wed Aug 19 07:17:05 UTC 2026\n"
                 "gx3: Wed Aug 19 07:02:31 UTC 2026\ngx4: Wed Aug 19 07:02:31 UTC 2026\n"),
            "gx2 clock is 874 s ahead of those of 3 other machines; ");
  EXPECT_EQ(told("gx1 1787122950.12\ngx2 1787122950.40\ngx3 1787123150.5\ngx4 1787122951\n"),
            "gx3 clock is 200 s ahead of those of 3 other machines; ");
}

TEST(ClockReadings, ZonesAndMidnightAndHandfulsAreNoFault) {
  EXPECT_EQ(told("gx1: 08:04:20\ngx2: 08:04:20\ngx3: 10:04:20\ngx4: 08:04:21\n"), "") << "a zone";
  EXPECT_EQ(told("gx1: 23:59:58\ngx2: 23:59:59\ngx3: 00:00:01\ngx4: 23:59:59\n"), "");
  EXPECT_EQ(told("gx1: 08:04:20\ngx2: 08:09:20\ngx3: 08:19:28\ngx4: 08:04:21\n"), "")
      << "two are apart";
  EXPECT_EQ(detect(Head{"clocks.txt", "gx1: 08:04:20\ngx2: 08:09:28\n", true}).kind, "");
}

}  // namespace
}  // namespace culprit::ingest
