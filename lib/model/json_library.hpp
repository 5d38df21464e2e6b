// The JSON library, whose templates are compiled once, in json.cpp, and not again in each of fifty
// units, which was a third of the build.
#pragma once

#include <string>

// Its literal `_json` becomes a template, which nobody instantiates: an inline function would have
// each unit instantiate the parser.
#define _json(text, size) \
  _json(text, size);      \
  template <class Nobody> \
  nlohmann::json unused_literal(text, size)
#include <nlohmann/json.hpp>
#undef _json

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
