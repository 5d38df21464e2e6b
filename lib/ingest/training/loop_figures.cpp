#include "ingest/training/loop_figures.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <re2/re2.h>

#include "ingest/engine/series_book.hpp"
#include "line/digit.hpp"
#include "model/contains.hpp"
#include "rules/step_parts.hpp"

namespace culprit::ingest {

namespace {

// What separates words: find_first_of() calls a function for each byte.
bool between(char c) {
  static constexpr std::array kBetween = [] {
    std::array<bool, 256> out{};
    for (const char one : std::string_view(" \t|,;[](){}"))
      out[static_cast<unsigned char>(one)] = true;
    return out;
  }();
  return kBetween[static_cast<unsigned char>(c)];
}

bool unit_of_figure(std::string_view text) {
  constexpr std::array<std::string_view, 14> kUnits{
      "s", "sec", "secs", "ms", "msec", "us", "GB", "GiB", "MB", "MiB", "gb", "mb", "GiBs", "MiBs"};
  return contains(kUnits, text) || (text.size() > 2 && text.size() <= 16 && contains(text, '/') &&
                                    text.find_first_of("0123456789") == std::string_view::npos);
}

// Names that say what a number without a unit is.
bool says_unit(std::string_view name) {
  if (name == "lr" || name == "LR" || name.ends_with("learning_rate")) return true;
  for (const std::string_view word : {"time", "_ms", "_s", "mem", "rss", "tok", "samples", "tps",
                                      "mfu", "MFU", "flops", "FLOP", "seq", "batch_size"})
    if (contains(name, word)) return true;
  return false;
}

// A rate of the whole log's progress: "12.3s/it" is the duration of a step, which progress.cpp
// reads.
bool per_step(std::string_view unit) {
  const std::size_t slash = unit.find('/');
  return slash != std::string_view::npos &&
         (unit.substr(slash + 1).starts_with("it") || unit.substr(slash + 1).starts_with("step"));
}

// Words of a name since the last number, at most the last three: "peak gpu mem".
class FigureName {
 public:
  void add(std::string_view word) {
    while (!word.empty() && (word.back() == ':' || word.back() == '=')) word.remove_suffix(1);
    if (word.empty()) return;
    if (words_ == 3) text_.erase(0, text_.find(' ') + 1), --words_;
    if (!text_.empty()) text_ += ' ';
    text_ += word;
    ++words_;
  }
  void clear() { text_.clear(), words_ = 0; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int words_ = 0;
};

std::string_view next_token(std::string_view& rest) {
  std::size_t begin = 0;
  while (begin < rest.size() && between(rest[begin])) ++begin;
  std::size_t end = begin;
  while (end < rest.size() && !between(rest[end])) ++end;
  const std::string_view token = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return token;
}

// A number with what stands behind it in the same word: 3.2s · 43.1GB · 247.5. The comma of a
// thousand is not part of a token, so "1,065 tok/s" is read from its last digits: a rate is told by
// others, and left out.
bool number_with_unit(std::string_view token, double& value, std::string_view& unit) {
  if (token.empty() || (token[0] != '-' && token[0] != '.' && (token[0] < '0' || token[0] > '9')))
    return false;
  return metric_number(token, value, unit);
}

// A time, an amount of memory or a rate; or a part of the step, whose unit the others may show.
bool measures(std::string_view name, std::string_view unit) {
  return unit.empty() ? says_unit(name) || rules::part_name(name).of_step() : unit_of_figure(unit);
}

// put(name, unit, value) for each figure of the line that is wanted.
template <class Wanted, class Put>
void each_figure(std::string_view text, const Wanted& wanted, const Put& put) {
  FigureName name;
  const auto found = [&](std::string_view token, std::string_view& rest) {
    double value = 0;
    std::string_view unit;
    if (!number_with_unit(token, value, unit)) return false;
    // "tok/s/gpu=8,126"
    const auto digit = [&](std::size_t i) { return i < rest.size() && line::digit(rest[i]); };
    const bool rate = contains(name.text(), "tok") || contains(name.text(), "samples");
    while (rate && unit.empty() && rest.size() >= 4 && rest[0] == ',' && digit(1) && digit(2) &&
           digit(3) && !digit(4)) {
      value = value * 1000 + (rest[1] - '0') * 100 + (rest[2] - '0') * 10 + (rest[3] - '0');
      rest.remove_prefix(4);
    }
    const bool thousands = rest.size() > 1 && rest[0] == ',' && digit(1);
    if (unit.empty()) {  // it may stand apart
      std::string_view ahead = rest, further;
      double figure = 0;
      if (const std::string_view after = next_token(ahead); unit_of_figure(after)) {
        // "step_s 1.93 tok/s 1085499": a rate before a number is the name of that.
        std::string_view beyond = ahead;
        if (!contains(after, '/') || !number_with_unit(next_token(beyond), figure, further)) {
          unit = after;
          rest = ahead;
        }
      }
    }
    if (!thousands && !name.text().empty() && !per_step(unit) && wanted(name.text(), unit))
      put(name.text(), unit, value);
    name.clear();
    return true;
  };
  while (!text.empty()) {
    const char before = text.front();
    const std::string_view token = next_token(text);
    if (token.empty()) break;
    if (before == '|' || before == ',' || before == ';') name.clear();
    const std::size_t cut = token.find_first_of("=:");
    if (cut != std::string_view::npos && cut + 1 < token.size()) {
      name.clear();
      name.add(token.substr(0, cut));
      if (!found(token.substr(cut + 1), text)) name.clear();
    } else if (!found(token, text)) {
      name.add(token);
    }
  }
}

// Milliseconds in the unit of a figure, by its own unit or that of its name; 0: no time.
double ms_of(std::string_view name, std::string_view unit) {
  if (unit == "s" || unit == "sec" || unit == "secs") return 1e3;
  if (unit == "ms" || unit == "msec") return 1;
  if (unit == "us") return 1e-3;
  if (!unit.empty()) return 0;
  if (name.ends_with("_ms")) return 1;
  return name.ends_with("_s") || name.ends_with("time") ? 1e3 : 0;
}

}  // namespace

bool says_evaluation(std::string_view text) {
  static const re2::RE2 kEvaluates(
      R"((?i)(?:\b|_)(?:val(?:id\w*)?|test\w*|eval\w*|infer\w*)(?:\b|_))");
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kEvaluates);
}

void add_loop_figures(std::string_view text, LineFigures& figures) {
  each_figure(text, measures, [&](const std::string& name, std::string_view unit, double value) {
    figures.add(name, unit, {}, value);
  });
}

std::vector<PartFigure> part_figures(std::string_view text) {
  std::vector<PartFigure> parts;
  each_figure(
      text,
      [](const std::string& name, std::string_view printed) {
        return printed.empty() ? rules::part_name(name).of_step() : ms_of(name, printed) > 0;
      },
      [&](const std::string& name, std::string_view printed, double value) {
        parts.push_back({name, printed, value});
      });
  return parts;
}

void add_part_figures(const std::vector<PartFigure>& parts, std::string_view unit,
                      LineFigures& figures) {
  for (const PartFigure& p : parts)
    if (unit.empty())
      unit = !p.unit.empty() ? p.unit : p.name.ends_with("time") ? "s" : std::string_view{};
  for (const PartFigure& p : parts)
    figures.add(p.name, p.unit.empty() && ms_of(p.name, {}) == 0 ? unit : p.unit, {}, p.value);
}

std::optional<double> step_of_parts(std::string_view text) {
  constexpr double kLeastTotal = 0.8, kMostTotal = 1.5;  // of the sum: parts overlap, or lack one
  double sum = 0, total = 0;
  int parts = 0;
  double bare = 0, scale = 0;  // parts without a unit, and what the total's unit would make them
  int bare_parts = 0;
  each_figure(text, measures, [&](const std::string& name, std::string_view unit, double value) {
    const double ms = value * ms_of(name, unit);
    const bool part = rules::part_name(name).part != rules::StepPart::none;
    if (part && unit.empty() && value >= 0 && ms_of(name, unit) == 0) bare += value, ++bare_parts;
    if (!(ms > 0)) return;
    if (part)
      sum += ms, ++parts;
    else if (rules::whole_of_step(name) || name == "time" || name == "dt")
      total = ms, scale = ms_of(name, unit);
  });
  const auto fits = [&](double of_parts) {
    return total >= kLeastTotal * of_parts && total <= kMostTotal * of_parts;
  };
  if (parts == 0 && bare_parts >= 2 && bare > 0 && fits(bare * scale)) return total;
  if (parts < 2) return std::nullopt;
  return fits(sum) ? total : sum;
}

}  // namespace culprit::ingest
