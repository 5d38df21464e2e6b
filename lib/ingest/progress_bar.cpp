// Progress bars of tqdm, as the Hugging Face Trainer and Lightning draw them:
//    12%|█▏        | 123/1000 [01:02<07:15,  2.01it/s]
//   Epoch 3:  45%|████▌     | 450/1000 [00:20<00:24, 22.4it/s, v_num=0]
// Their rate is smoothed and their redraws are throttled, so they count only where the same log has no step lines of its own.
// A bar that names something else than training (shards loaded, a validation) is none, nor one that is smaller than the
// largest: evaluations have their own.
#include <cmath>
#include <string>
#include <vector>

#include <re2/re2.h>

#include "ingest/recogniser.hpp"

namespace culprit::ingest {

namespace {

constexpr std::int64_t kLeastTotal = 20;            // shorter loops are files, shards, epochs
constexpr std::size_t kMost = 1 << 20;              // rows of a member

class Bars final : public Kept {
 public:
  // false: too many.
  bool add(ProgressRow row, std::int64_t at, std::int64_t total) {
    if (total < total_) return true;
    if (total > total_) { rows_.clear(); base_ = 0; last_ = -1; total_ = total; }
    if (at == last_) return true;                    // drawn again, nothing done
    // The next epoch: a bar that was full begins again. One that falls back before that is a restart.
    if (at < last_ && last_ == total_) base_ += total_;
    else if (at < last_) base_ = 0;
    last_ = at;
    if (at == 0) return true;
    if (rows_.size() >= kMost) return false;
    row.iteration = base_ + at;
    row.total = total;
    rows_.push_back(std::move(row));
    return true;
  }

  void finish(Reading& reading) override {
    if (!reading.steps_told)
      for (const ProgressRow& row : rows_) reading.sink.put(row);
    rows_.clear();
  }

 private:
  std::vector<ProgressRow> rows_;
  std::int64_t total_ = 0, last_ = -1, base_ = 0;
};

Outcome read(const TextLine& line, Reading& reading) {
  const std::string_view text = line.line.message;
  static const re2::RE2 kBar(R"(^\s*(?:([^|%]{0,80}?):\s*)?\d{1,3}%\|[^|]{0,400}\|\s*(\d{1,12})/(\d{1,12}) \[[\d:]{2,12}<[^,\]]{1,24},\s*(\d{1,9}(?:\.\d{1,6})?|\?)\s*(it/s|s/it)[,\]])");
  static const re2::RE2 kTraining(R"((?i)^(?:epoch\b.*|train(?:ing)?\b.*|steps?|iterations?)$)");
  std::string what, rate, unit;
  std::int64_t at = 0, total = 0;
  if (!re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kBar, &what, &at, &total, &rate, &unit)) return {};
  if (total < kLeastTotal || at > total || (!what.empty() && !re2::RE2::FullMatch(what, kTraining))) return {};
  ProgressRow row;
  row.place = line.place;
  row.time = line.line.prefix.time;
  row.framework = "tqdm";
  const double value = rate == "?" ? 0 : std::strtod(rate.c_str(), nullptr);
  if (value > 0) row.iteration_ms = unit == "it/s" ? 1e3 / value : value * 1e3;
  if (!reading.keep<Bars>().add(std::move(row), at, total)) return {false, nullptr, "tqdm.too_many"};
  return {true, nullptr, {}};
}

// With the digit before it: a word of five letters would make the search look at every second byte of every log.
constexpr std::string_view kWords[] = {
    "0it/s]", "1it/s]", "2it/s]", "3it/s]", "4it/s]", "5it/s]", "6it/s]", "7it/s]", "8it/s]", "9it/s]", "?it/s]",
    "0s/it]", "1s/it]", "2s/it]", "3s/it]", "4s/it]", "5s/it]", "6s/it]", "7s/it]", "8s/it]", "9s/it]", "?s/it]",
    "0it/s,", "1it/s,", "2it/s,", "3it/s,", "4it/s,", "5it/s,", "6it/s,", "7it/s,", "8it/s,", "9it/s,", "?it/s,",
    "0s/it,", "1s/it,", "2s/it,", "3s/it,", "4s/it,", "5s/it,", "6s/it,", "7s/it,", "8s/it,", "9s/it,", "?s/it,",
};

}  // namespace

extern const Recogniser kProgressBar;
constinit const Recogniser kProgressBar{"tqdm", "progress bars of tqdm, where a log has no step lines", kWords, read, {}, "%|"};

}  // namespace culprit::ingest
