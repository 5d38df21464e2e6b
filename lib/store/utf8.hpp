// SQLite's TEXT is UTF-8; logs are bytes.
#pragma once

#include <string>
#include <string_view>

namespace culprit::store {

// The text with every byte that is no UTF-8 replaced by U+FFFD. Text that is valid comes back
// unchanged.
std::string valid_utf8(std::string_view text);

// True for text of ASCII without NUL, which most is: valid_utf8 changes nothing of it.
bool is_plain(std::string_view text);

}  // namespace culprit::store
