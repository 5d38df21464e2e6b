// How figures of a finding stand in documents.
#pragma once

#include "model/json.hpp"

namespace culprit {

// As a number where it is one. A word that happens to be made of digits, such as the name of a
// group, stays a word.
nlohmann::json figure(Analysis analysis, const std::string& name, const std::string& value);

}  // namespace culprit
