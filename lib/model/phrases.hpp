// Everything that a verdict or a finding can say, by name. The names are those of the tables in
// report/phrases_of_*.inc, which have the words and say what fills their places: lib/CMakeLists.txt
// collects them, so that a phrase is one line in one file.
#pragma once

#include "model/text.hpp"

namespace culprit {

enum class Phrase : std::uint16_t {
#include "phrase_names.inc"
};

}  // namespace culprit
