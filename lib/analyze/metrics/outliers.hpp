// Which of many like machines stands out in one metric, and for how long: Aegis §5.1, "value > mean
// + 2 sd for the lasting T = 10 min", as published and in a form that holds against what that rule
// suffers from.
//
// Every instant (a bin of 30 s) each entity is held against the crowd of its role; it stands out
// when it does so in 90 % of the bins of a whole T. Robust: more than `threshold` robust deviations
// from the median and by at least the smallest effect that matters. Statistics are made per
// instant, not over all of T: otherwise the swings that all share widen the crowd. A change of the
// whole crowd is reported as such and accuses nobody.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/time.hpp"
#include "rules/metrics.hpp"
#include "model/text.hpp"

namespace culprit::analyze {

enum class OutlierRule { robust, published };

struct OutlierParams {
  OutlierRule rule = OutlierRule::robust;
  Nanoseconds window = 600 * kSecond;  // T, Aegis §5.1
  // Where T holds too few samples (Prometheus keeps one in minutes), it may grow up to this until
  // it holds enough.
  Nanoseconds longest = 7200 * kSecond;
  Nanoseconds bin = 0;  // 0: a twentieth of T, or what the samples need
  int carry = 2;  // bins that a value holds for when the next one is late (clocks are not aligned)
  double share = 0.9;      // of the bins of T; 1 would lose every machine that misses one scrape
  double present = 0.5;    // of the bins of T that must have a value
  double threshold = 3.5;  // Iglewicz & Hoaglin 1993; grows, see outlier_threshold()
  double false_alarm = 0.05;
  std::size_t metrics = 1;  // searched together
  double published_sd = 2;  // Aegis §5.1
  double most = 1.0 / 3;    // more of a crowd that differ together are a second crowd, not outliers
  std::size_t least = 4;    // entities of a crowd
};

// What is known of the metric; the defaults are those of an unknown one.
struct OutlierMetric {
  rules::MetricSide bad = rules::MetricSide::both;
  double floor_absolute = 0, floor_relative = 0.10;  // GREYHOUND §4.2: less than 10 % is jitter
  std::optional<double> zero_above;                  // healthy ones stay at or below
  bool zero_once = false;
  bool average = false;  // a bin's value is its mean (rates), not its median (gauges)
};

// The samples of one entity. Values that are not finite are missing. Spans outlive the call.
struct OutlierSeries {
  std::string entity;                  // node-07 · node-07/gpu3 · rank 12
  std::string group;                   // its role; "" = not known
  std::span<const Nanoseconds> times;  // UTC; sorted by time is quickest
  std::span<const double> values;      // as many
};

struct Outlier {
  std::string entity, group;
  bool fallback = false;  // compared with all, since its role has too few
  rules::MetricSide side = rules::MetricSide::high;
  Nanoseconds start = 0, end = 0;  // of the bins in which it stood out
  double value = 0, crowd = 0;     // medians over these
  double score = 0;                // deviations; 0 where only the threshold of a metric spoke
  double threshold = 0;            // what the score had to pass, or the metric's own threshold
  std::string method;              // robust, published, threshold
  std::size_t size = 0;            // of the crowd
};

// All moved together, or a part too large to be called outliers.
struct CommonChange {
  std::string
      kind;  // shift: one level before and one after · split: `entities` differ from the rest
  std::string group;
  Nanoseconds start = 0, end = 0;  // of the change: last bin of the old level, first of the new
                                   // one; split: of the interval
  double from = 0, to = 0;  // levels of the crowd; split: of the crowd and of those that differ
  std::size_t entities = 0, size = 0;  // that moved, of how many
};

struct NotEnough {
  std::string code;  // no_samples few_entities cannot_fire short few_samples small_group
  Text text;         // a sentence
  std::vector<std::string> entities;  // it holds for; sorted; empty: for all
};

struct OutlierResult {
  std::vector<Outlier> outliers;     // by entity, start, side
  std::vector<CommonChange> common;  // by start, group
  std::vector<NotEnough> not_enough;
  std::size_t entities = 0, judged = 0;  // that had enough samples in some T and a crowd
  std::size_t samples = 0;               // finite ones
  Nanoseconds bin = 0;
  Nanoseconds start = 0, end = 0;  // of the samples
};

// The order of the series does not matter. Two series of one entity are two entities.
OutlierResult find_outliers(std::span<const OutlierSeries> series, const OutlierMetric& metric,
                            const OutlierParams& params = {});

}  // namespace culprit::analyze
