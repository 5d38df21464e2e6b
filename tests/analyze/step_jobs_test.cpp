#include "analyze/pace/step_jobs.hpp"

#include <gtest/gtest.h>

#include "analyze/pace/fail_slow.hpp"

namespace culprit::analyze {
namespace {

Facts log() {
  Facts facts;
  MemberRow m;
  m.id = 1;
  facts.members.push_back(m);
  return facts;
}

JobSteps steps(std::size_t n) {
  JobSteps out;
  for (std::size_t i = 0; i < n; ++i) {
    out.iteration.push_back(static_cast<std::int64_t>(i));
    out.place.push_back({1, 10 + i, 0, 0});
  }
  return out;
}

ConfigRow world(std::uint64_t line, const char* value) {
  ConfigRow row;
  row.place = {1, line, 0, 0};
  row.name = "world_size";
  row.value = value;
  return row;
}

using Jobs = std::vector<std::uint32_t>;
const auto kNoPoints = [](SeriesId) { return SeriesPoints{}; };

TEST(StepJobs, AnotherNumberOfGpusOrAnotherBatch) {
  Facts facts = log();
  facts.configs = {world(1, "64"), world(13, "32")};
  EXPECT_EQ(step_jobs(facts, steps(6), kNoPoints), (Jobs{0, 0, 0, 0, 1, 1}));
  facts.configs = {world(1, "64")};
  SeriesRow batch;
  batch.id = 1;
  batch.member = 1;
  batch.name = "global batch size";
  facts.series = {batch};
  const auto load = [](SeriesId) {
    SeriesPoints p;
    for (int i = 0; i < 6; ++i) p.lines.push_back(10 + i), p.values.push_back(i < 2 ? 256 : 512);
    return p;
  };
  EXPECT_EQ(step_jobs(facts, steps(6), load), (Jobs{0, 0, 1, 1, 1, 1}));
}

TEST(StepJobs, WhatIsNotSaidIsAsBefore) {
  Facts facts = log();
  EXPECT_TRUE(step_jobs(facts, steps(6), kNoPoints).empty());
  facts.configs = {world(1, "64"), world(13, "64"), world(14, "no number")};
  EXPECT_TRUE(step_jobs(facts, steps(6), kNoPoints).empty());
  facts.configs = {
      world(13, "64")};  // said in the middle only: nothing tells that it was another before
  EXPECT_TRUE(step_jobs(facts, steps(6), kNoPoints).empty());
  EXPECT_TRUE(step_jobs(facts, {}, kNoPoints).empty());
}

TEST(StepJobs, PaceOfAnotherJobIsNotCompared) {
  std::vector<double> times;
  for (int i = 0; i < 240; ++i) times.push_back((i < 120 ? 1000 : 2000) + i * 7 % 11);
  const Jobs jobs = [] {
    Jobs out(120, 0);
    out.resize(240, 1);
    return out;
  }();
  const FailSlow apart = find_fail_slow({times, {}, {}, jobs});
  EXPECT_TRUE(apart.intervals.empty());
  EXPECT_EQ(apart.attempts.size(), 2u);
  EXPECT_EQ(find_fail_slow({times}).intervals.size(), 1u);
  // Within a job it is.
  for (std::size_t i = 180; i < 240; ++i) times[i] *= 1.5;
  const FailSlow within = find_fail_slow({times, {}, {}, jobs});
  ASSERT_EQ(within.intervals.size(), 1u);
  EXPECT_NEAR(static_cast<double>(within.intervals[0].start), 180, 2);
}

}  // namespace
}  // namespace culprit::analyze
