// What the terminal can show.
#pragma once

#include <cstddef>

#include "arguments.hpp"

namespace culprit::cli {

// Colour as --color, NO_COLOR and the terminal say; the terminal's width.
bool use_color(const Arguments& arguments);
std::size_t terminal_width();

}  // namespace culprit::cli
