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
// epoch. Intervals are united, not summed: kernels of several streams run at once. The breakdown is
// that of Holistic Trace Analysis ("temporal breakdown"), cut by steps: gpu_compute_ms and
// cpu_only_ms (nothing is on the GPU) are a rank's own work, exposed_nccl_ms its waiting; their sum
// is step_ms.
#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <vector>

#include "ingest/engine/document.hpp"
#include "ingest/engine/series_book.hpp"
#include "model/contains.hpp"
#include "model/json_cursor.hpp"
#include "model/number.hpp"
#include "model/sort.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostSpans = 8'000'000;  // on the GPU, of a trace: 200 MB
constexpr std::size_t kStepsOfTrace = 100'000;
constexpr std::size_t kKernelsNamed = 12;  // those that took longest
constexpr std::size_t kMostKernelNames = 65'536, kLongestKernelName = 96;
constexpr std::size_t kDeepest = 64;
constexpr std::string_view kStepName = "ProfilerStep#";
// Kernels in which a GPU waits for others.
constexpr std::string_view kCommunicates[] = {"nccl", "rccl", "msccl", "void deep_ep::"};

struct GpuSpan {
  std::int64_t begin = 0, end = 0;  // ns
  bool waits = false;
};

struct TraceStep {
  std::int64_t begin = 0, end = 0;
  std::size_t offset = 0;
};
// Of one kernel, in the whole trace.
struct KernelSum {
  std::int64_t ns = 0, launches = 0;
};

using TraceSteps = std::map<std::int64_t, TraceStep>;  // by number

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
      std::int64_t base = 0;
      if (key == "baseTimeNanoseconds" && cursor_.peek() != '"') {
        if (parse_whole(cursor_.word(), base) && base > 0) base_ = base;
        return true;
      }
      return cursor_.skip(kDeepest);
    });
  }

  std::optional<Rank> rank;
  bool too_many = false;
  std::size_t offset() const { return cursor_.offset(); }

  // Those of the GPU where the trace has them: it works later than it is told to.
  const TraceSteps& steps() const { return on_gpu_.empty() ? on_cpu_ : on_gpu_; }
  std::vector<GpuSpan>& spans() { return spans_; }
  Timestamp time(std::int64_t ns) const {
    constexpr std::int64_t kYear2000 = 946'684'800'000'000'000;
    if (ns > std::numeric_limits<std::int64_t>::max() - base_) return {};
    return ns + base_ > kYear2000 ? Timestamp{Clock::utc, ns + base_} : Timestamp{};
  }

  // Those that took longest.
  std::vector<std::pair<std::string, KernelSum>> longest_kernels() const {
    std::vector<std::pair<std::string, KernelSum>> out(kernels_.begin(), kernels_.end());
    sort_rows(out, [](const auto& a, const auto& b) {
      return a.second.ns != b.second.ns ? a.second.ns > b.second.ns : a.first < b.first;
    });
    out.resize(std::min(out.size(), kKernelsNamed));
    return out;
  }

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
    length = std::min(length, std::numeric_limits<std::int64_t>::max() - begin);
    if (name.starts_with(kStepName)) {
      std::int64_t number = 0;
      if (!parse_whole(name.substr(kStepName.size()), number) || number < 0) return;
      TraceSteps& steps = category.starts_with("gpu_") ? on_gpu_ : on_cpu_;
      if (steps.size() >= kStepsOfTrace && !steps.contains(number)) {
        too_many = true;
        return;
      }
      // Several streams of a GPU have a span of one step each.
      const auto [at, fresh] = steps.try_emplace(number, TraceStep{begin, begin + length, offset});
      at->second.begin = std::min(at->second.begin, begin);
      at->second.end = std::max(at->second.end, begin + length);
      return;
    }
    const bool kernel = category == "kernel" || category == "Kernel";
    if (!kernel && category != "gpu_memcpy" && category != "gpu_memset" && category != "Memcpy" &&
        category != "Memset")
      return;
    if (spans_.size() >= kMostSpans) {
      too_many = true;
      return;
    }
    const bool waits = std::ranges::any_of(
        kCommunicates, [&](std::string_view word) { return name.starts_with(word); });
    spans_.push_back({begin, begin + length, waits});
    if (!kernel || waits) return;
    std::string known(name.substr(0, kLongestKernelName));
    auto at = kernels_.find(known);
    if (at == kernels_.end()) {
      if (kernels_.size() >= kMostKernelNames) return;
      at = kernels_.emplace(std::move(known), KernelSum{}).first;
    }
    at->second.ns += length;
    ++at->second.launches;
  }

  JsonCursor cursor_;
  std::int64_t base_ = 0;
  TraceSteps on_cpu_, on_gpu_;
  std::vector<GpuSpan> spans_;
  std::unordered_map<std::string, KernelSum> kernels_;
};

// What is covered by the spans within [begin, end), ns; the spans are sorted by their begin. Walks
// on from `at`, where the spans of the window before ended.
struct CoveredTime {
  std::int64_t compute = 0, any = 0;
};

class Coverage {
 public:
  explicit Coverage(const std::vector<GpuSpan>& spans) : spans_(spans) {}

  // Windows come in their order and do not overlap.
  CoveredTime of(std::int64_t begin, std::int64_t end) {
    CoveredTime out;
    std::int64_t any_to = begin, compute_to = begin;
    const auto grow = [&](std::int64_t& covered, std::int64_t& to, std::int64_t from,
                          std::int64_t until) {
      from = std::max(from, to);
      until = std::min(until, end);
      if (until > from) covered += until - from, to = until;
    };
    const auto count = [&](const GpuSpan& span) {
      grow(out.any, any_to, span.begin, span.end);
      if (!span.waits) grow(out.compute, compute_to, span.begin, span.end);
    };
    // Spans that began before this window and go on in it.
    for (const GpuSpan& span : open_) count(span);
    for (; at_ < spans_.size() && spans_[at_].begin < end; ++at_) {
      count(spans_[at_]);
      if (spans_[at_].end > end) open_.push_back(spans_[at_]);
    }
    std::erase_if(open_, [&](const GpuSpan& span) { return span.end <= end; });
    return out;
  }

 private:
  const std::vector<GpuSpan>& spans_;
  std::size_t at_ = 0;
  std::vector<GpuSpan> open_;
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

class TraceWriter {
 public:
  TraceWriter(std::string_view bytes, const MemberRow& member, Reading& reading,
              const TorchTrace& trace)
      : bytes_(bytes),
        member_(member),
        reading_(reading),
        book_(reading.keep<SeriesBook>()),
        trace_(trace) {
    key_.rank = trace.rank;
    key_.host = host_of_name(reading.path.empty() ? member.path : reading.path);
    key_.kind = "gauge";
  }

  void put(std::string name, std::int64_t number, const TraceStep& step, double ms,
           std::string unit = "ms", std::string labels = {}) {
    SeriesRow key = key_;
    key.name = std::move(name);
    key.unit = std::move(unit);
    key.labels = std::move(labels);
    const Timestamp time = trace_.time(step.begin);
    key.clock = time.clock;
    full_ = full_ || book_.series(key) == SeriesBook::kFull;
    if (full_) return;
    book_.add(book_.series(key), number, time.clock == Clock::none ? kNoValue : time.ns, ms,
              {member_.id, line_of(step.offset), step.offset, 0}, reading_);
  }
  bool full() const { return full_; }

 private:
  // TraceSteps come in their order, mostly.
  std::uint64_t line_of(std::size_t offset) {
    if (offset < counted_) counted_ = 0, line_ = 1;
    line_ += static_cast<std::uint64_t>(
        std::ranges::count(bytes_.substr(counted_, offset - counted_), '\n'));
    counted_ = offset;
    return line_;
  }

  std::string_view bytes_;
  const MemberRow& member_;
  Reading& reading_;
  SeriesBook& book_;
  const TorchTrace& trace_;
  SeriesRow key_;
  std::size_t counted_ = 0;
  std::uint64_t line_ = 1;
  bool full_ = false;
};

std::string read_trace(std::string_view bytes, const MemberRow& member, Reading& reading) {
  TorchTrace trace(bytes);
  const bool complete = trace.read();
  if (!complete) {
    reading.cut = true;
    reading.sink.put(RejectRow{{member.id, 0, trace.offset(), 0}, "torch_trace.torn", {}});
  }
  if (trace.too_many) reading.sink.put(RejectRow{{member.id, 0, 0, 0}, "torch_trace.too_many", {}});
  if (trace.steps().empty()) return "torch_trace.no_step";
  if (trace.spans().empty()) return "torch_trace.no_kernel";
  sort_by(trace.spans(), [](const GpuSpan& span) { return span.begin; });
  Coverage coverage(trace.spans());
  TraceWriter writer(bytes, member, reading, trace);
  const auto ms = [](std::int64_t ns) { return static_cast<double>(ns) / 1e6; };
  const TraceSteps& steps = trace.steps();
  std::int64_t before = std::numeric_limits<std::int64_t>::min();
  for (auto at = steps.begin(); at != steps.end(); ++at) {
    const auto& [number, step] = *at;
    const auto next = std::next(at);
    const std::int64_t end =
        next != steps.end() && next->first == number + 1 ? next->second.begin : step.end;
    if (step.begin < before || end <= step.begin) continue;
    before = end;
    const CoveredTime covered = coverage.of(step.begin, end);
    writer.put("step_ms", number, step, ms(end - step.begin));
    writer.put("gpu_compute_ms", number, step, ms(covered.compute));
    writer.put("exposed_nccl_ms", number, step, ms(covered.any - covered.compute));
    writer.put("cpu_only_ms", number, step, ms(end - step.begin - covered.any));
  }
  const auto& [first, at_first] = *steps.begin();
  const auto each = static_cast<double>(steps.size());
  for (const auto& [kernel, sum] : trace.longest_kernels()) {
    writer.put("kernel_time", first, at_first, ms(sum.ns) / each, "ms/step", "kernel=" + kernel);
    writer.put("kernel_launches", first, at_first, static_cast<double>(sum.launches) / each, "",
               "kernel=" + kernel);
  }
  return writer.full() ? "series.too_many" : "";
}

}  // namespace

extern const Document kTorchTrace;
constinit const Document kTorchTrace{
    "torch-trace", "traces of torch.profiler (Kineto, Chrome's format): steps and GPU of one rank",
    1u << 30, sniff_trace, read_trace};

}  // namespace culprit::ingest
