// The change-point kernel: ns a live run, us a sample of the exact segmentation, ranks that repeat
// each other, and the naive form (lgamma in the loop, no pruning of work) as a ratio. CPU time, so
// that a busy machine moves the figures less.
#include <sys/resource.h>

#include <cmath>
#include <ctime>
#include <random>

#include <fmt/format.h>

#include "analyze/pace/fail_slow.hpp"
#include "analyze/pace/run_length.hpp"
#include "analyze/pace/segmentation.hpp"

namespace {

using namespace culprit::analyze;

double cpu() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::vector<double> noise(std::size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> out(n);
  for (double& x : out) x = normal(random);
  return out;
}

// As the papers print it: every constant anew for every run.
struct Naive {
  struct Run {
    double log_p, mean, kappa, alpha, beta;
  };
  RunLengthParams params;
  std::vector<Run> runs;
  std::size_t work = 0;

  explicit Naive(const RunLengthParams& p) : params(p) {
    runs.push_back({0, p.prior.mean, p.prior.kappa, p.prior.alpha, p.prior.beta});
  }

  void step(double x) {
    double top = -1e300;
    for (Run& r : runs) {
      const double nu = 2 * r.alpha;
      const double scale2 = r.beta * (r.kappa + 1) / (r.alpha * r.kappa);
      const double d = x - r.mean;
      r.log_p += std::lgamma((nu + 1) / 2) - std::lgamma(nu / 2) -
                 0.5 * std::log(nu * M_PI * scale2) -
                 (nu + 1) / 2 * std::log1p(d * d / (nu * scale2));
      r.beta += r.kappa * d * d / (2 * (r.kappa + 1));
      r.mean += d / (r.kappa + 1);
      r.kappa += 1;
      r.alpha += 0.5;
      top = std::max(top, r.log_p);
    }
    work += runs.size();
    double sum = 0;
    for (const Run& r : runs) sum += std::exp(r.log_p - top);
    const double all = top + std::log(sum);
    std::vector<Run> next;
    for (Run r : runs) {
      r.log_p += std::log1p(-1 / params.lambda) - all;
      if (r.log_p > std::log(params.least)) next.push_back(r);
    }
    next.push_back({-std::log(params.lambda), params.prior.mean, params.prior.kappa,
                    params.prior.alpha, params.prior.beta});
    runs = std::move(next);
  }
};

}  // namespace

int main() {
  const auto x = noise(10'000, 1);
  const std::span<const double> one(x);
  RunLengthParams iteration;
  iteration.lambda = 2000;
  iteration.prior = {0, 0.02, 2, 2};
  for (const auto& [name, params] : {std::pair{"benchmark prior, lambda 100", RunLengthParams{}},
                                     std::pair{"iteration prior, lambda 2000", iteration}}) {
    double best = 1e9;
    double live = 0;
    for (int round = 0; round < 3; ++round) {
      RunLengths runs(params);
      live = 0;
      const double start = cpu();
      for (const double v : x) live += static_cast<double>(runs.live()), runs.step({&v, 1});
      best = std::min(best, cpu() - start);
    }
    Naive naive(params);
    const double start = cpu();
    for (std::size_t i = 0; i < 3000; ++i) naive.step(x[i]);
    const double slow = 1e9 * (cpu() - start) / static_cast<double>(naive.work);
    fmt::print(
        "{}: {:.1f} ns a live run, {:.0f} live runs, {:.2f} us a sample; naive {:.1f} ns a live "
        "run, {:.1f} times ours\n",
        name, 1e9 * best / live, live / 1e4, 1e6 * best / 1e4, slow, slow * live / (1e9 * best));
  }
  double best = 1e9;
  std::size_t found = 0;
  for (int round = 0; round < 3; ++round) {
    const double start = cpu();
    found = most_probable_segmentation({&one, 1}, {2000, {0, 0.02, 2, 2}, 8, true}).size();
    best = std::min(best, cpu() - start);
  }
  fmt::print(
      "exact segmentation, steady 10000 samples, lambda 2000: {:.1f} us a sample, {} changes\n",
      1e6 * best / 1e4, found);

  std::vector<double> levels = noise(1'000'000, 2);
  for (std::size_t i = 0; i < levels.size(); ++i)
    levels[i] += 3.0 * static_cast<double>((i / 1000 * 7) % 5);
  for (const std::size_t size : {100'000, 1'000'000}) {
    const auto part = std::span<const double>(levels).first(size);
    const double start = cpu();
    found = most_probable_segmentation({&part, 1}, {2000, {0, 0.02, 2, 2}, 8, true}).size();
    fmt::print("exact segmentation, {} samples with a change every 1000: {:.2f} us a sample, {}\n",
               size, 1e6 * (cpu() - start) / static_cast<double>(size), found);
  }

  std::vector<double> times(10'000);
  for (std::size_t i = 0; i < times.size(); ++i)
    times[i] = 1000 * std::exp(0.02 * x[i]) * (i >= 4000 && i < 5000 ? 1.3 : 1);
  const double start = cpu();
  const auto verdict = find_fail_slow({times});
  fmt::print("verdict on 10000 iterations: {:.1f} ms, {} interval\n", 1e3 * (cpu() - start),
             verdict.intervals.size());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("peak memory {:.1f} MB\n", static_cast<double>(usage.ru_maxrss) / 1024);
}
