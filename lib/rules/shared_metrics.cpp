// Reads the table of shared metrics once.
#include "rules/shared_metrics.hpp"

#include <vector>

#include "model/json.hpp"
#include "rules/glob.hpp"
#include "rules/rule.hpp"

namespace culprit::rules {

namespace {

std::vector<SharedMetric> read_shared_table() {
  std::vector<SharedMetric> out;
  const auto document = parse_json(embedded_rule("tables/shared_metrics.json"));
  for (const auto& row : document["metrics"]) {
    SharedMetric metric{.label = row["label"].get<std::string>(),
                        .bad = row["bad"] == "low" ? MetricSide::low : MetricSide::high,
                        .factor = row.value("factor", 2.0),
                        .exhausted = row.value("exhausted", false),
                        .of = row["of"] == "network"     ? SharedPart::network
                              : row["of"] == "processor" ? SharedPart::processor
                                                         : SharedPart::storage,
                        .symptom = *term_named<Symptom>(row["symptom"].get<std::string>()),
                        .advice = row["advice"].get<std::string>()};
    if (row.contains("least")) metric.least = row["least"].get<double>();
    for (const auto& name : row["names"]) {
      metric.pattern = name.get<std::string>();
      out.push_back(metric);
    }
  }
  sort_patterns(out, &SharedMetric::pattern);
  return out;
}

}  // namespace

const SharedMetric* shared_metric(std::string_view metric) {
  static const std::vector<SharedMetric> kTable = read_shared_table();
  return first_match(kTable, &SharedMetric::pattern, normal_metric_name(metric));
}

}  // namespace culprit::rules
