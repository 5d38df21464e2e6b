#include "analyze/pace/efficiency.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr double kLongestMs = 30.0 * 86'400'000;  // a step of a month is a broken number
constexpr Nanoseconds kFar = INT64_MAX / 4;  // 73 years either side of 1970: sums cannot overflow

// A row that can be used, with what it stands for.
struct Step {
  std::int64_t attempt = 0, iteration = 0;
  Nanoseconds end = 0;
  bool timed = false;
  double ms = 0;            // 0: unknown
  std::int64_t covers = 1;  // iterations
  std::size_t run = 0;
  Nanoseconds begin = 0;
  double fresh = 1;  // share of them done for the first time
};

double middle(std::vector<double> v) {
  if (v.empty()) return 0;
  const auto m = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), m, v.end());
  if (v.size() % 2) return *m;
  return (*m + *std::max_element(v.begin(), m)) / 2;
}

// Iterations done so far, as disjoint intervals (from, to].
class Done {
 public:
  // How many of (from, to] are new; adds them.
  std::int64_t add(std::int64_t from, std::int64_t to) {
    std::int64_t fresh = to - from;
    auto it = spans_.upper_bound(from);
    if (it != spans_.begin() && std::prev(it)->second >= from) --it;
    std::int64_t low = from, high = to;
    while (it != spans_.end() && it->first <= to) {
      fresh -= std::max<std::int64_t>(0, std::min(to, it->second) - std::max(from, it->first));
      low = std::min(low, it->first);
      high = std::max(high, it->second);
      it = spans_.erase(it);
    }
    spans_.emplace(low, high);
    return fresh;
  }

 private:
  std::map<std::int64_t, std::int64_t> spans_;
};

class Job {
 public:
  Job(const JobTimes& input, const EfficiencyParams& params) : input_(input), params_(params) {}

  Efficiency run() {
    take_rows();
    if (steps_.empty()) {
      out_.why = say(Phrase::no_steps_trained);
      return std::move(out_);
    }
    order();
    make_runs();
    durations();
    if (!place()) return std::move(out_);
    count();
    out_.enough = true;
    split();
    curves();
    slow();
    return std::move(out_);
  }

 private:
  void note(Text text) { out_.notes.push_back(std::move(text)); }

  void take_rows() {
    std::size_t bad = 0, far = 0;
    for (const StepRecord& r : input_.steps) {
      if (r.iteration < 0 || r.iteration > INT64_MAX / 4) {
        ++bad;
        continue;
      }
      Step s{.attempt = r.attempt, .iteration = r.iteration};
      if (r.end && (*r.end > kFar || *r.end < -kFar))
        ++far;
      else if (r.end) {
        s.end = *r.end;
        s.timed = true;
      }
      if (r.ms && std::isfinite(*r.ms) && *r.ms > 0 && *r.ms < kLongestMs) s.ms = *r.ms;
      steps_.push_back(s);
    }
    if (bad) note(say(Phrase::rows_without_iteration, bad));
    if (far) note(say(Phrase::times_out_of_range, far));
    out_.gpus =
        input_.gpus && std::isfinite(*input_.gpus) && *input_.gpus > 0 ? input_.gpus : std::nullopt;
  }

  void order() {
    // A row without a time stays behind the row before it.
    Nanoseconds last = 0;
    bool any = false;
    std::size_t back = 0;
    const Step* before = nullptr;
    for (Step& s : steps_) {
      if (!s.timed) {
        s.end = last;
        continue;
      }
      if (!any)
        for (Step& earlier : steps_) {
          if (&earlier == &s) break;
          earlier.end = s.end;
        }
      if (before && before->attempt == s.attempt && s.iteration > before->iteration &&
          s.end < before->end)
        ++back;
      last = s.end;
      any = true;
      before = &s;
    }
    if (back) note(say(Phrase::clock_went_back, back));
    sort_by(steps_, [](const Step& a) { return std::pair(a.end, a.iteration); });
  }

  void make_runs() {
    const bool told = std::ranges::any_of(
        steps_, [&](const Step& s) { return s.attempt != steps_.front().attempt; });
    if (told) {
      const auto order = attempt_order();
      for (Step& s : steps_) s.run = order.at(s.attempt);
      sort_by(steps_, &Step::run);
    }
    std::size_t same = 0;
    std::vector<Step> kept;
    kept.reserve(steps_.size());
    std::size_t run = 0;
    for (const Step& s : steps_) {
      if (!kept.empty()) {
        const Step& p = kept.back();
        const bool another = told && s.attempt != p.attempt;
        // Two ranks, or two files, tell the same step.
        const double longest = std::max({p.ms, s.ms, 1000.0});
        if (!another && s.iteration == p.iteration &&
            (!s.timed || !p.timed || static_cast<double>(s.end - p.end) < 0.5e6 * longest)) {
          ++same;
          if (kept.back().ms == 0) kept.back().ms = s.ms;
          continue;
        }
        run += another || s.iteration <= p.iteration;
      }
      kept.push_back(s);
      kept.back().run = run;
    }
    steps_ = std::move(kept);
    if (same) note(say(Phrase::steps_twice, same));
    // Rows of every tenth iteration stand for ten.
    std::map<std::int64_t, std::size_t> strides;
    for (std::size_t i = 1; i < steps_.size(); ++i)
      if (steps_[i].run == steps_[i - 1].run)
        ++strides[steps_[i].iteration - steps_[i - 1].iteration];
    std::int64_t usual = 1;
    std::size_t most = 0;
    for (const auto& [stride, n] : strides)
      if (n > most) {
        usual = stride;
        most = n;
      }
    std::size_t jumps = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      Step& s = steps_[i];
      const bool first = i == 0 || steps_[i - 1].run != s.run;
      s.covers = first ? std::min(usual, std::max<std::int64_t>(s.iteration, 1))
                       : s.iteration - steps_[i - 1].iteration;
      if (!first && s.covers > 10 * usual) {
        s.covers = usual;
        ++jumps;
      }
    }
    if (usual > 1) note(say(Phrase::rows_stand_for, usual));
    if (jumps) note(say(Phrase::iterations_jump, jumps));
  }

  std::map<std::int64_t, std::size_t> attempt_order() const {
    std::vector<std::pair<Nanoseconds, std::int64_t>> begins;
    std::map<std::int64_t, Nanoseconds> first;
    for (const Step& s : steps_) first.try_emplace(s.attempt, s.end);
    for (const auto& [id, at] : first) begins.emplace_back(at, id);
    sort_rows(begins);
    std::map<std::int64_t, std::size_t> out;
    for (const auto& [at, id] : begins) out.emplace(id, out.size());
    return out;
  }

  void durations() {
    std::vector<double> known;
    for (const Step& s : steps_)
      if (s.ms > 0) known.push_back(s.ms);
    std::size_t from_times = 0, guessed = 0;
    for (std::size_t i = 1; i < steps_.size(); ++i) {
      Step& s = steps_[i];
      const Step& p = steps_[i - 1];
      if (s.ms > 0 || !s.timed || !p.timed || s.run != p.run || s.end <= p.end) continue;
      const double ms = static_cast<double>(s.end - p.end) / 1e6 / static_cast<double>(s.covers);
      if (ms < kLongestMs) {
        s.ms = ms;
        ++from_times;
      }
    }
    if (known.empty())
      for (const Step& s : steps_)
        if (s.ms > 0) known.push_back(s.ms);
    const double typical = middle(known);
    for (Step& s : steps_)
      if (s.ms == 0 && typical > 0) {
        s.ms = typical;
        ++guessed;
      }
    have_durations_ = !known.empty();
    if (from_times) note(say(Phrase::durations_by_times, from_times));
    if (guessed) note(say(Phrase::durations_guessed, guessed));
    typical_ms_ = typical;
  }

  // Where each row lies in time, and where the job begins and ends.
  bool place() {
    std::size_t timed = 0;
    for (const Step& s : steps_) timed += s.timed;
    if (timed == 0 || !have_durations_) {
      out_.why = say(timed == 0 ? Phrase::no_step_tells_time : Phrase::one_step_without_duration);
      slow();  // durations alone tell of degradation
      return false;
    }
    if (timed < steps_.size()) note(say(Phrase::steps_without_time, steps_.size() - timed));
    Nanoseconds taken = INT64_MIN;
    Nanoseconds low = INT64_MAX, high = INT64_MIN;
    for (Step& s : steps_) {
      const double length =
          std::min(s.ms * 1e6 * static_cast<double>(s.covers), static_cast<double>(kFar));
      s.begin = s.end - static_cast<Nanoseconds>(length);
      if (taken != INT64_MIN) s.begin = std::max(s.begin, taken);
      s.begin = std::min(s.begin, s.end);
      taken = std::max(taken, s.end);
      low = std::min(low, s.begin);
      high = std::max(high, s.end);
    }
    const auto usable = [](const std::optional<Nanoseconds>& t) {
      return t && *t <= kFar && *t >= -kFar;
    };
    out_.start = low;
    out_.end = high;
    for (const AttemptTimes& a : input_.attempts) {
      if (usable(a.start)) out_.start = std::min(out_.start, *a.start);
      if (usable(a.end)) out_.end = std::max(out_.end, *a.end);
    }
    if (usable(input_.start)) out_.start = *input_.start;
    if (usable(input_.end)) out_.end = *input_.end;
    if (out_.start > low || out_.end < high) note(say(Phrase::steps_outside_job));
    out_.start = std::min(out_.start, low);
    out_.end = std::max(out_.end, high);
    if (!usable(input_.start) && input_.attempts.empty()) note(say(Phrase::job_by_its_steps));
    return true;
  }

  void count() {
    Done done;
    for (Step& s : steps_) {
      const std::int64_t fresh = done.add(s.iteration - s.covers, s.iteration);
      s.fresh = static_cast<double>(fresh) / static_cast<double>(s.covers);
      out_.steps += fresh;
      out_.recomputed_steps += s.covers - fresh;
      if (out_.runs.empty() || s.run != last_run_) {
        out_.runs.push_back({s.attempt, s.iteration, s.iteration, 0, s.begin, s.end, 0});
        last_run_ = s.run;
      }
      Run& r = out_.runs.back();
      r.last = std::max(r.last, s.iteration);
      ++r.rows;
      r.end = std::max(r.end, s.end);
      r.recomputed +=
          static_cast<Nanoseconds>(static_cast<double>(s.end - s.begin) * (1 - s.fresh));
    }
  }

  void split() {
    TimeParts& p = out_.parts;
    std::vector<double> ms;
    for (const Step& s : steps_)
      if (s.ms > 0) ms.push_back(s.ms);
    double sum = 0;
    for (const double m : ms) sum += m;
    const double threshold = params_.slow_factor * sum / static_cast<double>(ms.size());
    Nanoseconds in_steps = 0;
    for (const Step& s : steps_) {
      const Nanoseconds length = s.end - s.begin;
      const auto fresh = static_cast<Nanoseconds>(static_cast<double>(length) * s.fresh);
      const auto slow =
          s.ms > threshold
              ? static_cast<Nanoseconds>(static_cast<double>(fresh) * (s.ms - threshold) / s.ms)
              : 0;
      p.slow += slow;
      p.productive += fresh - slow;
      p.recomputation += length - fresh;
      in_steps += length;
    }
    p.start_up = out_.runs.front().begin - out_.start;
    Nanoseconds last = out_.runs.front().end;
    for (std::size_t i = 0; i + 1 < out_.runs.size(); ++i) {
      gap(out_.runs[i], out_.runs[i + 1], std::max(last, out_.runs[i].end));
      last = std::max(last, out_.runs[i + 1].end);
    }
    p.after = out_.end - last;
    const Nanoseconds told =
        in_steps + p.start_up + p.after + p.detection + p.localisation + p.restart + p.unexplained;
    p.between_steps = std::max<Nanoseconds>(0, out_.end - out_.start - told);
    const double wall = static_cast<double>(out_.end - out_.start);
    out_.ettr = wall > 0 ? std::min(1.0, static_cast<double>(p.productive + p.slow) / wall) : 1;
    if (p.unexplained > 0) note(say(Phrase::detection_not_marked));
  }

  // From the last step of a run to the first of the next: failure, first report, found, restarted,
  // first step.
  void gap(const Run& before, const Run& after, Nanoseconds from) {
    TimeParts& p = out_.parts;
    const Nanoseconds to = std::max(from, after.begin);
    std::optional<Nanoseconds> reported, located, restarted;
    for (const Interruption& i : input_.interruptions)
      if (i.attempt == before.attempt) {
        reported = i.reported;
        located = i.located;
        restarted = i.restarted;
      }
    if (!restarted && after.attempt != before.attempt)
      for (const AttemptTimes& a : input_.attempts)
        if (a.id == after.attempt) restarted = a.start;
    Nanoseconds at = from;
    const auto upto = [&](Nanoseconds t) {
      const Nanoseconds was = at;
      at = std::clamp(t, at, to);
      return at - was;
    };
    if (reported) p.detection += upto(*reported);
    if (located)
      (reported ? p.localisation : p.unexplained) += upto(*located);
    else if (restarted)
      p.unexplained += upto(*restarted);
    (located || restarted ? p.restart : p.unexplained) += upto(to);
  }

  // Productive time up to t: sums over disjoint pieces in order.
  void curves() {
    std::vector<const Step*> by_time;
    for (const Step& s : steps_) by_time.push_back(&s);
    sort_by(by_time, [](const Step* a) { return std::pair(a->begin, a->end); });
    std::vector<Nanoseconds> begins, ends;
    std::vector<double> sums{0}, rates;
    Nanoseconds taken = INT64_MIN;
    for (const Step* s : by_time) {
      const Nanoseconds b = taken == INT64_MIN ? s->begin : std::max(s->begin, taken);
      if (s->end <= b) continue;
      begins.push_back(b);
      ends.push_back(s->end);
      rates.push_back(s->fresh);
      sums.push_back(sums.back() + static_cast<double>(s->end - b) * s->fresh);
      taken = s->end;
    }
    struct Cursor {  // times must rise
      const std::vector<Nanoseconds>&begins, &ends;
      const std::vector<double>&sums, &rates;
      std::size_t at = 0;
      double upto(Nanoseconds t) {
        while (at < ends.size() && ends[at] <= t) ++at;
        return sums[at] + (at < ends.size() && t > begins[at]
                               ? static_cast<double>(t - begins[at]) * rates[at]
                               : 0);
      }
    };
    const std::size_t points = std::max<std::size_t>(2, params_.points);
    const double wall = static_cast<double>(out_.end - out_.start),
                 window = static_cast<double>(params_.window);
    Cursor whole{begins, ends, sums, rates}, old{begins, ends, sums, rates};
    const bool slides = params_.window > 0 && out_.end - out_.start >= params_.window;
    for (std::size_t i = 1; i <= points; ++i) {
      const Nanoseconds t = out_.start + static_cast<Nanoseconds>(wall * static_cast<double>(i) /
                                                                  static_cast<double>(points));
      if (t <= out_.start) continue;
      const double upto = whole.upto(t);
      out_.cumulative.push_back({t, std::min(1.0, upto / static_cast<double>(t - out_.start))});
      if (slides && t - params_.window >= out_.start)
        out_.sliding.push_back(
            {t, std::clamp((upto - old.upto(t - params_.window)) / window, 0.0, 1.0)});
    }
    if (!slides) {
      note(say(Phrase::job_shorter_than_window, human_duration(params_.window)));
      return;
    }
    // Between two ends of pieces the sliding sum is a line, so its lowest point is at one of them.
    std::vector<Nanoseconds> at{out_.start + params_.window, out_.end};
    for (std::size_t i = 0; i < begins.size(); ++i)
      for (const Nanoseconds t :
           {begins[i], ends[i], begins[i] + params_.window, ends[i] + params_.window})
        if (t >= at[0] && t <= at[1]) at.push_back(t);
    sort_rows(at);
    Cursor head{begins, ends, sums, rates}, tail{begins, ends, sums, rates};
    for (const Nanoseconds t : at) {
      const double v =
          std::clamp((head.upto(t) - tail.upto(t - params_.window)) / window, 0.0, 1.0);
      if (!out_.sliding_lowest || v < out_.sliding_lowest->value)
        out_.sliding_lowest = CurvePoint{t, v};
    }
  }

  void slow() {
    std::vector<double> ms;
    for (const Step& s : steps_)
      if (s.ms > 0) ms.push_back(s.ms);
    if (ms.empty()) return;
    Degradation d;
    double sum = 0;
    for (const double m : ms) sum += m;
    d.mean_ms = sum / static_cast<double>(ms.size());
    d.median_ms = middle(ms);
    d.threshold_ms = params_.slow_factor * d.mean_ms;
    d.robust_threshold_ms = params_.slow_factor * d.median_ms;
    for (const double m : ms) {
      if (m > d.threshold_ms) {
        d.share += (m - d.threshold_ms) / sum;
        ++d.slow_steps;
      }
      if (m > d.robust_threshold_ms) d.robust_share += (m - d.robust_threshold_ms) / sum;
    }
    out_.degradation = d;
    // Stretches of at least twenty rows.
    RelativeMfu mfu;
    const std::size_t stretches =
        std::clamp<std::size_t>(ms.size() / 20, 1, std::max<std::size_t>(1, params_.points));
    std::vector<std::pair<Nanoseconds, double>> levels;
    for (std::size_t i = 0; i < stretches; ++i) {
      const std::size_t from = steps_.size() * i / stretches,
                        to = steps_.size() * (i + 1) / stretches;
      std::vector<double> part;
      for (std::size_t k = from; k < to; ++k)
        if (steps_[k].ms > 0) part.push_back(steps_[k].ms);
      if (!part.empty()) levels.emplace_back(steps_[to - 1].end, middle(std::move(part)));
    }
    double slowest = 0, fastest = kLongestMs;
    for (const auto& [t, level] : levels) {
      slowest = std::max(slowest, level);
      fastest = std::min(fastest, level);
    }
    for (const auto& [t, level] : levels) mfu.curve.push_back({t, slowest / level});
    mfu.highest = slowest / fastest;
    mfu.last = mfu.curve.back().value;
    mfu.worst_of_best = fastest / slowest;
    out_.mfu = std::move(mfu);
  }

  const JobTimes& input_;
  const EfficiencyParams& params_;
  Efficiency out_;
  std::vector<Step> steps_;
  bool have_durations_ = false;
  double typical_ms_ = 0;
  std::size_t last_run_ = 0;
};

}  // namespace

Efficiency efficiency(const JobTimes& job, const EfficiencyParams& params) {
  return Job(job, params).run();
}

std::optional<double> gpu_hours(Nanoseconds part, const std::optional<double>& gpus) {
  if (!gpus) return std::nullopt;
  return static_cast<double>(part) / 3.6e12 * *gpus;
}

}  // namespace culprit::analyze
