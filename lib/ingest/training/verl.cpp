// verl's console, one line a step: "step:63 - actor/pg_loss:-0.0008 - timing_s/gen:81.41 - ...".
#include "ingest/training/line_figures.hpp"
#include "ingest/training/progress_line.hpp"
#include "line/trimmed.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr std::string_view kBetweenFields = " - ";

Outcome read_verl(const TextLine& line, Reading& reading) {
  std::string_view text = line.line.message;
  bool odd = false;
  if (!text.starts_with("step:") || !contains(text, kBetweenFields)) return {};
  ProgressRow row = progress_row(line, "verl");
  const auto step = printed_number(text.substr(5, text.find(kBetweenFields) - 5), odd);
  if (!step || *step < 0 || *step > 1e15) return {};
  row.iteration = static_cast<std::int64_t>(*step);
  LineFigures& figures = reading.keep<LineFigures>();
  figures.begin(line, row.iteration);
  while (!text.empty()) {
    const std::size_t end = text.find(kBetweenFields);
    const std::string_view field = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + kBetweenFields.size());
    const std::size_t colon = field.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = line::trimmed(field.substr(0, colon));
    const std::string_view printed = field.substr(colon + 1);
    bool not_finite = false;
    const auto value = printed_number(printed, not_finite);
    if (name == "actor/pg_loss" || name == "actor/loss") {
      row.loss = value;
      row.loss_nan = not_finite;
    } else if (name == "actor/grad_norm") {
      row.grad_norm = value;
      row.grad_norm_nan = not_finite;
    } else if ((name == "timing_s/step" || name == "perf/time_per_step") && value) {
      row.iteration_ms = *value * 1e3;
    } else if (name.starts_with("timing_s/") && value) {
      figures.add(name.substr(name.find('/') + 1), "s", {}, *value);
    } else if (name != "step") {
      figures.add_text(name, printed);
    }
  }
  put_progress(row, reading);
  figures.end(line, reading);
  return {true, nullptr, {}, row.loss_nan || row.grad_norm_nan};
}

constexpr std::string_view kVerlWords[] = {" - actor/", " - critic/", " - timing_s/"};

constexpr std::string_view kAlsoOfSteps[] = {"step:"};

}  // namespace

extern constinit const Recogniser kVerl{
    "verl", "verl's steps with the times of their parts", kVerlWords, read_verl, {}, kAlsoOfSteps};

}  // namespace culprit::ingest
