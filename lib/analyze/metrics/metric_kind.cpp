#include "analyze/metrics/metric_kind.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kFewestMoves = 8;   // that rise or fall
constexpr std::size_t kFallsOfARate = 4;  // one step in so many, of noise every second one

struct Steps {
  std::size_t rises = 0, falls = 0, level = 0;
};

Steps steps_of(const MetricSeries& metric) {
  Steps out;
  for (const MetricSeries::Entity& entity : metric.entities)
    for (std::size_t i = 1; i < entity.values.size(); ++i) {
      out.rises += entity.values[i] > entity.values[i - 1];
      out.falls += entity.values[i] < entity.values[i - 1];
      out.level += entity.values[i] == entity.values[i - 1];
    }
  return out;
}

}  // namespace

std::optional<rules::MetricMatch> match_by_samples(const MetricSeries& metric,
                                                   const rules::Catalogue& catalogue) {
  auto match = catalogue.find(metric.name, metric.unit);
  if (!match || !match->metric->unit.ends_with("/s")) return match;
  const Steps steps = steps_of(metric);
  if (match->kind == rules::MetricKind::counter) {
    if (match->metric->symptom == Symptom::network_congestion && steps.falls >= kFewestMoves &&
        kFallsOfARate * steps.falls >= steps.rises + steps.falls)
      match->kind = rules::MetricKind::gauge;
  } else if (steps.falls == 0 && steps.rises >= kFewestMoves && steps.rises > steps.level) {
    match->kind = rules::MetricKind::counter;
  }
  return match;
}

}  // namespace culprit::analyze
