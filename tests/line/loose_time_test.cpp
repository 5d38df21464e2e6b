#include "line/loose_time.hpp"

#include "kit.hpp"
#include "line/line.hpp"

namespace culprit::line {
namespace {

using test::at;

const Nanoseconds kMoment = at(2026, 2, 3, 10, 11, 12);

// The line behind a time of that form; "" where it is none.
std::string behind(const std::string& form, Habit habit = {}) {
  const Line line = peel(form + " step 5", habit);
  return line.prefix.time.clock == Clock::none ? "" : line.message;
}

TEST(LooseTime, AWholeDateIsOneWhereverItStandsFirst) {
  for (const char* form :
       {"03.02.2026 10:11:12", "[03.02.2026 10:11:12]", "[03.02.2026 10:11:12 trainer]",
        "2026.02.03 10:11:12", "2026/02/03-10:11:12", "2026-02-03_10-11-12",
        "2026-02-03 at 10:11:12", "20260203-101112", "20260203 10:11:12", "20260203T101112",
        "(2026-02-03 10:11:12)", "<2026-02-03 10:11:12>", "time=2026-02-03T10:11:12",
        "ts=\"2026-02-03T10:11:12\"", "Feb 3, 2026 10:11:12", "Tue, 03 Feb 2026 10:11:12"}) {
    const Line line = peel(std::string(form) + " step 5");
    EXPECT_EQ(line.message, "step 5") << form;
    EXPECT_EQ(line.prefix.time.ns, kMoment) << form;
    EXPECT_EQ(line.prefix.time.clock, Clock::local) << form;
  }
  EXPECT_EQ(peel("03.02.2026 10:11:12.250+01:00 x").prefix.time.ns,
            at(2026, 2, 3, 9, 11, 12, 250'000'000));
}

TEST(LooseTime, WhatMayBeAnythingIsATimeInAFileOfThem) {
  const Habit habit{.loose_time = true};
  for (const char* form : {"260203-10:11:12", "[02/03 10:11:12]", "[02/03 10:11:12 d2.engine]",
                           "02-03 10:11:12.5", "03.02. 10:11:12", "[03.02. 10:11:12]", "10:11:12",
                           "1770113472", "1770113472.25", "[1770113472.25]", "1770113472123"}) {
    EXPECT_EQ(behind(form, habit), "step 5") << form;
  }
  EXPECT_EQ(peel("1770113472.25 x", habit).prefix.time.ns, kMoment + 250'000'000);
  EXPECT_EQ(peel("[13.02. 10:11:12][INFO] x", habit).prefix.time.ns, at(2000, 2, 13, 10, 11, 12));
  EXPECT_EQ(peel("[02/13 10:11:12] x", habit).prefix.time.ns, at(2000, 2, 13, 10, 11, 12));
  EXPECT_EQ(peel("[13/02 10:11:12] x", habit).prefix.time.ns, at(2000, 2, 13, 10, 11, 12));
  EXPECT_EQ(peel("[02/03 10:11:12] x", habit).prefix.time.clock, Clock::local_no_date)
      << "of March or of February";
  for (const char* form : {"260203-10:11:12", "02-03 10:11:12.5", "10:11:12", "1770113472"})
    EXPECT_EQ(behind(form), "") << form;
}

TEST(LooseTime, OtherNumbersAreNone) {
  const Habit habit{.loose_time = true};
  for (const char* text :
       {"99.88.2026 10:11:12 x", "20269903-101112 x", "1170113472 x", "10:61:12 x", "2026.02.03 x",
        "(10 of 12) x", "<3> x", "12/31 x", "1770113472abc x", "02/03 of 10:11 x", "time=5 x",
        "3.5, 4.5 x", "Dec, the 3rd x"})
    EXPECT_EQ(peel(text, habit).prefix.time.clock, Clock::none) << text;
}

TEST(LooseTime, AFileOfThemHasThemInOrder) {
  EXPECT_TRUE(habit_of("10:11:12 a\n10:11:13 b\n\n10:11:15 c\n x\n").loose_time);
  EXPECT_TRUE(habit_of("1770113472 a\n1770113474 b\n1770113474 c\n").loose_time);
  EXPECT_FALSE(habit_of("1770113472 a\n1770113474 b\n").loose_time) << "too few";
  EXPECT_FALSE(habit_of("1770113472 a\n1570113474 b\n1770113471 c\n").loose_time) << "no order";
  EXPECT_FALSE(habit_of("10:11:12 a\nb\nc\nd\ne\n10:11:13 f\ng\nh\ni\nj\n10:11:14 k\n").loose_time)
      << "few of the lines";
}

}  // namespace
}  // namespace culprit::line
