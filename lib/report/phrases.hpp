// The words of a verdict: plain technical English, one line for each phrase that a decision can
// say. Who edits the language edits report/phrases.cpp and nothing else.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/text.hpp"

namespace culprit::report {

std::string words(const Text& text);
std::vector<std::string> words(const std::vector<Text>& texts);  // each by itself

// The name of a phrase, for programs: it stays when its words change.
std::string_view id(Phrase phrase);
// Of the first phrase; "" of no text.
std::string_view reason(const Text& text);

// How many phrases there are, and how many places one has to fill.
std::size_t phrases();
std::size_t places(Phrase phrase);

}  // namespace culprit::report
