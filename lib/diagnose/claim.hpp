// What a vendor asks for before a machine or a GPU is exchanged, as far as the bundle has it.
#pragma once

#include <optional>
#include <string>

#include "diagnose/resolve.hpp"
#include "model/json.hpp"

namespace culprit::diagnose {

// schemas/claim-v1.json. Every value has the file and the line where it stands; what the bundle
// does not have is listed with the command that tells it, and nothing is made up. document: the
// report of the incident (schemas/diagnosis-v1.json). Nothing when the bundle names no such host.
std::optional<nlohmann::ordered_json> claim_of(const store::Database& db, const Resolved& resolved,
                                               const nlohmann::json& document,
                                               const std::string& host);

}  // namespace culprit::diagnose
