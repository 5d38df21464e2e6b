// Finds the abbreviation of a zone among the words of a path.
#include "line/zone_in_name.hpp"

#include <algorithm>
#include <string>

#include "line/timestamp.hpp"
#include "model/contains.hpp"

namespace culprit::line {

namespace {

bool capital(char c) { return c >= 'A' && c <= 'Z'; }

std::optional<Nanoseconds> offset_of_word(std::string_view word) {
  // Others are words, syllables and sites in small letters.
  constexpr std::string_view kInAnyLetters[] = {"UTC", "CET", "CEST", "MEZ", "MESZ",
                                                "PST", "PDT", "EDT",  "JST", "KST"};
  constexpr std::string_view kNever[] = {"WEST"};
  std::string upper(word);
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  if (contains(kNever, std::string_view(upper)) ||
      (!contains(kInAnyLetters, std::string_view(upper)) && !std::ranges::all_of(word, capital)))
    return std::nullopt;
  return offset_named(upper);
}

}  // namespace

std::optional<Zone> zone_in_name(std::string_view path) {
  std::optional<Nanoseconds> found;
  bool number_before = false;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find_first_of("/_.- ()[],", at), path.size());
    const std::string_view word = path.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const auto offset = number_before ? std::nullopt : offset_of_word(word);
    number_before = word.find_first_not_of("0123456789TZhm:") == std::string_view::npos &&
                    word.find_first_of("0123456789") != std::string_view::npos &&
                    end < path.size() && path[end] != '/';
    if (!offset) continue;
    if (found && *found != *offset) return std::nullopt;
    found = offset;
  }
  return found ? std::optional(Zone::fixed(*found)) : std::nullopt;
}

}  // namespace culprit::line
