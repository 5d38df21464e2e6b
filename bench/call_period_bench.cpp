// call_period_bench [CALLS]: iteration times from one long log (a million calls by default), with
// clean data and with the worst for the method: no call recurs, so that the match rate is tried
// over all lags. Checks the answers.
#include <cmath>
#include <cstdlib>
#include <ctime>

#include <fmt/format.h>

#include "analyze/pace/call_period.hpp"
#include "report/phrases.hpp"

using namespace culprit::analyze;

namespace {

double seconds_of(const std::vector<Call>& calls, const CallPeriodParams& params, CallPeriod& out) {
  const std::clock_t begin = std::clock();  // of the processor: others may use the machine, too
  out = call_period(calls, params);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 && argv[1][0] != '-'
                            ? static_cast<std::size_t>(std::strtoull(argv[1], nullptr, 10))
                            : 1'000'000;
  if (n < 10'000) return 2;
  std::vector<Call> training, noise;
  culprit::Nanoseconds now = 0;
  for (std::size_t i = 0; i < n;
       ++i) {  // 64 layers forward, 64 back, one call at the end of the step
    const std::size_t in = i % 193;
    const bool end = in == 192;
    training.push_back({now += end ? 50'000'000 : 1'000'000,
                        end       ? 9u
                        : in < 64 ? 1u
                        : in % 2  ? 1u
                                  : 2u,
                        7, end ? 1 : 25'000'000 + in % 64});
    std::uint64_t z = i * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    noise.push_back({static_cast<culprit::Nanoseconds>(i) * 1'000'000,
                     static_cast<std::uint32_t>(z % 11), (z >> 8) % 5, (z >> 16) % 1000});
  }
  CallPeriod period;
  const double clean = seconds_of(training, {}, period);
  const bool right = period.median == 242'000'000 && period.period == 193;
  fmt::print("anchor      {} calls: {:.3f} s, {:.0f} ns a call, {}\n", n, clean,
             clean * 1e9 / static_cast<double>(n),
             right ? "right" : "WRONG: " + culprit::report::words(period.why));
  CallPeriodParams params;
  params.method = PeriodMethod::match_rate;
  const double rate = seconds_of(training, params, period);
  const bool rate_right = period.median == 242'000'000;
  fmt::print("match rate  {} calls: {:.3f} s, {:.0f} ns a call, {}\n", n, rate,
             rate * 1e9 / static_cast<double>(n),
             rate_right ? "right" : "WRONG: " + culprit::report::words(period.why));
  const double worst = seconds_of(noise, {}, period);
  const bool none = period.method == PeriodMethod::none;
  fmt::print("no period   {} calls: {:.3f} s, {:.0f} ns a call, {}\n", n, worst,
             worst * 1e9 / static_cast<double>(n),
             none ? "none, as it is" : "WRONG: " + culprit::report::words(period.why));
  return right && rate_right && none ? 0 : 1;
}
