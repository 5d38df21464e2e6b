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
  const Detections found =
      detections(facts_until(4800), steps_until(3000), metrics, rules::Catalogue::built_in());
  ASSERT_EQ(found.all.size(), 4u);
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

TEST(Detection, TheFirstLossThatIsNone) {
  const Detections found =
      detections(facts_until(2000), steps_until(1990, 1500), {}, rules::Catalogue::built_in());
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
  const Detections found = detections(facts, steps_until(3000), {}, rules::Catalogue::built_in());
  EXPECT_EQ(seconds_after_begin(of(found, Detector::watchdog)), 4799);
  EXPECT_TRUE(of(found, Detector::watchdog).printed);
}

TEST(Detection, WithoutAFrameNothingIsTold) {
  EXPECT_TRUE(detections({}, {}, {}, rules::Catalogue::built_in()).all.empty());
}

}  // namespace
}  // namespace culprit::analyze
