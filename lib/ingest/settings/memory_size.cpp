// How much memory a machine has, as free(1), top(1) and /proc/meminfo say it: one that came back
// from a restart with a module less has less of it, and less bandwidth.
#include <cmath>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

namespace {

// Kernels of one machine keep some for themselves, now a little more, now a little less.
constexpr double kGrain = 16;

void put_memory(const TextLine& line, double gib, const std::optional<Host>& host,
                Reading& reading) {
  if (!(gib >= kGrain) || gib > 1e6) return;
  reading.sink.put(ConfigRow{line.place, "host.memory",
                             fmt::format("{:.0f} GiB", std::round(gib / kGrain) * kGrain), host});
}

// free prints no unit: as many KiB, MiB or GiB as a machine with GPUs may have.
double free_in_gib(double amount, std::string_view unit) {
  if (unit == "Ti") return amount * 1024;
  if (unit == "Gi") return amount;
  if (amount >= 16.0 * (1 << 20)) return amount / (1 << 20);
  return amount >= 16.0 * (1 << 10) ? amount / (1 << 10) : amount;
}

// The line below free's heading.
class FreeLine : public Assembler {
 public:
  explicit FreeLine(std::optional<Host> host) : host_(std::move(host)) {}
  Step feed(const TextLine& line, Reading& reading) override {
    static const re2::RE2 kMemory(R"(\bMem: +([\d.]+)(Ti|Gi)?\b)");
    double amount = 0;
    std::string unit;
    if (!re2::RE2::PartialMatch({line.raw.data(), line.raw.size()}, kMemory, &amount, &unit))
      return Step::not_mine;
    put_memory(line, free_in_gib(amount, unit), host_, reading);
    return Step::finished;
  }

 private:
  std::optional<Host> host_;
};

Outcome read_memory_size(const TextLine& line, Reading& reading) {
  static const re2::RE2 kTop(R"(\b(KiB|MiB|GiB) Mem ?: *([\d.]+)[ +]total)"),
      kProc(R"(\bMemTotal: +(\d+) kB)"), kFree(R"(\btotal +used +free +shared +buff/cache)");
  const re2::StringPiece text(line.raw.data(), line.raw.size());
  const std::optional<Host> host = reading.host_of(line.line.prefix);
  std::string unit;
  double amount = 0;
  if (re2::RE2::PartialMatch(text, kTop, &unit, &amount)) {
    put_memory(line,
               amount / (unit == "KiB"   ? 1 << 20
                         : unit == "MiB" ? 1 << 10
                                         : 1),
               host, reading);
    return {true};
  }
  if (re2::RE2::PartialMatch(text, kProc, &amount)) {
    put_memory(line, amount / (1 << 20), host, reading);
    return {true};
  }
  if (!re2::RE2::PartialMatch(text, kFree)) return {};
  return {true, std::make_unique<FreeLine>(host)};
}

constexpr std::string_view kMemoryWords[] = {"buff/cache", "MemTotal:"};

}  // namespace

extern constinit const Recogniser kMemorySize{
    "memory-size", "free, top, /proc/meminfo: memory of a machine", kMemoryWords, read_memory_size};

}  // namespace culprit::ingest
