// What a GPU did in each step, out of a trace of it: the rows that analyses of speed compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ingest/engine/recogniser.hpp"
#include "model/series.hpp"

namespace culprit::ingest {

// Times are in nanoseconds of one clock, whichever it is. Intervals are united, not summed: kernels
// of several streams run at once. The breakdown is that of Holistic Trace Analysis ("temporal
// breakdown"), cut by steps: gpu_compute_ms and cpu_only_ms (nothing is on the GPU) are a rank's
// own work, exposed_nccl_ms its waiting; their sum is step_ms. Of the kernels that took longest
// kernel_time and kernel_launches, a step.
class GpuTrace {
 public:
  // on_gpu: as the GPU worked at it, which is later than it was told to: where a trace has such
  // steps, they count. A step with several spans reaches over all of them. offset: of its record.
  void add_step(std::int64_t number, std::int64_t begin, std::int64_t end, std::size_t offset,
                bool on_gpu);
  // What is on the GPU: a kernel, or a copy.
  void add_span(std::string_view name, bool kernel, std::int64_t begin, std::int64_t end);
  bool too_many() const { return too_many_; }  // the rest was left out

  enum class Written { all, no_step, no_span, too_many_series };
  // The rows, once. base: what to add to get nanoseconds of UTC; times before the year 2000 are
  // none. key: whose they are; place: of the record of a step at this offset.
  Written write(SeriesRow key, std::int64_t base, const std::function<Place(std::size_t)>& place,
                Reading& reading);

 private:
  struct Span {
    std::int64_t begin = 0, end = 0;
    bool waits = false;
  };
  struct Step {
    std::int64_t begin = 0, end = 0;
    std::size_t offset = 0;
  };
  using Steps = std::map<std::int64_t, Step>;  // by number
  struct KernelSum {                           // in the whole trace
    std::int64_t ns = 0, launches = 0;
  };
  class Coverage;
  class Writer;

  const Steps& steps() const { return on_gpu_.empty() ? on_cpu_ : on_gpu_; }
  std::vector<std::pair<std::string, KernelSum>> longest_kernels() const;

  Steps on_cpu_, on_gpu_;
  std::vector<Span> spans_;
  std::unordered_map<std::string, KernelSum> kernels_;
  bool too_many_ = false;
};

}  // namespace culprit::ingest
