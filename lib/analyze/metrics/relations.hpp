// Who breaks what the metrics of like machines keep to together: a GPU whose power does not fit its
// clock and its load, although each of the three is within the crowd's band.
//
// Means over T of all metrics of an entity are a point; the healthy points of one role and one T
// have a centre and a covariance, found by a robust fit (minimum covariance determinant: Rousseeuw
// & Van Driessen 1999, with deterministic starts as in Hubert, Rousseeuw & Verdonck 2012). A metric
// that the others explain in the healthy ones is held against what they say of it: the conditional
// residual, in deviations of a prediction. Where the whole job moves, the points move together, and
// nobody leaves them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyze/metrics/outliers.hpp"

namespace culprit::analyze {

struct RelationParams {
  std::size_t least = 12;         // entities of a crowd: fewer tell no covariance
  std::size_t rows_a_metric = 4;  // entities for each metric of the fit
  std::size_t most_metrics = 12;
  double tied = 0.5;       // rank correlation with another metric; what has less is left out
  double explained = 0.5;  // of a metric's variance by the others, or it is held to nothing
  double threshold = 4;    // deviations; grows as outlier_threshold() does
  // How a machine is built is no fault: what was so all the time must be this much further out, and
  // what came must have left less than `before` of itself outside its stretch of time.
  double always = 2.25, before = 0.4;
  double most = 0.2;          // more of a crowd that leave it are another crowd
  std::size_t sample = 2000;  // entities that the search for the healthy core looks at
};

struct RelationOutlier {
  std::string entity, group;
  std::size_t metric = 0;           // as added
  std::vector<std::size_t> others;  // that it does not fit, those that weigh most first
  rules::MetricSide side = rules::MetricSide::high;
  Nanoseconds start = 0, end = 0;
  double value = 0, expected = 0;  // medians over these
  double score = 0, threshold = 0;
  std::size_t size = 0;  // of the crowd
};

class RelationSearch {
 public:
  explicit RelationSearch(const OutlierParams& params, const RelationParams& relation = {})
      : params_(params), relation_(relation) {}

  // The samples of one metric, kept as means over a quarter of T. accuses: false when the metric
  // only explains others. Entities of several metrics are known by name.
  std::size_t add(std::span<const OutlierSeries> series, const OutlierMetric& metric, bool accuses);

  // One metric an entity and stretch of time: the one that is furthest from what the others say. If
  // that is on the good side, the entity is not named. By entity, start. Sets how many were judged.
  std::vector<RelationOutlier> run(std::size_t* judged = nullptr) const;

  struct Cell {
    std::int64_t at = 0;  // number of the quarter of T
    double mean = 0;
  };
  struct Line {  // of one entity
    std::string entity, group;
    std::string kind;  // host, gpu, nic, rank: only like is compared with like
    std::vector<Cell> cells;
  };
  struct Column {
    OutlierMetric metric;
    bool accuses = false;
    std::vector<Line> lines;  // by group, kind, entity
  };

 private:
  OutlierParams params_;
  RelationParams relation_;
  std::vector<Column> columns_;
};

}  // namespace culprit::analyze
