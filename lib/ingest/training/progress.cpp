// Progress lines of training frameworks, each in its own form: a completed step, its time, loss and
// gradient norm. A NaN loss is often the *missing* loss: Megatron prints it only when it is >= 0,
// and counts the iteration among the nan ones.
#include <cmath>

#include "ingest/engine/recogniser.hpp"
#include "ingest/training/progress_line.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

// The text after `key`, up to a separator.
std::optional<std::string_view> text_after(std::string_view text, std::string_view key,
                                           std::string_view stop) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + key.size());
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest.substr(0, rest.find(stop));
}

std::optional<std::int64_t> whole(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  bool odd = false;
  const auto value = printed_number(*text, odd);
  if (!value || *value < 0 || *value > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(std::llround(*value));
}

// Where the values of Megatron's fields begin. Every key ends with a colon, so one pass over the
// colons finds them all.
struct MegatronFields {
  std::optional<std::string_view> elapsed, lm_loss, lm_loss_underscore, loss, grad_norm, nans;
  explicit MegatronFields(std::string_view text) {
    for (std::size_t colon = text.find(':'); colon != std::string_view::npos;
         colon = text.find(':', colon + 1)) {
      const std::string_view head = text.substr(0, colon);
      const auto keep = [&](std::string_view key, std::optional<std::string_view>& value) {
        if (!value && head.ends_with(key))
          value = text.substr(colon + 1, text.find('|', colon + 1) - (colon + 1));
      };
      switch (head.empty() ? '\0' : head.back()) {
        case ')': keep("elapsed time per iteration (ms)", elapsed); break;
        case 's':
          keep("lm loss", lm_loss);
          keep("lm_loss", lm_loss_underscore);
          keep("| loss", loss);
          keep("number of nan iterations", nans);
          break;
        case 'm': keep("grad norm", grad_norm); break;
        default: break;
      }
    }
  }
};

Outcome read_megatron(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  const MegatronFields fields(text);
  if (!fields.elapsed) return {};  // a key of somebody's JSON
  const std::size_t at = text.find("iteration ");
  if (at == std::string_view::npos) return {false, nullptr, "megatron.no_iteration"};
  ProgressRow row = progress_row(line, "megatron");
  row.iteration = whole(text_after(text.substr(at), "iteration ", "/"));
  if (const std::size_t slash = text.find('/', at); slash != std::string_view::npos)
    row.total = whole(text.substr(slash + 1, 24));
  bool odd = false;
  row.iteration_ms = printed_number(*fields.elapsed, odd);
  const auto loss = fields.lm_loss              ? fields.lm_loss
                    : fields.lm_loss_underscore ? fields.lm_loss_underscore
                                                : fields.loss;
  if (loss) row.loss = printed_number(*loss, row.loss_nan);
  if (fields.grad_norm) row.grad_norm = printed_number(*fields.grad_norm, row.grad_norm_nan);
  bool ignore = false;
  const auto count = fields.nans ? printed_number(*fields.nans, ignore) : std::nullopt;
  if (count && *count > 0) row.loss_nan = true;
  if (!loss && row.grad_norm_nan) row.loss_nan = true;
  if (row.loss_nan) row.loss.reset();
  if (!row.iteration) return {false, nullptr, "megatron.no_iteration"};
  put_progress(row, reading);
  return {true, nullptr, {}, row.loss_nan || row.grad_norm_nan};
}

// A line of the timer is a step by itself, unless the line of that step follows: the engine of
// pipelines prints it bare, and the timer's has the time.
class DeepspeedTimer final : public Kept {
 public:
  void next(std::optional<ProgressRow> row, Reading& reading) {
    if (row_ && row_->iteration) put_progress(*row_, reading);
    row_ = std::move(row);
  }
  // The time of that step's line, which is told now.
  std::optional<Timestamp> told(const std::optional<std::int64_t>& step, Reading& reading) {
    if (!row_ || row_->iteration != step) {
      next(std::nullopt, reading);
      return std::nullopt;
    }
    const Timestamp time = row_->time;
    row_.reset();
    return time;
  }
  void finish(Reading& reading) override { next(std::nullopt, reading); }

 private:
  std::optional<ProgressRow> row_;
};

// "steps: 52770 loss: 1.9656 iter time (s): 8.112 samples/sec: 126.239"
Outcome read_deepspeed_pipeline(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  ProgressRow row = progress_row(line, "deepspeed");
  row.iteration = whole(text_after(text, "steps:", " loss:"));
  if (const auto loss = text_after(text, "loss:", " iter"))
    row.loss = printed_number(*loss, row.loss_nan);
  bool odd = false;
  if (const auto s = text_after(text, "iter time (s):", " samples"))
    if (const auto value = printed_number(*s, odd)) row.iteration_ms = *value * 1e3;
  if (!row.iteration || !row.iteration_ms) return {};
  const auto time = reading.keep<DeepspeedTimer>().told(row.iteration, reading);
  if (row.time.clock == Clock::none && time) row.time = *time;
  put_progress(row, reading);
  return {true, nullptr, {}, row.loss_nan};
}

Outcome read_deepspeed(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  if (contains(text, "iter time (s):")) return read_deepspeed_pipeline(line, reading);
  if (const auto step = text_after(text, "/global_step=", ",")) {
    ProgressRow row = progress_row(line, "deepspeed");
    row.iteration = whole(*step);
    reading.keep<DeepspeedTimer>().next(std::move(row), reading);
    return {true};
  }
  ProgressRow row = progress_row(line, "deepspeed");
  row.iteration = whole(text_after(text, "step=", ","));
  if (!row.iteration || !contains(text, "skipped=")) return {};
  reading.keep<DeepspeedTimer>().told(row.iteration, reading);
  read_loss(text, row);
  put_progress(row, reading);
  return {true, nullptr, {}, row.loss_nan || row.grad_norm_nan};
}

Outcome read_nemo(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  ProgressRow row = progress_row(line, "nemo");
  row.iteration = whole(text_after(text, "global_step:", "|"));
  if (!row.iteration) row.iteration = whole(text_after(text, "global_step=", ","));
  if (!row.iteration) row.iteration = whole(text_after(text, "iteration ", "/"));
  // A loop of somebody's own with its names: "step=40152 reduced_train_loss=21.3 grad_norm=321".
  const auto word_after = [&](std::string_view key) {
    auto rest = text_after(text, key, " ");
    if (rest) rest = rest->substr(0, rest->find_first_of(",|]"));
    return rest;
  };
  for (const std::string_view key : {" step=", " step ", " step: "})
    if (!row.iteration) row.iteration = whole(word_after(key));
  bool odd = false;
  auto s = text_after(text, "train_step_timing in s:", "|");
  if (!s) s = word_after("step_timing in s=");
  if (s)
    if (const auto value = printed_number(*s, odd)) row.iteration_ms = *value * 1e3;
  if (const auto loss = text_after(text, "reduced_train_loss:", "|"))
    row.loss = printed_number(*loss, row.loss_nan);
  else if (const auto loss2 = word_after("train_loss="))
    row.loss = printed_number(*loss2, row.loss_nan);
  if (const auto norm = word_after("grad_norm="))
    row.grad_norm = printed_number(*norm, row.grad_norm_nan);
  if (!row.iteration) return {false, nullptr, "nemo.no_step"};
  put_progress(row, reading);
  return {true, nullptr, {}, row.loss_nan || row.grad_norm_nan};
}

Outcome read_torchtitan(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  if (!of_torchtitan(text)) return {};
  ProgressRow row = progress_row(line, "torchtitan");
  row.iteration = whole(text_after(text, "step:", "  "));
  if (const auto loss = text_after(text, "loss:", "  "))
    row.loss = printed_number(*loss, row.loss_nan);
  if (const auto norm = text_after(text, "grad_norm:", "  "))
    row.grad_norm = printed_number(*norm, row.grad_norm_nan);
  if (!row.iteration) return {false, nullptr, "torchtitan.no_step"};
  put_progress(row, reading);
  return {true, nullptr, {}, row.loss_nan || row.grad_norm_nan};
}

// Lines of a Trainer that print a step's time and no number of it are counted.
class CountedSteps final : public Kept {
 public:
  std::int64_t next() { return count_++; }
  void finish(Reading&) override {}

 private:
  std::int64_t count_ = 0;
};

std::optional<double> step_seconds(std::string_view text) {
  bool odd = false;
  for (const std::string_view key :
       {"'step_time':", "'step_s':", "'step_time_s':", "'sec_per_step':", "'iter_time':"})
    if (const auto value = text_after(text, key, ","))
      return printed_number(value->substr(0, value->find('}')), odd);
  return std::nullopt;
}

Outcome read_huggingface(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  if (!contains(text, "'learning_rate'") && !contains(text, "'epoch'")) return {};
  ProgressRow row = progress_row(line, "huggingface");
  for (const std::string_view key :
       {"'step':", "'global_step':"})  // what a program's own logger adds
    if (!row.iteration) row.iteration = whole(text_after(text, key, ","));
  if (const auto seconds = step_seconds(text)) {
    row.iteration_ms = *seconds * 1e3;
    if (!row.iteration) row.iteration = reading.keep<CountedSteps>().next();
  }
  if (const auto loss = text_after(text, "'loss':", ","))
    row.loss = printed_number(*loss, row.loss_nan);
  if (const auto norm = text_after(text, "'grad_norm':", ","))
    row.grad_norm = printed_number(*norm, row.grad_norm_nan);
  put_progress(row, reading);
  return {true, nullptr, {}, row.loss_nan || row.grad_norm_nan};
}

constexpr std::string_view kMegatronWords[] = {"elapsed time per iteration"};
constexpr std::string_view kDeepspeedWords[] = {"] step=", "iter time (s):", "/global_step="};
constexpr std::string_view kNemoWords[] = {"train_step_timing in s", "reduced_train_loss="};
constexpr std::string_view kTitanWords[] = {"grad_norm: ", "  tflops: "};
constexpr std::string_view kHuggingfaceWords[] = {"{'loss': "};

}  // namespace

extern constinit const Recogniser kMegatron{
    "megatron", "Megatron-LM and GPT-NeoX iteration lines (NaN as the missing loss)",
    kMegatronWords, read_megatron};
extern constinit const Recogniser kDeepspeed{"deepspeed", "DeepSpeed step lines", kDeepspeedWords,
                                             read_deepspeed};
extern constinit const Recogniser kNemo{"nemo", "NeMo 1 and 2 progress lines and bars", kNemoWords,
                                        read_nemo};
extern constinit const Recogniser kTorchtitan{"torchtitan", "torchtitan step lines", kTitanWords,
                                              read_torchtitan};
extern constinit const Recogniser kHuggingface{
    "huggingface", "Hugging Face Trainer's log dictionaries", kHuggingfaceWords, read_huggingface};

}  // namespace culprit::ingest
