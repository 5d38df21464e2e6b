// MosaicML Composer's console: a heading "[batch=6101/48000]:" and one figure a line below it. The
// step is told when the next heading, or the end, shows that it is complete.
#include <cmath>

#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

namespace {

class ComposerBatch final : public Kept {
 public:
  void finish(Reading& reading) override {
    if (!open_) return;
    open_ = false;
    reading.steps_told = true;
    reading.sink.put(row_);
  }
  void begin(const TextLine& line, std::int64_t batch, std::int64_t total) {
    open_ = true;
    row_ = {};
    row_.place = line.place;
    row_.time = line.line.prefix.time;
    row_.framework = "composer";
    row_.iteration = batch;
    if (total > 0) row_.total = total;
  }
  bool open() const { return open_; }
  ProgressRow& row() { return row_; }

 private:
  bool open_ = false;
  ProgressRow row_;
};

Outcome read_composer(const TextLine& line, Reading& reading) {
  static const re2::RE2 kHeading(
      R"(\[(?:epoch=\d+(?:/\d+)?, ?)?batch=(\d{1,12})(?:/(\d{1,12}))?\]:)");
  static const re2::RE2 kFigure(
      R"((?i)Train ((?:metrics/)?[\w/]*?(batches_per_sec|CrossEntropy|loss/train/total|grad_norm)[\w/]*): ([-+.\deE]+|nan|inf|-inf)\s*$)");
  const std::string_view text = line.line.message;
  const re2::StringPiece piece(text.data(), text.size());
  std::int64_t batch = 0;
  std::string total;
  ComposerBatch& state = reading.keep<ComposerBatch>();
  if (re2::RE2::PartialMatch(piece, kHeading, &batch, &total)) {
    state.finish(reading);
    state.begin(line, batch, total.empty() ? 0 : std::strtoll(total.c_str(), nullptr, 10));
    return {true};
  }
  std::string name, kind, printed;
  if (!state.open() || !re2::RE2::PartialMatch(piece, kFigure, &name, &kind, &printed)) return {};
  const double value = std::strtod(printed.c_str(), nullptr);
  ProgressRow& row = state.row();
  if (kind == "batches_per_sec") {
    if (std::isfinite(value) && value > 0) row.iteration_ms = 1e3 / value;
    return {true};
  }
  const bool norm = kind == "grad_norm";
  if (std::isfinite(value))
    (norm ? row.grad_norm : row.loss) = value;
  else
    (norm ? row.grad_norm_nan : row.loss_nan) = true;
  return {true, nullptr, {}, !std::isfinite(value)};
}

constexpr std::string_view kComposerWords[] = {"batch=", "batches_per_sec",
                                               "CrossEntropy: ", "loss/train/total", "grad_norm: "};

}  // namespace

extern constinit const Recogniser kComposer{
    "composer", "MosaicML Composer's batches, a figure a line", kComposerWords, read_composer};

}  // namespace culprit::ingest
