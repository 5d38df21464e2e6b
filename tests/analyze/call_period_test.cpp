#include "analyze/pace/call_period.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "call_logs.hpp"
#include "report/phrases.hpp"

namespace culprit::analyze {
namespace {

// "A A g": one call a letter, a millisecond apart; capitals move many elements. A '|' is 100 ms
// without a call.
std::vector<Call> spelt(const std::string& text, int times) {
  std::vector<Call> calls;
  Nanoseconds now = 1'000'000'000;
  for (int i = 0; i < times; ++i)
    for (const char c : text) {
      if (c == '|') {
        now += 100'000'000;
        continue;
      }
      calls.push_back({now += 1'000'000, static_cast<std::uint32_t>(c), 1,
                       c >= 'A' && c <= 'Z' ? 1'000'000u : 1u});
    }
  return calls;
}

double error_of(const CallPeriod& period, double truth) {
  return period.method == PeriodMethod::none
             ? 1
             : std::abs(static_cast<double>(period.median) - truth) / truth;
}

TEST(CallPeriod, OneCallAnIteration) {
  const CallPeriod p = call_period(spelt("ABCD|", 20));
  ASSERT_EQ(p.method, PeriodMethod::anchor) << report::words(p.why);
  EXPECT_EQ(p.period, 4u);
  EXPECT_EQ(p.median, 104'000'000);
  ASSERT_EQ(p.starts.size(), 20u);
  EXPECT_EQ(p.times.size(), 19u);
  EXPECT_EQ(p.ordinary.size(), 19u);
  EXPECT_EQ(p.starts[1] - p.starts[0], 4u);
  EXPECT_FALSE(p.ambiguous);
  EXPECT_GT(p.confidence, 0.9);
}

TEST(CallPeriod, GradientsOncePerStepBeatMicroBatches) {
  const CallPeriod p = call_period(spelt("AABBAABBAABBGn|", 20));
  EXPECT_EQ(p.period, 14u) << report::words(p.why);
  EXPECT_FALSE(p.ambiguous);
}

// A A A .. g: what it is cannot be told; the answer says so, and the user's word settles it.
TEST(CallPeriod, MicroBatchesOrLogging) {
  const auto six = call_period(spelt("ABCABCABCABCABCABCg", 30));
  EXPECT_EQ(six.period, 19u) << report::words(six.why);
  EXPECT_TRUE(six.ambiguous);
  const auto ten = spelt("ABC|ABC|ABC|ABC|ABC|ABC|ABC|ABC|ABC|ABC|g", 30);
  EXPECT_EQ(call_period(ten).period, 3u);
  EXPECT_TRUE(call_period(ten).ambiguous);
  EXPECT_LT(call_period(ten).confidence, 0.7);
  CallPeriodParams params;
  params.anchor = CallSymbol{'g', 1, 1};
  EXPECT_EQ(call_period(ten, params).period, 31u);
  EXPECT_FALSE(call_period(ten, params).ambiguous);
  params.anchor = CallSymbol{'x', 1, {}};
  EXPECT_EQ(call_period(ten, params).method, PeriodMethod::none);
}

TEST(CallPeriod, OneRepeatedOperation) {
  const CallPeriod slow = call_period(spelt("A|", 30));
  EXPECT_EQ(slow.period, 1u) << report::words(slow.why);
  EXPECT_EQ(slow.median, 101'000'000);
  const CallPeriod bursts = call_period(spelt("AAAAAAAA|", 30));
  EXPECT_EQ(bursts.median, 108'000'000) << report::words(bursts.why);
  EXPECT_TRUE(bursts.burst);
}

TEST(CallPeriod, SizesThatDependOnDataAreIgnored) {
  std::mt19937_64 random(7);
  std::vector<Call> calls;
  Nanoseconds now = 0;
  for (int s = 0; s < 40; ++s) {
    for (int l = 0; l < 6; ++l)
      calls.push_back({now += 1'000'000, 1, 5, 1000 + random() % 100'000});
    calls.push_back({now += 1'000'000, 2, 5, 1000 + random() % 100'000});
    now += 43'000'000;
  }
  const CallPeriod p = call_period(calls);
  EXPECT_EQ(p.period, 7u) << report::words(p.why);
  EXPECT_EQ(p.median, 50'000'000);
  ASSERT_TRUE(p.anchor);
  EXPECT_FALSE(p.anchor->elements);
}

TEST(CallPeriod, AGapIsNoOrdinaryIteration) {
  auto calls = spelt("ABCDEFGHIJKL|", 30);
  calls.erase(calls.begin() + 120, calls.begin() + 138);  // records of more than a step are lost
  const CallPeriod p = call_period(calls);
  EXPECT_EQ(p.median, 112'000'000);
  EXPECT_GT(std::count(p.ordinary.begin(), p.ordinary.end(), 0), 0);
  EXPECT_LE(std::count(p.ordinary.begin(), p.ordinary.end(), 0), 2);
}

TEST(CallPeriod, NotEnough) {
  EXPECT_EQ(call_period({}).method, PeriodMethod::none);
  EXPECT_FALSE(call_period({}).why.empty());
  EXPECT_EQ(call_period(spelt("ABC", 1)).method, PeriodMethod::none);
  std::mt19937_64 random(3);
  std::vector<Call> noise;
  for (int i = 0; i < 500; ++i)
    noise.push_back(
        {i * 1'000'000, static_cast<std::uint32_t>(random() % 7), random() % 3, random() % 5});
  EXPECT_EQ(call_period(noise).method, PeriodMethod::none) << report::words(call_period(noise).why);
  auto still = spelt("ABCD", 30);
  for (Call& c : still) c.time = 5;
  EXPECT_EQ(call_period(still).method, PeriodMethod::none);
}

TEST(CallPeriod, ExtremeNumbers) {
  auto calls = spelt("ABCD", 30);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i].time = i % 2 ? INT64_MAX : INT64_MIN;
    calls[i].elements = UINT64_MAX;
    calls[i].operation = UINT32_MAX - static_cast<std::uint32_t>(i % 3);
  }
  for (const PeriodMethod m : {PeriodMethod::anchor, PeriodMethod::match_rate, PeriodMethod::acf}) {
    CallPeriodParams params;
    params.method = m;
    (void)call_period(calls, params);
  }
}

TEST(CallPeriod, PublishedMethod) {
  CallPeriodParams params;
  params.method = PeriodMethod::acf;
  const CallPeriod p = call_period(spelt("ABCD|", 100), params);
  EXPECT_EQ(p.method, PeriodMethod::acf);
  EXPECT_EQ(p.period, 4u);
  EXPECT_EQ(p.median, 104'000'000);
  // Biased: 20 periods reach (L-k)/L = 0.95 only just, 10 do not.
  EXPECT_EQ(call_period(spelt("ABCD|", 10), params).method, PeriodMethod::none);
  EXPECT_EQ(call_period(spelt("A|", 100), params).method, PeriodMethod::none);
}

TEST(CallPeriod, MatchRateAlone) {
  CallPeriodParams params;
  params.method = PeriodMethod::match_rate;
  const CallPeriod p = call_period(spelt("AABACD|", 50), params);
  EXPECT_EQ(p.method, PeriodMethod::match_rate) << report::words(p.why);
  EXPECT_EQ(p.period, 6u);
  EXPECT_EQ(p.median, 106'000'000);
}

// Half of the logs of the benchmark call_period_accuracy, one seed. There the target is 95 %
// (GREYHOUND section 7.2: 1.2 %).
TEST(CallPeriod, AcrossLayoutsAndDisturbances) {
  std::size_t right = 0, all = 0, published = 0;
  std::string wrong;
  for (const char* layout : simulated::kLayouts)
    for (const char* disturbance : simulated::kDisturbances) {
      if (std::string(disturbance) == "variable-batch")
        continue;  // the median itself moves by percents
      const simulated::CallLog log = simulated::make_log(layout, disturbance, 2001);
      if (log.calls.size() > 12'000) continue;  // quick
      const bool good = error_of(call_period(log.calls), log.truth_ns) <= 0.012;
      right += good;
      ++all;
      if (!good) wrong += std::string(layout) + " with " + disturbance + "\n";
      CallPeriodParams params;
      params.method = PeriodMethod::acf;
      published += error_of(call_period(log.calls, params), log.truth_ns) <= 0.012;
    }
  EXPECT_GT(all, 100u);
  EXPECT_GE(static_cast<double>(right), 0.95 * static_cast<double>(all)) << wrong;
  EXPECT_LT(published, right);
}

RC_GTEST_PROP(CallPeriod, NamesAndTheOriginOfTimeDoNotMatter, (std::uint8_t seed)) {
  const simulated::CallLog log = simulated::make_log("zero1", "lost-1%", seed);
  std::vector<Call> other = log.calls;
  for (Call& c : other) {
    c.time -= 123'456'789;
    c.operation = 1000 - c.operation * 7;
    c.communicator ^= 0x5555;
  }
  const CallPeriod a = call_period(log.calls), b = call_period(other);
  RC_ASSERT(a.starts == b.starts);
  RC_ASSERT(a.median == b.median);
}

}  // namespace
}  // namespace culprit::analyze
