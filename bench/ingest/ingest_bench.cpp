// How fast a log becomes rows of a temporary database, with one thread and with two.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <benchmark/benchmark.h>

#include "../log.hpp"
#include "ingest/engine/ingest.hpp"
#include "store/database.hpp"

namespace {

using namespace culprit;

struct Log {
  std::string path;
  std::size_t bytes = 0;
  std::uint64_t lines = 0;
  Log() {
    const std::string text = bench::generated_log(64);
    char name[] = "/tmp/culprit-bench-XXXXXX";
    const int fd = mkstemp(name);
    if (fd >= 0) close(fd);
    path = name;
    std::ofstream(path, std::ios::binary) << text;
    bytes = text.size();
    lines = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  }
  ~Log() { unlink(path.c_str()); }
};

void ingest_log(benchmark::State& state) {
  static const Log log;
  static const rules::RulePack pack = [] {
    auto rules = rules::load_rules({});
    return std::move(rules::RulePack::compile(std::move(*rules)).value());
  }();
  static std::size_t events_before = 0;
  ingest::Options options;
  options.threads = static_cast<int>(state.range(0));
  std::size_t events = 0;
  for (auto _ : state) {
    auto db = store::Database::open("", store::Access::create);
    if (!db || !db->begin_ingest()) {
      state.SkipWithError("no database");
      return;
    }
    const auto summary = ingest::ingest({{log.path, ""}}, pack, db->sink(), options);
    if (!summary || !db->finish_ingest()) {
      state.SkipWithError("ingest failed");
      return;
    }
    state.PauseTiming();
    const auto members = db->members();
    if (members.size() != 1 || members[0].lines != log.lines ||
        members[0].used + members[0].skipped + members[0].rejected != log.lines) {
      state.SkipWithError("the ledger is wrong");
      return;
    }
    events = db->rows<EventRow>().size();
    if (events == 0 || (events_before != 0 && events != events_before)) {
      state.SkipWithError("the events depend on the threads");
      return;
    }
    events_before = events;
    state.ResumeTiming();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(log.bytes));
  state.counters["events"] = static_cast<double>(events);
}

BENCHMARK(ingest_log)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
