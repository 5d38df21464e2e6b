#include "rules/restart_parts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <vector>

#include <re2/re2.h>

#include "model/contains.hpp"
#include "model/json.hpp"
#include "model/number.hpp"
#include "model/sort.hpp"
#include "rules/lazy_pattern.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {

namespace {

struct RestartRow {
  std::string part, edge, unit, word;
  std::unique_ptr<LazyPattern> pattern;
};

struct RestartTable {
  std::vector<RestartPart> parts;
  std::vector<RestartRow> rows;
  std::vector<std::string> words;
};

RestartTable read_restart_table() {
  RestartTable out;
  const auto document = parse_json(embedded_rule("tables/restart_parts.json"));
  for (const auto& part : document["parts"])
    out.parts.push_back({part["part"].get<std::string>(), part["label"].get<std::string>(),
                         part.value("relief", "")});
  for (const auto& line : document["lines"]) {
    RestartRow row{.part = line["part"].get<std::string>(),
                   .edge = line["edge"].get<std::string>(),
                   .unit = line.value("unit", ""),
                   .word = line["word"].get<std::string>(),
                   .pattern = std::make_unique<LazyPattern>(line["pattern"].get<std::string>())};
    out.words.push_back(row.word);
    out.rows.push_back(std::move(row));
  }
  sort_unique(out.words);
  return out;
}

const RestartTable& restart_table() {
  static const RestartTable kTable = read_restart_table();
  return kTable;
}

std::optional<double> seconds_in(const std::string& text, const std::string& unit) {
  if (unit == "go") return go_duration(text);
  const auto value = whole_number<double>(text);
  return value && unit == "ms" ? std::optional(*value / 1e3) : value;
}

}  // namespace

std::span<const RestartPart> restart_parts() { return restart_table().parts; }
std::span<const std::string> restart_words() { return restart_table().words; }

std::optional<RestartLine> restart_line(std::string_view message) {
  constexpr int kMostGroups = 4;
  constexpr std::size_t kLongest = 4096;
  const re2::StringPiece text(message.data(), std::min(message.size(), kLongest));
  const std::string_view words(text.data(), text.size());
  for (const RestartRow& row : restart_table().rows) {
    if (!contains(words, row.word)) continue;
    re2::StringPiece groups[kMostGroups];
    const re2::RE2& pattern = row.pattern->expression();
    if (!pattern.Match(text, 0, text.size(), re2::RE2::UNANCHORED, groups, kMostGroups)) continue;
    RestartLine out{row.part, row.edge, {}, {}, {}};
    for (const auto& [name, i] : pattern.NamedCapturingGroups()) {
      std::string said(groups[i].data(), groups[i].size());
      if (name == "about" || name == "time") {
        (name == "about" ? out.about : out.time) = std::move(said);
      } else if (!(out.seconds = seconds_in(said, row.unit))) {
        return std::nullopt;
      }
    }
    return out;
  }
  return std::nullopt;
}

std::optional<double> go_duration(std::string_view text) {
  double total = 0;
  bool any = false;
  while (!text.empty()) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const std::size_t length = std::min(text.find_first_of("0123456789."), text.size());
    const std::string_view unit = text.substr(0, length);
    const double factor = unit == "h"    ? 3600
                          : unit == "m"  ? 60
                          : unit == "s"  ? 1
                          : unit == "ms" ? 1e-3
                          : unit == "us" ? 1e-6
                                         : 0;
    if (factor == 0) return std::nullopt;
    total += value * factor;
    any = true;
    text.remove_prefix(length);
  }
  return any ? std::optional(total) : std::nullopt;
}

}  // namespace culprit::rules
