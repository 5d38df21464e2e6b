// Reads JSON as programs write it that were killed, or that print floats with printf: bare NaN and
// Infinity are values, and of a text that ends or breaks, what stands before is kept.
#pragma once

#include <string_view>

#include "ingest/engine/tree.hpp"

namespace culprit::ingest {

// One document; what follows it is not looked at. Texts are views into `bytes`, or into the tree
// when they had escapes.
void read_lenient_json(std::string_view bytes, Tree& tree, const TreeLimits& limits = {});

}  // namespace culprit::ingest
