// The outlier search over many metrics of many hosts, by default 1000 hosts x 100 metrics x 1000
// samples, and the plain form of the same rule (a map from bin to values, two sorts a bin) on one
// of them. Making the values is not timed. The answer is checked.
//   outlier_bench [HOSTS METRICS SAMPLES]
#include <time.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "analyze/metrics/outliers.hpp"
#include "outlier_scenarios.hpp"

namespace {

using namespace culprit;
using namespace culprit::analyze;

// Of this processor: other work on the machine does not count.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

struct Data {
  std::vector<std::vector<Nanoseconds>> times;
  std::vector<std::vector<double>> values;
  std::vector<OutlierSeries> series;
};

// One bad host a metric, for the middle third.
void fill(Data& data, std::size_t hosts, std::size_t samples, std::uint64_t seed, std::size_t bad) {
  simulated::Random random(seed);
  data.times.resize(hosts);
  data.values.resize(hosts);
  data.series.clear();
  for (std::size_t h = 0; h < hosts; ++h) {
    const double base = 60 + 2 * random.normal(), phase = random.uniform(0, 30);
    data.times[h].resize(samples);
    data.values[h].resize(samples);
    for (std::size_t i = 0; i < samples; ++i) {
      data.times[h][i] = 1'795'000'000 * kSecond +
                         static_cast<Nanoseconds>((static_cast<double>(i) * 30 + phase) * 1e9);
      // Sums of uniform numbers: cheaper than Gaussian ones, and near enough.
      data.values[h][i] = base +
                          2 * (random.uniform() + random.uniform() + random.uniform() - 1.5) +
                          (h == bad && i > samples / 3 && i < 2 * samples / 3 ? 25 : 0);
    }
    data.series.push_back({fmt::format("node-{:05}", h), "", data.times[h], data.values[h]});
  }
}

// What one would write first.
std::vector<std::string> plain(const Data& data, double threshold) {
  const auto median = [](std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
  };
  std::map<std::int64_t, std::map<std::size_t, double>> bins;
  for (std::size_t h = 0; h < data.series.size(); ++h)
    for (std::size_t i = 0; i < data.times[h].size(); ++i)
      bins[data.times[h][i] / (30 * kSecond)][h] = data.values[h][i];
  std::vector<std::size_t> run(data.series.size(), 0);
  std::vector<std::string> out;
  for (const auto& [bin, values] : bins) {
    std::vector<double> all, deviations;
    for (const auto& [h, v] : values) all.push_back(v);
    const double middle = median(all);
    for (const double v : all) deviations.push_back(std::fabs(v - middle));
    const double scale = 1.4826 * median(deviations);
    for (const auto& [h, v] : values) {
      run[h] = std::fabs(v - middle) > threshold * scale &&
                       std::fabs(v - middle) > 0.1 * std::fabs(middle)
                   ? run[h] + 1
                   : 0;
      if (run[h] == 20) out.push_back(data.series[h].entity);
    }
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::size_t> sizes;
  for (int i = 1; i < argc; ++i)
    if (argv[i][0] != '-') sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  if (sizes.size() < 3) sizes = {1000, 100, 1000};
  const auto [hosts, metrics, samples] = std::tuple(sizes[0], sizes[1], sizes[2]);
  Data data;
  OutlierParams params;
  params.metrics = metrics;
  double searched = 0, naive = 0;
  bool good = true;
  for (std::size_t m = 0; m < metrics; ++m) {
    const std::size_t bad = (m * 37 + 11) % hosts;
    fill(data, hosts, samples, m + 1, bad);
    double begin = cpu_seconds();
    const auto result = find_outliers(data.series, {}, params);
    searched += cpu_seconds() - begin;
    good =
        good && result.outliers.size() == 1 && result.outliers[0].entity == data.series[bad].entity;
    if (m > 0) continue;
    begin = cpu_seconds();
    const auto named = plain(data, 5.5);
    naive = cpu_seconds() - begin;
    good = good && named == std::vector<std::string>{data.series[bad].entity};
  }
  const double total = static_cast<double>(hosts * metrics * samples), ns = searched / total * 1e9,
               plain_ns = naive / static_cast<double>(hosts * samples) * 1e9;
  fmt::print(
      "{} hosts x {} metrics x {} samples = {:.0e}: searched in {:.2f} s of one core, {:.1f} ns a "
      "sample; the plain form {:.0f} ns, {:.0f} times as long; {}\n",
      hosts, metrics, samples, total, searched, ns, plain_ns, plain_ns / ns,
      good ? "right" : "WRONG");
  return good ? 0 : 1;
}
