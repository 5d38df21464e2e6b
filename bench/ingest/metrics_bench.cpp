// How fast metric exports become packed series: ten million samples of each format through its
// reader, one thread, into a sink that counts. The texts are a node with 8 GPUs, as dcgm-exporter,
// Prometheus and nvidia-smi print them.
#include <algorithm>
#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/record_text.hpp"
#include "rules/pack.hpp"

namespace {

using namespace culprit;

constexpr std::int64_t kSamples = 2'000'000;
constexpr int kGpus = 8;

struct Text {
  std::string bytes;
  std::int64_t samples = 0;
};

// Readings as they come: a level with noise in the last digits.
struct Noise {
  std::uint64_t state = 42;
  int operator()(int around, int by) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return around + static_cast<int>((state >> 33) % static_cast<std::uint64_t>(by));
  }
};

// A loop of scrapes with the labels that dcgm-exporter gives in Kubernetes.
Text prometheus_text() {
  Text out;
  Noise noise;
  for (int scrape = 0; out.bytes.size() < (48u << 20); ++scrape) {
    out.bytes += fmt::format("# {}\n", 1'732'190'000 + scrape * 15);
    for (int metric = 0; metric < 25; ++metric) {
      out.bytes += fmt::format(
          "# HELP DCGM_FI_DEV_METRIC_{0} What the metric says (in units).\n# TYPE "
          "DCGM_FI_DEV_METRIC_{0} gauge\n",
          metric);
      for (int gpu = 0; gpu < kGpus; ++gpu, ++out.samples)
        out.bytes += fmt::format(
            "DCGM_FI_DEV_METRIC_{}{{gpu=\"{}\",UUID=\"GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e5{}\","
            "pci_bus_id=\"00000000:{}B:00.0\",device=\"nvidia{}\",modelName=\"NVIDIA H100 80GB "
            "HBM3\",Hostname=\"node-017\",container=\"train\",namespace=\"ml\","
            "pod=\"llm-worker-17\"}} {}\n",
            metric, gpu, gpu, gpu, gpu,
            metric % 3 == 0 ? fmt::format("{}.{:03}", noise(590, 40), noise(0, 1000))
                            : std::to_string(noise(1900, 90)));
    }
  }
  return out;
}

Text smi_csv() {
  Text out{
      "timestamp, index, utilization.gpu [%], utilization.memory [%], temperature.gpu, power.draw "
      "[W], clocks.current.sm [MHz], memory.used [MiB], pstate, clocks_event_reasons.active\n",
      0};
  Noise noise;
  for (int second = 0; out.bytes.size() < (48u << 20); second = (second + 1) % 86'400)
    for (int gpu = 0; gpu < kGpus; ++gpu, out.samples += 8)
      out.bytes += fmt::format(
          "2024/09/08 {:02}:{:02}:{:02}.00{}, {}, {} %, {} %, {}, {}.{:02} W, {} MHz, {} MiB, P0, "
          "0x000000000000000{}\n",
          second / 3600, second / 60 % 60, second % 60, gpu, gpu, noise(60, 40), noise(20, 30),
          noise(50, 20), noise(590, 90), noise(0, 100), noise(1700, 280), noise(70'000, 9'000),
          noise(0, 4));
  return out;
}

Text api_matrix() {
  Text out{R"({"status":"success","data":{"resultType":"matrix","result":[)", 0};
  Noise noise;
  for (int series = 0; out.bytes.size() < (48u << 20); ++series) {
    out.bytes += fmt::format(
        R"({}{{"metric":{{"__name__":"DCGM_FI_DEV_POWER_USAGE","Hostname":"node-{}","gpu":"{}","modelName":"H100"}},"values":[)",
        series == 0 ? "" : ",", series / 8, series % 8);
    for (int i = 0; i < 5'760; ++i, ++out.samples)
      out.bytes += fmt::format("{}[{}.542,\"{}.{}\"]", i == 0 ? "" : ",", 1'732'190'000 + i * 15,
                               noise(590, 90), noise(0, 10));
    out.bytes += "]}";
  }
  out.bytes += "]}}";
  return out;
}

struct Counting final : NullSink {
  using NullSink::put;
  SeriesId series_count = 0;
  std::int64_t samples = 0, rejects = 0;
  std::size_t packed = 0;
  SeriesId series(const SeriesRow&) override { return ++series_count; }
  void put(const ChunkRow& row) override { samples += row.samples, packed += row.data.size(); }
  void put(const RejectRow&) override { ++rejects; }
};

const rules::RulePack& pack() {
  static const rules::RulePack the = std::move(rules::RulePack::compile({})).value();
  return the;
}

void finish(benchmark::State& state, const Counting& sink, std::int64_t samples,
            std::int64_t bytes) {
  if (sink.samples != samples || sink.rejects != 0) state.SkipWithError("the answer is wrong");
  state.SetBytesProcessed(bytes * state.iterations());
  state.SetItemsProcessed(samples * state.iterations());
  state.counters["packed B/sample"] =
      static_cast<double>(sink.packed) / static_cast<double>(sink.samples);
}

void records(benchmark::State& state, const Text& text, const char* path) {
  const ingest::Head head{path, std::string_view(text.bytes).substr(0, 65'536), false};
  const ingest::Detected detected = ingest::detect(head);
  if (detected.records == nullptr) return state.SkipWithError("not recognised");
  const std::int64_t rounds = (kSamples + text.samples - 1) / text.samples;
  Counting sink;
  for (auto _ : state) {
    sink = {};
    ingest::RecordTextReader reader(detected.records->make(head),
                                    ingest::Reading{sink, pack(), "data", {}, {}, path}, 1);
    for (std::int64_t i = 0; i < rounds; ++i)
      for (std::size_t at = 0; at < text.bytes.size(); at += 1u << 20)
        reader.block(std::string_view(text.bytes).substr(at, 1u << 20));
    reader.finish();
  }
  finish(state, sink, text.samples * rounds, static_cast<std::int64_t>(text.bytes.size()) * rounds);
}

void PrometheusText(benchmark::State& state) { records(state, prometheus_text(), "scrapes.prom"); }
void SmiCsv(benchmark::State& state) { records(state, smi_csv(), "smi.csv"); }

void PrometheusMatrix(benchmark::State& state) {
  const Text text = api_matrix();
  const ingest::Detected detected =
      ingest::detect({"range.json", std::string_view(text.bytes).substr(0, 65'536), false});
  if (detected.document == nullptr) return state.SkipWithError("not recognised");
  const std::int64_t rounds = (kSamples + text.samples - 1) / text.samples;
  Counting sink;
  for (auto _ : state) {
    sink = {};
    for (std::int64_t i = 0; i < rounds; ++i) {
      MemberRow member;
      member.id = 1;
      member.path = "range.json";
      ingest::Reading reading{sink, pack(), "", {}, {}, member.path};
      if (!detected.document->read(text.bytes, member, reading).empty())
        state.SkipWithError("not read");
      for (const auto& kept : reading.kept) kept->finish(reading);
    }
  }
  finish(state, sink, text.samples * rounds, static_cast<std::int64_t>(text.bytes.size()) * rounds);
}

BENCHMARK(PrometheusText)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(SmiCsv)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(PrometheusMatrix)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
