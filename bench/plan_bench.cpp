// plan_bench: the plans that must be quick at scale. Prints the best and the middle of several
// runs, and checks each answer.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "plan/backup.hpp"
#include "plan/microbatch.hpp"

using namespace culprit;

namespace {

std::uint64_t splitmix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

bool measure(const char* what, int runs, const std::function<bool()>& once) {
  std::vector<double> us;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const bool right = once();
    us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
                     .count());
    if (!right) {
      fmt::print("{}: wrong answer\n", what);
      return false;
    }
  }
  std::sort(us.begin(), us.end());
  fmt::print("{:<40} best {:>10.1f} us, middle {:>10.1f} us of {}\n", what, us.front(),
             us[us.size() / 2], runs);
  return true;
}

bool microbatches(std::size_t groups, std::int64_t each, int runs) {
  std::uint64_t state = 1;
  std::vector<double> t(groups);
  for (double& one : t)
    one = 100 + static_cast<double>(splitmix(state) % 1000) / 100 +
          (splitmix(state) % 50 == 0 ? 70 : 0);
  const std::int64_t all = static_cast<std::int64_t>(groups) * each;
  return measure(fmt::format("microbatch, {} groups", groups).c_str(), runs, [&] {
    const auto plan = plan::plan_microbatches(t, all);
    return plan && plan->best_ms >= plan->bound_ms && plan->best_ms < plan->even_ms &&
           std::accumulate(plan->counts.begin(), plan->counts.end(), std::int64_t{0}) == all;
  });
}

bool backups(std::int64_t pp, std::int64_t dp, std::int64_t per_host, int runs) {
  const auto shape = plan::make_shape("tp-dp-pp", {{"tp", 8}, {"dp", dp}, {"pp", pp}}, per_host);
  return shape &&
         measure(fmt::format("backup, {} ranks, {} on a host", shape->ranks(), per_host).c_str(),
                 runs, [&] {
                   const auto plan = plan::plan_backup(*shape);
                   return plan && plan->placement == plan::Placement::cross_group &&
                          plan->same_host.empty() && plan->keeper[0] >= per_host;
                 });
}

}  // namespace

int main() {
  bool right = microbatches(512, 16, 2000);
  right = microbatches(100'000, 16, 50) && right;
  right = backups(20, 625, 8, 20) && right;
  return right ? 0 : 1;
}
