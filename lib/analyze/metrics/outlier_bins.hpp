// Samples of many entities, each by its own clock, on one grid of bins. Shared by the files of the
// outlier search.
#pragma once

#include <limits>
#include <vector>

#include "analyze/metrics/outliers.hpp"
#include "model/series.hpp"

namespace culprit::analyze {

inline constexpr std::int64_t kNoBin = std::numeric_limits<std::int64_t>::max();
inline constexpr Nanoseconds kFarthest =
    Nanoseconds{1} << 61;  // times beyond are no times; keeps sums of them within 64 bits

// Walks one entity's samples bin by bin, forward only.
class BinWalker {
 public:
  // Sorts a copy if need be. bin > 0.
  BinWalker(const OutlierSeries& series, Nanoseconds bin, int carry, bool average);
  BinWalker(BinWalker&&) = default;
  BinWalker& operator=(BinWalker&&) = default;

  // Number of the bin of the next sample; kNoBin at the end.
  std::int64_t next() const { return next_; }
  // The values of bins [first, first + count), `stride` apart; NaN where there is none. Bins before
  // are passed over.
  void fill(std::int64_t first, std::size_t count, double* out, std::size_t stride);

 private:
  double take(Nanoseconds until);  // the value of the samples before `until`
  void settle();                   // to the next usable sample

  const Nanoseconds* times_;
  const double* values_;
  std::size_t size_, at_ = 0;
  Nanoseconds bin_;
  std::int64_t next_ = kNoBin, last_bin_ = 0;
  double last_ = kNoFigure;
  int carry_;
  bool average_;
  std::vector<Nanoseconds> sorted_times_;
  std::vector<double> sorted_values_, several_;
};

inline std::int64_t bin_of(Nanoseconds time, Nanoseconds bin) {
  return time / bin - (time % bin < 0 ? 1 : 0);
}

}  // namespace culprit::analyze
