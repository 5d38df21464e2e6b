// Which fixed words any match of a pattern must contain. A search for those words is many times
// faster than the pattern itself, and a line without them needs no further look.
#pragma once

#include <cstddef>
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

// Letters to lower case, and a few other bytes onto each other: ch | 0x20. The search folds the
// text the same way.
std::string fold(std::string_view text);

}  // namespace culprit::rules
