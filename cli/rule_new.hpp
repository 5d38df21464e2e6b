// The skeleton of a rule for a line that no rule knows yet.
#pragma once

#include <string>
#include <string_view>

namespace culprit::cli {

// A pattern that matches this message and its like: numbers, addresses, paths and quoted words may
// be others.
std::string pattern_of(std::string_view message);

// A file of rules with one rule, whose sample is this line, as it was printed.
std::string rule_skeleton(const std::string& line);

}  // namespace culprit::cli
