// When detectors would have spoken, against incidents whose moments are known.
#include "analyze/pace/detection.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fmt/format.h>

#include "rules/rule.hpp"

namespace culprit::analyze {
namespace {

constexpr Nanoseconds kBegin = 1'772'445'600 * kSecond;
constexpr int kSample = 10;  // seconds between two

// A step every ten seconds up to `last`, in seconds from the begin; NaN from `nan` on.
JobSteps steps_until(int last, int nan = 1 << 30) {
  JobSteps steps;
  for (int t = 10; t <= last; t += 10) {
    steps.iteration.push_back(t / 10);
    steps.time.push_back(kBegin + t * kSecond);
    steps.ms.push_back(10'000);
    steps.loss.push_back(t < nan ? 2.0 + 0.01 * (t % 7) : std::nan(""));
    steps.grad_norm.push_back(std::nan(""));
    steps.not_a_number.push_back(t < nan ? 0 : 1);
    steps.attempt.push_back(0);
    steps.place.push_back({1, static_cast<std::uint64_t>(t), 0, 0});
  }
  return steps;
}

Facts facts_until(int end) {
  Facts facts;
  MemberRow member;
  member.id = 1;
  facts.members.push_back(member);
  facts.job_end = kBegin + end * kSecond;
  return facts;
}

// Eight machines, each with a value by the second.
template <class Value>
MetricSeries metric(const char* name, int end, const Value& value) {
  MetricSeries out;
  out.name = name;
  for (int host = 0; host < 8; ++host) {
    MetricSeries::Entity e;
    e.name = fmt::format("n{}", host);
    e.host = Host(e.name);
    for (int t = 0; t <= end; t += kSample) {
      e.times.push_back(kBegin + t * kSecond);
      e.values.push_back(value(host, t));
    }
    out.entities.push_back(std::move(e));
  }
  return out;
}

Detections replayed(const Facts& facts, const JobSteps& steps,
                    const IncidentMetrics& metrics = {}) {
  return detections(facts, steps, {}, find_fail_slow(steps, {}, steps.size()), metrics,
                    rules::Catalogue::built_in());
}

const Detection& of(const Detections& found, Detector detector) {
  return found.all[static_cast<std::size_t>(detector)];
}
double seconds_after_begin(const Detection& d) {
  return d.fired ? static_cast<double>(*d.fired - kBegin) / 1e9 : -1;
}

// Steps end at 3000 s, tensor cores fall to zero then, n3 is hot from 1200 s on, the job is killed
// at 4800 s.
TEST(Detection, EachAtItsMoment) {
  IncidentMetrics metrics;
  metrics.metrics.push_back(metric("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 4800,
                                   [](int, int t) { return t <= 3000 ? 0.45 : 0.0; }));
  metrics.metrics.push_back(metric("DCGM_FI_DEV_GPU_TEMP", 4800, [](int host, int t) {
    return 60 + (host * 7 + t / kSample) % 3 + (host == 3 && t >= 1200 ? 28 : 0);
  }));
  const Detections found = replayed(facts_until(4800), steps_until(3000), metrics);
  ASSERT_EQ(found.all.size(), 6u);
  // Ten minutes behind the first sample at zero, to two samples.
  EXPECT_EQ(of(found, Detector::stall).state, DetectorState::fired);
  EXPECT_NEAR(seconds_after_begin(of(found, Detector::stall)), 3010 + 600, 2 * kSample);
  // 90 % of ten minutes behind the onset, to two bins of 30 s.
  EXPECT_EQ(of(found, Detector::outliers).state, DetectorState::fired);
  EXPECT_NEAR(seconds_after_begin(of(found, Detector::outliers)), 1200 + 540, 60);
  EXPECT_NE(of(found, Detector::outliers).what.find("n3"), std::string::npos);
  EXPECT_EQ(of(found, Detector::loss).state, DetectorState::silent);
  EXPECT_EQ(seconds_after_begin(of(found, Detector::watchdog)), 3000 + 600);
  EXPECT_FALSE(of(found, Detector::watchdog).printed);
  for (const Detection& d : found.all) {
    if (d.fired) { EXPECT_EQ(*d.before, *found.end - *d.fired); }
  }
}

// 300 steps of 10 s, of 15 s from step 301 on, up to step 400, at 3000 + 1500 s; the job is killed
// 100 s later. A regime has at least 15 steps: the change is known after step 315 or a few more, at
// 3000 + 15 * 15 = 3225 s. No step takes longer than 60 s, so the time-out speaks 60 s behind the
// last one.
TEST(Detection, AChangeOfTheStepTimeAndATimeout) {
  JobSteps steps = steps_until(4000);
  for (std::size_t i = 300; i < steps.size(); ++i) {
    steps.ms[i] = 15'000;
    steps.time[i] = kBegin + (3000 + (static_cast<int>(i) - 299) * 15) * kSecond;
  }
  for (std::size_t i = 0; i < steps.size(); ++i)
    steps.ms[i] += static_cast<double>(i * 7 % 11) * 20;
  const Detections found = replayed(facts_until(4600), steps);
  const Detection& slow = of(found, Detector::slow_steps);
  EXPECT_EQ(slow.state, DetectorState::fired);
  EXPECT_GE(seconds_after_begin(slow), 3000 + 2 * 15);
  EXPECT_LE(seconds_after_begin(slow), 3000 + 20 * 15);
  EXPECT_NE(slow.what.find("from iteration 301"), std::string::npos) << slow.what;
  EXPECT_EQ(seconds_after_begin(of(found, Detector::step_timeout)), 4500 + 60);
  EXPECT_EQ(of(found, Detector::watchdog).state, DetectorState::silent);
  // Before the change nothing is slow.
  JobSteps before = steps_until(3000);
  EXPECT_EQ(of(replayed(facts_until(3050), before), Detector::slow_steps).state,
            DetectorState::silent);
  EXPECT_EQ(of(replayed(facts_until(3050), before), Detector::step_timeout).state,
            DetectorState::silent);
}

// Steps of 30 s: three of them are longer than a minute. A pause of five minutes after step 50 ends
// by itself.
TEST(Detection, ATimeoutFollowsTheStepsAndTellsOfPauses) {
  JobSteps steps = steps_until(1000);
  for (std::size_t i = 0; i < steps.size(); ++i)
    steps.time[i] = kBegin + (static_cast<int>(i) * 30 + (i >= 50 ? 300 : 0)) * kSecond;
  const Detections found = replayed(facts_until(4000), steps);
  const Detection& late = of(found, Detector::step_timeout);
  EXPECT_EQ(seconds_after_begin(late), 99 * 30 + 300 + 90);
  EXPECT_EQ(late.what, "and in 1 pause after which steps went on");
}

TEST(Detection, TheFirstLossThatIsNone) {
  const Detections found = replayed(facts_until(2000), steps_until(1990, 1500));
  EXPECT_NEAR(seconds_after_begin(of(found, Detector::loss)), 1500, 1);
  EXPECT_EQ(of(found, Detector::stall).state, DetectorState::no_data);
  EXPECT_EQ(of(found, Detector::outliers).state, DetectorState::no_data);
  EXPECT_EQ(of(found, Detector::watchdog).state, DetectorState::silent)
      << "the last step was ten seconds before the end";
}

TEST(Detection, WhatAWatchdogPrintedCounts) {
  Facts facts = facts_until(4800);
  EventRow e;
  e.place.member = 1;
  e.event_class = "nccl_watchdog_timeout";
  e.traits = rules::traits_of_class(e.event_class);
  e.time_ns = kBegin + 4799 * kSecond;
  facts.events.push_back(e);
  const Detections found = replayed(facts, steps_until(3000));
  EXPECT_EQ(seconds_after_begin(of(found, Detector::watchdog)), 4799);
  EXPECT_TRUE(of(found, Detector::watchdog).printed);
}

TEST(Detection, WithoutAFrameNothingIsTold) { EXPECT_TRUE(replayed({}, {}).all.empty()); }

}  // namespace
}  // namespace culprit::analyze
