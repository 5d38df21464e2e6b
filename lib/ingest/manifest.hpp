// job.json, the manifest of a bundle (schemas/job-v1.json).
#pragma once

#include <string>

#include "model/result.hpp"
#include "model/rows.hpp"

namespace culprit::ingest {

// Checked against the schema; errors name the file and the key.
Result<Manifest> parse_manifest(const std::string& document, const std::string& path);

}  // namespace culprit::ingest
