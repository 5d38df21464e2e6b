#include "report/phrases.hpp"
#include "analyze/pace/job_calls.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

constexpr Nanoseconds kBegin = 1'700'000'000 * kSecond;

Facts logs(int members) {
  Facts facts;
  for (int i = 0; i < members; ++i) {
    MemberRow m;
    m.id = i + 1;
    m.order = i;
    m.path = "nccl." + std::to_string(i) + ".log";
    facts.members.push_back(m);
  }
  facts.groups = {{"0xdp", "0x55@gpu-a:45", {}, 8},
                  {"0xtp", "0x66@gpu-a:45", {}, 2},
                  {"0xdp", "0x55@gpu-a:46", {}, 8}};
  return facts;
}

// Eight gathers on one group, one reduction on another: `ms` an iteration.
std::vector<HistoryRow> calls(MemberId member, std::size_t gather, std::size_t reduce,
                              int iterations, double ms, std::int64_t unit = 1'000'000,
                              std::uint8_t clock = 0) {
  std::vector<HistoryRow> out(2);
  out[0].member = out[1].member = member;
  out[0].group = group_at(gather - 1);
  out[1].group = group_at(reduce - 1);
  double now = 0;
  for (int i = 0; i < iterations; ++i) {
    const double slow = i >= iterations / 2 ? 1.5 * ms : ms;
    for (int c = 0; c < 9; ++c) {
      HistoryEntry e;
      e.sequence = i * 9 + c;
      now += slow / 9;
      e.created_ns = kBegin + static_cast<Nanoseconds>(now * 1e6) / unit * unit;
      e.operation = c < 8 ? 1 : 2;
      e.signature = c < 8 ? 77 : 88;
      e.size_class = size_class(c < 8 ? 1 << 22 : 1);
      e.clock = clock;
      out[c < 8 ? 0 : 1].entries.push_back(e);
    }
  }
  return out;
}

TEST(JobCalls, IterationsOfOneProcess) {
  const Facts facts = logs(1);
  auto histories = calls(1, 1, 2, 100, 900);
  const auto other = calls(1, 3, 3, 20, 900);  // another process of the same file, shorter
  histories.insert(histories.end(), other.begin(), other.end());
  const CallLog log = longest_call_log(facts, histories);
  EXPECT_EQ(log.name, "gpu-a:45");
  EXPECT_EQ(log.calls.size(), 900u);
  const JobSteps steps = steps_of_calls(facts, log, call_period(log.calls));
  ASSERT_GT(steps.size(), 90u);
  EXPECT_NEAR(steps.ms[10], 900, 10);
  EXPECT_NEAR(steps.ms[80], 1350, 10);
  EXPECT_EQ(steps.iteration[3], kNoValue);
  EXPECT_EQ(steps.sources, std::vector<std::string>{"nccl.0.log"});
  EXPECT_NE(report::words(steps.from_calls).find("9 calls each"), std::string::npos);
}

TEST(JobCalls, CoarseClocksAndCopiesTellNothing) {
  Facts facts = logs(2);
  const auto coarse = calls(1, 1, 2, 100, 2000, kSecond);  // seconds, for iterations of two
  const CallLog log = longest_call_log(facts, coarse);
  EXPECT_EQ(steps_of_calls(facts, log, call_period(log.calls)).size(), 0u);
  facts.members[0].duplicate_of = 2;
  EXPECT_TRUE(longest_call_log(facts, calls(1, 1, 2, 100, 900)).calls.empty());
  EXPECT_TRUE(longest_call_log(facts, {}).calls.empty());
}

TEST(JobCalls, AClockThatNothingTiesToUtcStillMeasures) {
  const Facts facts = logs(1);
  const auto local = calls(1, 1, 2, 60, 900, 1'000'000, static_cast<std::uint8_t>(Clock::local));
  const CallLog log = longest_call_log(facts, local);
  EXPECT_GT(steps_of_calls(facts, log, call_period(log.calls)).size(), 50u);
}

TEST(SizeClass, KeepsTheOrderOfMagnitude) {
  EXPECT_EQ(size_class(0), 0);
  EXPECT_EQ(size_class(-5), 0);
  EXPECT_EQ(size_of_class(0), 0);
  for (const std::int64_t size :
       {std::int64_t{1}, std::int64_t{7}, std::int64_t{1000}, std::int64_t{1} << 40, INT64_MAX})
    EXPECT_NEAR(size_of_class(size_class(size)) / static_cast<double>(size), 1, 0.1) << size;
}

}  // namespace
}  // namespace culprit::analyze
