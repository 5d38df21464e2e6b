// Whether a list has a value, or a text a part: what C++23 calls std::ranges::contains and
// std::string::contains.
#pragma once

#include <algorithm>
#include <concepts>
#include <iterator>
#include <string_view>

namespace culprit {

template <class List, class Value>
constexpr bool contains(const List& list, const Value& value) {
  if constexpr (std::convertible_to<const List&, std::string_view>)
    return std::string_view(list).find(value) != std::string_view::npos;
  else
    return std::ranges::find(list, value) != std::end(list);
}

}  // namespace culprit
