// Dual-phase replay of a job of 12,800 machines (TP 8, PP 8): the plan, and its solution for one
// and for two faulty machines; and the halving of as many hosts. Every answer is checked.
//   replay_bench [MACHINES]     (default 12800)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "plan/isolate.hpp"
#include "plan/replay.hpp"
#include "plan/replay_solve.hpp"

namespace {

using namespace culprit::plan;

bool measure(const char* what, const std::function<bool()>& once) {
  std::vector<double> ms;
  for (int i = 0; i < 9; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (!once()) {
      fmt::print("{}: wrong answer\n", what);
      return false;
    }
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                     .count());
  }
  std::sort(ms.begin(), ms.end());
  fmt::print("{:<34} best {:>9.3f} ms, middle {:>9.3f} ms of {}\n", what, ms.front(),
             ms[ms.size() / 2], ms.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  ReplayParams params;
  params.machines = argc > 1 && argv[1][0] != '-' ? std::atoll(argv[1]) : 12800;
  params.pp = 8;
  const auto plan = plan_replay(params);
  if (!plan) {
    fmt::print("{}\n", plan.error().what);
    return 1;
  }
  const auto outcomes = [&](std::vector<MachineIndex> faulty) {
    std::vector<ReplayOutcome> out(plan->tests.size(), ReplayOutcome{1, 0});
    for (const MachineIndex x : faulty)
      for (const std::uint32_t t : plan->tests_of[x]) out[t].failures = 1;
    return out;
  };
  const auto last = static_cast<MachineIndex>(params.machines - 1), middle = last / 2;
  const auto one = outcomes({middle}), two = outcomes({middle, last});
  std::vector<IsolateHost> hosts;
  for (std::int64_t i = 0; i < params.machines; ++i)
    hosts.push_back(
        {"n" + std::to_string(i), "t" + std::to_string(i / 16), "p" + std::to_string(i / 512)});
  const bool right =
      measure("replay plan",
              [&] {
                const auto p = plan_replay(params);
                return p && p->unique() && p->groups * p->group >= params.machines;
              }) &&
      measure("replay solve, one faulty",
              [&] {
                const auto s = solve_replay(*plan, one);
                return s && s->found == 1 && s->candidates[0].machine == middle;
              }) &&
      measure("replay solve, two faulty",
              [&] {
                const auto s = solve_replay(*plan, two);
                return s && std::any_of(s->candidates.begin(), s->candidates.end(),
                                        [&](const auto& c) { return c.machine == last; });
              }) &&
      measure("isolate, all rounds", [&] {
        auto state = start_isolation(hosts);
        while (state && !state->done()) {
          std::map<std::string, bool> failed;
          for (const IsolateTest& test : tests_of(*state))
            failed[test.name] =
                std::binary_search(test.hosts.begin(), test.hosts.end(), std::size_t{middle});
          state = step(*state, failed);
        }
        return state && state->faulty == HostSet{middle} &&
               state->round <= halving_rounds(hosts.size()) + 2;
      });
  return right ? 0 : 1;
}
