// The files of an incident and what is true of it.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "model/json.hpp"
#include "simulate/story.hpp"

namespace culprit::simulate {

using Files = std::map<std::string, std::string>;  // bytes by path

struct Incident {
  Files files;                   // of the bundle
  bool archived = false;         // written as one archive
  nlohmann::ordered_json truth;  // schemas/truth-v1.json
  Nanoseconds collected = 0;     // when all of the files were last changed
};

// The same kind, size and seed give the same bytes. Errors: those of draw_cast.
Result<Incident> simulate(const Kind& kind, const Size& size, std::uint64_t seed);

// folder/bundle/... (or folder/bundle.tar.gz) and folder/truth.json. Errors: what cannot be
// written.
Result<> write(const Incident& incident, const std::filesystem::path& folder);

// Parts of simulate().
void collect(const Cast& cast, const std::vector<Step>& steps, const Dice& dice, Files& files);
void dump_recorders(const Cast& cast, const Dice& dice, Files& files);
void dump_stacks(const Cast& cast, const Dice& dice, Files& files);
void count_requests(const Cast& cast, const Dice& dice, Files& files);

}  // namespace culprit::simulate
