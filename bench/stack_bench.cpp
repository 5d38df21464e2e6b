// stack_bench [RANKS [DEPTH]]: stacks of many ranks aggregated, with few distinct ones (a hang) and
// with as many as ranks (the worst there can be). Prints time and peak memory, and checks the
// answer: the one rank that is elsewhere.
#include <chrono>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <sys/resource.h>

#include "analyze/hang/stacks.hpp"

using namespace culprit;
using namespace culprit::analyze;

namespace {

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Rank 5 opens a file, the others wait in an all-reduce below `distinct` different ways through the
// program.
Facts make(std::int64_t ranks, std::uint32_t depth, std::uint32_t distinct) {
  Facts facts;
  auto& frames = facts.stacks.frames;
  frames.push_back({"all_reduce", "torch/distributed/distributed_c10d.py", "", 1541, false});
  frames.push_back({"open", "pathlib.py", "", 1044, false});
  constexpr std::uint32_t kFunctions = 2000;
  for (std::uint32_t i = 0; i < kFunctions; ++i)
    frames.push_back(
        {"function_" + std::to_string(i), "model_" + std::to_string(i % 50) + ".py", "", i, false});
  for (std::uint32_t s = 0; s <= distinct; ++s) {
    std::vector<std::uint32_t> stack{s == distinct ? 1u : 0u};
    // The outer half is common, the inner half differs.
    for (std::uint32_t d = 1; d < depth; ++d)
      stack.push_back(2 + (d < depth / 2 ? (s * 2654435761u + d * (s + 7)) % kFunctions : d));
    facts.stacks.stacks.push_back(std::move(stack));
  }
  MemberRow member;
  member.id = 1;
  member.path = "stacks/all.txt";
  facts.members.push_back(member);
  facts.samples.reserve(static_cast<std::size_t>(ranks));
  for (std::int64_t r = 0; r < ranks; ++r) {
    StackSample sample;
    sample.row.place = {1, static_cast<std::uint64_t>(r) * 50 + 1, 0, 0};
    sample.row.source = "pyspy";
    sample.row.rank = Rank(r);
    sample.row.pid = sample.row.tid = 1000 + r;
    sample.row.host = Host("node-" + std::to_string(r / 8));
    sample.row.main = true;
    sample.role = "trainer";
    sample.stack =
        static_cast<std::int32_t>(r == 5 ? distinct : static_cast<std::uint32_t>(r) % distinct);
    facts.samples.push_back(std::move(sample));
  }
  return facts;
}

Topology layout(std::int64_t ranks) {
  Topology t;
  for (std::int64_t r = 0; r < ranks; ++r)
    t.host_of.emplace_hint(t.host_of.end(), Rank(r), "node-" + std::to_string(r / 8));
  for (std::int64_t r = 0; r + 8 <= ranks; r += 8) {
    ParallelGroup g{"tp", "tp/" + std::to_string(r / 8), {}};
    for (std::int64_t i = 0; i < 8; ++i) g.ranks.push_back(Rank(r + i));
    t.groups.push_back(std::move(g));
  }
  for (std::int64_t i = 0; i < 8; ++i) {
    ParallelGroup g{"dp", "dp/" + std::to_string(i), {}};
    for (std::int64_t r = i; r < ranks; r += 8) g.ranks.push_back(Rank(r));
    t.groups.push_back(std::move(g));
  }
  return t;
}

bool run(const char* title, std::int64_t ranks, std::uint32_t depth, std::uint32_t distinct) {
  const Facts facts = make(ranks, depth, distinct);
  const Topology topology = layout(ranks);
  const double before = peak_mb();
  const auto begin = std::chrono::steady_clock::now();
  const StackReport report =
      aggregate_stacks(facts, topology, {true, culprit::say(culprit::Phrase{})});
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const bool right = !report.sinks.empty() &&
                     report.sinks.front().ranks == std::vector<Rank>{Rank(5)} &&
                     report.trainers == static_cast<std::size_t>(ranks);
  fmt::print(
      "{:<24} {} ranks x {} frames, {} distinct: {:.3f} s, {:.0f} MB more at the peak, {} tree "
      "nodes, {}\n",
      title, ranks, depth, distinct, seconds, peak_mb() - before,
      report.trees.at("trainer").nodes().size(), right ? "rank 5" : "WRONG");
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t ranks = argc > 1 && argv[1][0] != '-' ? std::atoll(argv[1]) : 100'000;
  const auto depth =
      static_cast<std::uint32_t>(argc > 2 && argv[2][0] != '-' ? std::atoi(argv[2]) : 40);
  if (ranks < 16 || depth < 4) return 2;
  const bool few = run("few distinct", ranks, depth, 12);
  const bool many =
      argc > 3 ? true : run("all distinct", ranks, depth, static_cast<std::uint32_t>(ranks) - 1);
  return few && many ? 0 : 1;
}
