// A pattern that is asked of a text only where the fixed text of its matches may stand in it.
#pragma once

#include <string_view>
#include <vector>

#include <re2/re2.h>

#include "rules/literals.hpp"

namespace culprit::rules {

// For readers that try several patterns on each of many lines: the pairs of a line are counted
// once, and most patterns are refused by them.
class GuardedPattern {
 public:
  explicit GuardedPattern(const char* pattern)
      : expression_(pattern), lists_(required_lists(pattern, OrdinaryText(""))) {}

  // As RE2::PartialMatch. REQUIRES: `pairs` are of `text`.
  template <class... Captures>
  bool found_in(std::string_view text, const Bigrams& pairs, Captures*... captures) const {
    return pairs.may_hold_all(lists_) &&
           re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression_,
                                  captures...);
  }

 private:
  re2::RE2 expression_;
  std::vector<std::vector<std::string>> lists_;
};

}  // namespace culprit::rules
