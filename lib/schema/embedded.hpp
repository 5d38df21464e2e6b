// Files of the repository that are compiled into the program.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace culprit {

struct EmbeddedFile {
  const char* name;  // relative to its folder: "rule-v1.json", "tables/nvlink5.json"
  const char* bytes;
  std::size_t size;
  std::string_view text() const { return {bytes, size}; }
};

std::span<const EmbeddedFile> embedded_schemas();  // schemas/
std::span<const EmbeddedFile> embedded_rules();    // rules/ and rules/tables/

// The text of one file of rules/: "tables/causes.json". Empty: there is none of that name.
inline std::string_view embedded_rule(std::string_view name) {
  for (const EmbeddedFile& file : embedded_rules())
    if (name == file.name) return file.text();
  return {};
}

}  // namespace culprit
