// Reads the kinds that are compiled in.
#include "simulate/kinds.hpp"

#include <algorithm>
#include <vector>

#include "schema/embedded.hpp"

namespace culprit {

std::span<const EmbeddedFile> embedded_incidents();  // lib/simulate/data/

namespace simulate {

namespace {

nlohmann::json document(std::string_view name) {
  for (const EmbeddedFile& file : embedded_incidents())
    if (name == file.name) return parse_json(file.text());
  return {};
}

std::vector<Kind> read_kinds() {
  std::vector<Kind> out;
  for (const EmbeddedFile& file : embedded_incidents()) {
    const auto read = parse_json(file.text());
    if (!read.contains("kinds")) continue;
    for (const auto& kind : read["kinds"])
      out.push_back({kind["kind"].get<std::string>(), kind["say"].get<std::string>(), kind});
  }
  for (Kind& kind : out) {
    if (!kind.data.contains("like")) continue;
    nlohmann::json whole =
        std::ranges::find(out, kind.data["like"].get<std::string>(), &Kind::name)->data;
    kind.data.erase("like");
    whole.merge_patch(kind.data);
    kind.data = std::move(whole);
  }
  return out;
}

}  // namespace

std::span<const Kind> kinds() {
  static const std::vector<Kind> kKinds = read_kinds();
  return kKinds;
}

const Kind* find_kind(std::string_view name) {
  const auto found = std::ranges::find(kinds(), name, &Kind::name);
  return found == kinds().end() ? nullptr : &*found;
}

const nlohmann::json& world() {
  static const nlohmann::json kWorld = document("world.json");
  return kWorld;
}

const nlohmann::json& scenes() {
  static const nlohmann::json kScenes = document("scenes.json");
  return kScenes;
}

const nlohmann::json& stacks() {
  static const nlohmann::json kStacks = document("stacks.json");
  return kStacks;
}

}  // namespace simulate
}  // namespace culprit
