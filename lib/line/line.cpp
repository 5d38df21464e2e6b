// One line after the other: colours, bars, wrappers and prefixes off.
#include "line/line.hpp"

#include <algorithm>

#include "line/digit.hpp"
#include "line/prefix_forms.hpp"
#include "line/wrapper.hpp"
#include "model/contains.hpp"

namespace culprit::line {

namespace {

// One prefix, of any form that may begin with this byte. The order is that of the forms' surety.
bool peel_one(Cursor& p, const Habit& habit, bool first, bool indented, Prefix& prefix) {
  const auto any = [&](const auto&... forms) { return take_first(p, prefix, forms...); };
  const auto loose = [&](Cursor& c, Prefix& to) { return peel_loose(c, habit, to); };
  const auto by_habit = [&](Cursor& c, Prefix& to) { return first && peel_habit(c, habit, to); };
  switch (p.peek()) {
    case '[':
      return any(peel_launcher_bracket, peel_host_and_rank, peel_pod, peel_bracketed_date,
                 peel_rank_label, loose, peel_boot_time, peel_word_behind_rank, peel_logger_field,
                 peel_glog);
    case '<': return any(peel_priority, loose);
    case '(': return any(peel_ray, loose, peel_rank_label);
    case '|': return any(peel_after_date);
    default: break;
  }
  if (digit(p.peek()))
    return any(peel_iso, peel_unix_time, peel_kmsg, loose, peel_syslog, peel_after_date,
               peel_words);
  if (indented && prefix.kernel) return false;  // the indentation of a call trace
  return any(peel_glog, peel_level_date, peel_after_date, peel_facility, peel_syslog, peel_words,
             peel_rank_label, peel_word_before_rank, by_habit, loose);
}

}  // namespace

Line peel(std::string_view raw, Habit habit) {
  Line line;
  peel(raw, habit, line);
  return line;
}

void peel(std::string_view raw, Habit habit, Line& line) {
  Prefix& prefix = line.prefix;
  prefix = Prefix{};
  // The line is copied once, at the end, unless something in it must go.
  std::string owned;
  std::string_view text = without_returns(raw);
  if (!is_clean(raw)) text = owned = clean(raw);
  if (const std::size_t bar = bar_end(text);
      bar > 0 && text.find_first_not_of(" ,:", bar) != std::string::npos)
    text.remove_prefix(bar);
  if (contains(text.substr(0, 12), " | ")) note_sel_time(text, prefix);
  // Of every line: find_first_of() calls a function for each byte.
  if (prefix.time.clock == Clock::none && std::ranges::any_of(text.substr(0, 12), [](char c) {
        return c == '|' || c == ',' || c == ';';
      }))
    note_time_behind_number(text, prefix);
  Cursor c{text};
  for (int depth = 0; depth < 12; ++depth) {
    if (c.peek() == '{') {
      if (auto inner = unwrap(c.rest(), prefix)) {
        owned = clean(*inner);
        text = owned;
        while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
        c = Cursor{text};
        continue;
      }
    }
    Cursor p = c;
    p.spaces();
    const bool indented = p.at > c.at;
    if (!(depth == 0 && !indented && peel_layout(p, habit.header, prefix)) &&
        !peel_one(p, habit, depth == 0, indented, prefix))
      break;
    c = p;
  }
  line.message.assign(c.rest());
  if (contains(line.message, "NCCL ")) read_nccl_head(line.message, prefix);
}

}  // namespace culprit::line
