// Whether the GPU of a rank that works longer than the others is the slow part: by traces in which
// the same kernels were launched as often, and took longer there. Work that is shared out unequally
// launches more kernels, or others.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "model/series.hpp"

namespace culprit::analyze {

// One kernel of one rank, per step.
struct KernelTime {
  Rank rank{};
  std::string kernel;
  double ms = 0, launches = 0;
};

struct SlowKernels {
  double factor = 0;   // of the time of a launch, against the others: of half of its time or more
  std::string kernel;  // that took longest there, of those that every other rank launched as often
  double ms = 0, others_ms = 0;  // of it, a step
};

// What the traces of the job tell of kernels.
std::vector<KernelTime> kernel_times(const Facts& facts,
                                     const std::function<SeriesPoints(SeriesId)>& load);

// Nothing where fewer than three others launched the kernels as often, where these make up less
// than half of what is known of the rank, where it is not slower by a tenth (GREYHOUND section 4.2
// calls less jitter), or where another rank comes near.
std::optional<SlowKernels> slow_kernels(std::span<const KernelTime> times, Rank suspect);

}  // namespace culprit::analyze
