// Which of the numbers on a line counts the steps: by its name, or because it grows steadily.
#include "ingest/training/step_counter.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "line/digit.hpp"
#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "rules/step_parts.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostShapes = 32, kMostCounts = 24, kLongestCounted = 600;
constexpr std::size_t kLines = 3;          // that must agree where a name says what is counted
constexpr std::size_t kLinesOfTotal = 5;   // ... where it is "120/5000"
constexpr std::size_t kLinesUnnamed = 20;  // ... and where nothing does
constexpr std::size_t kPatience = 40;      // lines after which a shape counts nothing
constexpr std::int64_t kFarthest = std::int64_t{1} << 50;

bool step_letter(char c) { return alpha(c) || static_cast<unsigned char>(c) >= 0x80; }

// The word that ends at `end`, letters only: of "num_updates=" it is "updates".
std::string_view word_before(std::string_view text, std::size_t end) {
  while (end > 0 && contains(" =:#([<\"'", text[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && step_letter(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

std::string_view word_behind(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  while (end < text.size() && step_letter(text[end])) ++end;
  return text.substr(begin, end - begin);
}

std::size_t grade_of(std::string_view word) {
  if (word.empty() || word.size() > 16) return 0;
  const auto names = rules::counter_names();
  const auto at = std::ranges::find(names, lower(word));
  return at == names.end() ? 0 : static_cast<std::size_t>(at - names.begin()) + 1;
}

// The digits that begin at `at`, with what belongs to the same number.
struct Digits {
  std::size_t end = 0;
  bool whole = true;  // no fraction, no exponent
};

Digits digits_at(std::string_view text, std::size_t at) {
  Digits out{at};
  const auto digit = [&](std::size_t i) { return i < text.size() && line::digit(text[i]); };
  while (true) {
    while (digit(out.end)) ++out.end;
    if (out.end >= text.size()) return out;
    const char c = text[out.end];
    const bool thousands = c == ',' && digit(out.end + 1) && digit(out.end + 2) &&
                           digit(out.end + 3) && !digit(out.end + 4);
    const bool sign =
        out.end + 1 < text.size() && (text[out.end + 1] == '-' || text[out.end + 1] == '+');
    const bool exponent = (c == 'e' || c == 'E') && digit(out.end + (sign ? 2 : 1));
    if (thousands)
      ++out.end;
    else if (c == '.' && digit(out.end + 1))
      out.whole = false, ++out.end;
    else if (exponent)
      out.whole = false, out.end += sign ? 2 : 1;
    else
      return out;
  }
}

std::int64_t value_of(std::string_view digits) {
  std::int64_t out = 0;
  for (const char c : digits)
    if (c != ',') out = out > kFarthest ? out : out * 10 + (c - '0');
  return out;
}

// Part of a time of day, of a date or of an address.
bool of_clock(std::string_view text, std::size_t begin, std::size_t end) {
  const auto joined = [&](char c) {
    const bool before = begin >= 2 && text[begin - 1] == c && line::digit(text[begin - 2]);
    const bool behind = end + 1 < text.size() && text[end] == c && line::digit(text[end + 1]);
    return before || behind;
  };
  return joined(':') || joined('-') || joined('.');
}

// "/5000", " of 5000" behind a number, and where it ends.
std::pair<std::int64_t, std::size_t> total_behind(std::string_view text, std::size_t at) {
  std::size_t i = at;
  while (i < text.size() && text[i] == ' ') ++i;
  if (i < text.size() && text[i] == '/')
    ++i;
  else if (text.substr(i).starts_with("of "))
    i += 3;
  else
    return {0, at};
  while (i < text.size() && text[i] == ' ') ++i;
  if (i >= text.size() || !line::digit(text[i])) return {0, at};
  const Digits digits = digits_at(text, i);
  return digits.whole ? std::pair(value_of(text.substr(i, digits.end - i)), digits.end)
                      : std::pair(std::int64_t{0}, at);
}

// "20008 MiB": its unit stands apart.
bool amount(std::string_view text, std::size_t at) {
  static constexpr std::array<std::string_view, 10> kUnits{"MiB", "GiB", "MB", "GB", "KiB",
                                                           "kB",  "ms",  "s",  "us", "W"};
  return at < text.size() && text[at] == ' ' && contains(kUnits, word_behind(text, at + 1));
}

// "nan", "-inf" where a number may stand: 0, or its length.
std::size_t no_number(std::string_view rest) {
  for (const std::string_view word : {"nan", "inf", "NaN", "Inf", "NAN", "INF"})
    if (rest.starts_with(word) && (rest.size() == word.size() || !step_letter(rest[word.size()])))
      return word.size();
  return 0;
}

}  // namespace

CountedLine counted_line(std::string_view text) {
  CountedLine out;
  text = text.substr(0, kLongestCounted);
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (const std::size_t n = i == 0 || !step_letter(text[i - 1]) ? no_number(text.substr(i)) : 0) {
      out.shape += '~';
      i += n;
      continue;
    }
    if (!line::digit(c)) {
      const bool sign = (c == '-' || c == '+') && i + 1 < text.size() && line::digit(text[i + 1]) &&
                        !(i > 0 && line::digit(text[i - 1]));
      if (!sign && !((c == ' ' || c == '\t') && !out.shape.empty() && out.shape.back() == ' '))
        out.shape += c == '\t' ? ' ' : c;
      ++i;
      continue;
    }
    const Digits digits = digits_at(text, i);
    const std::string_view name = word_before(text, i);
    const std::string_view unit = word_behind(text, digits.end);
    const bool countable =
        digits.whole && !contains(lower(name), "mem") && !amount(text, digits.end) &&
        !of_clock(text, i, digits.end) && (unit.empty() || grade_of(unit) > 0) &&
        !(digits.end < text.size() && text[digits.end] == '%') && out.counts.size() < kMostCounts;
    const std::string_view number = text.substr(i, digits.end - i);
    if (lower(name).ends_with("rank"))
      out.shape += number;
    else
      out.shape += digits.whole ? '#' : '~';
    i = digits.end;
    if (!countable) continue;
    const auto [of, end] = total_behind(text, i);
    out.counts.push_back({value_of(number), of, unit.empty() ? grade_of(name) : grade_of(unit)});
    if (of > 0) {
      out.shape += "/#";
      i = end;
    }
  }
  return out;
}

bool StepCounter::choose(Shape& shape) {
  const auto& lines = shape.lines;
  std::optional<std::size_t> best;
  std::size_t best_grade = 0;
  for (std::size_t f = 0; f < lines.front().size(); ++f) {
    bool grows = true, steady = true;
    for (std::size_t k = 1; k < lines.size(); ++k) {
      const std::int64_t by = lines[k][f].value - lines[k - 1][f].value;
      grows = grows && by > 0;
      steady = steady && by == lines[1][f].value - lines[0][f].value;
    }
    const std::size_t grade = lines.front()[f].grade;
    const std::size_t least = lines.front()[f].of > 0 ? kLinesOfTotal : kLinesUnnamed;
    if (!grows || (grade == 0 && (!steady || lines.size() < least))) continue;
    if (!best || (grade > 0 && (best_grade == 0 || grade < best_grade))) {
      best = f;
      best_grade = grade;
    }
  }
  if (!best) return false;
  shape.chosen = *best;
  return true;
}

// A count that falls back while another one of the line rose by one began the next epoch; one that
// falls back otherwise is a restart.
std::int64_t StepCounter::step(Shape& shape, const std::vector<LineCount>& counts) {
  const LineCount& now = counts[shape.chosen];
  if (!shape.last.empty() && now.value < shape.last[shape.chosen].value) {
    bool next_epoch = false;
    for (std::size_t f = 0; f < counts.size(); ++f)
      next_epoch = next_epoch || (f != shape.chosen && counts[f].value == shape.last[f].value + 1);
    const LineCount& last = shape.last[shape.chosen];
    shape.base = next_epoch && shape.base < kFarthest
                     ? shape.base + (last.of > 0 ? last.of : last.value + now.value)
                     : 0;
  }
  shape.last = counts;
  return shape.base + now.value;
}

std::vector<ProgressRow> StepCounter::count(const CountedLine& line, ProgressRow row) {
  if (line.counts.empty() || (shapes_.size() >= kMostShapes && shapes_.count(line.shape) == 0))
    return {};
  Shape& shape = shapes_[line.shape];
  std::vector<ProgressRow> out;
  const auto place = [&](ProgressRow one, const std::vector<LineCount>& counts) {
    one.iteration = step(shape, counts);
    if (counts[shape.chosen].of > 0 && shape.base == 0) one.total = counts[shape.chosen].of;
    out.push_back(std::move(one));
  };
  if (shape.decided) {
    place(std::move(row), line.counts);
    return out;
  }
  if (shape.given_up) return {};
  shape.lines.push_back(line.counts);
  shape.rows.push_back(std::move(row));
  if (shape.lines.size() < kLines) return {};
  if (!choose(shape)) {
    shape.given_up = shape.lines.size() >= kPatience;
    if (shape.given_up) shape.lines.clear(), shape.rows.clear();
    return {};
  }
  shape.decided = found_ = true;
  for (std::size_t k = 0; k < shape.lines.size(); ++k)
    place(std::move(shape.rows[k]), shape.lines[k]);
  shape.lines.clear();
  shape.rows.clear();
  return out;
}

}  // namespace culprit::ingest
