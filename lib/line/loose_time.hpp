// Times as home-made loggers print them. What holds a whole date is one wherever it stands first;
// what may be any number, as 1770113472.1 or 02/03, is one where most lines of a file begin so.
#pragma once

#include <cstddef>
#include <string_view>

#include "model/time.hpp"

namespace culprit::line {

struct LooseTime {
  std::size_t used = 0;  // 0: none of these forms
  bool sure = false;     // it holds a whole date
};

// 03.02.2026 10:11:12 · 2026.02.03 10:11:12 · 2026/02/03-10:11:12 · 2026-02-03_10-11-12 ·
// 20260203-101112 · Tue, 03 Feb 2026 10:11:12 GMT · Feb 3, 2026 10:11:12 · and, not sure:
// 260203-10:11:12 · 03.02. 10:11:12 · 02/03 10:11:12 · 02-03 10:11:12 · 10:11:12 · 1770113472.123.
// Each of them, and ISO, in brackets of any kind or behind time=, ts=, quoted or not. Not for what
// line.cpp peels.
LooseTime parse_loose(std::string_view text, Timestamp& stamp);

}  // namespace culprit::line
