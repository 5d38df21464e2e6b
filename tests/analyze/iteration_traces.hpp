// Labelled traces of iteration times, made from what is known of training jobs (GREYHOUND §3, §4.2:
// collections of garbage, allocator misses, uneven sequences; faults of half a minute to hours, of
// 10 % to threefold). Nothing in here knows how they are looked for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace culprit::analyze {

struct TraceEvent {
  std::size_t start = 0, end = 0;
  double factor = 1;
};

struct Trace {
  std::string kind;
  std::vector<double> time, number;  // ms, iteration
  std::vector<TraceEvent> events;    // faults
};

class TraceMaker {
 public:
  explicit TraceMaker(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}

  Trace make() {
    Trace t;
    const auto n = static_cast<std::size_t>(log_uniform(250, 4000));
    std::vector<double> factor(n, 1.0);
    const double base = log_uniform(150, 20000);
    const double noise = log_uniform(0.005, 0.05);

    if (chance(0.55))
      faults(t, factor);
    else {
      t.kind = "healthy";
      jitter(factor);
    }

    // The machine: independent noise, now and then with a heavy tail; a slow wander; warm-up.
    const bool heavy = chance(0.3);
    const double wander = chance(0.4) ? uniform(0.002, 0.015) : 0;
    const double memory = 1 - 1 / log_uniform(10, 200);
    double drift = 0;
    for (std::size_t i = 0; i < n; ++i) {
      drift = memory * drift + std::sqrt(1 - memory * memory) * wander * normal();
      const double e = heavy ? noise * 0.75 * student(4) : noise * normal();
      t.time.push_back(base * factor[i] * std::exp(drift + e));
      t.number.push_back(static_cast<double>(i + 1));
    }
    const bool from_start = !t.events.empty() && t.events.front().start == 0;
    if (chance(0.6) && !from_start) {
      const double length = uniform(1, 40);
      const double height = uniform(0.3, 4);
      for (std::size_t i = 0; i < n && static_cast<double>(i) < length; ++i)
        t.time[i] *= 1 + height * std::exp(-3.0 * static_cast<double>(i) / length);
    }
    // What every job does: collections, evaluations, checkpoints, waits for data.
    if (chance(0.7)) {
      const double rate = log_uniform(0.002, 0.03);
      for (double& x : t.time)
        if (chance(rate)) x *= uniform(1.1, 2.2);
    }
    if (chance(0.3))
      pauses(t.time, static_cast<std::size_t>(uniform(20, 60)), 1, uniform(0.1, 0.6));
    if (chance(0.5))
      pauses(t.time, static_cast<std::size_t>(log_uniform(50, 1000)), 1, uniform(1, 15));
    if (chance(0.3))
      pauses(t.time, static_cast<std::size_t>(log_uniform(100, 500)),
             static_cast<std::size_t>(uniform(2, 10)), uniform(0.3, 3));
    if (chance(0.3))
      for (int k = static_cast<int>(uniform(1, 5)); k > 0; --k) {
        const auto at = static_cast<std::size_t>(uniform(0, static_cast<double>(n)));
        const auto length = static_cast<std::size_t>(uniform(2, 9));
        const double height = uniform(1.2, 5);
        for (std::size_t i = at; i < std::min(n, at + length); ++i) t.time[i] *= height;
      }
    if (chance(0.1)) {  // a restart: some iterations are done again
      const auto at = static_cast<std::size_t>(uniform(0.3, 0.7) * static_cast<double>(n));
      const double back = uniform(5, 100);
      for (std::size_t i = at; i < n; ++i)
        t.number[i] -= std::min(back, static_cast<double>(at) - 1);
      for (std::size_t i = at; i < std::min(n, at + 5); ++i)
        t.time[i] *= 1 + 2 / static_cast<double>(1 + i - at);
    }
    return t;
  }

 private:
  std::uint64_t
  next() {  // splitmix64: the same on every platform, unlike the distributions of <random>
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double uniform(double a, double b) { return a + (b - a) * uniform(); }
  double log_uniform(double a, double b) { return a * std::pow(b / a, uniform()); }
  bool chance(double p) { return uniform() < p; }
  double normal() {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform());
  }
  double student(int degrees) {
    double squares = 0;
    for (int i = 0; i < degrees; ++i) {
      const double z = normal();
      squares += z * z;
    }
    return normal() / std::sqrt(squares / degrees);
  }

  static void slow(std::vector<double>& factor, std::size_t from, std::size_t to, double by) {
    for (std::size_t i = from; i < std::min(to, factor.size()); ++i) factor[i] *= by;
  }
  void pauses(std::vector<double>& time, std::size_t period, std::size_t length, double extra) {
    period = std::max(period, length * 8);
    const double base = time[time.size() / 2];
    for (std::size_t i = static_cast<std::size_t>(uniform(0.2, 1) * static_cast<double>(period));
         i < time.size(); i += period)
      for (std::size_t k = 0; k < length && i + k < time.size(); ++k)
        time[i + k] += base * extra * uniform(0.9, 1.1);
  }
  // Level changes that are no faults: other data, another phase of the network.
  void jitter(std::vector<double>& factor) {
    if (!chance(0.4)) return;
    const auto n = static_cast<double>(factor.size());
    const auto from = static_cast<std::size_t>(uniform(0.1, 0.7) * n);
    slow(factor, from, from + static_cast<std::size_t>(uniform(0.05, 0.3) * n),
         1 + uniform(0.02, 0.06));
  }

  void faults(Trace& t, std::vector<double>& factor) {
    const std::size_t n = factor.size();
    const auto place = [&](std::size_t length) {
      return static_cast<std::size_t>(
          uniform(100, std::max(101.0, static_cast<double>(n) - static_cast<double>(length))));
    };
    const double which = uniform();
    if (which < 0.3) {  // one or a few steps, half a minute to hours
      t.kind = "step";
      std::size_t at = static_cast<std::size_t>(uniform(80, 0.5 * static_cast<double>(n)));
      for (int k = static_cast<int>(uniform(1, 4)); k > 0 && at + 60 < n; --k) {
        const auto length =
            static_cast<std::size_t>(log_uniform(45, std::max(50.0, 0.4 * static_cast<double>(n))));
        add(t, factor, at, at + length, uniform(1.15, 2.5));
        at += length + static_cast<std::size_t>(uniform(60, 300));
      }
    } else if (which < 0.5) {  // short
      t.kind = "short";
      const auto length = static_cast<std::size_t>(uniform(20, 41));
      const std::size_t at = place(length + 20);
      add(t, factor, at, at + length, uniform(1.2, 2.5));
    } else if (which < 0.65) {  // steps under 10 %
      t.kind = "ladder";
      const int steps = static_cast<int>(uniform(2, 5));
      const auto plateau =
          static_cast<std::size_t>(uniform(50, std::max(60.0, 0.12 * static_cast<double>(n))));
      std::size_t at = static_cast<std::size_t>(uniform(80, 0.4 * static_cast<double>(n)));
      const std::size_t from = at;
      double total = 1;
      for (int k = 0; k < steps && at < n; ++k, at += plateau) {
        total *= uniform(1.07, 1.095);
        slow(factor, at, at + plateau, total);
      }
      at = std::min(at, n);
      t.events.push_back({from, at, total});
    } else if (which < 0.77) {  // one on top of the other
      t.kind = "compound";
      const auto from = static_cast<std::size_t>(uniform(80, 0.4 * static_cast<double>(n)));
      const auto length =
          static_cast<std::size_t>(uniform(100, std::max(110.0, 0.4 * static_cast<double>(n))));
      add(t, factor, from, from + length, uniform(1.2, 1.8));
      slow(factor, from + length / 3, from + 2 * length / 3, uniform(1.2, 2));
    } else if (which < 0.87) {  // slow from the beginning, for minutes
      t.kind = "slow start";
      add(t, factor, 0,
          static_cast<std::size_t>(uniform(100, std::max(110.0, 0.5 * static_cast<double>(n)))),
          uniform(1.15, 2));
    } else if (which < 0.94) {
      t.kind = "drift";
      const auto from = static_cast<std::size_t>(uniform(80, 0.4 * static_cast<double>(n)));
      const auto rise = static_cast<std::size_t>(uniform(80, 0.4 * static_cast<double>(n) + 1));
      const double height = uniform(0.25, 0.8);
      const std::size_t to = chance(0.5) ? n : std::min(n, from + 2 * rise);
      for (std::size_t i = from; i < to; ++i)
        factor[i] *=
            1 + height * std::min(1.0, static_cast<double>(i - from) /
                                           static_cast<double>(std::max<std::size_t>(rise, 1)));
      t.events.push_back({from, to, 1 + height});
    } else {  // no relief
      t.kind = "open";
      add(t, factor, static_cast<std::size_t>(uniform(0.4, 0.85) * static_cast<double>(n)), n,
          uniform(1.15, 2.5));
    }
  }
  void add(Trace& t, std::vector<double>& factor, std::size_t from, std::size_t to, double by) {
    to = std::min(to, factor.size());
    slow(factor, from, to, by);
    t.events.push_back({from, to, by});
  }

  std::uint64_t state_;
};

// What a detector made of a trace.
struct TraceScore {
  std::size_t jobs = 0, right = 0, slow = 0, missed = 0, accused = 0, misplaced = 0, events = 0,
              found = 0;
  std::size_t onsets = 0, onset_error = 0;  // of events found: sum of distances

  template <class Intervals>
  bool add(const Trace& trace, const Intervals& intervals) {
    ++jobs;
    const auto overlap = [](std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
      const std::size_t from = std::max(a, c), to = std::min(b, d);
      return to > from ? to - from : 0;
    };
    bool good = true;
    if (!trace.events.empty()) ++slow;
    if (trace.events.empty() && !intervals.empty()) {
      ++accused;
      good = false;
    }
    if (!trace.events.empty() && intervals.empty()) {
      ++missed;
      good = false;
    }
    bool touched = trace.events.empty();
    bool strange = false;
    for (const auto& i : intervals) {
      const bool hit = std::any_of(
          trace.events.begin(), trace.events.end(),
          [&](const TraceEvent& e) { return overlap(e.start, e.end, i.start, i.end) > 0; });
      touched = touched || hit;
      strange = strange || !hit;
    }
    if (good && !trace.events.empty() && (!touched || strange)) {
      ++misplaced;
      good = false;
    }
    for (const TraceEvent& e : trace.events) {
      ++events;
      std::size_t covered = 0;
      std::size_t nearest = e.end - e.start;
      for (const auto& i : intervals) {
        covered += overlap(e.start, e.end, i.start, i.end);
        nearest = std::min(nearest, i.start > e.start ? i.start - e.start : e.start - i.start);
      }
      if (covered * 2 < e.end - e.start) continue;
      ++found;
      ++onsets;
      onset_error += nearest;
    }
    right += good;
    return good;
  }
};

}  // namespace culprit::analyze
