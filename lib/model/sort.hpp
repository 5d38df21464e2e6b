// Sorting of whole vectors, stable, so that equal rows keep the order in which they were found.
// The library's templates come to some ten functions for each type of row, an eighth of the
// program's code and of its build; here the comparisons are called through a pointer, and what is
// compiled for a type is one comparison and one loop of moves. Where rows are sorted by the
// million, std::sort is the right choice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/host.hpp"
#include "model/rank.hpp"

namespace culprit {

// The order of n rows: before(context, a, b) says whether row a comes before row b.
std::vector<std::uint32_t> stable_order(std::size_t n, const void* context,
                                        bool (*before)(const void* context, std::size_t a,
                                                       std::size_t b));

template <class Row, class Less>
void sort_rows(std::vector<Row>& rows, const Less& less) {
  const auto before = [&](std::size_t a, std::size_t b) { return less(rows[a], rows[b]); };
  using Before = decltype(before);
  const std::vector<std::uint32_t> order =
      stable_order(rows.size(), &before, [](const void* context, std::size_t a, std::size_t b) {
        return (*static_cast<Before*>(context))(a, b);
      });
  std::vector<Row> sorted;
  sorted.reserve(rows.size());
  for (const std::uint32_t i : order) sorted.push_back(std::move(rows[i]));
  rows.swap(sorted);
}

// By a key of each row: a member, or a function of the row.
template <class Row, class Key>
void sort_by(std::vector<Row>& rows, const Key& key) {
  sort_rows(rows,
            [&](const Row& a, const Row& b) { return std::invoke(key, a) < std::invoke(key, b); });
}

template <class Row>
void sort_rows(std::vector<Row>& rows) {
  sort_by(rows, std::identity{});
}

void sort_rows(std::vector<std::string>& texts);
void sort_rows(std::vector<Host>& hosts);
void sort_rows(std::vector<std::string_view>& texts);
void sort_rows(std::vector<std::int64_t>& numbers);
void sort_rows(std::vector<Rank>& ranks);
void sort_rows(std::vector<std::uint64_t>& numbers);
void sort_rows(std::vector<std::uint32_t>& numbers);
void sort_rows(std::vector<double>& numbers);  // none of them NaN

// Sorted, each once.
template <class Row>
void sort_unique(std::vector<Row>& rows) {
  sort_rows(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
}

}  // namespace culprit
