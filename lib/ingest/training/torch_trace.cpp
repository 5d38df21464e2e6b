// Traces of torch.profiler (Kineto's JSON in Chrome's format), one a rank: how long its GPU
// computed in each step, how long it did nothing but communicate, and how long it was idle.
//
// {"schemaVersion": 1, "distributedInfo": {"rank": 3, "world_size": 8}, "traceEvents": [
//   {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(...)",
//    "ts": 6234.118, "dur": 1423.5, ...},
//   {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#12", "ts": 6101.2, "dur":
//   91234.5}]}
//
// Times are in microseconds, behind baseTimeNanoseconds where the file has it, else since the
// epoch.
#include <algorithm>
#include <limits>

#include "ingest/engine/document.hpp"
#include "ingest/engine/line_numbers.hpp"
#include "ingest/training/gpu_trace.hpp"
#include "model/json_cursor.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kDeepest = 64;
constexpr std::string_view kStepName = "ProfilerStep#";

// "5925361298446.123" microseconds, exactly.
bool microseconds(std::string_view text, std::int64_t& ns) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  std::int64_t whole = 0;
  if (!parse_whole(text.substr(0, dot), whole) || whole < 0 || whole > 9'000'000'000'000'000)
    return false;
  std::int64_t part = 0;
  std::size_t at = dot + 1;
  for (int digit = 0; digit < 3; ++digit, ++at) {
    part *= 10;
    if (at < text.size() && text[at] >= '0' && text[at] <= '9') part += text[at] - '0';
  }
  ns = whole * 1000 + part;
  return true;
}

class TorchTrace {
 public:
  explicit TorchTrace(std::string_view bytes) : cursor_(bytes) {}

  // False: the text ends or breaks in the middle; what stands before was read.
  bool read() {
    return cursor_.object([&](std::string_view key, bool) {
      if (key == "traceEvents") return cursor_.array([&] { return event(); });
      if (key == "distributedInfo") return distributed();
      std::int64_t number = 0;
      if (key == "baseTimeNanoseconds" && cursor_.peek() != '"') {
        if (parse_whole(cursor_.word(), number) && number > 0) base = number;
        return true;
      }
      return cursor_.skip(kDeepest);
    });
  }

  std::optional<Rank> rank;
  GpuTrace gpu;
  std::int64_t base = 0;
  std::size_t offset() const { return cursor_.offset(); }

 private:
  bool distributed() {
    if (cursor_.peek() != '{') return cursor_.skip(kDeepest);
    return cursor_.object([&](std::string_view key, bool) {
      if (key != "rank" || cursor_.peek() == '"') return cursor_.skip(kDeepest);
      std::int64_t number = 0;
      if (parse_whole(cursor_.word(), number) && number >= 0 && number <= 10'000'000)
        rank = Rank(number);
      return true;
    });
  }

  bool event() {
    if (cursor_.peek() != '{') return cursor_.skip(kDeepest);
    const std::size_t offset = cursor_.offset();
    std::string_view category, name, start, took;
    bool whole = false;
    const bool ok = cursor_.object([&](std::string_view key, bool) {
      std::string_view* const kept = key == "cat"    ? &category
                                     : key == "name" ? &name
                                     : key == "ts"   ? &start
                                     : key == "dur"  ? &took
                                                     : nullptr;
      std::string_view phase;
      bool escaped = false;
      if (key == "ph" && cursor_.peek() == '"') {
        if (!cursor_.text(phase, escaped)) return false;
        whole = phase == "X";
        return true;
      }
      if (kept == nullptr || cursor_.peek() == '{' || cursor_.peek() == '[')
        return cursor_.skip(kDeepest);
      if (cursor_.peek() == '"') return cursor_.text(*kept, escaped);
      *kept = cursor_.word();
      return true;
    });
    std::int64_t begin = 0, length = 0;
    if (ok && whole && microseconds(start, begin) && microseconds(took, length))
      take(category, name, begin, length, offset);
    return ok;
  }

  void take(std::string_view category, std::string_view name, std::int64_t begin,
            std::int64_t length, std::size_t offset) {
    const std::int64_t end =
        begin + std::min(length, std::numeric_limits<std::int64_t>::max() - begin);
    if (name.starts_with(kStepName)) {
      std::int64_t number = 0;
      if (parse_whole(name.substr(kStepName.size()), number) && number >= 0)
        gpu.add_step(number, begin, end, offset, category.starts_with("gpu_"));
      return;
    }
    const bool kernel = category == "kernel" || category == "Kernel";
    if (kernel || category == "gpu_memcpy" || category == "gpu_memset" || category == "Memcpy" ||
        category == "Memset")
      gpu.add_span(name, kernel, begin, end);
  }

  JsonCursor cursor_;
};

// "gpu-a12_48213.1764201600123456789.pt.trace.json": who wrote the trace is the beginning of its
// name, as torch's handler for TensorBoard makes it.
std::optional<Host> host_of_name(std::string_view path) {
  std::string_view base = path.substr(path.rfind('/') + 1);
  const std::size_t tail = base.find(".pt.trace.json");
  if (tail == std::string_view::npos) return std::nullopt;
  base = base.substr(0, tail);
  const std::size_t dot = base.rfind('.'), bar = base.rfind('_');
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  constexpr std::size_t kMilliseconds = 13;  // since the epoch; newer ones count nanoseconds
  if (dot == std::string_view::npos || bar == std::string_view::npos || bar == 0 || bar > dot ||
      base.size() - dot - 1 < kMilliseconds || !digits(base.substr(dot + 1)) ||
      !digits(base.substr(bar + 1, dot - bar - 1)))
    return std::nullopt;
  return Host(base.substr(0, bar));
}

bool sniff_trace(const Head& head) {
  const std::size_t at = head.bytes.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && head.bytes[at] == '{' &&
         (head.has("\"deviceProperties\"") || head.has("\"distributedInfo\"") ||
          head.has("\"traceEvents\"")) &&
         (head.has("\"cpu_op\"") || head.has("\"schemaVersion\"") ||
          head.has("\"distributedInfo\""));
}

std::string read_trace(std::string_view bytes, const MemberRow& member, Reading& reading) {
  TorchTrace trace(bytes);
  if (!trace.read()) {
    reading.cut = true;
    reading.sink.put(RejectRow{{member.id, 0, trace.offset(), 0}, "torch_trace.torn", {}});
  }
  if (trace.gpu.too_many())
    reading.sink.put(RejectRow{{member.id, 0, 0, 0}, "torch_trace.too_many", {}});
  SeriesRow key;
  key.rank = trace.rank;
  key.host = host_of_name(reading.path.empty() ? member.path : reading.path);
  LineNumbers lines(bytes);
  const auto place = [&](std::size_t offset) {
    return Place{member.id, lines.of(offset).number, offset, 0};
  };
  switch (trace.gpu.write(std::move(key), trace.base, place, reading)) {
    case GpuTrace::Written::no_step: return "torch_trace.no_step";
    case GpuTrace::Written::no_span: return "torch_trace.no_kernel";
    case GpuTrace::Written::too_many_series: return "series.too_many";
    case GpuTrace::Written::all: break;
  }
  return {};
}

}  // namespace

extern constinit const Document kTorchTrace{
    "torch-trace", "traces of torch.profiler (Kineto, Chrome's format): steps and GPU of one rank",
    1u << 30, sniff_trace, read_trace};

}  // namespace culprit::ingest
