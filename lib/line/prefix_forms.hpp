// The forms of what stands before a message, by who writes them.
//
// Each takes its part whole and notes what it tells. On false the cursor may stand anywhere behind
// the place where it began: take_first() puts it back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "line/line.hpp"
#include "line/text_cursor.hpp"

namespace culprit::line {

using PrefixForm = bool(Cursor& p, Prefix& prefix);

// The first of the forms that is there.
template <class... Forms>
bool take_first(Cursor& c, Prefix& prefix, const Forms&... forms) {
  const auto take = [&](const auto& form) {
    Cursor p = c;
    if (!form(p, prefix)) return false;
    c = p;
    return true;
  };
  return (take(forms) || ...);
}

// Of several times on a line, the most telling is kept.
void keep_time(Prefix& prefix, const Timestamp& stamp);

// system_prefix.cpp: kernels, syslog, journals, container runtimes.
PrefixForm peel_boot_time, peel_facility, peel_kmsg, peel_priority, peel_syslog, peel_iso,
    peel_unix_time;
// Times of rows of tables, whose columns stay, since they are what rules know.
void note_sel_time(std::string_view text, Prefix& prefix);
void note_time_behind_number(std::string_view text, Prefix& prefix);

// logger_prefix.cpp: loggers of programs, and what a file has of its own.
PrefixForm peel_bracketed_date, peel_logger_field, peel_glog, peel_level_date, peel_after_date;
bool peel_loose(Cursor& p, const Habit& habit, Prefix& prefix);
bool peel_layout(Cursor& p, const HeaderLayout& layout, Prefix& prefix);
bool is_level(std::string_view word);

// launcher_prefix.cpp: launchers, schedulers, and collectors of many processes' output.
PrefixForm peel_launcher_bracket, peel_host_and_rank, peel_word_before_rank, peel_word_behind_rank,
    peel_pod, peel_ray, peel_rank_label, peel_words;
bool peel_habit(Cursor& c, const Habit& habit, Prefix& prefix);

// record_heads.cpp: NCCL writes a head of its own behind all prefixes.
void read_nccl_head(std::string_view message, Prefix& prefix);

// clean.cpp: where progress bars in front of a line end; 0: there is none.
std::size_t bar_end(std::string_view text);
std::string_view without_returns(std::string_view raw);

}  // namespace culprit::line
