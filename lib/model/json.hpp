// JSON documents. Include this in place of <nlohmann/json.hpp>: what the library's templates come
// to is compiled once, in json.cpp, and not again in each of fifty files, which was a third of the
// build.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "model/rows.hpp"
#include "model/terms.hpp"
#include "model/utf8.hpp"

#define CULPRIT_JSON_INSTANCES(PREFIX)                                                        \
  PREFIX template class nlohmann::basic_json<>;                                               \
  PREFIX template class nlohmann::basic_json<nlohmann::ordered_map>;                          \
  PREFIX template class nlohmann::detail::serializer<nlohmann::json>;                         \
  PREFIX template class nlohmann::detail::serializer<nlohmann::ordered_json>;                 \
  PREFIX template class nlohmann::detail::json_sax_dom_parser<nlohmann::json>;                \
  PREFIX template class nlohmann::detail::json_sax_dom_callback_parser<nlohmann::json>;       \
  PREFIX template class nlohmann::detail::lexer<                                              \
      nlohmann::json, nlohmann::detail::iterator_input_adapter<const char*>>;                 \
  PREFIX template class nlohmann::detail::parser<                                             \
      nlohmann::json, nlohmann::detail::iterator_input_adapter<const char*>>;                 \
  PREFIX template class nlohmann::detail::lexer<                                              \
      nlohmann::json, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>; \
  PREFIX template class nlohmann::detail::parser<                                             \
      nlohmann::json, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>;

CULPRIT_JSON_INSTANCES(extern)

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
// obeys as \u escapes. An indent of -1 is one line.
template <class Json>
std::string json_text(const Json& value, int indent = 2) {
  return without_unseen(value.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace culprit
