// How often is the verdict on a job right? fail_slow_accuracy [JOBS] [SEED] [--show]
// Labelled traces of tests/analyze/iteration_traces.hpp; seeds below 1,000,000 are for development,
// from there on held out. Beside it a strong simple rule: the median of 30 iterations against the
// median of the 400 before, 10 %.
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>

#include <fmt/format.h>

#include "analyze/pace/fail_slow.hpp"
#include "iteration_traces.hpp"

namespace {

using namespace culprit::analyze;

struct Stretch {
  std::size_t start, end;
};

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

std::vector<Stretch> running_median_rule(const std::vector<double>& x) {
  std::vector<Stretch> out;
  for (std::size_t i = 60 + 60; i + 1 <= x.size(); ++i) {
    const std::size_t from = i - 30;
    const std::size_t before = std::max<std::size_t>(60, from > 400 ? from - 400 : 0);
    if (before >= from) continue;
    const double now = median({x.begin() + static_cast<std::ptrdiff_t>(from),
                               x.begin() + static_cast<std::ptrdiff_t>(i)});
    const double past = median({x.begin() + static_cast<std::ptrdiff_t>(before),
                                x.begin() + static_cast<std::ptrdiff_t>(from)});
    if (now <= 1.1 * past) continue;
    if (!out.empty() && out.back().end + 1 >= from + 15)
      out.back().end = i - 15;
    else
      out.push_back({i - 15, i - 15 + 1});
  }
  return out;
}

void tell(const char* name, const TraceScore& s, double seconds) {
  fmt::print(
      "{:<16} jobs {} right {} ({:.2f} %)  slow {} missed {}  accused {}  misplaced {}  events {} "
      "found {} (recall {:.4f})  onset off by {:.1f}  {:.2f} ms a job\n",
      name, s.jobs, s.right, 100.0 * static_cast<double>(s.right) / static_cast<double>(s.jobs),
      s.slow, s.missed, s.accused, s.misplaced, s.events, s.found,
      static_cast<double>(s.found) / static_cast<double>(std::max<std::size_t>(1, s.events)),
      static_cast<double>(s.onset_error) / static_cast<double>(std::max<std::size_t>(1, s.onsets)),
      1e3 * seconds / static_cast<double>(s.jobs));
}

double cpu() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t jobs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 600;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000;
  const bool show = argc > 3 && std::strcmp(argv[3], "--show") == 0;
  TraceScore ours, simple;
  std::map<std::string, TraceScore> kinds;
  double spent = 0;
  double spent_simple = 0;
  for (std::uint64_t i = 0; i < jobs; ++i) {
    const Trace trace = TraceMaker(seed + i).make();
    double start = cpu();
    const FailSlow verdict = find_fail_slow({trace.time, trace.number});
    spent += cpu() - start;
    kinds[trace.kind].add(trace, verdict.intervals);
    if (!ours.add(trace, verdict.intervals) && show) {
      fmt::print("seed {} {} n {} noise {:.3f} wander {:.3f} required {:.3f}\n", seed + i,
                 trace.kind, trace.time.size(), verdict.attempts[0].noise,
                 verdict.attempts[0].wander, verdict.attempts[0].required);
      for (const auto& e : trace.events)
        fmt::print("   event {}..{} x{:.3f}\n", e.start, e.end, e.factor);
      for (const auto& s : verdict.intervals)
        fmt::print("   found {}..{} x{:.3f}\n", s.start, s.end, s.factor);
      for (const auto& s : verdict.regimes)
        fmt::print("     regime {}..{} x{:.3f}\n", s.start, s.end, s.factor);
      for (const auto& p : verdict.pauses)
        fmt::print("     pause period {} length {} count {}\n", p.period, p.length, p.count);
      for (const auto& s : verdict.warm_ups)
        fmt::print("     warm-up {}..{} x{:.3f}\n", s.start, s.end, s.factor);
    }
    start = cpu();
    simple.add(trace, running_median_rule(trace.time));
    spent_simple += cpu() - start;
  }
  for (const auto& [kind, score] : kinds) tell(kind.c_str(), score, 0);
  tell("fail-slow", ours, spent);
  tell("running median", simple, spent_simple);
}
