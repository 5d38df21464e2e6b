// Patterns of names in the tables: * stands for any run of characters, nothing else is special.
#pragma once

#include <string_view>

namespace culprit::rules {

bool glob(std::string_view pattern, std::string_view text);

}  // namespace culprit::rules
