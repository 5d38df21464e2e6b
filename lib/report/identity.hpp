// What a document says of itself: which program made it, of which bundle, of which job.
#pragma once

#include <span>
#include <string>

#include "model/json.hpp"
#include "model/rows.hpp"

namespace culprit::report {

struct Identity {
  std::string tool;         // "culprit 0.1.0", as the database keeps it
  std::string rules;        // digest of the rule pack
  std::string bundle;       // digest of what was read
  std::string job, job_id;  // "" = not known
};

// The bundle is named by its contents: the same files as a folder or in an archive are the same
// bundle.
std::string bundle_digest(std::span<const MemberRow> members);

// {"name": "culprit", "version": "0.1.0", "rules": "…"}; no rules when they are not known.
nlohmann::ordered_json tool_json(const Identity& identity);
// {"name": …, "id": …}, null where it is not known.
nlohmann::ordered_json job_json(const Identity& identity);

// Puts tool, and bundle and job when there is a bundle, behind the first line of an indented
// document.
std::string identified(std::string document, const Identity& identity);

}  // namespace culprit::report
