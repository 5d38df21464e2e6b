// Reads pickles, protocols 0 to 5, as data. A pickle is a program: opcodes that import, call or
// build objects are refused, and no dump of numbers and names needs them.
#pragma once

#include <string_view>

#include "ingest/engine/tree.hpp"

namespace culprit::ingest {

// What parses is in the tree. `truncated` tells that the input ended or broke before its STOP; a
// refused opcode leaves an empty tree. Texts are views into `bytes`.
void read_pickle(std::string_view bytes, Tree& tree, const TreeLimits& limits = {});

}  // namespace culprit::ingest
