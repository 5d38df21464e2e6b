// efficiency_bench [STEPS]: effective time of a job of a million steps (by default) with a restart
// every 5,000, each of which loses 50 steps and ten minutes. Checks the answer.
#include <cmath>
#include <cstdlib>
#include <ctime>

#include <fmt/format.h>

#include "analyze/pace/efficiency.hpp"
#include "analyze/pace/loss_signals.hpp"

using namespace culprit;
using namespace culprit::analyze;

int main(int argc, char** argv) {
  const std::int64_t n = argc > 1 && argv[1][0] != '-' ? std::atoll(argv[1]) : 1'000'000;
  if (n < 10'000) return 2;
  JobTimes job;
  std::vector<LossRecord> losses;
  Nanoseconds now = 1'700'000'000 * kSecond;
  std::int64_t attempt = 1, again = 0, restarts = 0;
  for (std::int64_t i = 1; i <= n; ++i) {
    now += 2 * kSecond;
    job.steps.push_back({attempt, i, now, 2000.0});
    losses.push_back(
        {i, 2 + 10 / std::sqrt(static_cast<double>(i)), 0.5 + 0.1 * static_cast<double>(i % 7)});
    if (i % 5000 == 0 && again != i && i < n) {
      again = i;
      ++attempt;
      ++restarts;
      now += 600 * kSecond;
      i -= 50;
    }
  }
  const std::clock_t begin = std::clock();  // of the processor: others may use the machine, too
  const Efficiency e = efficiency(job);
  const std::clock_t half = std::clock();
  const LossSignals s = loss_signals(losses);
  const std::clock_t end = std::clock();
  const bool right = e.steps == n && e.recomputed_steps == 50 * restarts &&
                     e.parts.unexplained == 600 * kSecond * restarts && s.spikes.empty();
  fmt::print(
      "effective time  {} rows, {} restarts: {:.3f} s, ETTR {:.4f}, lowest hour {:.4f}, {}\n",
      job.steps.size(), restarts, static_cast<double>(half - begin) / CLOCKS_PER_SEC, e.ettr,
      e.sliding_lowest ? e.sliding_lowest->value : -1, right ? "right" : "WRONG");
  fmt::print("loss signals    {} rows: {:.3f} s\n", losses.size(),
             static_cast<double>(end - half) / CLOCKS_PER_SEC);
  return right ? 0 : 1;
}
