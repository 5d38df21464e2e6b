// job.json, the manifest of a bundle (schemas/job-v1.json). People and other programs write it, so
// it is read leniently: what cannot be used is named, and all the rest is used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/result.hpp"
#include "model/rows.hpp"

namespace culprit::ingest {

// Fails for what is no JSON object. `notes` gets a sentence for each key that is not known and each
// value that is lost. Times come out as UTC ("…Z") where their zone is known.
Result<Manifest> parse_manifest(std::string_view document, const std::string& path,
                                std::vector<std::string>& notes);

}  // namespace culprit::ingest
