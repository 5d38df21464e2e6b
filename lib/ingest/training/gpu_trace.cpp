#include "ingest/training/gpu_trace.hpp"

#include <algorithm>
#include <limits>

#include "ingest/engine/series_book.hpp"
#include "model/sort.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostSpans = 8'000'000;  // of a trace: 200 MB
constexpr std::size_t kStepsOfTrace = 100'000;
constexpr std::size_t kKernelsNamed = 12;  // those that took longest
constexpr std::size_t kMostKernelNames = 65'536, kLongestKernelName = 96;
// Kernels in which a GPU waits for others.
constexpr std::string_view kCommunicates[] = {"nccl", "rccl", "msccl", "void deep_ep::"};

// Of UTC where the trace says it, else none.
Timestamp time_after(std::int64_t ns, std::int64_t base) {
  constexpr std::int64_t kYear2000 = 946'684'800'000'000'000;
  if (ns > std::numeric_limits<std::int64_t>::max() - base) return {};
  return ns + base > kYear2000 ? Timestamp{Clock::utc, ns + base} : Timestamp{};
}

// What is covered by the spans within a window, ns.
struct CoveredTime {
  std::int64_t compute = 0, any = 0;
};

double ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

}  // namespace

// The spans are sorted by their begin. Walks on from where those of the window before ended.
class GpuTrace::Coverage {
 public:
  explicit Coverage(const std::vector<Span>& spans) : spans_(spans) {}

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
    const auto count = [&](const Span& span) {
      grow(out.any, any_to, span.begin, span.end);
      if (!span.waits) grow(out.compute, compute_to, span.begin, span.end);
    };
    // Spans that began before this window and go on in it.
    for (const Span& span : open_) count(span);
    for (; at_ < spans_.size() && spans_[at_].begin < end; ++at_) {
      count(spans_[at_]);
      if (spans_[at_].end > end) open_.push_back(spans_[at_]);
    }
    std::erase_if(open_, [&](const Span& span) { return span.end <= end; });
    return out;
  }

 private:
  const std::vector<Span>& spans_;
  std::size_t at_ = 0;
  std::vector<Span> open_;
};

class GpuTrace::Writer {
 public:
  Writer(SeriesRow key, std::int64_t base, const std::function<Place(std::size_t)>& place,
         Reading& reading)
      : key_(std::move(key)),
        base_(base),
        place_(place),
        reading_(reading),
        book_(reading.keep<SeriesBook>()) {
    key_.kind = "gauge";
  }

  void put(std::string name, std::int64_t number, const Step& step, double ms,
           std::string unit = "ms", std::string labels = {}) {
    SeriesRow key = key_;
    key.name = std::move(name);
    key.unit = std::move(unit);
    key.labels = std::move(labels);
    const Timestamp time = time_after(step.begin, base_);
    key.clock = time.clock;
    full_ = full_ || book_.series(key) == SeriesBook::kFull;
    if (full_) return;
    book_.add(book_.series(key), number, time.clock == Clock::none ? kNoValue : time.ns, ms,
              place_(step.offset), reading_);
  }
  bool full() const { return full_; }

 private:
  SeriesRow key_;
  std::int64_t base_;
  const std::function<Place(std::size_t)>& place_;
  Reading& reading_;
  SeriesBook& book_;
  bool full_ = false;
};

void GpuTrace::add_step(std::int64_t number, std::int64_t begin, std::int64_t end,
                        std::size_t offset, bool on_gpu) {
  Steps& steps = on_gpu ? on_gpu_ : on_cpu_;
  if (steps.size() >= kStepsOfTrace && !steps.contains(number)) {
    too_many_ = true;
    return;
  }
  const auto at = steps.try_emplace(number, Step{begin, end, offset}).first;
  at->second.begin = std::min(at->second.begin, begin);
  at->second.end = std::max(at->second.end, end);
}

void GpuTrace::add_span(std::string_view name, bool kernel, std::int64_t begin, std::int64_t end) {
  if (spans_.size() >= kMostSpans) {
    too_many_ = true;
    return;
  }
  const bool waits = std::ranges::any_of(
      kCommunicates, [&](std::string_view word) { return name.starts_with(word); });
  spans_.push_back({begin, end, waits});
  if (!kernel || waits) return;
  std::string known(name.substr(0, kLongestKernelName));
  auto at = kernels_.find(known);
  if (at == kernels_.end()) {
    if (kernels_.size() >= kMostKernelNames) return;
    at = kernels_.emplace(std::move(known), KernelSum{}).first;
  }
  at->second.ns += std::min(end - begin, std::numeric_limits<std::int64_t>::max() - at->second.ns);
  ++at->second.launches;
}

std::vector<std::pair<std::string, GpuTrace::KernelSum>> GpuTrace::longest_kernels() const {
  std::vector<std::pair<std::string, KernelSum>> out(kernels_.begin(), kernels_.end());
  sort_rows(out, [](const auto& a, const auto& b) {
    return a.second.ns != b.second.ns ? a.second.ns > b.second.ns : a.first < b.first;
  });
  out.resize(std::min(out.size(), kKernelsNamed));
  return out;
}

GpuTrace::Written GpuTrace::write(SeriesRow key, std::int64_t base,
                                  const std::function<Place(std::size_t)>& place,
                                  Reading& reading) {
  if (steps().empty()) return Written::no_step;
  if (spans_.empty()) return Written::no_span;
  sort_by(spans_, [](const Span& span) { return span.begin; });
  Coverage coverage(spans_);
  Writer writer(std::move(key), base, place, reading);
  std::int64_t before = std::numeric_limits<std::int64_t>::min();
  for (auto at = steps().begin(); at != steps().end(); ++at) {
    const auto& [number, step] = *at;
    const auto next = std::next(at);
    const std::int64_t end =
        next != steps().end() && next->first == number + 1 ? next->second.begin : step.end;
    if (step.begin < before || end <= step.begin) continue;
    before = end;
    const CoveredTime covered = coverage.of(step.begin, end);
    writer.put("step_ms", number, step, ms(end - step.begin));
    writer.put("gpu_compute_ms", number, step, ms(covered.compute));
    writer.put("exposed_nccl_ms", number, step, ms(covered.any - covered.compute));
    writer.put("cpu_only_ms", number, step, ms(end - step.begin - covered.any));
  }
  const auto& [first, at_first] = *steps().begin();
  const auto each = static_cast<double>(steps().size());
  for (const auto& [kernel, sum] : longest_kernels()) {
    writer.put("kernel_time", first, at_first, ms(sum.ns) / each, "ms/step", "kernel=" + kernel);
    writer.put("kernel_launches", first, at_first, static_cast<double>(sum.launches) / each, "",
               "kernel=" + kernel);
  }
  return writer.full() ? Written::too_many_series : Written::all;
}

}  // namespace culprit::ingest
