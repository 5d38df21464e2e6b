#include <utility>

#include "model/contains.hpp"
#include "model/json.hpp"
#include "model/json_cursor.hpp"
#include "report/report.hpp"

namespace culprit::report {

// Only the verdict has such words: the rest, which may be long, stays as it is.
std::string with_place(std::string document, const std::string& place) {
  static constexpr std::string_view kWord = "-d incident.db";
  if (place.empty() || !contains(document, kWord)) return document;
  std::size_t begin = 0, end = 0;
  JsonCursor in(document);
  in.object([&](std::string_view key, bool) {
    if (key != "verdict") return in.skip();
    begin = in.offset();
    if (!in.skip()) return false;
    end = in.offset();
    return false;  // nothing behind it matters
  });
  if (end <= begin) return document;
  auto verdict = parse_json<nlohmann::ordered_json>(document.substr(begin, end - begin));
  if (!verdict.is_object()) return document;
  const auto put = [&](nlohmann::ordered_json& object, const char* key) {
    if (!object.is_object() || !object.contains(key) || !object[key].is_string()) return;
    std::string text = object[key];
    for (std::size_t at = text.find(kWord); at != std::string::npos;
         at = text.find(kWord, at + place.size()))
      text.replace(at, kWord.size(), place);
    object[key] = std::move(text);
  };
  for (const auto& [list, key] : {std::pair{"next", "text"}, std::pair{"steps", "why"}})
    if (verdict.contains(list) && verdict[list].is_array())
      for (auto& one : verdict[list]) put(one, key);
  document.replace(begin, end - begin, json_text(verdict, -1));
  return document;
}

}  // namespace culprit::report
