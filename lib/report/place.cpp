#include <utility>

#include "model/json.hpp"
#include "report/report.hpp"

namespace culprit::report {

std::string with_place(const std::string& document, const std::string& place) {
  static constexpr std::string_view kWord = "-d incident.db";
  if (place.empty() || document.find(kWord) == std::string::npos) return document;
  auto d = nlohmann::ordered_json::parse(document, nullptr, false);
  const auto put = [&](nlohmann::ordered_json& object, const char* key) {
    if (!object.is_object() || !object.contains(key) || !object[key].is_string()) return;
    std::string text = object[key];
    for (std::size_t at = text.find(kWord); at != std::string::npos;
         at = text.find(kWord, at + place.size()))
      text.replace(at, kWord.size(), place);
    object[key] = std::move(text);
  };
  if (!d.is_object() || !d.contains("verdict") || !d["verdict"].is_object()) return document;
  for (const auto& [list, key] : {std::pair{"next", "text"}, std::pair{"steps", "why"}})
    if (d["verdict"].contains(list) && d["verdict"][list].is_array())
      for (auto& one : d["verdict"][list]) put(one, key);
  return json_text(d, -1);
}

}  // namespace culprit::report
