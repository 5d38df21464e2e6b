// What readers of progress lines share: numbers as printed, the loss and the gradient norm.
#include "ingest/training/progress_line.hpp"

#include <charconv>
#include <cmath>

#include <re2/re2.h>

#include "model/ascii.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

std::string_view trim_value(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() &&
         (text.back() == ' ' || text.back() == '\r' || text.back() == ',' || text.back() == '|'))
    text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<double> printed_number(std::string_view text, bool& odd) {
  text = trim_value(text);
  if (!text.empty() && text.front() == '\'')
    text.remove_prefix(1);  // newer Trainers print numbers as strings
  std::string digits;
  for (const char c : text) {
    if (c == ',') continue;
    if ((c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E')
      digits.push_back(c);
    else
      break;
  }
  if (digits.empty() || digits == "-" || digits == "+") {
    std::string word;
    for (const char c : text.substr(0, 9)) word.push_back(lower(c));
    odd = contains(word, "nan") || contains(word, "inf");
    return std::nullopt;
  }
  const char* begin = digits.c_str() + (digits[0] == '+' ? 1 : 0);
  double value = 0;
  const auto [end, error] = std::from_chars(begin, digits.c_str() + digits.size(), value);
  if (error != std::errc() || end == begin) return std::nullopt;
  if (!std::isfinite(value)) {
    odd = true;
    return std::nullopt;
  }
  return value;
}

bool read_loss(std::string_view text, ProgressRow& row) {
  static const re2::RE2 kLoss(
      R"((?i)(?:^|[\s|,(])(?:train[ _]?|lm[ _]?|avg[ _]?)?loss\s*(?:[=:]|\s)\s*([-+.\deE]+|nan|inf|-inf)(?:[\s|,;)]|$))");
  static const re2::RE2 kNorm(
      R"((?i)(?:^|[\s|,(])(?:global[ _]?)?grad(?:ient)?[ _]?norm\s*(?:[=:]|\s)\s*([-+.\deE]+|nan|inf|-inf)(?:[\s|,;)]|$))");
  std::string loss, norm;
  const re2::StringPiece piece(text.data(), text.size());
  if (!re2::RE2::PartialMatch(piece, kLoss, &loss)) return false;
  row.loss = printed_number(loss, row.loss_nan);
  if (re2::RE2::PartialMatch(piece, kNorm, &norm))
    row.grad_norm = printed_number(norm, row.grad_norm_nan);
  return true;
}

bool of_torchtitan(std::string_view text) {
  return contains(text, "step:") && contains(text, "loss:") && !contains(text, " | ") &&
         (contains(text, "grad_norm: ") || contains(text, "  tflops: "));
}

ProgressRow progress_row(const TextLine& line, const char* framework) {
  return ProgressRow{.place = line.place, .time = line.line.prefix.time, .framework = framework};
}

void put_progress(const ProgressRow& row, Reading& reading) {
  reading.steps_told = reading.steps_told || row.iteration.has_value();
  if (row.iteration) reading.last_step = row.iteration;
  reading.sink.put(row);
}

}  // namespace culprit::ingest
