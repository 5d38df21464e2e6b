// What the build makes of the built-in rules and tables, so that a start of the program neither
// reads JSON nor takes patterns apart: that was two thirds of `diagnose` on a small file. The bytes
// are written by prepare.cpp, a program that runs in the build.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.hpp"
#include "rules/archive.hpp"
#include "rules/rule.hpp"

namespace culprit::rules {

// One after the other in the bytes; each is read by itself when it is needed.
enum class PreparedPart : std::uint8_t { rules, words, names, catalogue, grammar, pack };

// Which patterns a message can match, by its words. Patterns are numbered through all rules.
struct PackIndex {
  std::vector<std::string> words;
  std::vector<std::vector<std::uint32_t>> patterns_of;  // by word
  std::vector<std::uint32_t> wordless;  // advice of a few letters: asked of every message
  // By pattern: what else stands in every match (literals.hpp), lists of words.
  std::vector<std::vector<std::vector<std::string>>> beside;
  std::vector<std::string> event_words;  // of rules whose lines the scan must see

  template <class Archive, MaybeConst<PackIndex> T>
  friend void each_field(Archive& archive, T& index) {
    archive(index.words, index.patterns_of, index.wordless, index.beside, index.event_words);
  }
};

// Fails with file, rule and reason when a pattern that can raise an event has no fixed words.
Result<PackIndex> index_of(const std::vector<Rule>& rules);

// Made by the build; "" in the program that makes them, and where no build could.
std::string_view prepared_bytes();

// What prepare.cpp writes: everything read from JSON once more.
Result<std::string> prepare();

// The reader of a part; none when nothing was prepared.
std::optional<Loader> prepared_part(PreparedPart part);

std::optional<std::vector<Rule>> prepared_rules();

// What required_lists() says of a pattern of our rules beside ordinary_lines(), and
// required_words() of one for the names of files; none when the pattern is not one of ours.
std::optional<std::vector<std::vector<std::string>>> prepared_lists(std::string_view pattern);
std::optional<std::vector<std::string>> prepared_words(std::string_view pattern);

}  // namespace culprit::rules
