// How fast step metrics become packed series, read from memory: JSON lines of one rank, and a wide
// CSV.
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/record_text.hpp"

namespace {

using namespace culprit;

struct Counting final : NullSink {
  using NullSink::put;
  SeriesId many = 0;
  std::int64_t samples = 0, steps = 0, bytes = 0;
  SeriesId series(const SeriesRow&) override { return ++many; }
  void put(const ChunkRow& row) override {
    samples += row.samples, bytes += static_cast<std::int64_t>(row.data.size());
  }
  void put(const ProgressRow&) override { ++steps; }
};

const rules::RulePack& pack() {
  static const rules::RulePack the = std::move(rules::RulePack::compile({})).value();
  return the;
}

void read_records(benchmark::State& state, const char* path, const std::string& text,
                  std::int64_t samples) {
  const ingest::Head head{path, std::string_view(text).substr(0, 64 << 10), false};
  const auto found = ingest::detect(head);
  if (found.records == nullptr) {
    state.SkipWithError("not recognised");
    return;
  }
  double packed = 0;
  for (auto _ : state) {
    Counting sink;
    ingest::RecordTextReader reader(found.records->make(head),
                                    ingest::Reading{sink, pack(), "data", "", "", path}, 1);
    for (std::size_t at = 0; at < text.size(); at += 1 << 20)
      reader.block(std::string_view(text).substr(at, 1 << 20));
    reader.finish();
    if (sink.samples != samples || reader.rejected() != 0) {
      state.SkipWithError("samples are missing");
      return;
    }
    packed = static_cast<double>(sink.bytes) / static_cast<double>(sink.samples);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
  state.SetItemsProcessed(state.iterations() * samples);
  state.counters["packed_B"] = packed;
}

std::uint64_t noise(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

void jsonl(benchmark::State& state) {
  static const std::string text = [] {
    std::string out;
    std::uint64_t seed = 1;
    for (int i = 1; i <= 100'000; ++i)
      out += fmt::format(
          "{{\"ts\": {}.{:06}, \"rank\": 6, \"iteration\": {}, \"iter_ms\": {}.{:03}, \"data_ms\": "
          "{}.{:03}, \"compute_ms\": 2{}.{:03}, \"fwd_bwd_ms\": 2{}.{:03}, \"grad_sync_ms\": "
          "3{}.{:03}, \"loss\": 0.41{:015}, \"grad_norm\": 0.19{:015}}}\n",
          1795232510 + i / 10, noise(seed) % 1'000'000, i, 75 + noise(seed) % 50,
          noise(seed) % 1000, noise(seed) % 13, noise(seed) % 1000, noise(seed) % 10,
          noise(seed) % 1000, noise(seed) % 10, noise(seed) % 1000, noise(seed) % 10,
          noise(seed) % 1000, noise(seed) % 1'000'000'000'000'000,
          noise(seed) % 1'000'000'000'000'000);
    return out;
  }();
  read_records(state, "metrics/rank_6.jsonl", text, 700'000);
}

void csv(benchmark::State& state) {
  static const std::string text = [] {
    std::string out = "step,timestamp";
    for (int c = 0; c < 16; ++c) out += fmt::format(",metric_{}", c);
    out += '\n';
    std::uint64_t seed = 1;
    for (int i = 1; i <= 50'000; ++i) {
      out += fmt::format("{},{}.{:03}", i, 1795232510 + i, i % 1000);
      for (int c = 0; c < 16; ++c)
        out += fmt::format(",{}.{}", noise(seed) % 100, noise(seed) % 10);
      out += '\n';
    }
    return out;
  }();
  read_records(state, "steps.csv", text, 16 * 50'000);
}

BENCHMARK(jsonl)->Unit(benchmark::kMillisecond);
BENCHMARK(csv)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
