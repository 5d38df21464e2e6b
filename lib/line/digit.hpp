#pragma once

namespace culprit::line {

// Of ASCII, whatever the locale.
constexpr bool digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace culprit::line
