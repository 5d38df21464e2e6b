// Whether a line says that what a rule found in it is not so: rules/tables/negation.json has the
// words. After NegEx (Chapman et al., Journal of Biomedical Informatics 34, 2001).
#pragma once

#include <cstddef>
#include <string_view>

namespace culprit::rules {

// [begin, end) of `line` is what was found. Safe to call from several threads.
bool negated(std::string_view line, std::size_t begin, std::size_t end);

}  // namespace culprit::rules
