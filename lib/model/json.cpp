#include "model/json.hpp"

CULPRIT_JSON_INSTANCES()

namespace culprit {

template <class Json>
std::string json_text(const Json& value, int indent) {
  return without_unseen(value.dump(indent, ' ', false, Json::error_handler_t::replace));
}

template <class Json>
Json parse_json(std::string_view text, const typename Json::parser_callback_t& take,
                bool comments) {
  return Json::parse(text.data(), text.data() + text.size(), take, false, comments);
}

#define CULPRIT_JSON_FUNCTIONS(JSON)                \
  template std::string json_text(const JSON&, int); \
  template JSON parse_json(std::string_view, const JSON::parser_callback_t&, bool);

CULPRIT_JSON_FUNCTIONS(nlohmann::json)
CULPRIT_JSON_FUNCTIONS(nlohmann::ordered_json)

}  // namespace culprit
