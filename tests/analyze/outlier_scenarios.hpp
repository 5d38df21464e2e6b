// Simulated clusters with known bad hosts, for the accuracy of the outlier search. Seeded: the same
// seed gives the same cluster. Also the rules it is compared with, written out plainly.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include "analyze/metrics/counter_rate.hpp"
#include "analyze/metrics/outlier_bins.hpp"
#include "analyze/metrics/outliers.hpp"

namespace culprit::analyze::simulated {

struct Random {
  std::uint64_t state;
  explicit Random(std::uint64_t seed) : state(seed * 0x9E3779B97F4A7C15ULL + 0x1234567) {
    for (int i = 0; i < 8; ++i) (void)next();
  }
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double uniform(double a, double b) { return a + (b - a) * uniform(); }
  double normal() {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
  std::set<std::size_t> some(std::size_t k, std::size_t n) {
    std::set<std::size_t> out;
    while (out.size() < k) out.insert(below(n));
    return out;
  }
};

struct Host {
  std::string name, role;
  std::vector<Nanoseconds> times;
  std::vector<double> values;
};

struct Cluster {
  std::string scenario;
  OutlierMetric metric;
  std::vector<Host> hosts;
  std::set<std::string> bad;
  std::vector<OutlierSeries> series(bool roles) const {
    std::vector<OutlierSeries> out;
    for (const Host& h : hosts) out.push_back({h.name, roles ? h.role : "", h.times, h.values});
    return out;
  }
};

// How a cluster is made: what is not said is plain.
struct Plan {
  const char* name;
  std::size_t hosts = 32, bad = 1;
  double level = 60, spread = 2, noise = 1;  // of hosts, once and for all; of samples
  double effect = 18;                        // what the bad ones have more
  rules::MetricSide side = rules::MetricSide::high;
  double floor_absolute = 0, floor_relative = 0.05;
  double minutes = 60, step = 30;       // length; seconds between samples
  double cycle = 0, cycle_minutes = 5;  // amplitude that all share
  double drift = 0, jump = 0;           // of all, over the whole time; of all, at half time
  double missing = 0, skew = 0,
         jitter = 0;             // share of samples; seconds of clock; seconds of each sample
  double from = 0.1, until = 1;  // share of the time in which the bad are bad
  double quantum = 0;            // values are multiples
  int roles = 1;
  double role_step = 0;  // level of each role over the one before
  bool heavy = false, counter = false, resets = false, junk = false;
  double bursts = 0;  // minutes of a burst that every third host has, each at its time
  double other = 0;   // share of hosts of another make, 30 % higher, which nobody labelled
  double zero_above = -1;
  double mute = 0;  // hosts that send three wild samples only
};

inline const std::vector<Plan>& plans() {
  using enum rules::MetricSide;
  static const std::vector<Plan> kPlans = [] {
    std::vector<Plan> p;
    const auto add = [&](const char* name, auto change) {
      Plan plan{.name = name};
      change(plan);
      p.push_back(plan);
    };
    add("one hot host", [](Plan&) {});
    add("one slow host, low is bad", [](Plan& x) {
      x.level = 40;
      x.spread = 0.8;
      x.noise = 0.5;
      x.effect = -8;
      x.side = low;
    });
    add("three of 32", [](Plan& x) { x.bad = 3; });
    add("a fifth is bad", [](Plan& x) {
      x.hosts = 20;
      x.bad = 4;
    });
    add("a quarter is bad", [](Plan& x) {
      x.hosts = 40;
      x.bad = 10;
      x.effect = 22;
    });
    add("pipeline roles, one bad inside the range of others", [](Plan& x) {
      x.hosts = 64;
      x.roles = 4;
      x.role_step = 25;
      x.effect = 20;
    });
    add("pipeline roles, none bad", [](Plan& x) {
      x.hosts = 64;
      x.roles = 8;
      x.role_step = 15;
      x.bad = 0;
    });
    add("load cycle, one bad", [](Plan& x) { x.cycle = 30; });
    add("long load cycle, none bad", [](Plan& x) {
      x.cycle = 30;
      x.cycle_minutes = 40;
      x.bad = 0;
    });
    add("all drift, none bad", [](Plan& x) {
      x.drift = 30;
      x.bad = 0;
    });
    add("all drift, one bad", [](Plan& x) { x.drift = 30; });
    add("all jump, none bad", [](Plan& x) {
      x.jump = 40;
      x.bad = 0;
    });
    add("a third of samples missing", [](Plan& x) { x.missing = 0.33; });
    add("wild hosts with three samples", [](Plan& x) {
      x.mute = 2;
      x.bad = 0;
    });
    add("counters with resets, one bad", [](Plan& x) {
      x.counter = x.resets = true;
      x.level = 1000;
      x.spread = 40;
      x.noise = 20;
      x.effect = 500;
    });
    add("counters with resets, none bad", [](Plan& x) {
      x.counter = x.resets = true;
      x.level = 1000;
      x.spread = 40;
      x.noise = 20;
      x.bad = 0;
    });
    add("clocks not aligned", [](Plan& x) {
      x.skew = 20;
      x.jitter = 5;
      x.step = 10;
      x.cycle = 10;
    });
    add("all constant", [](Plan& x) {
      x.spread = x.noise = 0;
      x.bad = 0;
    });
    add("all constant but one", [](Plan& x) {
      x.level = 1980;
      x.spread = x.noise = 0;
      x.effect = -570;
      x.side = low;
    });
    add("constant, three of ten lower", [](Plan& x) {
      x.hosts = 10;
      x.bad = 3;
      x.level = 1980;
      x.spread = x.noise = 0;
      x.effect = -570;
      x.side = low;
    });
    add("bursts of five minutes", [](Plan& x) {
      x.bursts = 5;
      x.bad = 0;
    });
    add("persistent spread of 200 hosts", [](Plan& x) {
      x.hosts = 200;
      x.spread = 3;
      x.bad = 0;
    });
    add("persistent spread of 1000 hosts", [](Plan& x) {
      x.hosts = 1000;
      x.spread = 3;
      x.bad = 0;
      x.minutes = 20;
    });
    add("heavy tails", [](Plan& x) {
      x.heavy = true;
      x.noise = 3;
      x.bad = 0;
    });
    add("a quarter of an hour", [](Plan& x) {
      x.from = 0.4;
      x.until = 0.66;
    });
    add("eight hosts, one bad", [](Plan& x) {
      x.hosts = 8;
      x.effect = 25;
    });
    add("five hosts, one bad", [](Plan& x) {
      x.hosts = 5;
      x.spread = 1;
      x.noise = 0.5;
      x.effect = 25;
    });
    add("five hosts, none bad", [](Plan& x) {
      x.hosts = 5;
      x.bad = 0;
    });
    add("retransmissions on one of four", [](Plan& x) {
      x.hosts = 4;
      x.level = x.spread = x.noise = 0;
      x.effect = 30;
      x.floor_absolute = 1;
      x.zero_above = 1;
    });
    add("a trickle of retransmissions", [](Plan& x) {
      x.level = 0.2;
      x.spread = 0.1;
      x.noise = 0.05;
      x.effect = 0.7;
      x.bad = 0;
      x.floor_absolute = 1;
      x.zero_above = 1;
      x.bursts = 3;
    });
    add("two makes of hosts", [](Plan& x) {
      x.hosts = 40;
      x.other = 0.42;
      x.bad = 0;
    });
    add("coarse values", [](Plan& x) {
      x.spread = 0.4;
      x.noise = 0.2;
      x.quantum = 1;
      x.floor_absolute = 5;
      x.floor_relative = 0;
    });
    add("a sample a minute, late now and then", [](Plan& x) {
      x.step = 60;
      x.jitter = 20;
    });
    add("junk among the values", [](Plan& x) { x.junk = true; });
    return p;
  }();
  return kPlans;
}

inline Cluster make(const Plan& plan, std::uint64_t seed) {
  Random random(seed);
  Cluster out;
  out.scenario = plan.name;
  out.metric.bad = plan.side;
  out.metric.floor_absolute = plan.floor_absolute;
  out.metric.floor_relative = plan.floor_relative;
  out.metric.average = plan.counter || plan.zero_above >= 0;
  if (plan.zero_above >= 0) out.metric.zero_above = plan.zero_above;
  const double length = plan.minutes * 60;
  const auto bad = random.some(plan.bad, plan.hosts);
  const double phase = random.uniform(0, 2 * std::numbers::pi);
  for (std::size_t h = 0; h < plan.hosts; ++h) {
    Host host;
    host.name = "node-" +
                std::string(h < 10     ? "000"
                            : h < 100  ? "00"
                            : h < 1000 ? "0"
                                       : "") +
                std::to_string(h);
    const int role = static_cast<int>(h) % plan.roles;
    if (plan.roles > 1) host.role = "stage " + std::to_string(role);
    double base = plan.level + plan.role_step * role + plan.spread * random.normal();
    if (static_cast<double>(h) < plan.other * static_cast<double>(plan.hosts)) base *= 1.3;
    const double skew = plan.skew * random.uniform(-1, 1),
                 burst_at = random.uniform(0.1, 0.8) * length, worse = random.uniform(0.9, 1.3);
    const bool is_bad = bad.contains(h), mute = static_cast<double>(h) < plan.mute;
    if (is_bad) out.bad.insert(host.name);
    double counter = 1e6 * random.uniform(), last_time = 0;
    for (double t = random.uniform(0, plan.step); t < length; t += plan.step) {
      double v =
          base +
          plan.cycle * std::sin(2 * std::numbers::pi * t / (plan.cycle_minutes * 60) + phase) +
          plan.drift * t / length + (t > length / 2 ? plan.jump : 0);
      double noise = random.normal();
      if (plan.heavy) {
        const double a = random.normal(), b = random.normal(), c = random.normal();
        noise /= std::sqrt((a * a + b * b + c * c) / 3);
      }
      v += plan.noise * noise;
      if (is_bad && t >= plan.from * length && t < plan.until * length) v += plan.effect * worse;
      if (plan.bursts > 0 && h % 3 == 0 && t >= burst_at && t < burst_at + plan.bursts * 60)
        v += plan.effect;
      if (plan.quantum > 0) v = std::round(v / plan.quantum) * plan.quantum;
      if (mute) v = 1e4;
      if (plan.counter) {
        counter += std::max(0.0, v) * (t - last_time);
        last_time = t;
        if (plan.resets && random.uniform() < 0.02) counter = 0;
        v = counter;
      }
      if (plan.junk && random.uniform() < 0.1)
        v = std::vector<double>{NAN, INFINITY, -INFINITY, 1e300}[random.below(4)];
      if (random.uniform() < plan.missing) continue;
      if (mute && host.times.size() >= 3) continue;
      const double stamp = t + skew + plan.jitter * random.uniform();
      host.times.push_back(1'795'000'000 * kSecond + static_cast<Nanoseconds>(stamp * 1e9));
      host.values.push_back(v);
    }
    if (plan.counter) {
      CounterRate rate = counter_rate(host.times, host.values);
      host.times = std::move(rate.times);
      host.values = std::move(rate.rates);
    }
    out.hosts.push_back(std::move(host));
  }
  return out;
}

struct Score {
  std::size_t right = 0, wrong = 0, missed = 0;
  double precision() const {
    return right + wrong == 0 ? 1 : static_cast<double>(right) / static_cast<double>(right + wrong);
  }
  double recall() const {
    return right + missed == 0 ? 1
                               : static_cast<double>(right) / static_cast<double>(right + missed);
  }
  void add(const std::set<std::string>& named, const std::set<std::string>& bad) {
    for (const auto& n : named) ++(bad.contains(n) ? right : wrong);
    for (const auto& b : bad) missed += !named.contains(b);
  }
};

inline std::set<std::string> named(const OutlierResult& result) {
  std::set<std::string> out;
  for (const Outlier& o : result.outliers) out.insert(o.entity);
  return out;
}

// The two readings that the search does not offer. pooled: mean + 2 sd of all samples in T; else z
// > 3 against all others, at each instant. Both during 90 % of some T.
inline std::set<std::string> plain_rule(const Cluster& cluster, bool pooled) {
  const Nanoseconds bin = 30 * kSecond;
  const std::size_t n = cluster.hosts.size(), window = 20;
  const auto series = cluster.series(false);
  std::vector<BinWalker> walkers;
  std::int64_t first = kNoBin, last = -kNoBin;
  for (std::size_t h = 0; h < n; ++h) {
    walkers.emplace_back(series[h], bin, 2, cluster.metric.average);
    first = std::min(first, walkers.back().next());
    if (!cluster.hosts[h].times.empty())
      last = std::max(last, bin_of(cluster.hosts[h].times.back(), bin));
  }
  const std::size_t bins = static_cast<std::size_t>(last - first + 1);
  std::vector<std::vector<double>> value(n, std::vector<double>(bins));
  for (std::size_t h = 0; h < n; ++h) walkers[h].fill(first, bins, value[h].data(), 1);
  const auto beyond = [&](double v, double mean, double sd, double k) {
    const bool high = v > mean + k * sd, low = v < mean - k * sd;
    return cluster.metric.bad == rules::MetricSide::high  ? high
           : cluster.metric.bad == rules::MetricSide::low ? low
                                                          : high || low;
  };
  std::vector<std::vector<char>> hit(n, std::vector<char>(bins, 0));
  if (!pooled)
    for (std::size_t b = 0; b < bins; ++b)
      for (std::size_t h = 0; h < n; ++h) {
        double sum = 0, square = 0, count = 0;
        for (std::size_t o = 0; o < n; ++o)
          if (o != h && value[o][b] == value[o][b]) {
            sum += value[o][b];
            ++count;
          }
        if (count < 3) continue;
        const double mean = sum / count;
        for (std::size_t o = 0; o < n; ++o)
          if (o != h && value[o][b] == value[o][b])
            square += (value[o][b] - mean) * (value[o][b] - mean);
        hit[h][b] =
            value[h][b] == value[h][b] && beyond(value[h][b], mean, std::sqrt(square / count), 3);
      }
  std::set<std::string> out;
  for (std::size_t at = 0; at + window <= bins; ++at) {
    double sum = 0, square = 0, count = 0;
    if (pooled) {
      for (const auto& v : value)
        for (std::size_t b = at; b < at + window; ++b)
          if (v[b] == v[b]) {
            sum += v[b];
            ++count;
          }
      for (const auto& v : value)
        for (std::size_t b = at; b < at + window; ++b)
          if (v[b] == v[b]) square += (v[b] - sum / count) * (v[b] - sum / count);
    }
    for (std::size_t h = 0; h < n; ++h) {
      int seen = 0, hits = 0;
      for (std::size_t b = at; b < at + window; ++b) {
        if (value[h][b] != value[h][b]) continue;
        ++seen;
        hits += pooled ? beyond(value[h][b], sum / count, std::sqrt(square / count), 2)
                       : hit[h][b] != 0;
      }
      if (seen >= 10 && hits >= 0.9 * seen) out.insert(cluster.hosts[h].name);
    }
  }
  return out;
}

}  // namespace culprit::analyze::simulated
