// The kinds of incidents, and the world that they happen in: data/*.json, which
// schemas/simulate-v1.json describes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/json.hpp"

namespace culprit::simulate {

struct Kind {
  std::string name;
  std::string sentence;  // what happens, for people
  nlohmann::json data;   // its entry
};

// In the order of the files.
std::span<const Kind> kinds();
const Kind* find_kind(std::string_view name);

// Layouts, collectors, clocks, ordinary lines and words: data/world.json.
const nlohmann::json& world();
// Events that several kinds share, by name: data/scenes.json.
const nlohmann::json& scenes();
// Frames of processes, by what they do: data/stacks.json.
const nlohmann::json& stacks();

}  // namespace culprit::simulate
