// The schemas of our own documents, and the check of a document against one. The subset of JSON
// Schema (draft 2020-12) that our schemas use; a keyword outside it is an error of ours, found by
// the tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "model/result.hpp"
#include "schema/embedded.hpp"

namespace culprit::schema {

// The bytes of schemas/<name>; "" when there is none.
std::string_view text(std::string_view name);

struct Violation {
  std::string path;    // "rules[3].severity"; "" is the document
  std::string reason;  // "unknown key 'severty' (did you mean 'severity'?)"
};

// All violations, in document order. Unsupported keywords in the schema are violations too.
std::vector<Violation> validate(const nlohmann::json& document, const nlohmann::json& schema);

// JSON with comments allowed and duplicate keys refused (libraries keep the first or the last of
// them, silently). The error names the line.
Result<nlohmann::json> parse_strict(std::string_view text, const std::string& file);

// The first of them and how many more there are.
std::string described(const std::vector<Violation>& violations);

// parse_strict, and the document checked against the schema of this name. what: "the table may
// hold", for the hint. trusted: it is ours, and tests check it.
Result<nlohmann::json> parse_checked(std::string_view text, const std::string& file,
                                     std::string_view schema_name, std::string_view what,
                                     bool trusted = false);

// The nearest of the candidates to a misspelt word, or "" when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace culprit::schema
