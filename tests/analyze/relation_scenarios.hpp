// Simulated GPUs whose metrics belong together, and a few that break it without leaving any band;
// and clusters in which nobody may be accused. Seeded. Two models: `linear` is what the search was
// developed on; `curved` (power laws, heavy tails, two hidden causes) is held out.
#pragma once

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "analyze/metrics/relations.hpp"
#include "outlier_scenarios.hpp"

namespace culprit::analyze::simulated {

struct RelationPlan {
  const char* name;
  std::size_t entities = 64, bad = 1;
  double effect = 1;  // of the break, in the unit that its kind has
  enum Break { heat, power, traffic, none } kind = heat;
  double minutes = 60, from = 0.3, until = 1;
  double shift = 0;     // of the load of all, at half time
  double cycle = 0;     // of the load of all
  double noisy = 0;     // factor on one metric's noise, of one entity
  double missing = 0;   // share of samples
  double lack = 0;      // share of entities without one of the metrics
  double loaded = 0;    // one entity carries so much more, and all its metrics say so
  bool untied = false;  // metrics have nothing to do with one another
  bool cool = false;    // what breaks is better than the others
  double lag = 0;       // seconds by which the temperature follows the power
  double quantum = 0;   // of temperature and clock
  double second = 0;    // share of entities of another make: hotter at the same power
  bool heavy = false;
  bool twice = false;  // one metric under two names
};

inline const std::vector<RelationPlan>& relation_plans() {
  static const std::vector<RelationPlan> kPlans = [] {
    std::vector<RelationPlan> p;
    const auto add = [&](const char* name, auto change) {
      RelationPlan plan{.name = name};
      change(plan);
      p.push_back(plan);
    };
    using P = RelationPlan;
    add("hotter than its power says", [](P&) {});
    add("less power than its clock and load say", [](P& x) { x.kind = P::power; });
    add("less traffic than its load says", [](P& x) { x.kind = P::traffic; });
    add("three of 64", [](P& x) { x.bad = 3; });
    add("two of 24", [](P& x) { x.entities = 24, x.bad = 2; });
    add("one of 16", [](P& x) { x.entities = 16; });
    add("one of 512", [](P& x) { x.entities = 512; });
    add("half an hour, load cycle", [](P& x) { x.until = 0.8, x.cycle = 0.1; });
    add("a tenth of samples missing", [](P& x) { x.missing = 0.1; });
    add("a metric twice", [](P& x) { x.twice = true; });
    add("while all shift", [](P& x) { x.shift = -0.2; });
    const auto none = [&](const char* name, auto change) {
      add(name, [&](P& x) {
        x.bad = 0;
        x.kind = P::none;
        change(x);
      });
    };
    none("nobody", [](P&) {});
    none("nobody of 512", [](P& x) { x.entities = 512; });
    none("all shift", [](P& x) { x.shift = -0.3; });
    none("long load cycle", [](P& x) { x.cycle = 0.2; });
    none("one noisy metric", [](P& x) { x.noisy = 6; });
    none("metrics missing on some", [](P& x) { x.lack = 0.1; });
    none("a third of samples missing", [](P& x) { x.missing = 0.33; });
    none("few entities", [](P& x) { x.entities = 8; });
    none("twelve entities", [](P& x) { x.entities = 12; });
    none("one carries more, all of it fits", [](P& x) { x.loaded = 0.15; });
    none("one carries much more", [](P& x) { x.loaded = 0.3; });
    none("untied metrics", [](P& x) { x.untied = true; });
    none("temperature follows late", [](P& x) { x.lag = 120, x.cycle = 0.2; });
    none("coarse values", [](P& x) { x.quantum = 5; });
    none("two makes", [](P& x) { x.second = 0.4; });
    none("heavy tails", [](P& x) { x.heavy = true; });
    add("one is cooler than its power says", [](P& x) {
      x.kind = P::heat;
      x.cool = true;
    });
    return p;
  }();
  return kPlans;
}

struct RelationCluster {
  struct Metric {
    std::string name;
    OutlierMetric sense;
    std::vector<Host> hosts;
  };
  std::vector<Metric> metrics;
  std::set<std::string> bad;  // none when what breaks is better
};

inline RelationCluster make(const RelationPlan& plan, std::uint64_t seed, bool curved) {
  Random random(seed * 77 + (curved ? 5 : 0));
  using rules::MetricSide;
  RelationCluster out;
  const auto sense = [](MetricSide side, double absolute, double relative) {
    OutlierMetric one;
    one.bad = side;
    one.floor_absolute = absolute;
    one.floor_relative = relative;
    return one;
  };
  out.metrics = {{"gpu_power", sense(MetricSide::both, 20, 0.05), {}},
                 {"gpu_temperature", sense(MetricSide::high, 3, 0), {}},
                 {"gpu_sm_clock", sense(MetricSide::low, 30, 0.02), {}},
                 {"gpu_utilization", sense(MetricSide::low, 2, 0.05), {}},
                 {"gpu_nvlink_bandwidth", sense(MetricSide::low, 0, 0.05), {}}};
  if (plan.twice) out.metrics.push_back({"gpu_energy", sense(MetricSide::both, 20, 0.05), {}});
  const std::size_t d = out.metrics.size();
  const auto bad = random.some(plan.bad, plan.entities);
  const double phase = random.uniform(0, 6.28), length = plan.minutes * 60;
  const auto tail = [&] {
    if (!plan.heavy && !curved) return random.normal();
    const double a = random.normal(), b = random.normal(), c = random.normal(), e = random.normal();
    return random.normal() / std::sqrt((a * a + b * b + c * c + e * e) / 4);
  };
  for (std::size_t g = 0; g < plan.entities; ++g) {
    const std::string name = "node-" + std::to_string(100 + g / 8) + "/gpu" + std::to_string(g % 8);
    const bool is_bad = bad.contains(g);
    if (is_bad && !plan.cool) out.bad.insert(name);
    // What this one carries, and how it is built: it stays so.
    double load = 0.75 + 0.07 * random.normal();
    if (plan.loaded > 0 && g == 3) load = 0.75 + plan.loaded;
    const double silicon = random.normal(), hidden = random.normal();
    std::vector<double> own(d);
    for (double& o : own) o = curved ? 0.6 * tail() : random.normal();
    const bool other = static_cast<double>(g) < plan.second * static_cast<double>(plan.entities);
    std::vector<Host> lines(d);
    for (Host& h : lines) h.name = name;
    double wander = 0, warm = load;
    for (double t = random.uniform(0, 15); t < length; t += 15) {
      wander = 0.95 * wander + 0.01 * random.normal();
      double u = load + wander + (t > length / 2 ? plan.shift : 0) +
                 plan.cycle * std::sin(2 * std::numbers::pi * t / 2400 + phase);
      u = std::clamp(u, 0.05, 1.3);
      warm += plan.lag > 0 ? (u - warm) * 15 / plan.lag : u - warm;
      const bool now = is_bad && t >= plan.from * length && t < plan.until * length;
      std::vector<double> v(d);
      if (plan.untied) {
        for (std::size_t m = 0; m < d; ++m) v[m] = 300 + 25 * own[m];
      } else if (!curved) {
        v = {150 + 500 * u + 3 * silicon + 3 * own[0], 25 + 45 * warm + 0.5 * own[1],
             2000 - 400 * u + 6 * own[2], 100 * u + 0.7 * own[3], 300e9 * u + 2e9 * own[4]};
      } else {
        v = {140 + 520 * std::pow(u, 1.3) + 4 * silicon + 3 * own[0],
             24 + 46 * std::pow(warm, 1.15) + 0.4 * own[1] + 0.3 * silicon,
             1980 - 330 * u * u + 7 * own[2] - 4 * hidden, 100 * std::min(1.2, u) + 0.7 * own[3],
             (280e9 * u + 2e9 * own[4]) * (1 + 0.006 * hidden)};
      }
      if (plan.untied && d > 5) v[5] = 300 + 25 * own[5];
      if (!plan.untied && d > 5) v[5] = v[0] + 2 * own[5];
      if (other) v[1] += 6;
      if (now && plan.kind == RelationPlan::heat) v[1] += (plan.cool ? -5 : 5) * plan.effect;
      if (now && plan.kind == RelationPlan::power) v[0] -= 50 * plan.effect;
      if (now && plan.kind == RelationPlan::traffic) v[4] -= 30e9 * plan.effect;
      const std::vector<double> noise = {8, 1, 10, 1.5, 6e9, 8};
      for (std::size_t m = 0; m < d; ++m) {
        v[m] += noise[m] * tail() * (plan.noisy > 0 && g == 5 && m == 0 ? plan.noisy : 1);
        if (plan.quantum > 0 && m < 3 && m > 0)
          v[m] =
              std::round(v[m] / (m == 1 ? 1 : 3 * plan.quantum)) * (m == 1 ? 1 : 3 * plan.quantum);
        if (random.uniform() < plan.missing) continue;
        lines[m].times.push_back(1'795'000'000 * kSecond + static_cast<Nanoseconds>(t * 1e9));
        lines[m].values.push_back(v[m]);
      }
    }
    for (std::size_t m = 0; m < d; ++m) {
      if (m == 2 && random.uniform() < plan.lack) continue;
      out.metrics[m].hosts.push_back(std::move(lines[m]));
    }
  }
  return out;
}

inline std::vector<OutlierSeries> series_of(const RelationCluster::Metric& metric) {
  std::vector<OutlierSeries> out;
  for (const Host& h : metric.hosts) out.push_back({h.name, h.role, h.times, h.values});
  return out;
}

// Metric by metric; what breaks a relation besides.
inline std::set<std::string> named_by_bands(const RelationCluster& cluster) {
  std::set<std::string> out;
  OutlierParams params;
  params.metrics = cluster.metrics.size();
  for (const auto& metric : cluster.metrics)
    out.merge(named(find_outliers(series_of(metric), metric.sense, params)));
  return out;
}

inline std::set<std::string> named_by_relations(const RelationCluster& cluster,
                                                const RelationParams& params = {}) {
  RelationSearch search(OutlierParams{}, params);
  for (const auto& metric : cluster.metrics) search.add(series_of(metric), metric.sense, true);
  std::set<std::string> out;
  for (const RelationOutlier& one : search.run()) out.insert(one.entity);
  return out;
}

}  // namespace culprit::analyze::simulated
