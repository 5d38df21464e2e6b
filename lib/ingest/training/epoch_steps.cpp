// Steps counted within an epoch, as the loops print them that grew from PyTorch's examples and from
// MetricLogger, timm, OpenCLIP, Swin and MMEngine:
//   Epoch: [3][ 120/5004]  Time  0.312 ( 0.340)  Data  0.010 ( 0.012)  Loss 2.3010e+00
//   Train Epoch: 3 [44957696/128000000 (35%)] Data (t): 2.557 Batch (t): 8.037, 4044.2/s
// The count may be of batches or of samples; what matters is that it grows.
#include <re2/re2.h>

#include "ingest/training/loop_figures.hpp"
#include "ingest/training/progress_line.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr std::int64_t kMostSteps = std::int64_t{1} << 50;

// Seconds unless the unit says otherwise. The first that fits is the last batch's; its mean stands
// behind it.
std::optional<double> seconds_after(const re2::RE2& name, std::string_view text) {
  double value = 0;
  std::string unit;
  if (!re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), name, &value, &unit))
    return std::nullopt;
  return unit == "ms" ? value / 1e3 : value;
}

Outcome read_epoch_step(const TextLine& line, Reading& reading) {
  static const re2::RE2 kCount(
      R"((?i)(?:^|[\s:])(?:train(?:ing)?[ :_-]*)?(?:epoch(?:\(train\))?|train)[: ]*\[?\s*(\d{1,6})(?:/\d{1,6})?\]?[\s,]*\[\s*(\d{1,12})\s*/\s*(\d{1,12})(?:\s*\([^\])]{0,8}\))?\s*\])");
  // Not "elapsed time", nor "08:02:00", nor "batch 64": the name stands alone, and the number too.
  static const re2::RE2 kTime(
      R"((?i)(?:\bbatch(?:[ _]time| \(t\))|(?:^|[\t,|)]|\s\s)\s*time)[: ]+(\d+(?:\.\d+)?)\s*(ms|s)?(?:[\s,(/|]|$))");
  static const re2::RE2 kData(
      R"((?i)(?:\bdata(?:[ _]time| \(t\))|(?:^|[\t,|)]|\s\s)\s*data)[: ]+(\d+(?:\.\d+)?)\s*(ms|s)?(?:[\s,(/|]|$))");
  const std::string_view text = line.line.message;
  if (says_evaluation(text.substr(0, text.find('[')))) return {};
  std::int64_t epoch = 0, at = 0, total = 0;
  if (!re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kCount, &epoch, &at,
                              &total) ||
      total == 0 || at > total || epoch > kMostSteps / total)
    return {};
  ProgressRow row = progress_row(line, "epoch");
  const bool has_loss = read_loss(text, row);
  const auto took = seconds_after(kTime, text);
  if (!has_loss && !took) return {};
  row.iteration = epoch * total + at;
  if (took) row.iteration_ms = *took * 1e3;
  put_progress(row, reading);
  LineFigures& figures = reading.keep<LineFigures>();
  figures.begin(line, row.iteration);
  if (const auto data = seconds_after(kData, text); data && !contains(text, "data_time"))
    figures.add("data_time", "s", {}, *data);
  add_loop_figures(text, figures);
  figures.end(line, reading);
  return {true, nullptr, {}, row.loss_nan || row.grad_norm_nan};
}

constexpr std::string_view kEpochWords[] = {"epoch: [",     "epoch:[",     "epoch [",
                                            "epoch(train)", "train epoch", "train: "};

}  // namespace

extern constinit const Recogniser kEpochSteps{
    "epoch-steps", "steps counted within an epoch, with a loss or a time", kEpochWords,
    read_epoch_step};

}  // namespace culprit::ingest
