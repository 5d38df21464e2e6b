#include "analyze/pace/job_steps.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

void row(StepTable& t, std::int64_t iteration, double seconds, double ms = kNone) {
  t.iteration.push_back(iteration);
  t.times.push_back(std::isnan(seconds) ? kNoValue : static_cast<std::int64_t>(seconds * 1e9));
  t.iteration_ms.push_back(ms);
  t.loss.push_back(1);
  t.grad_norm.push_back(kNone);
  t.not_a_number.push_back(0);
  t.lines.push_back(static_cast<std::int64_t>(t.iteration.size()));
  t.offsets.push_back(0);
}

StepTable table(MemberId member, Clock clock = Clock::utc) {
  StepTable t;
  t.member = member;
  t.clock = clock;
  return t;
}

TEST(JobSteps, StepsThatSeveralRanksPrintCountOnce) {
  StepTable t = table(1);
  for (int i = 1; i <= 50; ++i)
    for (int rank = 0; rank < 4; ++rank) row(t, i, 100 + i * 2.0 + rank * 0.01, 2000);
  // Rank 3 is late with one line.
  std::swap(t.iteration[7], t.iteration[8]);
  const JobSteps steps = job_steps({}, std::vector{t});
  EXPECT_EQ(steps.size(), 50u);
  EXPECT_EQ(steps.repeated, 150u);
  EXPECT_EQ(steps.attempt.back(), 0u);
}

TEST(JobSteps, ARestartRepeatsStepsInAnotherAttempt) {
  StepTable t = table(1);
  for (int i = 1; i <= 30; ++i) row(t, i, i * 2.0, 2000);
  for (int i = 21; i <= 40; ++i) row(t, i, 400 + i * 2.0, 2000);
  const JobSteps steps = job_steps({}, std::vector{t});
  EXPECT_EQ(steps.size(), 50u);
  EXPECT_EQ(steps.attempt[29], 0u);
  EXPECT_EQ(steps.attempt[30], 1u);
  EXPECT_EQ(steps.repeated, 0u);
}

TEST(JobSteps, DurationsComeFromTheTimesWhenNoneArePrinted) {
  StepTable t = table(1);
  for (int i = 10; i <= 500; i += 10) row(t, i, i * 0.53);
  const JobSteps steps = job_steps({}, std::vector{t});
  ASSERT_TRUE(steps.from_times);
  EXPECT_TRUE(std::isnan(steps.ms[0]));
  EXPECT_NEAR(steps.ms[1], 530, 1e-6);
}

TEST(JobSteps, TimesAreReckonedFromTheFirstDatedLine) {
  Facts facts;
  facts.members.resize(1);
  facts.members[0].id = 1;
  facts.log_starts[1] = {0, 1000 * kSecond};
  StepTable t = table(1, Clock::none);
  for (int i = 1; i <= 20; ++i) row(t, i * 10, kNone, 500);
  for (auto& offset : t.offsets) offset = 80;
  const JobSteps steps = job_steps(facts, std::vector{t});
  ASSERT_TRUE(steps.reckoned);
  EXPECT_EQ(steps.time[0], 1000 * kSecond + 500'000'000);
  EXPECT_EQ(steps.time[19], steps.time[0] + 19 * 5 * kSecond);  // each row stands for ten steps
  EXPECT_FALSE(job_steps({}, std::vector{t}).reckoned);
  facts.log_starts[1] = {4000, 1000 * kSecond};  // dated is what stands behind the steps
  EXPECT_FALSE(job_steps(facts, std::vector{t}).reckoned);
  facts.log_starts[1] = {0, 1000 * kSecond};
  t.iteration[19] = std::int64_t{1} << 60;
  t.iteration_ms[19] = 9e8;
  EXPECT_EQ(job_steps(facts, std::vector{t}).time[19], kNoValue);
}

TEST(JobSteps, AClockOfWholeSecondsTimesSeveralShortStepsAtOnce) {
  StepTable t = table(1);
  for (int i = 1; i <= 500; ++i) row(t, i, std::floor(i * 0.7));
  const JobSteps steps = job_steps({}, std::vector{t});
  ASSERT_TRUE(steps.from_times);
  std::size_t timed = 0;
  for (const double ms : steps.ms) {
    if (std::isnan(ms)) continue;
    ++timed;
    EXPECT_NEAR(ms, 700, 70);
  }
  EXPECT_GT(timed, 30u);
  EXPECT_LT(timed, 36u);  // each of ten seconds
}

TEST(JobSteps, ALocalClockWithoutAZoneGivesOrderOnly) {
  StepTable t = table(1, Clock::boot);
  for (int i = 1; i <= 5; ++i) row(t, i, i, 1000);
  const JobSteps steps = job_steps({}, std::vector{t});
  EXPECT_EQ(steps.time[0], kNoValue);
  EXPECT_EQ(steps.ms[0], 1000);
}

TEST(JobSteps, LogsOfOtherTimesAreReadOneAfterAnother) {
  Facts facts;
  const auto log = [&](std::string path, std::uint64_t rows, std::int64_t from, std::int64_t to,
                       bool timed) {
    MemberRow m;
    m.id = static_cast<MemberId>(facts.members.size()) + 1;
    m.path = std::move(path);
    m.kind = "file";
    m.order = m.id;
    facts.members.push_back(m);
    ProgressSpan s;
    s.member = m.id;
    s.rows = rows;
    s.first.time_ns = from * kSecond;
    s.last.time_ns = to * kSecond;
    s.last.iteration = 100;
    if (timed) s.last.iteration_ms = 10;
    facts.progress.push_back(s);
  };
  log("second/rank0.log", 50, 1000, 2000, true);
  log("second/rank1.log", 60, 1000, 2000, true);
  log("first/rank0.log", 40, 100, 900, true);
  log("console.log", 90, 100, 2000, false);
  EXPECT_EQ(step_logs(facts), (std::vector<MemberId>{3, 2}));
}

// Without times the numbers of the steps tell that one run goes on where the other ended.
TEST(JobSteps, LogsWithoutTimesGoOnWhereTheOtherEnded) {
  Facts facts;
  const auto log = [&](std::string path, std::int64_t from, std::int64_t to) {
    MemberRow m;
    m.id = static_cast<MemberId>(facts.members.size()) + 1;
    m.path = std::move(path);
    m.kind = "file";
    m.order = m.id;
    facts.members.push_back(m);
    ProgressSpan s;
    s.member = m.id;
    s.rows = static_cast<std::uint64_t>(to - from);
    s.first.iteration = from;
    s.last.iteration = to;
    s.last.iteration_ms = 10;
    facts.progress.push_back(s);
  };
  log("run8.log", 6101, 8000);
  log("run7.log", 5001, 6100);
  log("run8_copy_by_hand.log", 6500, 7000);
  EXPECT_EQ(step_logs(facts), (std::vector<MemberId>{2, 1}));
  facts.members[1].rank = Rank{3};
  EXPECT_EQ(step_logs(facts), (std::vector<MemberId>{1})) << "of another rank, cut elsewhere";
}

}  // namespace
}  // namespace culprit::analyze
