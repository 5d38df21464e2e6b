// JSON documents. Include this in place of <nlohmann/json.hpp>: what the library's templates come to is compiled once, in
// json.cpp, and not again in each of fifty files, which was a third of the build.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#define CULPRIT_JSON_INSTANCES(PREFIX)                                                                                        \
  PREFIX template class nlohmann::basic_json<>;                                                                               \
  PREFIX template class nlohmann::basic_json<nlohmann::ordered_map>;                                                          \
  PREFIX template class nlohmann::detail::serializer<nlohmann::json>;                                                         \
  PREFIX template class nlohmann::detail::serializer<nlohmann::ordered_json>;                                                 \
  PREFIX template class nlohmann::detail::json_sax_dom_parser<nlohmann::json>;                                                \
  PREFIX template class nlohmann::detail::json_sax_dom_callback_parser<nlohmann::json>;                                       \
  PREFIX template class nlohmann::detail::lexer<nlohmann::json, nlohmann::detail::iterator_input_adapter<const char*>>;       \
  PREFIX template class nlohmann::detail::parser<nlohmann::json, nlohmann::detail::iterator_input_adapter<const char*>>;      \
  PREFIX template class nlohmann::detail::lexer<nlohmann::json, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>; \
  PREFIX template class nlohmann::detail::parser<nlohmann::json, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>;

CULPRIT_JSON_INSTANCES(extern)
