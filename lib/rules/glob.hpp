// Patterns of names in the tables: * stands for any run of characters, nothing else is special.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "model/sort.hpp"

namespace culprit::rules {

bool glob(std::string_view pattern, std::string_view text);

// A table of rows that each have a pattern. Of several patterns that fit, the one with most fixed
// characters says most: sorted by that, the first is the one.
template <class Row>
void sort_patterns(std::vector<Row>& rows, std::string Row::*pattern) {
  sort_by(rows, [&](const Row& row) {
    return std::ranges::count(row.*pattern, '*') - std::ssize(row.*pattern);
  });
}
template <class Row>
const Row* first_match(const std::vector<Row>& rows, std::string Row::*pattern,
                       std::string_view name) {
  const auto at = std::ranges::find_if(rows, [&](const Row& r) { return glob(r.*pattern, name); });
  return at == rows.end() ? nullptr : &*at;
}

}  // namespace culprit::rules
