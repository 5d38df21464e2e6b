// Step lines of home-made loops, in nobody's format: any line with the number of a step and a loss,
// or how long a step takes. What counts the steps is said by a name before the number, or learnt
// from lines of the same shape (step_counter.hpp).
#include <cstdlib>

#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "ingest/engine/series_book.hpp"
#include "ingest/training/loop_figures.hpp"
#include "ingest/training/progress_line.hpp"
#include "ingest/training/rank_parts.hpp"
#include "ingest/training/step_counter.hpp"
#include "ingest/training/step_time_unit.hpp"
#include "line/digit.hpp"
#include "line/trimmed.hpp"
#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "rules/guarded_pattern.hpp"
#include "rules/step_parts.hpp"

namespace culprit::ingest {

namespace {

// Lines of frameworks, and bars, which others read.
bool read_elsewhere(std::string_view text) {
  for (const std::string_view other :
       {"elapsed time per iteration", "train_step_timing", "reduced_train_loss", "{'loss'",
        "RunningAvg", "'train_loss'", " skipped=", "iter time (s):", "timing_s/"})
    if (contains(text, other)) return true;
  return of_torchtitan(text);
}

// Milliseconds in one of the unit, "ms" or "s" in whatever letters.
double to_ms(const std::string& unit) { return unit[0] == 'm' || unit[0] == 'M' ? 1 : 1e3; }

// How long a step took, as far as the line says so in words of a step. Without a unit, in the name
// or after the number, it goes to `bare`.
std::optional<double> step_took(std::string_view text, std::optional<double>& bare) {
  // A bare "time" is mostly the time since the start, unless it is in ms.
  static const rules::GuardedPattern kTook(
      R"((?i)(?:^|[\s|,(])(?:(?:step|iter(?:ation)?|batch)[ _]?time|t_(?:step|iter)|time(?:[ _]per[ _]|/)(?:step|iter(?:ation)?))(?:[ _]?\(?(ms|msec|s|sec|seconds)\)?)?(?:\s*[=:]\s*|\s+)(\d+(?:\.\d*)?(?:e[-+]?\d+)?)\s*(ms|msec|s|sec|secs|seconds)?(?:[\s|,;)]|$))");
  // "iter 4.06s": a unit, where a count has none.
  static const rules::GuardedPattern kIterTook(
      R"((?i)(?:^|[\s|,(])(?:step|iter(?:ation)?|batch)\s*[=:]?\s*(\d+(?:\.\d*)?)\s*(ms|msec|s|sec)(?:[\s|,;)]|$))");
  // "41 ms/step", "1.2s/it", "39.9s/10it": the unit says what it is a time of.
  static const rules::GuardedPattern kTimePerStep(
      R"((?i)(?:^|[\s|,(])(\d+(?:\.\d*)?)\s*(ms|msec|s|sec)\s*/\s*(\d{0,6})\s*(?:step|iter(?:ation)?|it)s?\b)");
  // "loss 2.39 sec/step 4.47": there the unit is the name of what follows.
  static const rules::GuardedPattern kUnitIsName(
      R"((?i)(?:^|[|,(]\s*|[a-z_]+[ :=]+[-+\d.e]+[ ,|]+)(ms|msec|s|sec|secs|seconds)\s*(?:/|_per_|_)(?:step|iter(?:ation)?|it|batch)s?(?:\s*[=:]\s*|\s+)(\d+(?:\.\d*)?)(?:[\s|,;)]|$))");
  // MaxText: "completed step: 12, seconds: 3.871, TFLOP/s/device: 187.3, ..., loss: 10.871".
  static const rules::GuardedPattern kSeconds(R"(^completed step: \d+, seconds: (\d+(?:\.\d*)?),)");
  static const rules::GuardedPattern kBareTime(
      R"((?i)(?:^|[\s|,(])time\s*[=:]?\s*(\d+(?:\.\d*)?)\s*(?:ms|msec)(?:[\s|,;)]|$))");
  // Loops that print when they will be done time each iteration in seconds: MetricLogger, MMEngine,
  // detectron2.
  static const rules::GuardedPattern kWithEta(R"(\beta: .*\s(?:iter_)?time: (\d+\.\d+)(?:\s|$))");
  // "iter_s=10.3", "step_ms: 812", "time_this_iter_s=1.3" of Ray
  static const rules::GuardedPattern kUnitInName(
      R"((?i)(?:^|[\s|,(]|time_this_)(?:step|iter(?:ation)?|batch)_(ms|msec|s|sec|secs|seconds)\s*[=:]\s*(\d+(?:\.\d*)?)(?:[\s|,;)]|$))");
  static const rules::GuardedPattern kVerb(
      R"((?i)(?:^|[\s|,(])(?:took|(?:step|iter|iteration|it) \d{1,12} in|dur(?:ation)?(?:_(ms|s|sec))?|dt|secs?|it \d{1,12})(?:\s*[=:]\s*|\s+)(\d+(?:\.\d*)?)\s*(ms|msec|s|sec|secs|seconds)?(?:[\s|,;)]|$))");
  static const rules::GuardedPattern kRate(
      R"((?i)(?:^|[\s|,(/])(?:steps?|it|iters?|iterations?|batches)(?:_per_|/)(?:s|sec|second)(?:\s*[=:]\s*|\s+)(\d+(?:\.\d*)?)(?:[\s|,;)]|$))");
  static const rules::GuardedPattern kUnitOfRate(
      R"((?i)(?:^|[\s|,(])(\d+(?:\.\d*)?)\s*(?:steps?|it|iters?)/s(?:ec)?(?:[\s|,;)]|$))");
  const rules::Bigrams pairs(text);
  std::string of_name, took, unit, steps;
  double each = 0;
  bool odd = false;
  if (kTook.found_in(text, pairs, &of_name, &took, &unit)) {
    if (unit.empty()) unit = of_name;
    const auto value = printed_number(took, odd);
    if (value && !unit.empty()) return to_ms(unit) * *value;
    bare = value;
    return std::nullopt;
  }
  if (kUnitInName.found_in(text, pairs, &unit, &each)) return to_ms(unit) * each;
  if (kUnitIsName.found_in(text, pairs, &unit, &each)) return to_ms(unit) * each;
  if (kTimePerStep.found_in(text, pairs, &each, &unit, &steps)) {
    const double of = steps.empty() ? 1 : std::strtod(steps.c_str(), nullptr);
    return of > 0 ? std::optional(to_ms(unit) * each / of) : std::nullopt;
  }
  if (kIterTook.found_in(text, pairs, &each, &unit)) return to_ms(unit) * each;
  if (kSeconds.found_in(text, pairs, &each)) return each * 1e3;
  if (kBareTime.found_in(text, pairs, &each)) return each;
  if (kWithEta.found_in(text, pairs, &each)) return each * 1e3;
  // "took 3.88 sec", "finished step 120 in 3.879s", "dur_ms=3879", "it 120 3.88s"
  if (kVerb.found_in(text, pairs, &of_name, &each, &unit)) {
    if (unit.empty()) unit = of_name;
    if (!unit.empty()) return to_ms(unit) * each;
    bare = each;
    return std::nullopt;
  }
  // "steps_per_sec=0.2578", "0.258 it/s"
  if ((kRate.found_in(text, pairs, &each) || kUnitOfRate.found_in(text, pairs, &each)) && each > 0)
    return 1e3 / each;
  return std::nullopt;
}

// "| 3878.8 ms |": a field that is a time and nothing else, and the only one.
std::optional<double> field_of_time(std::string_view text) {
  if (!contains(text, '|')) return std::nullopt;
  std::optional<double> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('|'), text.size());
    const std::string_view field = line::trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    double value = 0;
    std::string_view unit;
    if (field.empty() || !metric_number(field, value, unit)) continue;
    unit = line::trimmed(unit);
    if (unit != "ms" && unit != "s" && unit != "sec") continue;
    if (out) return std::nullopt;
    out = value * to_ms(std::string(unit));
  }
  return out;
}

// The figures of the line; of a step without a loss, or on a line without a time, they add up to
// how long it took. Else the times of the lines are exacter.
void add_took(std::string_view text, bool has_loss, ProgressRow& row, Reading& reading) {
  std::optional<double> bare;
  row.iteration_ms = step_took(text, bare);
  if (bare && row.iteration)
    if (const double unit = reading.keep<StepTimeUnit>().to_ms(*row.iteration, row.time, *bare);
        unit > 0)
      row.iteration_ms = unit * *bare;
  if (!row.iteration_ms && (!has_loss || row.time.clock == Clock::none))
    row.iteration_ms = step_of_parts(text);
  if (!row.iteration_ms && row.time.clock == Clock::none) row.iteration_ms = field_of_time(text);
}

void keep_figures(const TextLine& line, std::int64_t step, Reading& reading) {
  LineFigures& figures = reading.keep<LineFigures>();
  figures.begin(line, step);
  if (tells_of_rank(line.line.message)) return;  // rank_parts.cpp reads them
  add_loop_figures(line.line.message, figures);
  figures.end(line, reading);
}

// "completed step 1200/5000" and nothing more: progress, if it is many and the line has a time.
bool counts_on(const ProgressRow& row) {
  constexpr std::int64_t kLeastTotal = 1000;  // fewer are stages of something: "Step 3/12: RUN"
  return row.total && *row.total >= kLeastTotal && *row.iteration <= *row.total &&
         row.time.clock != Clock::none;
}

// A loss by any of its names, with whatever stands before it in the same word: "tot_loss=1.2",
// "CrossEntropyLoss=2.41", "perte : 5,27".
bool read_any_loss(std::string_view text, ProgressRow& row) {
  if (read_loss(text, row)) return true;
  static const re2::RE2 kNumber(
      R"(^[a-zA-Z_/.]{0,16}["']?\s*[=:\[ ]\s*(?:loss=|(?:now|is|was|of|at) )?([-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|nan|inf|NaN|Inf))(?:[^\d.% ]| [^%]|\s?$))");
  std::string lower(text.substr(0, 400));
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  for (const std::string& name : rules::loss_names())
    for (std::size_t at = lower.find(name); at != std::string::npos;
         at = lower.find(name, at + 1)) {
      const std::string_view before = text.substr(0, at);
      const std::string_view word = before.substr(before.find_last_of(" \t,|(") + 1);
      if (says_evaluation(word) || before.ends_with("packet ") || before.ends_with("best "))
        continue;
      const std::string_view rest = text.substr(at + name.size());
      std::string value;
      if (!re2::RE2::PartialMatch(re2::StringPiece(rest.data(), rest.size()), kNumber, &value))
        continue;
      row.loss = printed_number(value, row.loss_nan);
      return row.loss || row.loss_nan;
    }
  return false;
}

// "[1200] loss=2.41", "1200: loss 2.41": the number that was taken for a label of the line, and
// what follows it.
std::string_view with_number_before(const TextLine& line) {
  const std::string_view raw = line.raw, text = line.line.message;
  if (!raw.ends_with(text)) return text;
  std::size_t at = raw.size() - text.size();
  while (at > 0 && contains(std::string_view(" ]:"), raw[at - 1])) --at;
  while (at > 0 && line::digit(raw[at - 1])) --at;
  if (at > 0 && raw[at - 1] == '[') --at;
  return raw.substr(at);
}

// Of a line that does not name its step.
Outcome read_counted(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  // Records of JSON and bars have readers of their own.
  for (const std::string_view bar : {"%|", "it/s]", "s/it]", "it/s,", "s/it,"})
    if (contains(text, bar)) return {};
  if (text.empty() || text.front() == '{') return {};
  StepCounter& counter = reading.keep<StepCounter>();
  if (reading.steps_told && !counter.found()) return {};
  ProgressRow row = progress_row(line, "generic");
  const bool has_loss = read_any_loss(text, row);
  if (rules::tells_of_other_work(text)) return {};
  add_took(text, has_loss, row, reading);
  if (!has_loss && !row.iteration_ms) return {};
  const bool odd = row.loss_nan || row.grad_norm_nan;
  CountedLine counted = counted_line(text);
  if (counted.counts.empty()) counted = counted_line(with_number_before(line));
  const std::vector<ProgressRow> rows = counter.count(counted, std::move(row));
  for (const ProgressRow& one : rows) put_progress(one, reading);
  if (!rows.empty()) keep_figures(line, *rows.back().iteration, reading);
  return {!rows.empty(), nullptr, {}, odd};
}

// "step=18230 loss=2.31", "Iter 120 | train_loss: 0.4", or with a step number and how long a step
// takes, "step 2010: 39.9s/10it".
Outcome read_loop(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  if (read_elsewhere(text)) return {};
  static const re2::RE2 kStep(
      R"((?i)(?:(?:^|[\s|,(\[{])(?:global[ _]?|train[ _]?)?(?:step|iter(?:ation)?)s?\s*[=:#\[ ]|(?:^|[\]|])\s*it[= ])\s*(\d{1,12})(?:\s*/\s*(\d{1,12}))?(?:[^\d.a-z]|[.:]\s|[.:]?$))");
  std::int64_t step = 0;
  std::string total;
  if (!re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kStep, &step, &total))
    return read_counted(line, reading);
  ProgressRow row = progress_row(line, "generic");
  const bool has_loss = read_any_loss(text, row);
  row.iteration = step;
  if (!total.empty()) row.total = std::strtoll(total.c_str(), nullptr, 10);
  add_took(text, has_loss, row, reading);
  if (!has_loss && !row.iteration_ms && !counts_on(row)) return {};
  put_progress(row, reading);
  keep_figures(line, step, reading);
  return {true, nullptr, {}, row.loss_nan || row.grad_norm_nan};
}

// The same where no word of a loss has found the line, by how long a step or its parts take.
Outcome read_step_time(const TextLine& line, Reading& reading) {
  const std::string small = lower(line.line.message);
  for (const std::string& word : rules::loss_line_words())
    if (contains(small, word)) return {};
  return read_loop(line, reading);
}

constexpr std::string_view kLoopWords[] = {"[step="};
constexpr std::string_view kStepTimeWords[] = {
    "ms/step",   " s/step",   "s/iter",    "s/10it",    "s/20it",     "s/50it",     "s/100it",
    "s/10 it",   "s/20 it",   "s/50 it",   "s/100 it",  "data_time",  "data_s=",    "data_ms",
    "data_wait", "data_load", "dataload",  "fwd_bwd",   "fwd+bwd",    "fwd_ms",     "fwd_time",
    " forward=", "forward_",  "compute=",  "compute_",  "allreduce=", "allreduce_", "wait_reduce",
    "(data ",    " fwd 0",    " fwd 1",    " bwd 0",    " bwd 1",     "step_ms=",   "step_ms:",
    "step_time", "iter_ms=",  "iter_ms:",  "iter_time", " s/it=",     " s_it=",     "_iter_s=",
    "step/s",    "steps/s",   "steps_per", "iter/s",    "iters/s",    " took ",     " dur_ms",
    "duration",  "time/step", "time/it",   "exposed",   "step done"};

// It must name its step.
constexpr std::string_view kOfSteps[] = {"step", "iter", "it ", "it="};

}  // namespace

extern constinit const Recogniser kLoopLines{
    "step-loss", "home-made loops: any line with a number that counts and a loss",
    kLoopWords,  read_loop,
    {},          {},
    false,       rules::loss_line_words};
extern constinit const Recogniser kStepTime{
    "step-time",
    "home-made loops: a step number and how long a step takes",
    kStepTimeWords,
    read_step_time,
    {},
    kOfSteps};

}  // namespace culprit::ingest
