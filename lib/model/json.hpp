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
template <class Json>
void to_json(Json& json, Action term) {
  json = std::string(name(term));
}
template <class Json>
void to_json(Json& json, SubjectKind term) {
  json = std::string(name(term));
}
template <class Json>
void to_json(Json& json, Precision term) {
  json = std::string(name(term));
}
template <class Json>
void to_json(Json& json, Symptom term) {
  json = std::string(name(term));
}
template <class Json>
void to_json(Json& json, Analysis term) {
  json = std::string(name(term));
}
template <class Json>
void to_json(Json& json, StopKind term) {
  json = std::string(name(term));
}
template <class Json>
void to_json(Json& json, StepId term) {
  json = std::string(name(term));
}
template <class Json>
void to_json(Json& json, StepOutcome term) {
  json = std::string(name(term));
}
template <class Json>
void to_json(Json& json, NextKind term) {
  json = std::string(name(term));
}
template <class Json>
void to_json(Json& json, Severity term) {
  json = std::string(name(term));
}
template <class Json>
void to_json(Json& json, Role term) {
  json = std::string(name(term));
}
template <class Json>
void to_json(Json& json, Scope term) {
  json = std::string(name(term));
}

// How every document is written: bytes that are not UTF-8 as U+FFFD, and characters that a terminal
// obeys as \u escapes. An indent of -1 is one line. Of both kinds of documents.
template <class Json>
std::string json_text(const Json& value, int indent = 2);

// Discarded when the text is no JSON, never thrown. `take` chooses the parts that are kept.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text, const typename Json::parser_callback_t& take = nullptr,
                bool comments = false);

}  // namespace culprit
