// JSON documents. Include this in place of <nlohmann/json.hpp>, and read and write by its
// functions: what they come to is compiled once, in json.cpp.
#pragma once

#include <string>
#include <string_view>

#include "model/json_library.hpp"
#include "model/rows.hpp"
#include "model/terms.hpp"
#include "model/utf8.hpp"

namespace culprit {

// A term goes into a document by its name; the library would write the number of an enumeration.
#define CULPRIT_TERM(Term)              \
  template <class Json>                 \
  void to_json(Json& json, Term term) { \
    json = std::string(name(term));     \
  }
CULPRIT_TERM(Action)
CULPRIT_TERM(SubjectKind)
CULPRIT_TERM(Precision)
CULPRIT_TERM(Symptom)
CULPRIT_TERM(Analysis)
CULPRIT_TERM(StopKind)
CULPRIT_TERM(StepId)
CULPRIT_TERM(StepOutcome)
CULPRIT_TERM(NextKind)
CULPRIT_TERM(Severity)
CULPRIT_TERM(Role)
CULPRIT_TERM(Scope)
#undef CULPRIT_TERM

// How every document is written: bytes that are not UTF-8 as U+FFFD, and characters that a terminal
// obeys as \u escapes. An indent of -1 is one line. Of both kinds of documents.
template <class Json>
std::string json_text(const Json& value, int indent = 2);

// Discarded when the text is no JSON, never thrown. `take` chooses the parts that are kept.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text, const typename Json::parser_callback_t& take = nullptr,
                bool comments = false);

}  // namespace culprit
