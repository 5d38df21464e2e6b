// Reads the table of frames and finds the row that fits one.
#include "rules/frames.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "model/contains.hpp"
#include "model/json.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {

namespace {

// By the words of the table, in the order of the enum.
constexpr std::array<std::string_view, 14> kDoingWords = {
    "unknown", "collective", "gpu",     "communicator", "storage", "data", "checkpoint",
    "compile", "gil",        "service", "lock file",    "lock",    "idle", "compute"};
constexpr std::array<std::string_view, 4> kTellsWords = {"strong", "weak", "generic", "bound"};

template <typename Enum, std::size_t n>
Enum named(const std::array<std::string_view, n>& words, const std::string& word) {
  const auto at = std::ranges::find(words, word);
  if (at == words.end()) throw std::invalid_argument("frames.json: " + word);
  return static_cast<Enum>(at - words.begin());
}

struct FrameTable {
  std::vector<FrameMarker> markers;
  std::vector<GroupHint> hints;
  std::vector<std::string> folders, packages, files;
};

FrameTable read_frames() {
  FrameTable out;
  const auto document = parse_json(embedded_rule("tables/frames.json"));
  for (const auto& section : document["sections"])
    for (const auto& row : section["rows"])
      out.markers.push_back(
          {row["function"], row.value("file", ""), named<Doing>(kDoingWords, section["doing"]),
           row.value("operation", ""), named<Tells>(kTellsWords, row.value("tells", "strong")),
           row.value("dimension", ""), row.value("toward", 0), row.value("bare", false)});
  for (const auto& row : document["groups"]["rows"])
    out.hints.push_back(
        {row["function"], row.value("file", ""), row["dimension"], row.value("toward", 0)});
  const auto& libraries = document["libraries"];
  libraries["folders"].get_to(out.folders);
  libraries["packages"].get_to(out.packages);
  libraries["files"].get_to(out.files);
  return out;
}

const FrameTable& frame_table() {
  static const FrameTable kTable = read_frames();
  return kTable;
}

bool has(std::string_view text, std::string_view part) { return contains(text, part); }

bool fits(std::string_view pattern, std::string_view text) {
  if (pattern == "*") return true;
  const bool front = pattern.starts_with('*');
  const bool back = pattern.ends_with('*');
  if (front && back) return has(text, pattern.substr(1, pattern.size() - 2));
  if (front) return text.ends_with(pattern.substr(1));
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  const std::string_view head = pattern.substr(0, star);
  if (!text.starts_with(head)) return false;
  text.remove_prefix(star);
  if (!back) return text.ends_with(pattern.substr(star + 1));
  return has(text, pattern.substr(star + 1, pattern.size() - star - 2));
}

bool in_file(std::string_view part, const FrameName& frame) {
  return part.empty() || has(frame.file, part) || has(frame.module, part);
}

// Aggregates and stripped binaries give names without files: a name of torch's own is then believed
// by itself.
bool marker_fits(const FrameMarker& m, const FrameName& frame) {
  return fits(m.function, frame.function) &&
         (in_file(m.file, frame) ||
          (m.bare && frame.file.empty() && frame.module.empty() && !frame.native));
}

// From the start of a folder's name on.
bool in_folder(std::string_view folder, std::string_view path) {
  for (std::size_t at = path.find(folder); at != std::string_view::npos;
       at = path.find(folder, at + 1))
    if (at == 0 || path[at - 1] == '/') return true;
  return false;
}

}  // namespace

std::string_view name(Doing doing) {
  constexpr std::array<std::string_view, 14> kNames = {"unknown",
                                                       "collective",
                                                       "waiting for the GPU",
                                                       "making a communicator",
                                                       "storage",
                                                       "waiting for data",
                                                       "checkpoint",
                                                       "compiling",
                                                       "waiting for the GIL",
                                                       "waiting for a service",
                                                       "waiting for a lock file",
                                                       "lock or sleep",
                                                       "idle",
                                                       "own code"};
  return kNames[static_cast<std::size_t>(doing)];
}

const FrameMarker* frame_marker(const FrameName& frame) {
  for (const FrameMarker& m : frame_table().markers)
    if (marker_fits(m, frame)) return &m;
  return nullptr;
}

const GroupHint* group_hint(const FrameName& frame) {
  for (const GroupHint& h : frame_table().hints)
    if (fits(h.function, frame.function) && in_file(h.file, frame)) return &h;
  return nullptr;
}

bool library_file(std::string_view path) {
  if (path.empty() || path.starts_with('<')) return true;
  const FrameTable& t = frame_table();
  const auto any = [](const std::vector<std::string>& list, auto&& holds) {
    return std::ranges::any_of(list, holds);
  };
  return any(t.folders, [&](const std::string& part) { return in_folder(part, path); }) ||
         any(t.packages, [&](const std::string& part) { return path.starts_with(part); }) ||
         any(t.files, [&](const std::string& file) { return path == file; });
}

}  // namespace culprit::rules
