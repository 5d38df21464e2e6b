// How fast 256 flight-recorder dumps of 2,000 entries become rows: read alone, from memory; and as
// a bundle, into a temporary database.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/ingest.hpp"
#include "store/database.hpp"

namespace {

using namespace culprit;

struct Dumps {
  std::string folder;
  std::vector<std::pair<std::string, std::string>> files;  // path and bytes
  std::size_t bytes = 0;
  Dumps() {
    char name[] = "/tmp/culprit-recorder-XXXXXX";
    if (mkdtemp(name) == nullptr) return;
    folder = name;
    if (std::system((std::string(GENERATE_RECORDER) + " " + folder).c_str()) != 0) return;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::ifstream stream(entry.path(), std::ios::binary);
      files.emplace_back(entry.path().string(),
                         std::string{std::istreambuf_iterator<char>(stream), {}});
      bytes += files.back().second.size();
    }
  }
  ~Dumps() {
    std::error_code ignored;
    if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
  }
};

const Dumps& dumps() {
  static const Dumps the;
  return the;
}

const rules::RulePack& pack() {
  static const rules::RulePack the = [] {
    auto compiled = rules::RulePack::compile(std::move(rules::load_rules({})).value());
    return std::move(compiled).value();
  }();
  return the;
}

struct Counting final : NullSink {
  using NullSink::put;
  std::int64_t dumps = 0, entries = 0, collectives = 0, frontiers = 0, history = 0;
  void put(const RecorderRow& row) override { ++dumps, entries += row.entries; }
  void put(const CollectiveRow&) override { ++collectives; }
  void put(const FrontierRow&) override { ++frontiers; }
  void put(const HistoryRow& row) override {
    history += static_cast<std::int64_t>(row.entries.size());
  }
};

void read_dumps(benchmark::State& state) {
  const Dumps& all = dumps();
  for (auto _ : state) {
    Counting sink;
    for (const auto& [path, bytes] : all.files) {
      const auto found = ingest::detect({path, std::string_view(bytes).substr(0, 64 << 10), false});
      if (found.document == nullptr) {
        state.SkipWithError("not recognised");
        return;
      }
      MemberRow member;
      member.path = path;
      ingest::Reading reading{sink, pack(), "", "", ""};
      if (!found.document->read(bytes, member, reading).empty()) {
        state.SkipWithError("not read");
        return;
      }
    }
    if (sink.dumps != 256 || sink.entries != 512'000 || sink.history != 512'000 ||
        sink.frontiers != 1024) {
      state.SkipWithError("rows are missing");
      return;
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(all.bytes));
}

void ingest_dumps(benchmark::State& state) {
  const Dumps& all = dumps();
  for (auto _ : state) {
    auto db = store::Database::open("", store::Access::create);
    if (!db || !db->begin_ingest()) {
      state.SkipWithError("no database");
      return;
    }
    ingest::Options options;
    options.threads = static_cast<int>(state.range(0));
    if (auto done = ingest::ingest({{all.folder, ""}}, pack(), db->sink(), options);
        !done || done->members != 256) {
      state.SkipWithError("not ingested");
      return;
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(all.bytes));
}

BENCHMARK(read_dumps)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(ingest_dumps)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
