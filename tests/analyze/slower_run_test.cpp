// Two runs of one job, of which the second takes longer although no stretch of it is slow.
#include "analyze/pace/slower_run.hpp"

#include <gtest/gtest.h>

#include "support/steps.hpp"

namespace culprit::analyze {
namespace {

constexpr std::size_t kStepsOfRun = 600;

// Steps of two seconds, in two runs: slow(i) tells how many times as long one of the second is,
// pause_s(i) for how long the job stands behind it.
template <class Slow, class Pause>
JobSteps two_runs(Slow slow, Pause pause_s) {
  JobSteps out;
  Nanoseconds now = 1'700'000'000 * kSecond;
  for (std::size_t run = 0; run < 2; ++run)
    for (std::size_t i = 0; i < kStepsOfRun; ++i) {
      const double usual = 2000 + static_cast<double>(i * 7 % 11) * 20;
      add_step(out, usual * (run == 0 ? 1 : slow(i)), now);
      out.iteration.back() = static_cast<std::int64_t>(i);
      out.attempt.back() = run;
      if (run == 1) now += static_cast<Nanoseconds>(pause_s(i)) * kSecond;
    }
  return out;
}

constexpr auto kNoPause = [](std::size_t) { return 0; };
constexpr auto kAsBefore = [](std::size_t) { return 1.0; };

std::optional<SlowFacts> told(const JobSteps& steps, std::span<const std::uint32_t> jobs = {},
                              std::span<const JobCheckpoint> checkpoints = {}) {
  const auto finding = slower_run({}, steps, jobs, checkpoints);
  if (!finding) return std::nullopt;
  return std::get<SlowFacts>(finding->facts);
}

TEST(SlowerRun, LongStepsHereAndThere) {
  const auto slow =
      told(two_runs([](std::size_t i) { return i * i % 10 < 2 ? 2.0 : 1.0; }, kNoPause));
  ASSERT_TRUE(slow);
  EXPECT_NEAR(slow->factor, 1.3, 0.03);
  EXPECT_TRUE(slow->from_start);
  EXPECT_EQ(slow->grown, "");
}

TEST(SlowerRun, PausesForCheckpoints) {
  const JobSteps steps = two_runs(kAsBefore, [](std::size_t i) { return i % 50 == 49 ? 30 : 0; });
  std::vector<JobCheckpoint> saves;
  for (std::size_t i = 49; i < kStepsOfRun; i += 50)
    saves.push_back({.event = CheckpointEvent::saved, .row = kStepsOfRun + i});
  const auto slow = told(steps, {}, saves);
  ASSERT_TRUE(slow);
  EXPECT_NEAR(slow->factor, 1 + 30.0 / (50 * 2.1), 0.05);
  EXPECT_EQ(slow->grown, "checkpoint");
  EXPECT_EQ(told(steps)->grown, "");
}

TEST(SlowerRun, NothingWhereRunsAreAlikeOrOfOtherJobs) {
  EXPECT_FALSE(told(two_runs(kAsBefore, kNoPause)));
  EXPECT_FALSE(told(two_runs([](std::size_t) { return 1.04; }, kNoPause)));
  // One that took long is no habit.
  EXPECT_FALSE(told(two_runs([](std::size_t i) { return i == 300 ? 40.0 : 1.0; }, kNoPause)));
  std::vector<std::uint32_t> jobs(kStepsOfRun, 0);
  jobs.resize(2 * kStepsOfRun, 1);
  EXPECT_FALSE(
      told(two_runs([](std::size_t i) { return i % 5 == 0 ? 2.0 : 1.0; }, kNoPause), jobs));
}

}  // namespace
}  // namespace culprit::analyze
