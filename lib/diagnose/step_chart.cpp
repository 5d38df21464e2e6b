// Thins the steps of a job to what a picture can show.
#include "step_chart.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/sort.hpp"

namespace culprit::diagnose {

namespace {

// The median of each point's rows; empty when no row has a value.
std::vector<double> thinned(const std::vector<double>& rows, std::size_t bucket) {
  std::vector<double> out;
  bool any = false;
  for (std::size_t begin = 0; begin < rows.size(); begin += bucket) {
    std::vector<double> values;
    for (std::size_t i = begin; i < std::min(begin + bucket, rows.size()); ++i)
      if (std::isfinite(rows[i])) values.push_back(rows[i]);
    sort_rows(values);
    any = any || !values.empty();
    out.push_back(values.empty() ? kNoFigure : values[values.size() / 2]);
  }
  return any ? out : std::vector<double>{};
}

}  // namespace

StepChart chart_of(const Pace& pace) {
  constexpr std::size_t kFewest = 20, kMost = 200;
  StepChart out;
  const std::vector<double>& ms = pace.steps.ms;
  out.rows = ms.size();
  if (out.rows < kFewest || std::ranges::none_of(ms, [](double v) { return std::isfinite(v); }))
    return {};
  out.bucket = (out.rows + kMost - 1) / kMost;
  for (std::size_t begin = 0; begin < out.rows; begin += out.bucket) {
    std::vector<double> values;
    for (std::size_t i = begin; i < std::min(begin + out.bucket, out.rows); ++i)
      if (std::isfinite(ms[i])) values.push_back(ms[i]);
    sort_rows(values);
    out.iteration.push_back(pace.steps.iteration[begin] == kNoValue
                                ? static_cast<std::int64_t>(begin)
                                : pace.steps.iteration[begin]);
    out.ms.push_back(values.empty() ? kNoFigure : values[values.size() / 2]);
    if (out.bucket > 1) out.high.push_back(values.empty() ? kNoFigure : values.back());
  }
  out.loss = thinned(pace.steps.loss, out.bucket);
  out.grad_norm = thinned(pace.steps.grad_norm, out.bucket);
  for (std::size_t i = 0; i < pace.steps.not_a_number.size(); ++i)
    if (pace.steps.not_a_number[i] != 0 && (out.bad.empty() || out.bad.back() != i / out.bucket))
      out.bad.push_back(i / out.bucket);
  for (std::size_t i = 1; i < pace.steps.attempt.size(); ++i)
    if (pace.steps.attempt[i] != pace.steps.attempt[i - 1]) out.restarts.push_back(i / out.bucket);
  for (const analyze::JobCheckpoint& c : pace.checkpoints)
    out.checkpoints.push_back({c.event, c.iteration, c.row / out.bucket});
  const auto iteration = [&](std::size_t row) {
    const std::int64_t n = pace.steps.iteration[row];
    return n == kNoValue ? static_cast<std::int64_t>(row) : n;
  };
  for (const analyze::SlowInterval& s : pace.report.intervals) {
    if (s.start >= s.end || s.end > out.rows) continue;
    out.slow.push_back({s.start / out.bucket, (s.end + out.bucket - 1) / out.bucket,
                        iteration(s.start), iteration(s.end - 1), s.factor, !s.relieved});
    out.baseline = s.baseline;
  }
  if (out.baseline == 0 && !pace.report.attempts.empty())
    out.baseline = pace.report.attempts.back().baseline;
  return out;
}
}  // namespace culprit::diagnose
