// call_period_accuracy [SEEDS [FIRST_SEED]] [-v]: iteration times from simulated call logs, every
// layout times every disturbance (tests/analyze/call_logs.hpp). Prints the share of logs whose
// median iteration time is within 1.2 % of the truth (GREYHOUND section 7.2) for each method, by
// layout and by disturbance. Development seeds are 1 to 4; seeds from 1001 on were not looked at
// while the method was made (FIRST_SEED 1001).
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "call_logs.hpp"
#include "report/phrases.hpp"

using namespace culprit::analyze;

int main(int argc, char** argv) {
  bool verbose = false;
  std::vector<std::uint64_t> numbers;
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "-v") == 0)
      verbose = true;
    else
      numbers.push_back(std::strtoull(argv[i], nullptr, 10));
  const std::uint64_t seeds = !numbers.empty() ? numbers[0] : 2,
                      first = numbers.size() > 1 ? numbers[1] : 1001;
  constexpr PeriodMethod kMethods[] = {PeriodMethod::anchor, PeriodMethod::match_rate,
                                       PeriodMethod::acf};
  std::map<std::string, std::array<std::size_t, 4>> rows;
  std::array<std::size_t, 4> all{};
  std::size_t calls = 0;
  for (const char* layout : simulated::kLayouts)
    for (const char* disturbance : simulated::kDisturbances)
      for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
        const simulated::CallLog log = simulated::make_log(layout, disturbance, seed);
        calls += log.calls.size();
        std::array<std::size_t, 4> add{0, 0, 0, 1};
        for (std::size_t m = 0; m < 3; ++m) {
          CallPeriodParams params;
          params.method = kMethods[m];
          const CallPeriod period = call_period(log.calls, params);
          const double error =
              period.method == PeriodMethod::none
                  ? 1
                  : std::abs(static_cast<double>(period.median) - log.truth_ns) / log.truth_ns;
          add[m] = error <= 0.012;
          if (verbose && m == 0 && error > 0.012)
            fmt::print(
                "{} {} {}: {} steps, {} calls, {:.2f} of the truth, {} calls a step: {} ({})\n",
                layout, disturbance, seed, log.steps, log.calls.size(),
                static_cast<double>(period.median) / log.truth_ns, log.calls.size() / log.steps,
                culprit::report::words(period.why), name(period.method));
        }
        for (std::size_t m = 0; m < 4; ++m) {
          all[m] += add[m];
          rows[std::string("1 ") + layout][m] += add[m];
          rows[std::string("2 ") + disturbance][m] += add[m];
        }
      }
  const auto percent = [](std::size_t part, std::size_t of) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(std::max<std::size_t>(of, 1));
  };
  fmt::print("{:<34} {:>7} {:>10} {:>10} {:>6}\n", "% of logs within 1.2 %", "anchor", "match rate",
             "published", "logs");
  for (const auto& [row, n] : rows)
    fmt::print("{:<34} {:>7.1f} {:>10.1f} {:>10.1f} {:>6}\n", row.substr(2), percent(n[0], n[3]),
               percent(n[1], n[3]), percent(n[2], n[3]), n[3]);
  fmt::print("{:<34} {:>7.1f} {:>10.1f} {:>10.1f} {:>6}\n{} calls\n", "all",
             percent(all[0], all[3]), percent(all[1], all[3]), percent(all[2], all[3]), all[3],
             calls);
  return percent(all[0], all[3]) >= 95 ? 0 : 1;
}
