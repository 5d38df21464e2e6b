// Numbers in texts.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace culprit {

// Whether the whole text is a number; on false the value may have been written to.
bool parse_whole(std::string_view text, auto& value, auto... base) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base...);
  return error == std::errc{} && stop == end;
}

template <class Number>
std::optional<Number> whole_number(std::string_view text, auto... base) {
  Number value{};
  return parse_whole(text, value, base...) ? std::optional(value) : std::nullopt;
}

}  // namespace culprit
