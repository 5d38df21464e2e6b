// Records that carry a log line inside: docker's json-file driver, journald's JSON export, and what
// log stores export.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "line/line.hpp"

namespace culprit::line {

// The line inside, with what the wrapper says added to prefix; nullopt when it is no wrapper.
std::optional<std::string> unwrap(std::string_view text, Prefix& prefix);

}  // namespace culprit::line
