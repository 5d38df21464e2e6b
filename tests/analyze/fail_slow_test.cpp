#include "analyze/pace/fail_slow.hpp"

#include <cmath>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include "analyze/pace/pauses.hpp"
#include "iteration_traces.hpp"
#include "model/json.hpp"
#include "report/phrases.hpp"

namespace culprit::analyze {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// 1,000 ms with noise, made by a small generator of its own.
std::vector<double> quiet(std::size_t n, double noise = 0.01, std::uint64_t seed = 1) {
  std::vector<double> out(n);
  for (double& x : out) {
    double sum = -6;
    for (int k = 0; k < 12; ++k) {
      seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
      sum += static_cast<double>(seed >> 11) * 0x1p-53;
    }
    x = 1000 * std::exp(noise * sum);
  }
  return out;
}

void slow(std::vector<double>& x, std::size_t from, std::size_t to, double by) {
  for (std::size_t i = from; i < to; ++i) x[i] *= by;
}

std::string shown(const FailSlow& f) {
  std::string out;
  for (const SlowInterval& s : f.intervals)
    out += std::to_string(s.start) + ".." + std::to_string(s.end) + " ";
  return out;
}

// A log that prints every tenth step tells of all ten.
TEST(FailSlow, AThinnedLogCostsAsMuch) {
  auto x = quiet(1000);
  slow(x, 400, 550, 1.3);
  std::vector<double> number;
  for (std::size_t i = 0; i < x.size(); ++i) number.push_back(10.0 * static_cast<double>(i));
  EXPECT_NEAR(find_fail_slow({x, number}).intervals.at(0).cost,
              10 * find_fail_slow({x}).intervals.at(0).cost, 1);
}

// Each row is the mean of ten steps, or one of ten: a dozen are a regime.
TEST(FailSlow, RowsThatStandForTenStepsNeedNotBeMany) {
  std::vector<double> x(34, 1915), number;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] += i % 3 == 0 ? 6 : -4;
    if (i >= 12) x[i] *= 1.3;
    number.push_back(10.0 * static_cast<double>(i));
  }
  EXPECT_EQ(shown(find_fail_slow({x, number})), "12..34 ");
  EXPECT_EQ(shown(find_fail_slow({x})), "") << "of single steps they are too few";
  std::vector<double> blip(34, 1915);
  blip[20] = blip[21] = 4000;
  EXPECT_EQ(shown(find_fail_slow({blip, number})), "");
}

TEST(FailSlow, OnsetAndReliefAreAnInterval) {
  auto x = quiet(1000);
  slow(x, 400, 550, 1.3);
  const auto f = find_fail_slow({x});
  ASSERT_EQ(shown(f), "400..550 ");
  EXPECT_NEAR(f.intervals[0].factor, 1.3, 0.02);
  EXPECT_NEAR(f.intervals[0].baseline, 1000, 10);
  EXPECT_NEAR(f.intervals[0].cost, 150 * 300, 4000);
  EXPECT_TRUE(f.intervals[0].relieved);
  EXPECT_FALSE(f.intervals[0].from_start);
  EXPECT_EQ(f.intervals[0].shape, SlowInterval::Shape::step);
  EXPECT_EQ(f.change_points, (std::vector<std::size_t>{400, 550}));
}

TEST(FailSlow, NoReliefIsTold) {
  auto x = quiet(800);
  slow(x, 500, 800, 1.2);
  const auto f = find_fail_slow({x});
  ASSERT_EQ(shown(f), "500..800 ");
  EXPECT_FALSE(f.intervals[0].relieved);
}

struct Harmless {
  const char* what;
  void (*make)(std::vector<double>& x);
};

// Each of these made a published detector err.
TEST(FailSlow, WhatIsNoFault) {
  const Harmless cases[] = {
      {"nothing", [](auto&) {}},
      {"constant",
       [](auto& x) {
         for (double& v : x) v = 250;
       }},
      {"a change under 10 %", [](auto& x) { slow(x, 300, 700, 1.07); }},
      {"warm-up", [](auto& x) { slow(x, 0, 40, 2); }},
      {"garbage collection",
       [](auto& x) {
         for (std::size_t i = 7; i < x.size(); i += 31) x[i] *= 1.6;
       }},
      {"checkpoints",
       [](auto& x) {
         for (std::size_t i = 99; i < x.size(); i += 100) x[i] *= 12;
       }},
      {"evaluation of 20 iterations",
       [](auto& x) {
         for (std::size_t i = 100; i + 20 < x.size(); i += 150) slow(x, i, i + 20, 1.5);
       }},
      {"stalls of data",
       [](auto& x) {
         slow(x, 200, 208, 4);
         slow(x, 610, 619, 3);
       }},
      {"one terrible iteration", [](auto& x) { x[500] *= 1000; }},
      {"a fast stretch that is short", [](auto& x) { slow(x, 500, 530, 0.8); }},
  };
  for (const Harmless& c : cases) {
    auto x = quiet(1000, 0.01, 77);
    c.make(x);
    const auto f = find_fail_slow({x});
    EXPECT_TRUE(f.enough) << c.what;
    EXPECT_EQ(shown(f), "") << c.what;
  }
}

struct Fault {
  const char* what;
  std::size_t n, start, end, error;
  void (*make)(std::vector<double>& x);
};

TEST(FailSlow, WhatIsAFault) {
  const Fault cases[] = {
      {"short and severe", 1000, 500, 525, 1, [](auto& x) { slow(x, 500, 525, 2.5); }},
      {"steps of 8 %", 1000, 300, 900, 3,
       [](auto& x) {
         slow(x, 300, 500, 1.08);
         slow(x, 500, 700, 1.166);
         slow(x, 700, 900, 1.26);
       }},
      {"a long low step, then a short one", 1500, 1000, 1150, 3,
       [](auto& x) {
         slow(x, 1000, 1100, 1.08);
         slow(x, 1100, 1150, 1.17);
       }},
      {"slow start", 1000, 0, 200, 1, [](auto& x) { slow(x, 0, 200, 1.3); }},
      {"most of the time", 1000, 100, 1000, 1, [](auto& x) { slow(x, 100, 1000, 1.4); }},
      {"compound", 1000, 300, 700, 1,
       [](auto& x) {
         slow(x, 300, 700, 1.3);
         slow(x, 450, 550, 1.5);
       }},
      {"with checkpoints", 1000, 400, 600, 2,
       [](auto& x) {
         slow(x, 400, 600, 1.3);
         for (std::size_t i = 49; i < x.size(); i += 50) x[i] *= 8;
       }},
      {"a short job", 120, 60, 100, 1, [](auto& x) { slow(x, 60, 100, 1.5); }},
  };
  for (const Fault& c : cases) {
    auto x = quiet(c.n, 0.01, 5);
    c.make(x);
    const auto f = find_fail_slow({x});
    ASSERT_EQ(f.intervals.size(), 1u) << c.what << ": " << shown(f);
    EXPECT_NEAR(static_cast<double>(f.intervals[0].start), static_cast<double>(c.start),
                static_cast<double>(c.error))
        << c.what;
    EXPECT_NEAR(static_cast<double>(f.intervals[0].end), static_cast<double>(c.end),
                static_cast<double>(c.error))
        << c.what;
  }
}

TEST(FailSlow, ShapesAreNamed) {
  auto ladder = quiet(1000);
  slow(ladder, 300, 600, 1.085);
  slow(ladder, 600, 900, 1.18);
  auto f = find_fail_slow({ladder});
  ASSERT_EQ(f.intervals.size(), 1u);
  EXPECT_EQ(f.intervals[0].shape, SlowInterval::Shape::ladder);
  EXPECT_EQ(f.intervals[0].parts.size(), 2u);

  auto drift = quiet(1000);
  for (std::size_t i = 300; i < 1000; ++i) drift[i] *= 1 + 0.6 * static_cast<double>(i - 300) / 700;
  f = find_fail_slow({drift});
  ASSERT_EQ(f.intervals.size(), 1u);
  EXPECT_EQ(f.intervals[0].shape, SlowInterval::Shape::drift);
  EXPECT_FALSE(f.intervals[0].relieved);

  auto compound = quiet(1000);
  slow(compound, 300, 700, 1.3);
  slow(compound, 450, 550, 1.5);
  f = find_fail_slow({compound});
  ASSERT_EQ(f.intervals.size(), 1u);
  EXPECT_EQ(f.intervals[0].shape, SlowInterval::Shape::compound);
  ASSERT_EQ(f.intervals[0].parts.size(), 3u);
  EXPECT_EQ(f.intervals[0].parts[1].start, 450u);
  EXPECT_NEAR(f.intervals[0].worst, 1.95, 0.05);
}

TEST(FailSlow, PausesAreToldWithTheirPeriod) {
  auto x = quiet(1000);
  for (std::size_t i = 99; i < x.size(); i += 100) x[i] += 9000;
  for (std::size_t i = 40; i + 6 < x.size(); i += 170) slow(x, i, i + 6, 2);
  const auto f = find_fail_slow({x});
  ASSERT_EQ(f.pauses.size(), 2u);
  EXPECT_EQ(f.pauses[0].period, 170u);
  EXPECT_EQ(f.pauses[0].length, 6u);
  EXPECT_EQ(f.pauses[1].period, 100u);
  EXPECT_EQ(f.pauses[1].first, 99u);
  EXPECT_EQ(f.pauses[1].count, 10u);
  EXPECT_NEAR(f.pauses[1].extra, 9000, 200);
  EXPECT_EQ(f.spikes + f.stalls, 0u);
}

// A few at random are not a period.
TEST(FailSlow, RandomSpikesHaveNoPeriod) {
  const std::size_t at[] = {31, 118, 260, 301, 444, 587, 620, 702, 911};
  std::vector<Excess> some;
  for (const std::size_t i : at) some.push_back({i, 1, 500});
  EXPECT_TRUE(find_recurrences(some, 1000).empty());
  EXPECT_TRUE(find_recurrences({}, 0).empty());
}

// On a restless machine a 13 % difference is no evidence; on a quiet one it is.
TEST(FailSlow, WanderRaisesWhatIsNeeded) {
  const auto first_stretch = [](double wander) {
    auto x = quiet(900, 0.01, 3);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] *= std::exp(wander * std::sin(static_cast<double>(i) / 9.0));
    slow(x, 0, 300, 1.13);
    return find_fail_slow({x});
  };
  EXPECT_EQ(first_stretch(0).intervals.size(), 1u);
  const auto restless = first_stretch(0.04);
  EXPECT_EQ(shown(restless), "");
  EXPECT_GT(restless.attempts[0].required, 0.13);
}

TEST(FailSlow, MissingAndImpossibleTimes) {
  auto x = quiet(600);
  slow(x, 300, 400, 1.5);
  for (std::size_t i = 5; i < 600; i += 10) x[i] = kNaN;
  x[100] = 0;
  x[101] = -5;
  x[102] = std::numeric_limits<double>::infinity();
  const auto f = find_fail_slow({x});
  EXPECT_EQ(shown(f), "300..400 ");
  EXPECT_EQ(f.missing, 61u);
  EXPECT_EQ(f.dropped, 2u);
}

TEST(FailSlow, NotEnoughIsAnAnswer) {
  for (const std::size_t n : {0u, 1u, 29u}) {
    const auto f = find_fail_slow({quiet(n)});
    EXPECT_FALSE(f.enough);
    EXPECT_NE(report::words(f.reason).find("at least 30"), std::string::npos);
    EXPECT_TRUE(f.intervals.empty());
  }
  EXPECT_TRUE(find_fail_slow({quiet(30)}).enough);
}

TEST(FailSlow, AShortSteadyAttemptIsWhatOthersAreHeldAgainst) {
  const auto beside = [](double factor, bool steady) {
    auto x = quiet(120);
    std::vector<double> number;
    for (std::size_t i = 0; i < 120; ++i)
      number.push_back(static_cast<double>(i < 20 ? 400 + i : i));
    slow(x, 20, 120, factor);
    for (std::size_t i = 0; !steady && i < 20; i += 2) x[i] *= 1.5;
    return shown(find_fail_slow({x, number}));
  };
  EXPECT_EQ(beside(1.6, true), "20..120 ");
  EXPECT_EQ(beside(1.02, true), "");
  EXPECT_EQ(beside(1.6, false), "");
}

TEST(FailSlow, TheLastIterationsAreUnconfirmed) {
  auto x = quiet(500);
  slow(x, 492, 500, 1.6);
  const auto f = find_fail_slow({x});
  EXPECT_EQ(shown(f), "");
  ASSERT_EQ(f.unconfirmed.size(), 1u);
  EXPECT_NEAR(static_cast<double>(f.unconfirmed[0].start), 492, 1);
}

TEST(FailSlow, AttemptsAreJudgedAloneAndBesideTheOthers) {
  auto x = quiet(600);
  std::vector<double> number;
  for (std::size_t i = 0; i < 600; ++i) number.push_back(static_cast<double>(i < 300 ? i : i - 50));
  slow(x, 300, 600, 1.4);
  const auto f = find_fail_slow({x, number});
  ASSERT_EQ(f.attempts.size(), 2u);
  EXPECT_EQ(f.attempts[1].start, 300u);
  ASSERT_EQ(shown(f), "300..600 ");
  EXPECT_TRUE(f.intervals[0].against_other);
  EXPECT_NEAR(f.intervals[0].factor, 1.4, 0.03);

  // A leap of the clock that no iteration explains.
  std::vector<double> clock;
  double now = 0;
  const auto y = quiet(200);
  for (std::size_t i = 0; i < 200; ++i) clock.push_back(now += y[i] + (i == 100 ? 600'000 : 0));
  EXPECT_EQ(find_fail_slow({y, {}, clock}).attempts.size(), 2u);
  auto z = y;
  z[100] += 600'000;
  EXPECT_EQ(find_fail_slow({z, {}, clock}).attempts.size(), 1u);
}

TEST(FailSlow, TheUnitOfTheTimesMeansNothing) {
  auto x = quiet(700, 0.02, 9);
  slow(x, 200, 320, 1.3);
  auto y = x;
  for (double& v : y) v *= 0.001;
  EXPECT_EQ(shown(find_fail_slow({x})), shown(find_fail_slow({y})));
}

// The whole measurement is bench/fail_slow_accuracy.cpp; these seeds are held out there, too.
TEST(FailSlow, LabelledTraces) {
  TraceScore score;
  for (std::uint64_t seed = 2'000'000; seed < 2'000'070; ++seed) {
    const Trace trace = TraceMaker(seed).make();
    score.add(trace, find_fail_slow({trace.time, trace.number}).intervals);
  }
  EXPECT_GE(score.right, 69u);
  EXPECT_LE(score.missed * 60, score.slow);
  EXPECT_GE(score.found * 100, score.events * 97);
}

TEST(FailSlow, RealJobs) {
  const std::string shared = CULPRIT_SHARED_DIR;
  if (shared.empty()) GTEST_SKIP() << "no shared data";
  for (const auto& [bundle, want] : {std::pair{"failslow-a", 1}, std::pair{"clean-a", 0},
                                     std::pair{"hang-a", 0}, std::pair{"crash-a", 0}})
    for (int rank = 0; rank < 8; ++rank) {
      std::ifstream in(shared + "/bundles/" + bundle + "/bundle/metrics/rank_" +
                       std::to_string(rank) + ".jsonl");
      std::vector<double> time, number;
      for (std::string line; std::getline(in, line);) {
        const auto row = nlohmann::json::parse(line);
        time.push_back(row["iter_ms"].get<double>());
        number.push_back(row["iteration"].get<double>());
      }
      ASSERT_FALSE(time.empty()) << bundle;
      const auto f = find_fail_slow({time, number});
      ASSERT_EQ(f.intervals.size(), static_cast<std::size_t>(want))
          << bundle << " " << rank << " " << shown(f);
      if (want == 0) continue;
      EXPECT_NEAR(static_cast<double>(f.intervals[0].start), 149, 3);  // iteration 150
      EXPECT_NEAR(static_cast<double>(f.intervals[0].end), 299, 3);
    }
}

}  // namespace
}  // namespace culprit::analyze
