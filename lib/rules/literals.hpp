// Which fixed words any match of a pattern must contain. A search for those words is many times
// faster than the pattern itself, and a line without them needs no further look.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::rules {

// Text that a word to search for should not stand in, ready to be asked often.
class OrdinaryText {
 public:
  explicit OrdinaryText(std::string_view text);
  std::size_t occurrences(std::string_view folded_word) const;

 private:
  std::string folded_;
  std::vector<bool> grams_;  // by hash: four bytes that stand somewhere in it
};

// A set of words, folded as fold() does, of which every match of `pattern` (RE2 syntax) contains at
// least one; among the possible sets the one with the longest words, rare in `ordinary` text.
// Empty: no such set was found, which says nothing about the pattern. Sound for the constructs it
// knows; anything else counts as "any text".
std::vector<std::string> required_words(std::string_view pattern, const OrdinaryText& ordinary);
std::vector<std::string> required_words(std::string_view pattern, std::string_view ordinary = {});

// All such sets that were found, up to four: that one first. A text that has no word of one of them
// needs no look by the pattern, even where it has a word of the first.
std::vector<std::vector<std::string>> required_lists(std::string_view pattern,
                                                     const OrdinaryText& ordinary);

// Which pairs of neighbouring bytes a text holds, by hash: asked for a word, it says no where the
// word cannot stand in the text, at a hundredth of what a pattern costs.
class Bigrams {
 public:
  explicit Bigrams(std::string_view text) {
    for (std::size_t i = 0; i + 1 < text.size(); ++i) pairs_.set(hash(text[i], text[i + 1]));
  }
  // REQUIRES: folded as fold() does.
  bool may_hold(std::string_view word) const {
    for (std::size_t i = 0; i + 1 < word.size(); ++i)
      if (!pairs_.test(hash(word[i], word[i + 1]))) return false;
    return true;
  }
  // Whether a word of each list (required_lists()) may stand in it.
  bool may_hold_all(const std::vector<std::vector<std::string>>& lists) const {
    return std::ranges::all_of(lists, [&](const auto& words) {
      return std::ranges::any_of(words, [&](const auto& word) { return may_hold(word); });
    });
  }

 private:
  static constexpr unsigned kBits = 12;
  static std::size_t hash(char a, char b) {
    const auto folded = [](char c) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(c) | 0x20);
    };
    return ((folded(a) << 8 | folded(b)) * 0x9E3779B1u) >> (32 - kBits);
  }
  std::bitset<std::size_t{1} << kBits> pairs_;
};

// Letters to lower case, and a few other bytes onto each other: ch | 0x20. The search folds the
// text the same way.
std::string fold(std::string_view text);

}  // namespace culprit::rules
