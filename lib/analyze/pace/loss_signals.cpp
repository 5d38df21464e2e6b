#include "analyze/pace/loss_signals.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

class RunningMedian {
 public:
  explicit RunningMedian(std::size_t window) : window_(std::max<std::size_t>(1, window)) {}
  void add(double v) {
    order_.push_back(v);
    sorted_.insert(std::ranges::upper_bound(sorted_, v), v);
    if (order_.size() <= window_) return;
    sorted_.erase(std::ranges::lower_bound(sorted_, order_.front()));
    order_.pop_front();
  }
  std::size_t size() const { return sorted_.size(); }
  double value() const { return sorted_[sorted_.size() / 2]; }

 private:
  std::size_t window_;
  std::deque<double> order_;
  std::vector<double> sorted_;
};

std::vector<Spike> spikes_of(std::span<const LossRecord> rows,
                             std::optional<double> LossRecord::*metric, const char* name,
                             const LossParams& params, std::vector<Text>& notes) {
  std::vector<Spike> out;
  RunningMedian usual(params.window);
  bool inside = false, below_zero = false;
  for (const LossRecord& r : rows) {
    const auto& v = r.*metric;
    if (!v || !std::isfinite(*v)) continue;
    const bool judged = usual.size() >= params.least;
    if (judged && usual.value() <= 0) below_zero = true;
    if (judged && usual.value() > 0 && *v > params.spike * usual.value()) {
      if (!inside) out.push_back({name, r.iteration, r.iteration, *v, usual.value(), 0});
      Spike& s = out.back();
      s.last = r.iteration;
      s.peak = std::max(s.peak, *v);
      ++s.rows;
      inside = true;
      // A loss that stays there becomes the usual one in the end; else one spike would last for
      // ever.
      usual.add(*v);
      continue;
    }
    inside = false;
    usual.add(*v);
  }
  if (below_zero) notes.push_back(say(Phrase::often_not_positive, name, params.spike));
  return out;
}

}  // namespace

LossSignals loss_signals(std::span<const LossRecord> rows,
                         std::span<const std::int64_t> checkpoints, const LossParams& params) {
  LossSignals out;
  for (auto& [metric, name] :
       {std::pair(&LossRecord::loss, "loss"), std::pair(&LossRecord::grad_norm, "grad_norm")})
    for (Spike& s : spikes_of(rows, metric, name, params, out.notes))
      out.spikes.push_back(std::move(s));
  sort_by(out.spikes, &Spike::first);

  std::optional<std::int64_t> good;
  for (const LossRecord& r : rows) {
    if (!r.loss && !r.grad_norm) continue;
    const bool loss_bad = r.loss && !std::isfinite(*r.loss),
               norm_bad = r.grad_norm && !std::isfinite(*r.grad_norm);
    if (!loss_bad && !norm_bad) {
      if (!out.first_bad)
        good = r.iteration;
      else
        out.recovered = true;
      continue;
    }
    ++out.bad_rows;
    out.recovered = false;
    if (out.first_bad) continue;
    out.first_bad = r.iteration;
    const double v = loss_bad ? *r.loss : *r.grad_norm;
    out.bad_metric = loss_bad ? "loss" : "grad_norm";
    out.bad_value = std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
  }
  if (!out.first_bad) return out;
  out.last_good = good;
  for (const std::int64_t c : checkpoints)
    if (c < *out.first_bad && (!out.checkpoint || c > *out.checkpoint)) out.checkpoint = c;
  if (out.checkpoint && good && *out.checkpoint > *good)
    out.notes.push_back(say(Phrase::unchecked_checkpoint, *good, *out.checkpoint));
  if (checkpoints.empty()) out.notes.push_back(say(Phrase::checkpoints_unknown));
  return out;
}

}  // namespace culprit::analyze
