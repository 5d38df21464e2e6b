// The kernel: run lengths online, and the exact segmentation.
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "analyze/pace/run_length.hpp"
#include "analyze/pace/segmentation.hpp"
#include "analyze/facts/vector_math.hpp"

namespace culprit::analyze {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const std::vector<double> kVector{0.1, -0.3, 0.2, 0.0, 5.0, 5.3, 4.8, 5.1};

RunLengthParams unpruned() {
  RunLengthParams p;
  p.least = p.tail = 0;
  return p;
}

double step(RunLengths& runs, double x) { return runs.step({&x, 1}); }

std::vector<std::size_t> online(const std::vector<double>& x, const RunLengthParams& p = {}) {
  const std::span<const double> one(x);
  return online_change_points({&one, 1}, p);
}

std::vector<std::size_t> offline(const std::vector<double>& x, const SegmentationParams& p = {}) {
  const std::span<const double> one(x);
  return most_probable_segmentation({&one, 1}, p);
}

std::vector<double> noise(std::size_t n, unsigned seed, double sd = 1) {
  std::mt19937_64 random(seed);
  std::vector<double> out(n);
  for (double& x : out) {  // a sum of 12 uniform numbers: no distribution of the library's choosing
    double sum = -6;
    for (int k = 0; k < 12; ++k) sum += static_cast<double>(random() >> 11) * 0x1p-53;
    x = sum * sd;
  }
  return out;
}

TEST(RunLength, TestVector) {
  RunLengths runs(unpruned());
  EXPECT_NEAR(step(runs, kVector[0]), -1.390039681, 1e-9);
  for (int i = 1; i < 4; ++i) step(runs, kVector[i]);
  EXPECT_NEAR(step(runs, kVector[4]), -8.120907370, 1e-9);
  EXPECT_NEAR(runs.probability(1), 0.426514158, 1e-9);
  EXPECT_NEAR(runs.probability(5), 0.469285235, 1e-9);
  for (int i = 5; i < 8; ++i) step(runs, kVector[i]);
  EXPECT_NEAR(runs.probability(4), 0.853418684, 1e-9);
  EXPECT_NEAR(runs.probability(0), 0.01, 1e-12);
  EXPECT_EQ(offline(kVector), std::vector<std::size_t>{4});
}

// The trap of the paper's wording: the newest run's probability is the hazard whatever happens.
TEST(RunLength, TheNewestRunHasAlwaysTheHazard) {
  RunLengths runs(unpruned());
  for (const double x : {0.0, 50.0, -3.0, 0.1, 1e6}) {
    step(runs, x);
    EXPECT_NEAR(runs.probability(0), 0.01, 1e-12) << x;
  }
}

TEST(RunLength, ProbabilitiesSumToOneWithAndWithoutPruning) {
  for (const auto& params : {unpruned(), RunLengthParams{}}) {
    RunLengths runs(params);
    auto x = noise(400, 7);
    for (std::size_t i = 200; i < 400; ++i) x[i] += 4;
    for (const double v : x) {
      step(runs, v);
      double sum = 0;
      for (std::size_t r = 0; r <= runs.samples(); ++r) sum += runs.probability(r);
      ASSERT_NEAR(sum, 1, 1e-9);
    }
  }
}

TEST(RunLength, AMissingSampleTeachesNothing) {
  RunLengths runs(unpruned());
  step(runs, 0.1);
  step(runs, 0.2);
  const double before = runs.probability(2);
  EXPECT_EQ(step(runs, kNaN), 0);
  EXPECT_NEAR(runs.probability(3), before * 0.99, 1e-12);
  EXPECT_EQ(step(runs, std::numeric_limits<double>::infinity()), 0);
  auto x = noise(100, 3, 0.3);
  for (std::size_t i = 50; i < 100; ++i) x[i] += 5;
  x[20] = x[49] = x[70] = kNaN;
  EXPECT_EQ(online(x), std::vector<std::size_t>{50});
  EXPECT_EQ(offline(x), std::vector<std::size_t>{50});
}

TEST(RunLength, DimensionsAreLookedAtTogether) {
  auto a = noise(200, 1);
  auto b = noise(200, 2);
  for (std::size_t i = 100; i < 200; ++i) a[i] += 3, b[i] -= 3;
  const std::vector<std::span<const double>> both{a, b};
  EXPECT_EQ(most_probable_segmentation(both).size(), 1u);
  EXPECT_EQ(online_change_points(both, {}).size(), 1u);
  EXPECT_NEAR(static_cast<double>(most_probable_segmentation(both)[0]), 100, 3);
  // One of them all missing changes nothing.
  const std::vector<double> none(200, kNaN);
  const std::vector<std::span<const double>> with{a, b, none};
  EXPECT_EQ(most_probable_segmentation(with), most_probable_segmentation(both));
}

TEST(RunLength, ConstantSeriesHaveNoChange) {
  const std::vector<double> same(3000, 7.25);
  EXPECT_EQ(standardised(same), std::vector<double>(3000, 0.0));
  EXPECT_TRUE(online(standardised(same)).empty());
  EXPECT_TRUE(offline(standardised(same)).empty());
  EXPECT_TRUE(online({}).empty());
  EXPECT_TRUE(offline({}).empty());
  EXPECT_TRUE(offline({kNaN, kNaN}).empty());
}

// A cap on live runs must not make a long steady job look as if it began anew.
TEST(RunLength, ASteadySeriesStaysOneRegimeUnderTheCap) {
  RunLengthParams p;
  p.most = 100;
  RunLengths runs(p);
  for (const double x : noise(5000, 11)) {
    step(runs, x);
    ASSERT_LE(runs.live(), 101u);
    ASSERT_FALSE(runs.change());
  }
  EXPECT_EQ(runs.best_start(), 0u);
}

TEST(RunLength, LongAndExtremeSeriesStayFinite) {
  RunLengthParams p;
  p.lambda = 1e6;
  p.most = 64;
  RunLengths runs(p);
  const auto x = noise(1000, 5);
  for (int k = 0; k < 50; ++k)
    for (const double v : x) ASSERT_TRUE(std::isfinite(step(runs, v * (k % 10 == 9 ? 1e6 : 1))));
  for (const double v : {1e308, -1e308, 1e-308, 0.0, 1e150})
    EXPECT_TRUE(std::isfinite(step(runs, v))) << v;
  for (const double v : standardised(std::vector<double>{1e308, -1e308, 1e308, 3}))
    EXPECT_TRUE(std::isfinite(v));
}

// Delays in the digest's table: 10 sigma two samples, no false alarm on white noise.
TEST(RunLength, DelayAndFalseAlarms) {
  RunLengthParams p;
  p.lambda = 2000;
  p.prior = {0, 0.02, 2, 2};
  auto x = noise(400, 21);
  for (std::size_t i = 300; i < 400; ++i) x[i] += 10;
  RunLengths runs(p);
  std::size_t when = 0;
  for (std::size_t i = 0; i < x.size() && when == 0; ++i) {
    step(runs, x[i]);
    if (runs.change()) when = i;
  }
  EXPECT_LE(when, 302u);
  EXPECT_GE(when, 300u);
  EXPECT_TRUE(online(noise(10000, 22), p).empty());
}

TEST(Segmentation, PruningChangesNothing) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    auto x = noise(600, seed);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] += static_cast<double>((i / (80 + 10 * seed)) % 3) * 1.5;
    for (const double lambda : {100.0, 2000.0}) {
      SegmentationParams p;
      p.lambda = lambda;
      if (lambda > 1000) p.prior = {0, 0.02, 2, 2};
      const auto pruned = offline(x, p);
      p.prune = false;
      EXPECT_EQ(pruned, offline(x, p)) << seed << " " << lambda;
    }
  }
}

// Against the definition: all segmentations of a short series.
TEST(Segmentation, IsTheBestOfAllSegmentations) {
  const auto marginal = [](std::span<const double> x) {
    const double n = static_cast<double>(x.size());
    double mean = 0;
    for (const double v : x) mean += v / n;
    double sse = 0;
    for (const double v : x) sse += (v - mean) * (v - mean);
    const double b = 1 + sse / 2 + n * mean * mean / (2 * (1 + n));
    return std::lgamma(1 + n / 2) - (1 + n / 2) * std::log(b) + 0.5 * std::log(1 / (1 + n)) -
           n / 2 * std::log(2 * M_PI);
  };
  for (unsigned seed = 1; seed < 8; ++seed) {
    auto x = noise(11, seed, 0.4);
    for (std::size_t i = 4 + seed % 3; i < x.size(); ++i) x[i] += 3;
    double best = -1e300;
    std::vector<std::size_t> want;
    for (unsigned cuts = 0; cuts < 1u << 10; ++cuts) {
      std::vector<std::size_t> at;
      for (unsigned i = 0; i < 10; ++i)
        if (cuts >> i & 1) at.push_back(i + 1);
      double score = 0;
      std::size_t start = 0;
      for (std::size_t k = 0; k <= at.size(); ++k) {
        const std::size_t end = k < at.size() ? at[k] : x.size();
        score += marginal(std::span(x).subspan(start, end - start)) - std::log(100.0) +
                 static_cast<double>(end - start - 1) * std::log1p(-0.01);
        start = end;
      }
      if (score > best) {
        best = score;
        want = at;
      }
    }
    EXPECT_EQ(offline(x), want) << seed;
  }
}

// Every start with every sample, without groups, bounds and pruning.
std::vector<std::size_t> looking_always(const std::vector<double>& x, const SegmentationParams& p) {
  const std::size_t size = x.size();
  std::vector<double> one(size + 1), two(size + 1), score(size + 1);
  std::vector<std::size_t> from(size + 1);
  for (std::size_t t = 0; t < size; ++t) {
    one[t + 1] = one[t] + x[t];
    two[t + 1] = two[t] + x[t] * x[t];
    score[t + 1] = -1e300;
    for (std::size_t s = 0; s <= t; ++s) {
      const double n = static_cast<double>(t + 1 - s);
      const double sum = one[t + 1] - one[s];
      const double beta =
          p.prior.beta + (two[t + 1] - two[s] - sum * sum / (p.prior.kappa + n)) / 2;
      const double alpha = p.prior.alpha + n / 2;
      const double total = score[s] + std::lgamma(alpha) - std::lgamma(p.prior.alpha) +
                           p.prior.alpha * std::log(p.prior.beta) - alpha * std::log(beta) +
                           0.5 * std::log(p.prior.kappa / (p.prior.kappa + n)) -
                           n / 2 * std::log(2 * M_PI) - std::log(p.lambda) +
                           (n - 1) * std::log1p(-1 / p.lambda);
      if (total <= score[t + 1]) continue;
      score[t + 1] = total;
      from[t + 1] = s;
    }
  }
  std::vector<std::size_t> out;
  for (std::size_t t = size; from[t] > 0; t = from[t]) out.insert(out.begin(), from[t]);
  return out;
}

// Levels, noise that grows, and single samples that fit no regime, which send all totals far down
// and up again.
TEST(Segmentation, LookingSeldomChangesNothing) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    auto x = noise(1200, seed, seed % 3 == 0 ? 0.05 : 1);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (seed % 2 == 0 && i > 700) x[i] *= 3;
      if (i > 400 && i < 900) x[i] += 0.8 * seed;
      if (seed > 3 && i % 97 == 0) x[i] += 40;
    }
    for (SegmentationParams p :
         {SegmentationParams{}, SegmentationParams{2000, {0, 0.02, 2, 2}, 8, true}}) {
      const auto want = looking_always(x, p);
      EXPECT_EQ(offline(x, p), want) << seed << " " << p.lambda;
      p.prune = false;
      EXPECT_EQ(offline(x, p), want) << seed << " " << p.lambda;
    }
  }
}

// Scale and offset of a standardised series mean nothing; time before it shifts every index.
RC_GTEST_PROP(Segmentation, ScaleAndShift, ()) {
  const auto seed = *rc::gen::inRange(1u, 10000u);
  const double scale = *rc::gen::inRange(1, 1000) * 0.01;
  const double offset = *rc::gen::inRange(-1000, 1000) * 0.1;
  auto x = noise(150, seed);
  for (std::size_t i = 90; i < 150; ++i) x[i] += 6;
  auto y = x;
  for (double& v : y) v = v * scale + offset;
  RC_ASSERT(offline(standardised(x)) == offline(standardised(y)));
  RC_ASSERT(online(standardised(x)) == online(standardised(y)));
  std::vector<double> late(37, kNaN);
  late.insert(late.end(), x.begin(), x.end());
  auto moved = offline(standardised(late));
  // The stretch without samples may be a regime of its own, as far as anybody can tell.
  std::erase(moved, std::size_t{37});
  auto want = offline(standardised(x));
  for (auto& at : want) at += 37;
  RC_ASSERT(moved == want);
}

TEST(VectorMath, LogAndExpAreExactEnough) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 200'000; ++i) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    const double x = std::exp((u - 0.5) * 1400);
    ASSERT_NEAR(fast_log(x), std::log(x), 4e-16 * std::max(1.0, std::abs(std::log(x)))) << x;
    const double e = -u * 700;
    ASSERT_NEAR(fast_exp(e) / std::exp(e), 1, 5e-16) << e;
  }
  EXPECT_EQ(fast_log(1.0), 0.0);
  EXPECT_EQ(fast_exp(0.0), 1.0);
  EXPECT_LT(fast_exp(-1e308), 1e-300);
}

}  // namespace
}  // namespace culprit::analyze
