// Every way a log line was seen to begin with a time. Each parser looks at the start of the text,
// returns how many bytes it took (0: not this form) and fills the stamp. Hand-written for fixed
// layouts: an order of magnitude faster than strptime, and no locale decides what a month is.
#pragma once

#include <cstddef>
#include <string_view>

#include "model/time.hpp"

namespace culprit::line {

// 2026-11-21 03:19:38,601 · 2026-11-21T03:19:38.601234Z · 2025-01-21T04:41:44,285060+00:00 ·
// 2024/09/08 13:03:31.000 · 2026-11-21_03:19:39 (torchrun's failure block). A trailing " UTC"
// counts as a zone.
std::size_t parse_iso(std::string_view text, Timestamp& stamp);

// Nov 21 03:19:38[.frac] · Feb 25 2025 13:59:45 · 2025 Jul  2 06:56:57.749644 · 04 Aug, 14:03:32 ·
// kwi 15 07:56:59 · 11月 15 14:15:47 · Fri Aug 30 11:43:09 2024 · Sat Nov 21 03:26:24 UTC 2026. A
// month in a language we do not know gives the time of day only.
std::size_t parse_calendar(std::string_view text, Timestamp& stamp);

// As spreadsheets and building management print it, to the minute: 2025-08-07 06:00 · 07.08.2025
// 06:00[:30], the day first, as everybody writes it who puts dots · 08/03/2026 03:00[:30] PM, the
// month first, as everybody writes it who counts half days.
std::size_t parse_sheet(std::string_view text, Timestamp& stamp);

// Dates whose year stands last, or has two digits: 03-Nov-2025 00:59:44 · 03/Nov/2025:00:59:44
// +0000 (web servers) · 04/22/2024 17:30:11 (Python's %D) · 22/04/2024 17:30:11 · 25/03/07 10:00:00
// (log4j). Where more than one reading is a date of our time, only the time of day is given.
std::size_t parse_short_date(std::string_view text, Timestamp& stamp);

// The offset of an abbreviation that means one zone everywhere: not CST (Chicago, Shanghai) nor IST
// (India, Israel).
std::optional<Nanoseconds> offset_named(std::string_view word);

// Whether a column or key is named after a moment: all of its words are of times, and not only of
// their units ("ts_unix", "Timestamp (UTC)", "epoch_ms"). What stands in it must still be one.
bool names_moment(std::string_view name);

// 03:19:38[.frac]
std::size_t parse_time_of_day(std::string_view text, Timestamp& stamp);

// glog date and time: 0611 02:50:04.977000 · 621 06:24:44.903881913 · 20261121 03:19:26.319798
std::size_t parse_glog(std::string_view text, Timestamp& stamp);

// Decimal digits; false when there is none or it does not fit.
bool parse_digits(std::string_view text, std::size_t& used, std::int64_t& value);

}  // namespace culprit::line
