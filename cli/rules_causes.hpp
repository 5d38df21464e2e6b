// `culprit rules causes`: the kinds of cause, their weights, and the reasons against candidates.
#pragma once

#include <string>

namespace culprit::cli {

// As text, or as one JSON object.
std::string causes_listing(bool as_json);

}  // namespace culprit::cli
