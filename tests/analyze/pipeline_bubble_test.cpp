// How much of a step the schedule of a pipeline leaves empty, and how it was in the run before.
#include "analyze/pace/pipeline_bubble.hpp"

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

struct Run {
  std::string path;
  std::int64_t stages, micro_batches, chunks;
};

std::optional<PipelineBubble> of(const std::vector<Run>& runs) {
  Facts facts;
  const auto say = [&](MemberId member, const char* name, std::int64_t value) {
    facts.configs.push_back(
        {.place = {member, 1, 0, 0}, .name = name, .value = std::to_string(value)});
  };
  for (const Run& run : runs) {
    MemberRow m;
    m.id = static_cast<MemberId>(facts.members.size()) + 1;
    m.path = run.path;
    say(m.id, "job.pipeline_model_parallel_size", run.stages);
    say(m.id, "job.num_microbatches", run.micro_batches);
    say(m.id, "job.virtual_pipeline_model_parallel_size", run.chunks);
    ProgressSpan span;
    span.member = m.id;
    span.first.time_ns = static_cast<Nanoseconds>(m.id) * kSecond;
    facts.progress.push_back(span);
    facts.members.push_back(std::move(m));
  }
  return pipeline_bubble(facts);
}

// Narayanan et al., section 2.2: (p - 1) / m of the ideal time, so (p - 1) / (m + p - 1) of a step.
TEST(PipelineBubble, OfStagesAndMicroBatches) {
  const auto one = of({{"log.txt", 8, 16, 1}});
  ASSERT_TRUE(one);
  EXPECT_NEAR(one->share, 7.0 / 23, 1e-9);
  EXPECT_FALSE(one->before);
  EXPECT_NEAR(of({{"log.txt", 8, 16, 4}})->share, 7.0 / 71, 1e-9);
  EXPECT_FALSE(of({{"log.txt", 1, 16, 1}}));
}

TEST(PipelineBubble, OfTheRunBefore) {
  const auto two = of({{"run16/log.txt", 8, 64, 1}, {"run64/log.txt", 8, 16, 1}});
  ASSERT_TRUE(two);
  EXPECT_EQ(two->micro_batches, 16);
  EXPECT_NEAR(two->before.value_or(0), 7.0 / 71, 1e-9);
}

}  // namespace
}  // namespace culprit::analyze
