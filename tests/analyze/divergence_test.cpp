// A loss that rises for long before it is no number, and what only looks like it.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "analyze/pace/divergence.hpp"
#include "analyze/pace/loss_spikes.hpp"
#include "rules/rule.hpp"

namespace culprit::analyze {
namespace {

// The loss of step i, and the step from which on it is none.
template <class Loss>
JobSteps job_of(std::size_t steps, std::size_t bad, Loss loss) {
  JobSteps job;
  for (std::size_t i = 0; i < steps; ++i) {
    job.iteration.push_back(static_cast<std::int64_t>(100 + i));
    job.time.push_back(static_cast<Nanoseconds>(i) * kSecond);
    job.ms.push_back(1000);
    const bool none = i >= bad;
    job.loss.push_back(none ? std::numeric_limits<double>::quiet_NaN()
                            : loss(static_cast<double>(i)));
    job.grad_norm.push_back(1);
    job.not_a_number.push_back(none ? 1 : 0);
    job.attempt.push_back(0);
    job.place.push_back({1, i + 1, 0, 0});
  }
  return job;
}

// The program may say that its numbers overflowed.
template <class Loss>
std::vector<Finding> judged(std::size_t steps, std::size_t bad, Loss loss,
                            const std::string& last_word = {}) {
  Finding end;
  end.analysis = Analysis::classify;
  end.event_class = last_word;
  end.traits = rules::traits_of_class(last_word);
  return divergence_findings({}, job_of(steps, bad, loss), std::vector{end});
}

double noise(double i) { return 0.05 * std::sin(i * 12.9898) * std::cos(i * 78.233); }

TEST(Divergence, ALossThatRisesForManySteps) {
  const auto found = judged(200, 190, [](double i) {
    return (i < 100 ? 8 - 0.02 * i : 6 + 0.06 * (i - 100)) + noise(i);
  });
  ASSERT_EQ(found.size(), 1u);
  const auto& facts = std::get<DivergenceFacts>(found[0].facts);
  EXPECT_NEAR(static_cast<double>(facts.from), 200, 8);
  EXPECT_EQ(facts.to, 289);
  EXPECT_NEAR(facts.last, 11.3, 0.2);
}

TEST(Divergence, NotANumberFromOneStepToTheNext) {
  EXPECT_TRUE(judged(200, 190, [](double i) { return 8 - 0.02 * i + noise(i); }).empty());
  // One spike from which it recovers, another right before the end.
  EXPECT_TRUE(judged(200, 190, [](double i) {
                return (std::fmod(i, 90) > 84 ? 20.0 : 3.0) + noise(i);
              }).empty());
  // To another level in one step: a device that computes wrongly.
  EXPECT_TRUE(judged(200, 190, [](double i) { return (i < 120 ? 3.0 : 6.0) + noise(i); }).empty());
}

// It is far above its lowest, and goes on.
TEST(Divergence, ALossThatRosePartByPartAndStayedANumber) {
  ASSERT_EQ(judged(200, 200, [](double i) { return 2 + 0.05 * i; }).size(), 1u);
  EXPECT_TRUE(judged(200, 200, [](double i) { return 0.02 + 0.001 * i; }).empty())
      << "as losses of policies are";
}

TEST(Divergence, AWanderingLossThatStayedANumber) {
  EXPECT_TRUE(judged(200, 200, [](double i) { return 2 + 0.004 * i; }).empty());
  EXPECT_TRUE(judged(20, 18, [](double i) { return 2 + 0.5 * i; }).empty()) << "too few steps";
  EXPECT_TRUE(judged(200, 190, [](double i) { return 3 + 0.2 * std::sin(i / 9); }).empty());
}

// Gradients overflow until the loss scale is at its minimum; each loss is still printed as a
// number.
TEST(Divergence, OverflowsBehindALossThatStayedANumber) {
  const auto rising = [](double i) { return (i < 100 ? 2.3 : 2.3 + 0.02 * (i - 100)) + noise(i); };
  const auto found = judged(200, 200, rising, "train_nan_abort");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(std::get<DivergenceFacts>(found[0].facts).to, 299);
  EXPECT_EQ(found[0].evidence.size(), 2u);
  const auto less = [](double i) { return (i < 100 ? 2.3 : 2.3 + 0.003 * (i - 100)) + noise(i); };
  EXPECT_TRUE(judged(200, 200, less, "nccl_watchdog_timeout").empty());
  const auto flat = [](double i) { return 2.3 + noise(i); };
  EXPECT_TRUE(judged(200, 200, flat, "train_nan_abort").empty());
}

// The class of the jump, or "" for none.
template <class Loss>
std::string jump(Loss loss) {
  const auto found = loss_spike_findings({}, job_of(200, 200, loss));
  return found.empty() ? "" : found[0].event_class;
}

TEST(LossSpike, OneThatStaysAndOneThatComesBack) {
  EXPECT_EQ(jump([](double i) { return (i < 180 ? 2.6 : 16.5) + noise(i); }), "loss_jumped");
  EXPECT_EQ(jump([](double i) { return (i == 120 || i == 121 ? 16.5 : 2.6) + noise(i); }),
            "loss_spike");
  EXPECT_EQ(jump([](double i) { return (i < 198 ? 2.6 : 16.5) + noise(i); }), "loss_spike")
      << "two steps prove nothing";
  const auto found =
      loss_spike_findings({}, job_of(200, 200, [](double i) { return i < 180 ? 2.6 : 16.5; }));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(std::get<DivergenceFacts>(found[0].facts).from, 279);
}

TEST(LossSpike, LossesWithoutAUsualValue) {
  EXPECT_EQ(jump([](double i) { return 2.6 + 0.004 * i + noise(i); }), "");
  // The policy loss of reinforcement learning: about zero, of either sign, or far apart anyway.
  EXPECT_EQ(jump([](double i) { return 0.01 * std::sin(i * 1.7) + (i > 180 ? 0.3 : 0); }), "");
  EXPECT_EQ(jump([](double i) { return std::exp(2 * std::sin(i * 12.9898)) + (i > 180 ? 4 : 0); }),
            "");
}

}  // namespace
}  // namespace culprit::analyze
