// The numbers on progress lines besides loss and iteration: throughput, memory, parts of a step.
// progress.cpp reads the same lines for the progress they tell; here every "name: number" becomes a
// sample of a series.

#include "ingest/training/line_figures.hpp"
#include "ingest/training/loop_figures.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

std::optional<std::int64_t> step_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  std::int64_t value = 0;
  int digits = 0;
  for (const char c : text) {
    if (c == ',') continue;  // torchtitan: 1,200
    if (c < '0' || c > '9' || ++digits > 15) break;
    value = value * 10 + (c - '0');
  }
  return digits == 0 || digits > 15 ? std::nullopt : std::optional(value);
}

//  [2026-11-21 03:33:15.3] iteration  45/ 120 | elapsed time per iteration (ms): 92.1 | throughput
//  per GPU (TFLOP/s/GPU): 412.3 |
// Training epoch 0, iteration 97/99 | lr: 1.469e-05 | global_step: 97 | train_step_timing in
// s: 12.22
Outcome read_fields(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  const bool nemo = contains(text, "train_step_timing in s:");
  auto step = nemo ? step_after(text, "global_step:") : std::nullopt;
  if (!step) step = step_after(text, "iteration ");
  if (!step || !contains(text, " | "))
    return {};  // a key of somebody's JSON; progress.cpp rejects what is torn
  LineFigures& figures = reading.keep<LineFigures>();
  figures.begin(line, step);
  figures.add_fields(text);
  return {figures.end(line, reading)};
}

// step: 700  loss:  0.7052  memory: 76.79GiB(96.97%)  tps: 1,541,366  tflops: 0.00  mfu: 0.00%
Outcome read_titan(const TextLine& line, Reading& reading) {
  std::string_view text = line.line.message;
  const std::size_t at = text.find("step:");
  if (at == std::string_view::npos || contains(text, " | ")) return {};
  text.remove_prefix(at);
  const auto step = step_after(text, "step:");
  if (!step) return {};
  LineFigures& figures = reading.keep<LineFigures>();
  figures.begin(line, step);
  for (bool first = true; !text.empty(); first = false) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) break;
    const std::string_view name = text.substr(0, colon);
    text.remove_prefix(colon + 1);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    const std::size_t end = std::min(text.find("  "), text.size());
    std::string number;
    for (const char c : text.substr(0, std::min<std::size_t>(end, 64)))
      if (c != ',') number += c;
    if (!first) figures.add_text(name, number);
    text.remove_prefix(end);
  }
  return {figures.end(line, reading)};
}

// epoch=0/micro_step=34/global_step=34, RunningAvgSamplesPerSec=7.86, CurrSamplesPerSec=8.0,
// MemAllocated=59.65GB
Outcome read_samples(const TextLine& line, Reading& reading) {
  std::string_view text = line.line.message;
  const auto step = step_after(text, "global_step=");
  LineFigures& figures = reading.keep<LineFigures>();
  figures.begin(line, step);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(", "), text.size());
    const std::string_view field = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 2, text.size()));
    if (const std::size_t equal = field.find('=');
        equal != std::string_view::npos && !contains(field, '/'))
      figures.add_text(field.substr(0, equal), field.substr(equal + 1));
  }
  return {figures.end(line, reading)};
}

// rank=0 time (ms) | forward: 27.41 | backward: 73.44 | step: 72.82. Printed after the line with
// the step.
Outcome read_times(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  constexpr std::string_view kHead = "time (ms) |";
  const std::size_t at = text.find(kHead);
  if (at == std::string_view::npos) return {};
  LineFigures& figures = reading.keep<LineFigures>();
  figures.begin(line, std::nullopt);
  if (const auto rank = step_after(text.substr(0, at), "rank=")) figures.rank(Rank(*rank));
  std::string_view rest = text.substr(at + kHead.size());
  while (!rest.empty()) {
    const std::size_t bar = std::min(rest.find('|'), rest.size());
    const std::string_view field = rest.substr(0, bar);
    rest.remove_prefix(std::min(bar + 1, rest.size()));
    const std::size_t colon = field.find(':');
    double value = 0;
    std::string_view after;
    std::string_view name = field.substr(0, colon);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    if (colon != std::string_view::npos && !name.empty() && name.size() <= 96 &&
        metric_number(field.substr(colon + 1), value, after) && after.empty())
      figures.add(name, "ms", {}, value);
  }
  return {figures.end(line, reading)};
}

// steps: 3000 loss: 2.5100 iter time (s): 1.647 samples/sec: 310.9 curr_seqlen: 2048
// [Rank 0] step=30, skipped=0, lr=[1.2e-05], mom=[(0.9, 0.95)], seqlen=8192, model_tflops/gpu=409.2
Outcome read_deepspeed_figures(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  std::string_view rest = text;
  auto step = step_after(text, "steps:");
  if (step && contains(text, "iter time (s):")) {
    rest.remove_prefix(text.find("iter time (s):"));
  } else {
    step = step_after(text, "] step=");
    const std::size_t momentum = text.find("mom=[");
    if (!step || momentum == std::string_view::npos) return {};
    rest.remove_prefix(std::min(text.find(']', momentum), text.size()));
  }
  LineFigures& figures = reading.keep<LineFigures>();
  figures.begin(line, step);
  add_loop_figures(rest, figures);
  return {figures.end(line, reading)};
}

constexpr std::string_view kDeepspeedFigureWords[] = {"iter time (s):", "mom=[("};
constexpr std::string_view kFieldWords[] = {"elapsed time per iteration", "train_step_timing in s"};
constexpr std::string_view kTitanFigureWords[] = {"  tflops: "};
constexpr std::string_view kSamplesWords[] = {"SamplesPerSec="};
constexpr std::string_view kTimesWords[] = {"time (ms) | "};

}  // namespace

extern constinit const Recogniser kFieldFigures{
    "step-figures", "every number on iteration lines of Megatron-LM, GPT-NeoX and NeMo 2",
    kFieldWords, read_fields};
extern constinit const Recogniser kDeepspeedFigures{"deepspeed-figures",
                                                    "numbers behind the step on DeepSpeed's lines",
                                                    kDeepspeedFigureWords, read_deepspeed_figures};
extern constinit const Recogniser kTitanFigures{
    "torchtitan-figures", "throughput, memory and utilisation on torchtitan's step lines",
    kTitanFigureWords, read_titan};
extern constinit const Recogniser kSamplesPerSecond{
    "deepspeed-samples", "DeepSpeed's samples per second and memory", kSamplesWords, read_samples};
extern constinit const Recogniser kStepTimes{
    "step-times", "parts of a step: DeepSpeed and GPT-NeoX 'time (ms) | forward: ...'", kTimesWords,
    read_times};

}  // namespace culprit::ingest
