// How long the parts of each start of a job took, as `culprit efficiency` tells it.
#pragma once

#include <span>
#include <string>

#include "analyze/pace/restart_parts.hpp"
#include "model/json.hpp"

namespace culprit::cli {

// "" where nothing is to be told.
std::string starts_text(std::span<const analyze::Start> starts);
nlohmann::ordered_json starts_json(std::span<const analyze::Start> starts);

}  // namespace culprit::cli
