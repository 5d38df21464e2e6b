#include "ingest/logs/switch_name.hpp"

#include <string>

#include <re2/re2.h>

namespace culprit::ingest {

namespace {

// "rack2/leaf-2.show.txt" -> "leaf-2"
std::optional<Host> switch_of_file(const std::string& path) {
  static const re2::RE2 kName(
      R"((?i)(?:^|[/_.])((?:[a-z0-9]+-)*(?:spine|leaf|tor|core|agg|switch|sw)[-\w]*\d)(?:[/_.]|-[a-z]|$))");
  std::string name;
  return re2::RE2::PartialMatch(path, kName, &name) ? std::optional(Host(name)) : std::nullopt;
}

}  // namespace

bool names_switch(std::string_view text) {
  static const re2::RE2 kName(R"((?i)\b(?:\w*spine|\w*leaf|tor|core|agg|switch|sw)[-_.]?\w*\d)");
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kName);
}

std::optional<Host> switch_of(const Reading& reading) {
  if (reading.current_host.empty()) return switch_of_file(reading.path);
  return names_switch(reading.current_host) ? std::optional(Host(reading.current_host))
                                            : std::nullopt;
}

}  // namespace culprit::ingest
