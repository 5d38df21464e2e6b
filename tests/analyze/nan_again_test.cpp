#include "analyze/pace/nan_again.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

constexpr Nanoseconds kBegan = 1'795'000'000 * kSecond;

// Logs of runs: the iteration that each began with, the first of which the loss was none, and when.
struct Run {
  std::int64_t first, gone;
  Nanoseconds after;
  Nanoseconds took = 0;  // since its first step; 0: not known
};

Facts runs(std::initializer_list<Run> all) {
  Facts facts;
  for (const Run& run : all) {
    MemberRow m;
    m.id = static_cast<MemberId>(facts.members.size()) + 1;
    m.path = "run" + std::to_string(m.id) + ".log";
    facts.members.push_back(m);
    ProgressSpan p;
    p.member = m.id;
    p.first.iteration = run.first;
    if (run.took != 0) p.first.time_ns = kBegan + run.after - run.took;
    p.last.iteration = run.gone + 4;
    ProgressRow gone;
    gone.place = {m.id, 7, 0, 0};
    gone.iteration = run.gone;
    gone.time_ns = kBegan + run.after;
    p.first_nan = gone;
    p.last_good = p.first;
    facts.progress.push_back(p);
  }
  return facts;
}

TEST(NanAgain, AtTheSameIterationInTwoRuns) {
  const auto found = nan_again(runs({{40'000, 41'216, 0}, {41'000, 41'216, 8'000 * kSecond}}), {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].outcome, Outcome::fired);
  EXPECT_EQ(found[0].count, 2u);
  EXPECT_EQ(found[0].evidence.size(), 2u);
}

// A copy whose clock is of another zone takes as long for the same steps; another run does not.
TEST(NanAgain, RunsThatAreHoursApartAreNoCopiesIfTheyTookOtherTimes) {
  const Nanoseconds hours = 5 * kHour / 2, took = 50 * kMinute;
  EXPECT_EQ(
      nan_again(runs({{40'000, 41'216, 0, took}, {40'000, 41'216, hours, took + kMinute}}), {})
          .size(),
      1u);
  EXPECT_TRUE(
      nan_again(runs({{40'000, 41'216, 0, took}, {40'000, 41'216, hours, took}}), {}).empty());
}

// Times that count from the epoch are of one zone: no copy is hours apart.
TEST(NanAgain, RunsWhoseTimesHaveAZoneAreNoCopies) {
  const Nanoseconds hours = 5 * kHour / 2, took = 50 * kMinute;
  Facts facts = runs({{40'000, 41'216, 0, took}, {40'000, 41'216, hours, took}});
  for (ProgressSpan& p : facts.progress) p.first_nan->time = {Clock::utc, *p.first_nan->time_ns, 1};
  EXPECT_EQ(nan_again(facts, {}).size(), 1u);
}

// A driver that begins again prints both attempts into one log.
TEST(NanAgain, AttemptsInOneLog) {
  const auto found = [](std::int64_t second, bool passed = false) {
    JobSteps steps;
    const auto add = [&](std::size_t attempt, std::int64_t from, std::int64_t gone) {
      for (std::int64_t it = from; it <= gone; ++it) {
        steps.iteration.push_back(it);
        steps.time.push_back(kNoValue);
        steps.not_a_number.push_back(it == gone ? 1 : 0);
        steps.loss.push_back(it == gone ? std::numeric_limits<double>::quiet_NaN() : 2.0);
        steps.attempt.push_back(attempt);
        steps.place.push_back({1, steps.iteration.size(), 0, 0});
      }
    };
    add(0, 0, 1500);
    add(1, 1400, second);
    if (passed) add(2, 1400, 1600), steps.not_a_number.back() = 0;
    return nan_again({}, steps).size();
  };
  EXPECT_EQ(found(1500), 1u);
  EXPECT_EQ(found(1500, true), 0u) << "the next attempt got past it";
  EXPECT_EQ(found(1460), 0u) << "at another place: by chance, it may be";
}

// Without a day the hours still tell runs from copies.
TEST(NanAgain, RunsWhoseTimesHaveNoDate) {
  const auto found = [](Nanoseconds apart) {
    Facts facts = runs({{40'000, 41'216, 0}, {40'000, 41'216, 0}});
    Nanoseconds at = 3 * kHour;
    for (ProgressSpan& p : facts.progress) {
      p.first_nan->time_ns.reset();
      p.first_nan->time = {Clock::local_no_date, at, kSecond};
      at += apart;
    }
    return nan_again(facts, {}).size();
  };
  EXPECT_EQ(found(3 * kHour), 1u);
  EXPECT_EQ(found(0), 0u) << "a copy";
}

TEST(NanAgain, NotAtOthersNorAtTheBeginningNorInOneRun) {
  const Nanoseconds later = 8'000 * kSecond;
  EXPECT_TRUE(nan_again(runs({{40'000, 41'216, 0}, {41'000, 41'311, later}}), {}).empty());
  EXPECT_TRUE(nan_again(runs({{41'214, 41'216, 0}, {41'214, 41'216, later}}), {}).empty())
      << "what was loaded may be wrong";
  EXPECT_TRUE(nan_again(runs({{40'000, 41'216, 0}, {40'000, 41'216, kSecond}}), {}).empty())
      << "two ranks of one run";
  EXPECT_TRUE(nan_again(runs({{40'000, 41'216, 0}}), {}).empty());
}

}  // namespace
}  // namespace culprit::analyze
