// prepare OUT: writes the C++ file that holds what `rules/prepared.hpp` reads. Runs in the build.
#include <cstdio>
#include <fstream>
#include <string>

#include "rules/prepared.hpp"

namespace culprit::rules {

std::string_view prepared_bytes() { return {}; }

namespace {

// A literal of three octal digits a byte: compilers read it ten times as fast as an array of
// numbers.
std::string source_of(const std::string& bytes) {
  std::string out =
      "// Made by lib/rules/prepare.cpp of the files in rules/; edit those.\n"
      "#include \"rules/prepared.hpp\"\n\nnamespace culprit::rules {\n\n"
      "namespace {\n\nconst char kBytes[] =";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 64 == 0) out += i == 0 ? "\n    \"" : "\"\n    \"";
    const auto byte = static_cast<unsigned char>(bytes[i]);
    for (const int shift : {6, 3, 0}) {
      if (shift == 6) out += '\\';
      out += static_cast<char>('0' + (byte >> shift & 7));
    }
  }
  out += "\";\n\n}  // namespace\n\nstd::string_view prepared_bytes() { return {kBytes, " +
         std::to_string(bytes.size()) + "}; }\n\n}  // namespace culprit::rules\n";
  return out;
}

}  // namespace

}  // namespace culprit::rules

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const auto bytes = culprit::rules::prepare();
  if (!bytes) {
    std::fprintf(stderr, "prepare: %s\n", bytes.error().what.c_str());
    return 1;
  }
  std::ofstream file(arguments[1], std::ios::binary | std::ios::trunc);
  file << culprit::rules::source_of(*bytes);
  file.close();
  return file ? 0 : 1;
}
