// Databases and bundles under pseudonyms: what is known of names goes into the pseudonyms, and
// texts come out changed.
#pragma once

#include <string>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "bundle/bundle.hpp"
#include "model/result.hpp"
#include "redact/pseudonyms.hpp"

namespace culprit::diagnose {

// Hosts, users, the job's name, serial numbers, as the facts of an incident tell them.
void name_known(const analyze::Facts& facts, redact::Pseudonyms& names);

// A database: two passes over its texts. Seals the names. Errors: a damaged database, a full disk.
Result<> redact_database(const std::string& from, const std::string& to, redact::Pseudonyms& names);

struct RedactedBundle {
  std::size_t members = 0;
  std::vector<std::string> left_out;  // binary files: their names cannot be changed in place
};
// A bundle: two walks. Seals the names. Errors: a bundle that cannot be opened, standard input (it
// cannot be read twice).
Result<RedactedBundle> redact_bundle(const std::string& from, const std::string& to,
                                     const bundle::Limits& limits, redact::Pseudonyms& names);

}  // namespace culprit::diagnose
