#include "analyze/pace/efficiency.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace culprit::analyze {
namespace {

constexpr Nanoseconds kStart = 1'700'000'000 * kSecond;

void add(JobTimes& job, std::int64_t attempt, std::int64_t from, std::int64_t to, double begin_s,
         double ms, std::int64_t stride = 1) {
  double now = begin_s;
  for (std::int64_t i = from; i <= to; i += stride) {
    now += ms / 1000 * static_cast<double>(stride);
    job.steps.push_back(
        {attempt, i, kStart + static_cast<Nanoseconds>(std::llround(now * 1e9)), ms});
  }
}

Nanoseconds total(const TimeParts& p) {
  return p.productive + p.slow + p.recomputation + p.detection + p.localisation + p.restart +
         p.unexplained + p.start_up + p.after + p.between_steps;
}

TEST(Efficiency, NothingButSteps) {
  JobTimes job;
  add(job, 0, 1, 100, 0, 1000);
  const Efficiency e = efficiency(job);
  ASSERT_TRUE(e.enough);
  EXPECT_DOUBLE_EQ(e.ettr, 1);
  EXPECT_EQ(e.steps, 100);
  EXPECT_TRUE(e.sliding.empty());
  EXPECT_FALSE(e.sliding_lowest);
  EXPECT_EQ(e.parts.productive, 100 * kSecond);
  EXPECT_DOUBLE_EQ(e.degradation->share, 0);
  EXPECT_DOUBLE_EQ(e.mfu->highest, 1);
}

// Steps 1..100 of 10 s; the job fails at 1000 s, is reported at 1060, found at 1300, restarted at
// 1400, and goes on at 1600 s from the checkpoint of step 90.
JobTimes restarted() {
  JobTimes job;
  add(job, 1, 1, 100, 0, 10'000);
  add(job, 2, 91, 400, 1600, 10'000);
  job.attempts = {{1, kStart - 50 * kSecond, kStart + 1200 * kSecond},
                  {2, kStart + 1400 * kSecond, {}}};
  job.start = kStart - 50 * kSecond;
  job.gpus = 1000;
  return job;
}

TEST(Efficiency, RecomputedStepsCountOnce) {
  const Efficiency e = efficiency(restarted());
  ASSERT_TRUE(e.enough);
  EXPECT_EQ(e.steps, 400);
  EXPECT_EQ(e.recomputed_steps, 10);
  EXPECT_EQ(e.parts.recomputation, 100 * kSecond);
  EXPECT_EQ(e.parts.productive, 4000 * kSecond);
  EXPECT_EQ(e.parts.start_up, 50 * kSecond);
  EXPECT_EQ(e.parts.unexplained, 400 * kSecond);  // to the restart: no mark
  EXPECT_EQ(e.parts.restart, 200 * kSecond);
  EXPECT_EQ(e.parts.detection + e.parts.localisation, 0);
  EXPECT_DOUBLE_EQ(e.ettr, 4000.0 / 4750.0);
  EXPECT_EQ(total(e.parts), e.end - e.start);
  EXPECT_DOUBLE_EQ(*gpu_hours(e.parts.recomputation, e.gpus), 100.0 / 3600 * 1000);
  EXPECT_FALSE(gpu_hours(e.parts.recomputation, {}));
  ASSERT_EQ(e.runs.size(), 2u);
  EXPECT_EQ(e.runs[1].first, 91);
  EXPECT_EQ(e.runs[1].recomputed, 100 * kSecond);
}

TEST(Efficiency, MarksTellWhereTheTimeWent) {
  JobTimes job = restarted();
  job.interruptions = {{1, kStart + 1000 * kSecond, kStart + 1060 * kSecond,
                        kStart + 1300 * kSecond, kStart + 1400 * kSecond}};
  const Efficiency e = efficiency(job);
  EXPECT_EQ(e.parts.detection, 60 * kSecond);
  EXPECT_EQ(e.parts.localisation, 240 * kSecond);
  EXPECT_EQ(e.parts.restart, 300 * kSecond);
  EXPECT_EQ(e.parts.unexplained, 0);
  EXPECT_EQ(total(e.parts), e.end - e.start);
}

TEST(Efficiency, WithoutAttemptsAFallingIterationIsARestart) {
  JobTimes job = restarted();
  for (StepRecord& s : job.steps) s.attempt = 0;
  job.attempts.clear();
  const Efficiency e = efficiency(job);
  EXPECT_EQ(e.runs.size(), 2u);
  EXPECT_EQ(e.recomputed_steps, 10);
  EXPECT_EQ(e.parts.unexplained, 600 * kSecond);
}

TEST(Efficiency, SlidingHourSeesTheRestart) {
  const Efficiency e = efficiency(restarted());
  ASSERT_TRUE(e.sliding_lowest);
  // The hour that holds the gap of 600 s and the 100 s of recomputation, and no step before that
  // was cut: 2900 of 3600 s.
  EXPECT_NEAR(e.sliding_lowest->value, 2850.0 / 3600,
              1e-9);  // the first hour holds the start-up of 50 s, too
  EXPECT_LE(e.sliding.size(), 500u);
  for (const CurvePoint& p : e.sliding) EXPECT_GE(p.value, e.sliding_lowest->value - 1e-9);
  EXPECT_NEAR(e.cumulative.back().value, e.ettr, 1e-9);
}

// The lowest point of the sliding ETTR against looking at every second.
TEST(Efficiency, LowestHourAgainstBruteForce) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 10; ++round) {
    JobTimes job;
    std::int64_t at = 1;
    double now = 0;
    std::vector<std::pair<double, double>> busy;  // first runs
    std::int64_t seen = 0;
    for (int run = 0; run < 4; ++run) {
      const auto n = static_cast<std::int64_t>(60 + random() % 60);
      for (std::int64_t i = 0; i < n; ++i, ++at) {
        const double length = static_cast<double>(5 + random() % 30);
        if (at > seen) busy.emplace_back(now, now + length);
        now += length;
        seen = std::max(seen, at);
        job.steps.push_back(
            {run, at, kStart + static_cast<Nanoseconds>(now) * kSecond, length * 1000});
      }
      at -= static_cast<std::int64_t>(random() % 20);
      now += static_cast<double>(random() % 2000);
    }
    const Efficiency e = efficiency(job);
    double lowest = 2;
    const double end = static_cast<double>(job.steps.back().end.value() - kStart) / 1e9;
    for (double t = 3600; t <= end; t += 1) {
      double sum = 0;
      for (const auto& [b, f] : busy) sum += std::max(0.0, std::min(f, t) - std::max(b, t - 3600));
      lowest = std::min(lowest, sum / 3600);
    }
    ASSERT_TRUE(e.sliding_lowest);
    EXPECT_NEAR(e.sliding_lowest->value, lowest, 1e-9);
  }
}

TEST(Efficiency, RowsOfEveryTenthIteration) {
  JobTimes job;
  add(job, 1, 10, 1000, 0, 2000, 10);
  add(job, 2, 960, 1200, 2400, 2000, 10);  // resumed from 950
  const Efficiency e = efficiency(job);
  EXPECT_EQ(e.steps, 1200);
  EXPECT_EQ(e.recomputed_steps, 50);
  EXPECT_EQ(e.parts.recomputation, 100 * kSecond);
}

TEST(Efficiency, DegradationByHand) {
  JobTimes job;
  add(job, 0, 1, 8, 0, 100);
  add(job, 0, 9, 10, 0.8, 300);  // mean 140, T_S 168: 2 * 132 / 1400
  const Efficiency e = efficiency(job);
  ASSERT_TRUE(e.degradation);
  EXPECT_NEAR(e.degradation->mean_ms, 140, 1e-9);
  EXPECT_NEAR(e.degradation->threshold_ms, 168, 1e-9);
  EXPECT_NEAR(e.degradation->share, 264.0 / 1400, 1e-9);
  EXPECT_NEAR(e.degradation->robust_share, 360.0 / 1400, 1e-9);
  EXPECT_EQ(e.degradation->slow_steps, 2u);
  EXPECT_NEAR(static_cast<double>(e.parts.slow), 0.264e9, 10);
  EXPECT_EQ(total(e.parts), e.end - e.start);
}

TEST(Efficiency, RelativeMfuIsTheRatioToTheLowest) {
  JobTimes job;
  add(job, 0, 1, 200, 0, 1250);
  add(job, 0, 201, 400, 250, 1000);
  job.steps[37].ms = 9000;  // one slow step is not the lowest MFU of the job
  const Efficiency e = efficiency(job);
  EXPECT_NEAR(e.mfu->highest, 1.25, 1e-9);
  EXPECT_NEAR(e.mfu->last, 1.25, 1e-9);
  EXPECT_NEAR(e.mfu->worst_of_best, 0.8, 1e-9);
}

TEST(Efficiency, NotEnough) {
  EXPECT_FALSE(efficiency({}).enough);
  EXPECT_FALSE(efficiency({}).why.empty());
  JobTimes job;
  job.steps = {{0, 1, {}, 100.0}, {0, 2, {}, 500.0}};
  const Efficiency untimed = efficiency(job);
  EXPECT_FALSE(untimed.enough);
  EXPECT_TRUE(untimed.degradation) << "durations alone tell of degradation";
  job.steps = {{0, 1, kStart, {}}};
  EXPECT_FALSE(efficiency(job).enough);
  job.steps = {{0, 1, kStart, 100.0}};
  EXPECT_TRUE(efficiency(job).enough);
  EXPECT_DOUBLE_EQ(efficiency(job).ettr, 1);
}

TEST(Efficiency, BrokenRows) {
  JobTimes job = restarted();
  const Efficiency clean = efficiency(job);
  job.steps.push_back({1, -5, kStart, 10.0});
  job.steps.push_back({1, INT64_MAX, kStart, 10.0});
  job.steps[3].ms = std::nan("");
  job.steps[4].ms = -1;
  job.steps[5].ms = std::numeric_limits<double>::infinity();
  job.steps[6].ms.reset();
  job.steps.push_back(job.steps[50]);  // told twice
  const Efficiency e = efficiency(job);
  EXPECT_EQ(e.parts.productive, clean.parts.productive);
  EXPECT_EQ(e.steps, 400);
  EXPECT_EQ(e.recomputed_steps, 10);
  EXPECT_GE(e.notes.size(), 3u);
  job.steps.push_back({2, 401, INT64_MAX, 1e300});
  job.steps.push_back({2, 402, INT64_MIN, 1e-300});
  EXPECT_TRUE(efficiency(job).enough);
}

TEST(Efficiency, AClockThatGoesBack) {
  JobTimes job;
  add(job, 0, 1, 100, 0, 1000);
  for (std::size_t i = 50; i < 100; ++i) *job.steps[i].end -= 20 * kSecond;
  const Efficiency e = efficiency(job);
  ASSERT_TRUE(e.enough);
  EXPECT_FALSE(e.notes.empty());
  EXPECT_LE(e.ettr, 1);
  EXPECT_EQ(total(e.parts), e.end - e.start);
}

RC_GTEST_PROP(Efficiency, PartsAddUpAndOrderDoesNotMatter, (std::uint32_t seed)) {
  std::mt19937_64 random(seed);
  JobTimes job;
  std::int64_t at = 1;
  Nanoseconds now = kStart;
  for (std::int64_t run = 0; run < 3; ++run) {
    if (random() % 2) job.attempts.push_back({run, now - 5 * kSecond, {}});
    for (auto n = 1 + random() % 40; n > 0; --n, ++at) {
      const auto ms = static_cast<double>(100 + random() % 5000);
      now +=
          static_cast<Nanoseconds>(ms * 1e6) + static_cast<Nanoseconds>(random() % 3) * kSecond + 1;
      job.steps.push_back({run, at, now, random() % 5 ? std::optional(ms) : std::nullopt});
    }
    if (random() % 2)
      job.interruptions.push_back({run, now, now + 30 * kSecond, now + 90 * kSecond, {}});
    at = std::max<std::int64_t>(1, at - static_cast<std::int64_t>(random() % 10));
    now += static_cast<Nanoseconds>(random() % 400) * kSecond;
  }
  const Efficiency a = efficiency(job);
  RC_ASSERT(a.enough);
  RC_ASSERT(total(a.parts) == a.end - a.start);
  for (const Nanoseconds p :
       {a.parts.productive, a.parts.slow, a.parts.recomputation, a.parts.detection,
        a.parts.localisation, a.parts.restart, a.parts.unexplained, a.parts.start_up, a.parts.after,
        a.parts.between_steps})
    RC_ASSERT(p >= 0);
  RC_ASSERT(a.ettr >= 0 && a.ettr <= 1);
  std::shuffle(job.steps.begin(), job.steps.end(), random);
  const Efficiency b = efficiency(job);
  RC_ASSERT(a.ettr == b.ettr);
  RC_ASSERT(a.parts.recomputation == b.parts.recomputation);
}

}  // namespace
}  // namespace culprit::analyze
