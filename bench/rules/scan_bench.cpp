// How fast a log is searched for the pack's words, and scanned with the pack's rules; on one core,
// from memory.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "../log.hpp"
#include "ingest/engine/scan.hpp"
#include "rules/literals.hpp"
#include "rules/pack.hpp"
#include "rules/search.hpp"

namespace {

using namespace culprit;

const rules::RulePack& pack() {
  static const rules::RulePack the = [] {
    auto rules = rules::load_rules({});
    return std::move(rules::RulePack::compile(std::move(*rules)).value());
  }();
  return the;
}

// Blocks of a MiB that end after a line, as ingest makes them.
const std::vector<std::string_view>& blocks() {
  static const std::string log = bench::generated_log(32);
  static const std::vector<std::string_view> the = [] {
    std::vector<std::string_view> out;
    std::string_view rest = log;
    while (!rest.empty()) {
      const std::size_t end =
          rest.size() <= (1 << 20) ? rest.size() : rest.rfind('\n', 1 << 20) + 1;
      out.push_back(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    return out;
  }();
  return the;
}

std::int64_t bytes() {
  std::size_t sum = 0;
  for (const auto block : blocks()) sum += block.size();
  return static_cast<std::int64_t>(sum);
}

void search_only(benchmark::State& state) {
  const rules::WordSearch search(pack().search_words(), rules::ordinary_lines());
  std::vector<rules::WordSearch::Hit> hits;
  for (auto _ : state) {
    hits.clear();
    for (const auto block : blocks()) search.find(block, hits);
    benchmark::DoNotOptimize(hits.data());
  }
  state.SetBytesProcessed(state.iterations() * bytes());
  // The answer: the plain way finds as many, on the first block.
  hits.clear();
  search.find(blocks().front(), hits);
  const std::string folded = rules::fold(blocks().front());
  std::size_t expected = 0;
  for (const std::string& word : search.words())
    for (std::size_t at = folded.find(word); at != std::string::npos;
         at = folded.find(word, at + 1))
      ++expected;
  if (hits.size() != expected || expected == 0)
    state.SkipWithError("the search finds something else than std::string::find");
  state.counters["hits"] = static_cast<double>(hits.size());
}

void scan_with_rules(benchmark::State& state) {
  const ingest::Scanner scanner(pack());
  std::size_t matches = 0;
  std::uint64_t newlines = 0;
  for (auto _ : state) {
    matches = newlines = 0;
    for (const auto block : blocks()) {
      const auto scan = scanner.scan(block, "", {}, true);
      newlines += scan.newlines;
      for (const auto& c : scan.candidates)
        matches +=
            c.judged != nullptr && c.judged->match && c.judged->match->role != rules::Match{}.role;
    }
  }
  state.SetBytesProcessed(state.iterations() * bytes());
  std::uint64_t lines = 0;
  std::size_t errors = 0;  // generate_log writes one of these in 10,000 lines
  for (const auto block : blocks()) {
    lines += static_cast<std::uint64_t>(std::count(block.begin(), block.end(), '\n'));
    for (const std::string_view sign : {"torch.OutOfMemoryError", "NVRM: Xid", "Watchdog caught",
                                        "NCCL WARN", "an illegal memory access", "srun: error"})
      for (std::size_t at = block.find(sign); at != std::string_view::npos;
           at = block.find(sign, at + 1))
        ++errors;
  }
  if (newlines != lines) state.SkipWithError("it counts the lines wrong");
  if (matches < errors || errors == 0) state.SkipWithError("it misses errors");
  state.counters["matches"] = static_cast<double>(matches);
  state.counters["errors"] = static_cast<double>(errors);
}

BENCHMARK(search_only)->Unit(benchmark::kMillisecond);
BENCHMARK(scan_with_rules)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
