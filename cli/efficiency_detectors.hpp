// When detectors would have spoken, as `culprit efficiency` tells it.
#pragma once

#include <optional>
#include <string>

#include "analyze/pace/detection.hpp"
#include "model/json.hpp"

namespace culprit::cli {

// "" where none would have spoken.
std::string detectors_text(const analyze::Detections& found, const std::optional<double>& gpus);
nlohmann::ordered_json detectors_json(const analyze::Detections& found,
                                      const std::optional<double>& gpus);

}  // namespace culprit::cli
