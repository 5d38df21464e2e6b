// JSON documents. Include this in place of <nlohmann/json.hpp>: what the library's templates come
// to is compiled once, in json.cpp, and not again in each of fifty files, which was a third of the
// build.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "model/rows.hpp"
#include "model/terms.hpp"
#include "model/utf8.hpp"

// The members that are used, one by one: the whole class would bring CBOR, BSON and patches along.
#define CULPRIT_JSON_MEMBERS(PREFIX, JSON)                                              \
  PREFIX template JSON::basic_json(JSON::initializer_list_t, bool, JSON::value_t);      \
  PREFIX template JSON::basic_json(const JSON&);                                        \
  PREFIX template JSON::~basic_json() noexcept;                                         \
  PREFIX template void JSON::json_value::destroy(JSON::value_t);                        \
  PREFIX template const char* JSON::type_name() const noexcept;                         \
  PREFIX template void JSON::push_back(JSON&&);                                         \
  PREFIX template void JSON::push_back(JSON::initializer_list_t);                       \
  PREFIX template JSON::size_type JSON::size() const noexcept;                          \
  PREFIX template bool JSON::empty() const noexcept;                                    \
  PREFIX template JSON::const_reference JSON::operator[](JSON::size_type) const;        \
  PREFIX template std::string JSON::dump(int, char, bool, JSON::error_handler_t) const; \
  PREFIX template class nlohmann::detail::serializer<JSON>;                             \
  PREFIX template class nlohmann::detail::json_sax_dom_parser<JSON>;                    \
  PREFIX template class nlohmann::detail::json_sax_dom_callback_parser<JSON>;

#define CULPRIT_JSON_PARSER(PREFIX, INPUT)                                                        \
  PREFIX template class nlohmann::detail::lexer<nlohmann::json,                                   \
                                                nlohmann::detail::iterator_input_adapter<INPUT>>; \
  PREFIX template class nlohmann::detail::parser<nlohmann::json,                                  \
                                                 nlohmann::detail::iterator_input_adapter<INPUT>>;

#define CULPRIT_JSON_INSTANCES(PREFIX)                 \
  CULPRIT_JSON_MEMBERS(PREFIX, nlohmann::json)         \
  CULPRIT_JSON_MEMBERS(PREFIX, nlohmann::ordered_json) \
  CULPRIT_JSON_PARSER(PREFIX, const char*)             \
  CULPRIT_JSON_PARSER(PREFIX, std::string::const_iterator)

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
