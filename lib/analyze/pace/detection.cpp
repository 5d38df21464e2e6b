#include "analyze/pace/detection.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "analyze/metrics/metric_stalls.hpp"
#include "analyze/metrics/outlier_search.hpp"
#include "model/median.hpp"

namespace culprit::analyze {

namespace {

using Fires = std::function<bool(Nanoseconds)>;

// The moment from which it fires up to `high`: backwards in growing strides, then by halves.
std::optional<Nanoseconds> fires_from(Nanoseconds low, Nanoseconds high, Nanoseconds exact,
                                      const Fires& fires) {
  if (!fires(high)) return std::nullopt;
  Nanoseconds known = high, silent = low;
  for (Nanoseconds stride = kMinute;; stride *= 2) {
    const Nanoseconds at = known - low > stride ? known - stride : low;
    if (!fires(at)) {
      silent = at;
      break;
    }
    known = at;
    if (at == low) return low;
  }
  while (known - silent > exact) {
    const Nanoseconds middle = silent + (known - silent) / 2;
    (fires(middle) ? known : silent) = middle;
  }
  return known;
}

// What had been sampled by then.
std::vector<MetricSeries> until(const std::vector<MetricSeries>& metrics, Nanoseconds end) {
  std::vector<MetricSeries> out = metrics;
  for (MetricSeries& metric : out)
    for (MetricSeries::Entity& e : metric.entities) {
      const auto kept =
          static_cast<std::size_t>(std::ranges::upper_bound(e.times, end) - e.times.begin());
      e.times.resize(kept);
      e.values.resize(kept);
    }
  return out;
}

class Replay {
 public:
  Replay(const Facts& facts, const JobSteps& steps, std::span<const std::uint32_t> jobs,
         const FailSlow& report, const IncidentMetrics& metrics, const rules::Catalogue& catalogue,
         const DetectionParams& params)
      : facts_(facts),
        steps_(steps),
        jobs_(jobs),
        report_(report),
        metrics_(metrics),
        catalogue_(catalogue),
        params_(params) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps.attempt[i] != steps.attempt.back() || steps.time[i] == kNoValue) continue;
      if (!out_.begin) out_.begin = steps.time[i];
      if (last_step_) distances_.push_back(static_cast<double>(steps.time[i] - *last_step_));
      last_step_ = steps.time[i];
    }
    if (!out_.begin) out_.begin = facts.job_start;
    out_.end = facts.job_end ? facts.job_end : last_step_;
  }

  Detections made() && {
    if (!out_.begin || !out_.end || *out_.begin >= *out_.end) return {};
    out_.all = {stall(), outliers(), loss(), watchdog(), slow_steps(), step_timeout()};
    for (Detection& d : out_.all)
      if (d.fired) {
        d.state = DetectorState::fired;
        d.before = *out_.end - *d.fired;
      }
    return std::move(out_);
  }

 private:
  std::optional<Nanoseconds> from(const Fires& fires) const {
    return fires_from(*out_.begin, *out_.end, params_.exact, fires);
  }
  static DetectorState seen(bool any) {
    return any ? DetectorState::silent : DetectorState::no_data;
  }

  Detection stall() const {
    const auto standing = [&](Nanoseconds at) {
      IncidentMetrics known;
      known.metrics = until(metrics_.metrics, at);
      std::vector<Finding> out =
          stall_findings(facts_, known, catalogue_, [](SeriesId) { return SeriesPoints(); });
      std::erase_if(out, [](const Finding& f) { return f.outcome != Outcome::fired; });
      return out;
    };
    Detection out{.detector = Detector::stall, .state = seen(!metrics_.metrics.empty())};
    const std::vector<Finding> last = standing(*out_.end);
    if (last.empty()) return out;
    out.what = last.front().id.substr(last.front().id.find('/') + 1);
    out.fired = from([&](Nanoseconds at) { return !standing(at).empty(); });
    return out;
  }

  Detection outliers() const {
    using Who = std::pair<std::string, std::string>;
    const auto found = [&](Nanoseconds at) {
      std::set<Who> out;
      const OutlierReport report = search_outliers(until(metrics_.metrics, at), catalogue_);
      // At the end of the samples half of a window is enough to be judged; the rule wants most of
      // one. What a late sample is carried on for has not passed yet.
      const auto least =
          static_cast<Nanoseconds>(static_cast<double>(report.window) * OutlierParams().share) -
          report.bin;
      for (const MetricOutlier& o : report.outliers)
        if (std::min(o.outlier.end, at) - o.outlier.start >= least)
          out.emplace(o.outlier.entity, o.metric);
      return out;
    };
    Detection out{.detector = Detector::outliers, .state = seen(!metrics_.metrics.empty())};
    if (metrics_.metrics.empty()) return out;
    // Whom the whole shows, as soon as any of them shows: noise that a longer look takes back is
    // none.
    const std::set<Who> all = found(*out_.end);
    if (all.empty()) return out;
    const auto of_them = [&](Nanoseconds at) {
      std::set<Who> now = found(at);
      std::erase_if(now, [&](const Who& who) { return all.count(who) == 0; });
      return now;
    };
    out.fired = from([&](Nanoseconds at) { return !of_them(at).empty(); });
    const std::set<Who> first = out.fired ? of_them(*out.fired) : all;
    out.what = fmt::format("{} of {}", first.begin()->second, first.begin()->first);
    return out;
  }

  Detection loss() const {
    const auto signals = [&](Nanoseconds at) { return loss_signals(losses_of(steps_, true, at)); };
    const auto fires = [](const LossSignals& s) { return s.first_bad || !s.spikes.empty(); };
    Detection out{.detector = Detector::loss,
                  .state = seen(!losses_of(steps_, true, *out_.end).empty())};
    const LossSignals all = signals(*out_.end);
    if (!fires(all)) return out;
    out.fired = from([&](Nanoseconds at) { return fires(signals(at)); });
    const LossSignals first = signals(out.fired.value_or(*out_.end));
    out.what = first.first_bad ? fmt::format("{} is {} in iteration {}", first.bad_metric,
                                             first.bad_value, *first.first_bad)
                               : fmt::format("{} in iteration {}", first.spikes.front().metric,
                                             first.spikes.front().first);
    return out;
  }

  Detection watchdog() const {
    Detection out{.detector = Detector::watchdog, .state = seen(last_step_.has_value())};
    for (const EventRow& e : facts_.events)
      if (e.traits.has(Trait::watchdog_timeout) && e.time_ns && *e.time_ns >= *out_.begin &&
          *e.time_ns <= *out_.end && facts_.counts(facts_.member(e.place.member)) &&
          (!out.fired || *e.time_ns < *out.fired)) {
        out.fired = e.time_ns;
        out.printed = true;
      }
    if (!out.fired && last_step_ && *last_step_ + params_.watchdog < *out_.end)
      out.fired = *last_step_ + params_.watchdog;
    return out;
  }

  // The step after which the slowdown that the whole shows first would have been known.
  Detection slow_steps() const {
    Detection out{.detector = Detector::slow_steps, .state = seen(report_.enough)};
    const auto slow = std::ranges::find_if(report_.intervals, [&](const SlowInterval& s) {
      return steps_.attempt[s.start] == steps_.attempt.back() && !s.against_other &&
             !s.against_peers;
    });
    if (slow == report_.intervals.end()) return out;
    const auto known = [&](std::size_t rows) {
      return std::ranges::any_of(
          find_fail_slow(steps_, jobs_, rows).intervals, [&](const SlowInterval& s) {
            return s.end > slow->start && steps_.attempt[s.start] == steps_.attempt.back();
          });
    };
    std::size_t silent = slow->start, rows = silent;
    for (std::size_t stride = 4;; stride *= 2) {
      rows = std::min(steps_.size(), silent + stride);
      if (known(rows)) break;
      if (rows == steps_.size()) return out;
      silent = rows;
    }
    while (rows - silent > 1) {
      const std::size_t middle = silent + (rows - silent) / 2;
      (known(middle) ? rows : silent) = middle;
    }
    const Nanoseconds at = steps_.time[rows - 1];
    if (at == kNoValue || at > *out_.end) return out;
    out.fired = at;
    out.what = fmt::format("{:.2f} times as long", slow->factor);
    if (steps_.iteration[slow->start] != kNoValue)
      out.what += fmt::format(" from iteration {} on", steps_.iteration[slow->start]);
    return out;
  }

  // Where every tenth step is printed, the distance of the lines stands for a step.
  Detection step_timeout() const {
    Detection out{.detector = Detector::step_timeout, .state = seen(!distances_.empty())};
    if (distances_.empty()) return out;
    const double wait = std::max(static_cast<double>(params_.step_timeout),
                                 params_.steps_of_timeout * median_of(distances_));
    if (*last_step_ + static_cast<Nanoseconds>(wait) < *out_.end)
      out.fired = *last_step_ + static_cast<Nanoseconds>(wait);
    const auto pauses = std::ranges::count_if(distances_, [&](double d) { return d > wait; });
    if (pauses > 0)
      out.what = fmt::format("and in {} pause{} after which steps went on", pauses,
                             pauses == 1 ? "" : "s");
    return out;
  }

  const Facts& facts_;
  const JobSteps& steps_;
  std::span<const std::uint32_t> jobs_;
  const FailSlow& report_;
  const IncidentMetrics& metrics_;
  const rules::Catalogue& catalogue_;
  const DetectionParams& params_;
  Detections out_;
  std::optional<Nanoseconds> last_step_;
  std::vector<double> distances_;  // of the steps that are printed, ns
};

}  // namespace

std::vector<LossRecord> losses_of(const JobSteps& steps, bool last_attempt,
                                  std::optional<Nanoseconds> until) {
  std::vector<LossRecord> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps.iteration[i] == kNoValue ||
        (last_attempt && steps.attempt[i] != steps.attempt.back()) ||
        (until && (steps.time[i] == kNoValue || steps.time[i] > *until)))
      continue;
    const auto value = [&](double v, int bit) -> std::optional<double> {
      if ((steps.not_a_number[i] & bit) != 0) return std::nan("");
      return std::isnan(v) ? std::nullopt : std::optional(v);
    };
    const LossRecord record{steps.iteration[i], value(steps.loss[i], 1),
                            value(steps.grad_norm[i], 2)};
    if (record.loss || record.grad_norm) out.push_back(record);
  }
  return out;
}

Detections detections(const Facts& facts, const JobSteps& steps,
                      std::span<const std::uint32_t> jobs, const FailSlow& report,
                      const IncidentMetrics& metrics, const rules::Catalogue& catalogue,
                      const DetectionParams& params) {
  return Replay(facts, steps, jobs, report, metrics, catalogue, params).made();
}

}  // namespace culprit::analyze
