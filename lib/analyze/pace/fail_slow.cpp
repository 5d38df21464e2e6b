#include "analyze/pace/fail_slow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "analyze/pace/pauses.hpp"
#include "analyze/pace/regimes.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr double kLadderStep =
    1.25;  // of a fault's difference: levels are known to a fourth of it at best

constexpr std::size_t kFewestRows = 5;  // of a regime, however many iterations each stands for

constexpr double kSteady = 4;  // of what makes a fault: so little the times of a short attempt vary

constexpr double kMostly =
    0.7;  // of the iterations of a slow segment; a level 2 sd above the limit has 97 %

// One attempt. Positions in here count the iterations that have a time; `place` says where they
// stand in the input.
class Judge {
 public:
  Judge(const IterationTimes& in, const FailSlowParams& params, std::vector<std::size_t> place,
        FailSlow& out)
      : params_(params), place_(std::move(place)), means_(in.means), out_(out) {
    for (std::size_t k = 0; k < place_.size(); ++k) {
      const std::size_t i = place_[k];
      // A log that prints every tenth step prints the time of one of them.
      double gap = 1;
      if (k > 0 && i < in.number.size())
        gap = in.number[i] - in.number[in.means ? place_[k - 1] : i - 1];
      stands_for_.push_back(std::isfinite(gap) ? std::max(1.0, gap) : 1);
      time_.push_back(in.time[i]);
      y_.push_back(std::log(in.time[i]));
    }
    // Rows that stand for several iterations each: fewer of them make a regime.
    if (const double each = median_of(stands_for_); each > 1)
      params_.min_regime = std::min(
          params_.min_regime,
          std::max(kFewestRows, static_cast<std::size_t>(
                                    std::ceil(static_cast<double>(params_.min_regime) / each))));
  }

  // Levels and the attempt's own baseline (logarithm); nothing when it is too short.
  std::optional<double> measure(AttemptPace& attempt) {
    if (y_.size() < 2 * params_.min_regime) return {};
    levels_ = find_levels(y_, params_);
    find_baseline();
    attempt.judged = true;
    attempt.noise = levels_.noise;
    attempt.wander = std::expm1(levels_.wander);
    attempt.required = std::expm1(levels_.required);
    attempt.baseline = std::exp(baseline_);
    return baseline_;
  }

  // The level (logarithm) of an attempt that is too short to be judged, and steady: others are held
  // against it. Of a longer one its baseline is.
  std::optional<double> reference() const {
    if (y_.size() < params_.min_regime || y_.size() >= 2 * params_.min_regime) return {};
    const double level = level_of(0, y_.size());
    std::vector<double> off;
    for (const double y : y_) off.push_back(std::abs(y - level));
    return median_of(off) <= std::log1p(params_.min_change) / kSteady ? std::optional(level)
                                                                      : std::nullopt;
  }

  // other: the lowest baseline of the other attempts.
  void judge(std::optional<double> other) {
    const bool behind = other && baseline_ - *other > levels_.required;
    if (behind) baseline_ = *other;
    find_slow(behind);
    find_excesses();
    take_pauses();
    find_tail();
    for (std::size_t i = 0; i < levels_.regimes.size(); ++i) {
      const Segment& s = levels_.regimes[i];
      out_.regimes.push_back(regime(s.start, s.end, s.level));
      if (i > 0) out_.change_points.push_back(place_[s.start]);
    }
    for (const SlowInterval& s : slow_) out_.intervals.push_back(s);
  }

 private:
  std::size_t end_place(std::size_t end) const {
    return end < place_.size() ? place_[end] : place_.back() + 1;
  }
  Regime regime(std::size_t start, std::size_t end, double level) const {
    return {place_[start], end_place(end), std::exp(level), std::exp(level - baseline_)};
  }

  double level_of(std::size_t start, std::size_t end) const {
    return median_of(std::vector<double>(y_.begin() + static_cast<std::ptrdiff_t>(start),
                                         y_.begin() + static_cast<std::ptrdiff_t>(end)));
  }

  // Rows of a regime, or the iterations that they are the means of.
  double length(std::size_t start, std::size_t end) const {
    if (!means_) return static_cast<double>(end - start);
    return std::accumulate(stands_for_.begin() + static_cast<std::ptrdiff_t>(start),
                           stands_for_.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
  }

  void find_baseline() {
    const std::size_t n = y_.size();
    const double sustained =
        std::max(static_cast<double>(params_.sustained), params_.sustained_share * length(0, n));
    // Nothing is sustained that long in a short job: then a third of it.
    const std::size_t third = std::max(params_.min_regime, n / 3);
    double lowest = std::numeric_limits<double>::infinity();
    const Segment* longest = &levels_.regimes.front();
    for (const Segment& s : levels_.regimes) {
      if (length(s.start, s.end) >= sustained || s.end - s.start >= third)
        lowest = std::min(lowest, s.level);
      if (s.end - s.start > longest->end - longest->start) longest = &s;
    }
    baseline_ = std::isfinite(lowest) ? lowest : longest->level;
  }

  double above(std::size_t i) const { return levels_.fine[i].level - baseline_; }

  // Two stalls close to each other are no regime: most of its iterations must be slow.
  bool is_slow(std::size_t i) const {
    const Segment& s = levels_.fine[i];
    if (!(above(i) > levels_.required)) return false;
    std::size_t slow = 0;
    for (std::size_t k = s.start; k < s.end; ++k) slow += y_[k] - baseline_ > levels_.required / 2;
    return static_cast<double>(slow) >= kMostly * static_cast<double>(s.end - s.start);
  }

  void find_slow(bool behind) {
    const auto& fine = levels_.fine;
    const double whole = levels_.required;
    std::size_t begin = 0;
    // Warm-up: the first segments, as long as they fall, within the first iterations.
    while (begin + 1 < fine.size() && fine[begin].end <= params_.warm_up && above(begin) > whole &&
           fine[begin].level > fine[begin + 1].level)
      ++begin;
    if (begin > 0)
      out_.warm_ups.push_back(regime(0, fine[begin].start, level_of(0, fine[begin].start)));

    const auto is_step = [&](std::size_t a, std::size_t b) {
      return std::abs(fine[a].level - fine[b].level) <= kLadderStep * whole;
    };
    for (std::size_t i = begin; i < fine.size();) {
      if (!is_slow(i)) {
        ++i;
        continue;
      }
      std::size_t from = i;
      while (from > begin && above(from - 1) > whole / 2 && is_step(from - 1, from)) --from;
      // Up to the last segment that is slow with nothing but half slow ones between.
      std::size_t last = i;
      std::size_t j = i;
      for (; j < fine.size() && above(j) > whole / 2; ++j)
        if (is_slow(j)) last = j;
      std::size_t to = last + 1;
      while (to < j && is_step(to - 1, to)) ++to;
      add_slow(from, to, behind);
      begin = i = to;
    }
  }

  void add_slow(std::size_t from, std::size_t to, bool behind) {
    const auto& fine = levels_.fine;
    SlowInterval s;
    const std::size_t start = fine[from].start;
    const std::size_t end = fine[to - 1].end;
    fill(s, start, end);
    s.against_other = behind;
    for (std::size_t i = from; i < to; ++i) {
      s.parts.push_back(regime(fine[i].start, fine[i].end, fine[i].level));
      s.worst = std::max(s.worst, s.parts.back().factor);
    }
    shape(s);
    slow_.push_back(std::move(s));
    where_.emplace_back(start, end);
  }

  void fill(SlowInterval& s, std::size_t start, std::size_t end) const {
    const double level = level_of(start, end);
    s.start = place_[start];
    s.end = end_place(end);
    s.level = std::exp(level);
    s.baseline = std::exp(baseline_);
    s.factor = s.worst = std::exp(level - baseline_);
    s.relieved = end < y_.size();
    s.from_start = start == 0;
    for (std::size_t i = start; i < end; ++i) s.cost += (time_[i] - s.baseline) * stands_for_[i];
  }

  // Parts that differ by less than half of what a fault needs are one level.
  void shape(SlowInterval& s) const {
    std::size_t up = 0;
    std::size_t down = 0;
    double largest = 0;
    double last = s.parts.front().factor;
    for (const Regime& part : s.parts) {
      const double step = std::log(part.factor / last);
      if (std::abs(step) < levels_.required / 4) continue;
      step > 0 ? ++up : ++down;
      largest = std::max(largest, std::abs(step));
      last = part.factor;
    }
    if (up + down == 0)
      s.shape = SlowInterval::Shape::step;
    else if (down == 0 && up >= 3 && largest < levels_.required)
      s.shape = SlowInterval::Shape::drift;
    else if (down == 0 && largest <= levels_.required * 1.2 &&
             std::log(s.parts.front().factor) <= levels_.required * 1.2)
      s.shape = SlowInterval::Shape::ladder;
    else
      s.shape = SlowInterval::Shape::compound;
  }

  // Iterations far above their regime: neighbours (one apart at most) make one excess.
  void find_excesses() {
    const double limit = std::max(params_.spike * levels_.noise, std::log1p(params_.min_change));
    std::size_t segment = 0;
    for (std::size_t i = 0; i < y_.size(); ++i) {
      while (segment + 1 < levels_.fine.size() && i >= levels_.fine[segment].end) ++segment;
      const double level = levels_.fine[segment].level;
      if (y_[i] - level <= limit) continue;
      const double extra = time_[i] - std::exp(level);
      if (!excesses_.empty() && i <= excesses_.back().start + excesses_.back().length + 1) {
        excesses_.back().length = i + 1 - excesses_.back().start;
        excesses_.back().extra += extra;
      } else {
        excesses_.push_back({i, 1, extra});
      }
    }
  }

  void tell_pause(std::span<const Excess> all, const Recurrence& found) {
    Pause pause;
    std::vector<double> lengths;
    std::vector<double> extras;
    for (const std::size_t m : found.members) {
      lengths.push_back(static_cast<double>(all[m].length));
      extras.push_back(all[m].extra);
    }
    pause.period = found.period;
    pause.first = place_[all[found.members.front()].start];
    pause.length = static_cast<std::size_t>(median_of(lengths));
    pause.count = found.members.size();
    pause.extra = median_of(extras);
    out_.pauses.push_back(pause);
  }

  void take_pauses() {
    // Slow intervals that come back, all of one length.
    std::vector<Excess> long_ones;
    for (std::size_t i = 0; i < slow_.size(); ++i)
      long_ones.push_back({where_[i].first, where_[i].second - where_[i].first, slow_[i].cost});
    std::vector<bool> gone(slow_.size(), false);
    for (const Recurrence& found : find_recurrences(long_ones, y_.size(), params_.recurrences)) {
      std::vector<double> lengths;
      for (const std::size_t m : found.members)
        lengths.push_back(static_cast<double>(long_ones[m].length));
      const double length = median_of(lengths);
      if (std::ranges::any_of(lengths, [&](double l) {
            return std::abs(l - length) > std::max(3.0, 0.15 * length);
          }))
        continue;
      if (length * 2 > static_cast<double>(found.period))
        continue;  // a job that is slow most of the time is slow
      // Nothing that a program does now and again slows its steps for so long: others' work does.
      constexpr double kLongestHabitMs = 20 * 60e3;
      double took = 0;
      const Excess& one = long_ones[found.members.front()];
      for (std::size_t i = one.start; i < one.start + one.length; ++i)
        if (!std::isnan(time_[i])) took += time_[i] * stands_for_[i];
      if (took > kLongestHabitMs) continue;
      tell_pause(long_ones, found);
      for (const std::size_t m : found.members) gone[m] = true;
    }
    std::size_t to = 0;
    for (std::size_t i = 0; i < slow_.size(); ++i)
      if (!gone[i]) {
        if (to != i) slow_[to] = std::move(slow_[i]), where_[to] = where_[i];
        ++to;
      }
    slow_.resize(to);
    where_.resize(to);

    std::vector<bool> taken(excesses_.size(), false);
    for (const Recurrence& found : find_recurrences(excesses_, y_.size(), params_.recurrences)) {
      tell_pause(excesses_, found);
      for (const std::size_t m : found.members) taken[m] = true;
    }
    for (std::size_t i = 0; i < excesses_.size(); ++i) {
      if (taken[i]) continue;
      if (excesses_[i].length <= 2)
        ++out_.spikes;
      else
        ++out_.stalls;
    }
    sort_by(out_.pauses, &Pause::first);
  }

  // A regime that began with the last iterations: too young to be told from a stall.
  void find_tail() {
    if (!slow_.empty() && !slow_.back().relieved) return;
    const std::size_t n = y_.size();
    std::size_t start = n;
    for (const std::size_t boundary : levels_.raw)
      if (n - boundary < params_.min_regime) {
        start = boundary;
        break;
      }
    if (start == n || n - start < 3) return;
    if (level_of(start, n) - baseline_ <= std::max(levels_.required, 3 * levels_.noise)) return;
    SlowInterval s;
    fill(s, start, n);
    s.parts.push_back(regime(start, n, level_of(start, n)));
    out_.unconfirmed.push_back(std::move(s));
  }

  FailSlowParams params_;
  std::vector<std::size_t> place_;
  bool means_;
  std::vector<double> stands_for_;  // iterations
  FailSlow& out_;
  std::vector<double> time_, y_;
  Levels levels_;
  double baseline_ = 0;
  std::vector<SlowInterval> slow_;
  std::vector<std::pair<std::size_t, std::size_t>> where_;
  std::vector<Excess> excesses_;
};

// Where an attempt begins: the iteration number goes back, or nothing ended for long.
std::vector<std::size_t> restarts(const IterationTimes& in, const FailSlowParams& params) {
  std::vector<std::size_t> out{0};
  const std::size_t n = in.time.size();
  double last_number = -std::numeric_limits<double>::infinity();
  double last_clock = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> ticks;
  for (std::size_t i = 1; i < std::min(n, in.clock.size()); ++i)
    if (in.clock[i] > in.clock[i - 1]) ticks.push_back(in.clock[i] - in.clock[i - 1]);
  const double tick = median_of(ticks);
  for (std::size_t i = 0; i < n; ++i) {
    bool restart = false;
    double since = 1;  // iterations since the row before
    if (i < in.number.size() && std::isfinite(in.number[i])) {
      restart = in.number[i] < last_number;
      if (std::isfinite(last_number)) since = std::max(1.0, in.number[i] - last_number);
      last_number = in.number[i];
    }
    if (i < in.clock.size() && std::isfinite(in.clock[i])) {
      const double gap = in.clock[i] - last_clock;
      // A long iteration is not a restart: its own time, in ms or in seconds, explains the gap; and
      // so do several that are as long.
      const auto explains = [&](double time) {
        return std::abs(gap - time) < gap / 2 || std::abs(gap - since * time) < gap / 2;
      };
      if (gap > 60'000 && gap > params.time_gap * tick && !explains(in.time[i]) &&
          !explains(1000 * in.time[i]))
        restart = true;
      last_clock = in.clock[i];
    }
    restart = restart || (i > 0 && i < in.job.size() && in.job[i] != in.job[i - 1]);
    if (restart && i > 0) out.push_back(i);
  }
  out.push_back(n);
  return out;
}

}  // namespace

FailSlow find_fail_slow(const IterationTimes& iterations, const FailSlowParams& params) {
  FailSlow out;
  FailSlowParams sane = params;
  sane.min_regime = std::max<std::size_t>(params.min_regime, 3);
  sane.min_change = std::max(params.min_change, 1e-3);
  const auto cuts = restarts(iterations, sane);
  std::size_t most = 0;
  std::vector<Judge> judges;
  std::vector<std::optional<double>> own;
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
    std::vector<std::size_t> place;
    for (std::size_t i = cuts[c]; i < cuts[c + 1]; ++i) {
      const double t = iterations.time[i];
      if (!std::isfinite(t))
        ++out.missing;
      else if (t <= 0)
        ++out.dropped;
      else
        place.push_back(i);
    }
    most = std::max(most, place.size());
    judges.emplace_back(iterations, sane, std::move(place), out);
    own.push_back(
        judges.back().measure(out.attempts.emplace_back(AttemptPace{cuts[c], cuts[c + 1]})));
    if (cuts[c] < iterations.job.size()) out.attempts.back().job = iterations.job[cuts[c]];
    out.enough = out.enough || own.back();
  }
  // Against the lowest baseline of the others, where the same job made them.
  struct Lowest {
    std::optional<double> first, second;
    std::size_t whose = 0;
  };
  std::map<std::uint32_t, Lowest> by_job;
  for (std::size_t c = 0; c < own.size(); ++c) {
    const std::optional<double> level = own[c] ? own[c] : judges[c].reference();
    if (!level) continue;
    Lowest& low = by_job[out.attempts[c].job];
    if (!low.first || *level < *low.first) {
      low.second = low.first;
      low.first = level;
      low.whose = c;
    } else if (!low.second || *level < *low.second)
      low.second = level;
  }
  for (std::size_t c = 0; c < own.size(); ++c) {
    if (!own[c]) continue;
    const Lowest& low = by_job[out.attempts[c].job];
    judges[c].judge(c == low.whose ? low.second : low.first);
  }
  if (!out.enough)
    out.reason = say(Phrase::iteration_times_needed, most,
                     std::max<std::size_t>(1, out.attempts.size()), 2 * sane.min_regime);
  return out;
}

FailSlow find_fail_slow(const JobSteps& steps, std::span<const std::uint32_t> jobs,
                        std::size_t rows, const FailSlowParams& params) {
  std::vector<double> numbers, clock;
  for (std::size_t i = 0; i < rows; ++i) {
    if (steps.iteration[i] != kNoValue) numbers.push_back(static_cast<double>(steps.iteration[i]));
    if (steps.time[i] != kNoValue) clock.push_back(static_cast<double>(steps.time[i]) / 1e6);
  }
  // Numbers and times count only where every step has one.
  const auto whole = [&](const std::vector<double>& values) {
    return values.size() == rows ? std::span<const double>(values) : std::span<const double>();
  };
  return find_fail_slow({std::span(steps.ms).first(rows), whole(numbers), whole(clock),
                         jobs.first(std::min(rows, jobs.size())), steps.from_times},
                        params);
}

}  // namespace culprit::analyze
