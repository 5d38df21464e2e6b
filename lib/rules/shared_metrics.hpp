// Metrics of what all machines of a job share, and what a worse level of them says of slow steps:
// rules/tables/shared_metrics.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/terms.hpp"
#include "rules/metrics.hpp"

namespace culprit::rules {

enum class SharedPart { storage, network, processor };

struct SharedMetric {
  std::string pattern;  // of a normal name (normal_metric_name); * stands for any run
  std::string label;    // a noun phrase: "burst credit"
  MetricSide bad = MetricSide::high;
  double factor = 2;            // times the level of other times; of a low side its inverse
  std::optional<double> least;  // a high level must reach it
  bool exhausted = false;       // a low level must be next to nothing of what there was
  SharedPart of = SharedPart::storage;
  Symptom symptom = Symptom::none;
  std::string advice;
};

// The row of a metric as a program spells it; null: it is none of these. Of several the one with
// most fixed characters.
const SharedMetric* shared_metric(std::string_view metric);

}  // namespace culprit::rules
