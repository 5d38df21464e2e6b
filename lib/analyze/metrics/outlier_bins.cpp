#include "analyze/metrics/outlier_bins.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analyze/metrics/crowd.hpp"

namespace culprit::analyze {

namespace {
bool usable(Nanoseconds time, double value) {
  return time > -kFarthest && time < kFarthest && std::isfinite(value);
}
}  // namespace

BinWalker::BinWalker(const OutlierSeries& series, Nanoseconds bin, int carry, bool average)
    : times_(series.times.data()),
      values_(series.values.data()),
      size_(std::min(series.times.size(), series.values.size())),
      bin_(bin),
      carry_(carry),
      average_(average) {
  if (!std::is_sorted(times_, times_ + size_)) {
    std::vector<std::size_t> order(size_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      return times_[a] != times_[b] ? times_[a] < times_[b] : a < b;
    });
    for (const std::size_t i : order) {
      sorted_times_.push_back(times_[i]);
      sorted_values_.push_back(values_[i]);
    }
    times_ = sorted_times_.data();
    values_ = sorted_values_.data();
  }
  settle();
}

void BinWalker::settle() {
  while (at_ < size_ && !usable(times_[at_], values_[at_])) ++at_;
  if (at_ >= size_) {
    next_ = kNoBin;
    return;
  }
  // Most samples are one bin on: no division.
  const Nanoseconds time = times_[at_];
  if (last_ == last_ && time < (last_bin_ + 2) * bin_)
    next_ = time < (last_bin_ + 1) * bin_ ? last_bin_ : last_bin_ + 1;
  else
    next_ = bin_of(time, bin_);
}

double BinWalker::take(Nanoseconds until) {
  const double first = values_[at_++];
  if (at_ >= size_ || times_[at_] >= until) return first;
  several_.assign(1, first);
  for (; at_ < size_ && times_[at_] < until; ++at_)
    if (std::isfinite(values_[at_])) several_.push_back(values_[at_]);
  if (!average_) return median_in_place(several_);
  double mean = 0;
  for (const double v : several_) mean += v / static_cast<double>(several_.size());
  return mean;
}

void BinWalker::fill(std::int64_t first, std::size_t count, double* out, std::size_t stride) {
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t bin = first + static_cast<std::int64_t>(i);
    // The usual case: one sample here, and the next one in the next bin.
    if (next_ == bin) {
      std::size_t at = at_;
      Nanoseconds end = (bin + 1) * bin_;
      for (; i < count && at + 1 < size_; ++i, ++at, end += bin_) {
        const Nanoseconds time = times_[at + 1];
        if (time < end || time - end >= bin_ || !std::isfinite(values_[at + 1])) break;
        out[i * stride] = values_[at];
      }
      if (at > at_) {
        at_ = at;
        last_ = values_[at - 1];
        next_ = first + static_cast<std::int64_t>(i);
        last_bin_ = next_ - 1;
        if (i == count) return;
        bin = next_;
      }
    }
    while (next_ < bin) {
      last_bin_ = next_;
      last_ = take((next_ + 1) * bin_);
      settle();
    }
    double value = kNoFigure;
    if (next_ == bin) {
      value = take((bin + 1) * bin_);
      last_bin_ = bin;
      last_ = value;
      settle();
    } else if (last_ == last_ && bin - last_bin_ <= carry_ && next_ != kNoBin) {
      value = last_;  // not beyond the last sample: who stopped reporting is missing
    }
    out[i * stride] = value;
  }
}

}  // namespace culprit::analyze
