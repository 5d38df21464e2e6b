// What readers of network descriptions share.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/engine/document.hpp"
#include "line/trimmed.hpp"
#include "model/ascii.hpp"

namespace culprit::ingest {

inline constexpr std::size_t kHostsPerSwitch = 1u << 16;
inline constexpr std::size_t kHostsPerFile = 1u << 20;

// Lines with their number and offset, without the end of the line.
void each_text_line(std::string_view bytes, auto visit) {
  std::uint64_t number = 1;
  for (std::size_t at = 0; at < bytes.size(); ++number) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    std::string_view line = bytes.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if constexpr (std::is_same_v<decltype(visit(line, number, at)), bool>) {
      if (!visit(line, number, at)) return;
    } else {
      visit(line, number, at);
    }
    at = end + 1;
  }
}

using line::trimmed;

// Every line of the head, without comments, is one of `fits`; false for a head without any.
bool every_line_fits(const Head& head, auto fits) {
  bool any = false, all = true;
  each_text_line(head.bytes, [&](std::string_view line, std::uint64_t, std::size_t offset) {
    const std::string_view text = trimmed(line.substr(0, line.find('#')));
    const bool cut = !head.whole && offset + line.size() + 1 >= head.bytes.size();
    if (text.empty() || cut) return true;
    any = true;
    return all = fits(text);
  });
  return any && all;
}

// Cells between which stand two blanks or more, where single ones belong to a name.
inline std::vector<std::string_view> wide_cells_of(std::string_view line) {
  std::vector<std::string_view> out;
  while (!(line = trimmed(line)).empty()) {
    const std::size_t end = std::min(line.find("  "), line.size());
    out.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return out;
}

// Cells of a line of a small table: between commas where it has some, which may be empty, else
// between blanks, tabs, semicolons or bars.
inline std::vector<std::string_view> cells_of(std::string_view line) {
  constexpr std::size_t kMostCells = 64;
  const bool commas = line.find(',') != std::string_view::npos;
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at <= line.size() && out.size() <= kMostCells;) {
    const std::size_t begin = commas ? at : line.find_first_not_of(" \t;|", at);
    if (begin == std::string_view::npos || (!commas && begin == line.size())) break;
    const std::size_t end =
        std::min(line.find_first_of(commas ? "," : " \t;|", begin), line.size());
    out.push_back(trimmed(line.substr(begin, end - begin)));
    at = end + 1;
  }
  return out;
}

// By its characters: "10.8.1.4", "fe80::1".
inline bool shaped_like_address(std::string_view text) {
  if (text.size() < 3 || text.size() > 45) return false;
  const auto count = [&](char c) { return std::count(text.begin(), text.end(), c); };
  // "09:00:04" is a time of day.
  return (count('.') == 3 || count(':') > 2 || text.find("::") != text.npos) &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return isxdigit(c) || c == '.' || c == ':'; });
}

inline Place place_of_line(MemberId member, std::uint64_t number, std::size_t offset,
                           std::string_view line) {
  return {member, number, offset,
          static_cast<std::uint32_t>(std::min<std::size_t>(line.size(), 1u << 20))};
}

// ASCII letters alone, whatever the locale.
// Collects switches, expands their lists, computes levels, puts rows.
class NetworkCollector {
 public:
  NetworkCollector(Sink& sink, MemberId member, const char* source)
      : sink_(sink), member_(member), source_(source) {}

  void begin(std::string kind, std::uint64_t line, std::size_t offset, std::size_t length);
  void kind(const char* kind) {
    if (open_) rows_.back().kind = kind;
  }
  void name(std::string_view name) {
    if (open_) rows_.back().name = std::string(name.substr(0, 255));
  }
  void level(std::string_view digits);
  void hosts(std::string_view list);
  void children(std::string_view list);
  std::size_t finish();  // rows put

 private:
  template <class Name>
  void expand(std::string_view list, std::vector<Name>& out);
  Sink& sink_;
  MemberId member_;
  const char* source_;
  std::vector<NetworkRow> rows_;
  std::vector<bool> has_level_;
  std::size_t expanded_ = 0;
  bool open_ = false;
};

}  // namespace culprit::ingest
