// Words for how a check came out.
#pragma once

#include <optional>
#include <string_view>

namespace culprit::ingest {

// "pass", "ok", "0/5" (failures of runs): true; "fail", "error", "2/5": false; nothing for anything
// else, and for a check that was not run ("0/0").
std::optional<bool> passed_by_word(std::string_view word);

}  // namespace culprit::ingest
