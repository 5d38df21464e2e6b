// JSON answers of commands, for those that hand them on in another way.
#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"
#include "model/finding.hpp"
#include "model/json.hpp"
#include "model/result.hpp"
#include "rules/pack.hpp"
#include "store/database.hpp"

namespace culprit::cli {

// Findings by id, by a part of it, or by class, as `show` prints them; raw lines from the bundles.
// A usage error when there is none.
Result<nlohmann::ordered_json> shown_answer(const store::Database& db,
                                            const std::vector<Finding>& findings,
                                            const std::string& wanted,
                                            const std::vector<std::string>& bundles,
                                            std::uint64_t context);

// What `explain` says of words, or of a line of a log.
nlohmann::ordered_json explained_answer(const rules::RulePack& pack, const std::string& query,
                                        bool line);

// What changed between a run that worked and one that did not; bundles or databases. Of a database
// alone: files that it names as its sources are not opened.
Result<nlohmann::ordered_json> compared_answer(const Arguments& arguments, const std::string& good,
                                               const std::string& bad, const rules::RulePack& pack);

}  // namespace culprit::cli
