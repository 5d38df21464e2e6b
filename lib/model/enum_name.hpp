// The names of an enumeration as it spells them, for those whose words are the same in the code and
// in what we print.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace culprit {

namespace detail {

// "... value = culprit::Measure::evict; ..." by GCC and "[value = culprit::Measure::evict]" by
// clang; a number that no enumerator has is "(culprit::Measure)11".
template <auto value>
constexpr std::string_view spelt() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.rfind("value = ") + 8);
  text = text.substr(0, text.find_first_of(";]"));
  return text.starts_with('(') ? std::string_view() : text.substr(text.rfind(':') + 1);
}

template <class Enum, std::size_t... i>
constexpr std::array<std::string_view, sizeof...(i)> all_spelt(std::index_sequence<i...>) {
  return {spelt<static_cast<Enum>(i)>()...};
}

}  // namespace detail

// Of enumerators that are numbered from 0, sixteen at most.
template <class Enum>
constexpr std::string_view enum_name(Enum value) {
  constexpr auto kNames = detail::all_spelt<Enum>(std::make_index_sequence<16>());
  return kNames[static_cast<std::size_t>(value)];
}

// The enumerator that has this name.
template <class Enum>
constexpr std::optional<Enum> enum_named(std::string_view name) {
  for (std::size_t i = 0; i < 16; ++i)
    if (!name.empty() && enum_name(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace culprit
