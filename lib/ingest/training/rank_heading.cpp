// Tables of ranks or machines within a log or a report, "rank  host  compute(ms)  wait(ms)" and a
// row for each.
#include "ingest/training/rank_heading.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "ingest/training/number_rows.hpp"
#include "line/digit.hpp"
#include "line/trimmed.hpp"
#include "model/contains.hpp"
#include "rules/metrics.hpp"
#include "rules/step_parts.hpp"

namespace culprit::ingest {

namespace {

using Cells = std::vector<std::string_view>;

constexpr std::size_t kMostHeadings = 32;

// By bars, or words by blanks; a unit in brackets belongs to the word before.
Cells heading_cells(std::string_view text) {
  Cells out;
  text = line::trimmed(text);
  const bool bars = contains(text, '|');
  while (!text.empty() && out.size() <= kMostHeadings) {
    const std::size_t end = bars ? std::min(text.find('|'), text.size())
                                 : std::min(text.find_first_of(" \t"), text.size());
    const std::string_view cell = line::trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (cell.empty()) continue;
    if (!bars && cell.front() == '(' && !out.empty())
      out.back() = {out.back().data(),
                    static_cast<std::size_t>(cell.data() + cell.size() - out.back().data())};
    else
      out.push_back(cell);
  }
  return out;
}

bool ruler(std::string_view text) {
  return text.find_first_not_of("-+=|: \t") == std::string_view::npos;
}

bool names_rows(const Cells& cells) {
  if (cells.size() < 2 || cells.size() > kMostHeadings) return false;
  bool owner = false, measure = false;
  for (const std::string_view cell : cells) {
    if (cell.size() > 40 || !line::alpha(cell.front()) || contains(cell, '=')) return false;
    const KeyRole role = meaning_of(cell).role;
    owner = owner || role == KeyRole::rank || role == KeyRole::host;
    measure = measure || (role == KeyRole::value &&
                          (rules::part_name(cell).of_step() || rules::whole_of_step(cell)));
  }
  return owner && measure;
}

class RowsBelow final : public Assembler {
 public:
  RowsBelow(const TextLine& heading, const Cells& names, Reading& reading)
      : bare_(line::trimmed(heading.raw) == line::trimmed(heading.line.message)), rows_("", "") {
    rows_.header(names, true, heading.place, reading);
  }

  Step feed(const TextLine& line, Reading& reading) override {
    const std::string_view text = line::trimmed(bare_ ? line.raw : line.line.message);
    if (text.empty()) return Step::not_mine;
    if (ruler(text)) return Step::took;
    const Cells cells = heading_cells(text);
    return rows_.row(cells, false, line.place, reading).used ? Step::took : Step::not_mine;
  }

 private:
  bool bare_;  // the heading has no date or name before it, and no row has
  NumberRows rows_;
};

}  // namespace

std::unique_ptr<Assembler> rows_below_heading(const TextLine& line, Reading& reading) {
  const std::string_view text = line::trimmed(line.line.message);
  if (text.empty() || !(line::alpha(text.front()) || text.front() == '|')) return nullptr;
  const Cells names = heading_cells(text);
  return names_rows(names) ? std::make_unique<RowsBelow>(line, names, reading) : nullptr;
}

}  // namespace culprit::ingest
