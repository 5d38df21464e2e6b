#include "ingest/training/line_figures.hpp"

#include <fmt/format.h>

#include "line/trimmed.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kLongestFigureName = 96;

bool name_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

void LineFigures::begin(const TextLine& line, std::optional<std::int64_t> step) {
  if (step) last_step_ = *step;
  step_told_ = step.has_value();
  row_.step = last_step_;
  row_.time = line.line.prefix.time;
  row_.owner.rank = line.line.prefix.rank;
  row_.owner.local_rank = line.line.prefix.local_rank;
  row_.owner.host = line.line.prefix.host;
  row_.owner.labels.clear();
  if (line.line.prefix.task && !row_.owner.rank)
    row_.owner.labels = fmt::format("{}{}", kTaskLabel, *line.line.prefix.task);
  row_.cells.clear();
}

void LineFigures::add(std::string_view name, std::string_view unit, std::string_view labels,
                      double value) {
  const auto is = [&](const Name& one) {
    return one.name == name && one.unit == unit && one.labels == labels;
  };
  std::size_t found = at_ < names_.size() ? names_[at_].next : 0;
  if (found >= names_.size() || !is(names_[found])) {
    found = rows_.slot(name, unit, labels);
    if (found == StepRows::kNoSlot) return;
    if (found == names_.size())
      names_.push_back({std::string(name), std::string(unit), std::string(labels), 0});
    if (at_ < names_.size()) names_[at_].next = found;
  }
  at_ = found;
  row_.cells.push_back({static_cast<std::uint32_t>(found), value});
}

bool LineFigures::add_text(std::string_view name, std::string_view text) {
  name = line::trimmed(name);
  if (name.empty() || name.size() > kLongestFigureName || !name_letter(name.front())) return false;
  double value = 0;
  std::string_view unit;
  if (!metric_number(text, value, unit)) return false;
  unit = line::trimmed(unit.substr(0, unit.find('(')));
  if (unit.size() > 8 || unit.find_first_of("0123456789:/") != std::string_view::npos)
    return false;  // a date, a ratio
  if (unit.empty() && name.back() == ')')
    if (const std::size_t open = name.rfind('('); open != std::string_view::npos)
      unit = name.substr(open + 1, name.size() - open - 2);
  add(name, unit, {}, value);
  return true;
}

void LineFigures::add_fields(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bar = text.find('|');
    const std::string_view field = text.substr(0, bar);
    text.remove_prefix(bar == std::string_view::npos ? text.size() : bar + 1);
    if (const std::size_t colon = field.find(':'); colon != std::string_view::npos)
      add_text(field.substr(0, colon), field.substr(colon + 1));
  }
}

bool LineFigures::end(const TextLine& line, Reading& reading) {
  if (!step_told_ && reading.last_step) row_.step = *reading.last_step;
  return !row_.cells.empty() && rows_.put(row_, line.place, reading);
}

}  // namespace culprit::ingest
