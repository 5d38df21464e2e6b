// What several commands do with their arguments.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "arguments.hpp"
#include "rules/pack.hpp"

namespace culprit::cli {

// Our rules and those of --rules. refuse_failing: a user's rule whose samples do not hold is an
// error.
Result<rules::RulePack> load_pack(const Arguments& arguments, bool refuse_failing = true);

// --format must be one of these.
Result<> check_format(const Arguments& arguments, std::span<const std::string_view> formats);
inline Result<> check_format(const Arguments& arguments,
                             std::initializer_list<std::string_view> formats) {
  return check_format(arguments, std::span(formats.begin(), formats.size()));
}
// --json, or --format json.
bool wants_json(const Arguments& arguments);

}  // namespace culprit::cli
