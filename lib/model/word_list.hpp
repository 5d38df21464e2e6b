// Words in one text with blanks between them, as tables of synonyms have them: "nic hca ibdev".
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace culprit {

// Takes the first word off the text; "" when none is left. by: what stands between them, where
// words have blanks themselves.
constexpr std::string_view take_word(std::string_view& words, char by = ' ') {
  const std::string_view word = words.substr(0, words.find(by));
  words.remove_prefix(std::min(word.size() + 1, words.size()));
  return word;
}

constexpr bool has_word(std::string_view words, std::string_view word, char by = ' ') {
  if (word.empty() || word.find(by) != std::string_view::npos) return false;
  for (std::size_t at = words.find(word); at != std::string_view::npos;
       at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == by) && (end == words.size() || words[end] == by)) return true;
  }
  return false;
}

constexpr bool any_word(std::string_view words, char by, const auto& fits) {
  while (!words.empty())
    if (fits(take_word(words, by))) return true;
  return false;
}

// The words as a list that the compiler makes: list_of([] { return "nic hca ibdev"; }).
template <class Text>
consteval auto list_of(Text) {
  constexpr std::string_view words = Text{}();
  std::array<std::string_view, std::ranges::count(words, ' ') + 1> out;
  std::string_view rest = words;
  for (std::string_view& word : out) word = take_word(rest);
  return out;
}

}  // namespace culprit
